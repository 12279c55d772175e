"""The words of the drawn world: what each says about a scene, without any rule of how they combine.

Articles never matter for the meaning, so keys are phrases without them ("on left", "under water").
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.world.scene import ATTRIBUTES, COMPANIONS, PARENTS, PLACES, PROPS, SCREENS, SUBJECTS, SUPPORTS

Phrase = tuple[str, ...]
Values = tuple[str, ...]


class Noun(NamedTuple):
    """A noun's readings: what it names as a subject, companion, support, screen or place."""

    readings: Mapping[str, Values]
    plural: bool = False


class Meaning(NamedTuple):
    """What an adjective or a fixed phrase says: an attribute and the values it allows."""

    attribute: str
    values: Values


_TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("english.toml").read_text("utf-8"))
_WORDS: Final = {name: frozenset(words.split()) for name, words in _TABLES["words"].items()}

#: How a place is said after "the background is".
PLACE_NAMES: Final[Mapping[str, str]] = _TABLES["places"]
NUMBERS: Final[Mapping[str, str]] = _TABLES["numbers"]
PLURALS: Final[Mapping[str, str]] = _TABLES["plurals"]
#: The predicate that says each value of an attribute whose sentence is "it is …".
PREDICATES: Final[Mapping[str, Mapping[str, str]]] = _TABLES["predicates"]
#: How captions say the light and the weather.
IN_CAPTIONS: Final[Mapping[str, str]] = _TABLES["captions"]
ARTICLES: Final = _WORDS["articles"]
COPULAS: Final = _WORDS["copulas"]
PRONOUNS: Final = _WORDS["pronouns"]
PICTURES: Final = _WORDS["pictures"]
#: Words that may stand between two phrases without saying anything.
FILLERS: Final = _WORDS["fillers"]
JOINTS: Final = _WORDS["joints"]
PHOTO_ADJECTIVES: Final = _WORDS["photo_adjectives"]
#: Nouns that take no article.
MASS_NOUNS: Final = _WORDS["mass_nouns"]


def phrase(text: str) -> Phrase:
    """The words of a phrase as keys have them: hyphens opened, articles dropped."""
    return tuple(w for w in text.replace("-", " ").split() if w not in ARTICLES)


def _phrases(table: Mapping[str, Iterable[str]]) -> Iterator[tuple[Phrase, Values]]:
    """Every phrase of the patterns of each value, or of several values with "|" between them."""
    for values, patterns in table.items():
        for pattern in patterns:
            for words in product(*(part.split("|") for part in re.split(r"[()]", pattern))):
                yield phrase("".join(words)), tuple(values.split("|"))


def _nouns() -> dict[Phrase, Noun]:
    table: dict[Phrase, Noun] = {}

    def add(names: Iterable[str], plural: bool = False, /, **readings: Iterable[str]) -> None:
        for name in names:
            table[phrase(name)] = Noun({k: tuple(v) for k, v in readings.items()}, plural)

    for name in SUBJECTS:
        beside = [name] if name in COMPANIONS else []
        extra = [other] if (other := _TABLES["synonyms"].get(name)) else []
        plurals = [PLURALS.get(name, name + "s"), *(e + "s" for e in extra)]
        add([name, *extra], subject=[name], companion=beside)
        add(filter(None, plurals), True, subject=[name], companion=beside)
    groups = {p: [s for s in SUBJECTS if PARENTS[s] == p] for p in dict.fromkeys(PARENTS.values())}
    groups["animal"] = [s for s in SUBJECTS if PARENTS[s] not in ("vehicle", "fungus", "barrier")]
    groups |= {group: list(SUBJECTS) for group in ("thing", "object", "subject")}
    for group, members in groups.items():
        beside = [m for m in members if m in COMPANIONS]
        add([group], subject=members, companion=beside)
        if group != "fish":
            add([PLURALS.get(group, group + "s")], True, subject=members, companion=beside)
    for reading, names in (("companion", PROPS), ("support", SUPPORTS), ("screen", SCREENS)):
        for name in names:
            add([name], **{reading: [name]})
    for support in ("flower", "leaf", "branch"):
        add([PLURALS.get(support, support + "s")], support=[support])
    for place in PLACES:
        add([place, f"{place} background"], place=[place])
    add(["companion", "companions", "something else", "anything else"], companion=COMPANIONS)
    add(["background"], background=ATTRIBUTES["background"])
    for pattern, readings in _TABLES["nouns"].items():
        add((" ".join(key) for key, _ in _phrases({"": [pattern]})), **readings)
    return table


def _states() -> dict[Phrase, tuple[Meaning, ...]]:
    table: dict[Phrase, tuple[Meaning, ...]] = {}
    for attribute, said in PREDICATES.items():
        table |= {phrase(text): (Meaning(attribute, (value,)),) for value, text in said.items()}
    for attribute, patterns in _TABLES["states"].items():
        table |= {key: (Meaning(attribute, values),) for key, values in _phrases(patterns)}
    for adjective, weather in (("rainy", "rain"), ("foggy", "fog"), ("clear", "clear")):
        for before, light in product(("on", "at", "in", "during"), ("day", "dusk", "night")):
            table[before, adjective, light] = (Meaning("weather", (weather,)), Meaning("light", (light,)))
    return table


#: Phrases that put the subject in relation to a thing; the value names the rule that reads the thing.
RELATIONS: Final[Mapping[Phrase, str]] = {
    phrase(text): rule for rule, texts in _TABLES["relations"].items() for text in texts
}
#: Where a companion is, seen from the subject ("a ball is to the left of it").
PLACEMENTS: Final[Mapping[Phrase, Values]] = dict(_phrases(_TABLES["placements"]))
#: Which readings of a noun a relation takes, in order, and the attribute it then speaks of.
READINGS_OF: Final[Mapping[str, Mapping[str, str]]] = _TABLES["readings"]
#: Where a companion is when the subject is in this relation to it …
PLACES_OF: Final[Mapping[str, Values]] = {rule: tuple(at) for rule, at in _TABLES["places_of"].items()}
#: … and when it is in this relation to the subject.
SIDES: Final[Mapping[str, Values]] = {rule: tuple(at) for rule, at in _TABLES["sides"].items()}
HINTS: Final[Mapping[str, str]] = _TABLES["hints"]

NOUNS: Final[Mapping[Phrase, Noun]] = _nouns()
STATES: Final[Mapping[Phrase, tuple[Meaning, ...]]] = _states()
#: Adjectives of a subject that stand before it.
ADJECTIVES: Final[Mapping[Phrase, Meaning]] = {
    key: states[0]
    for key, states in STATES.items()
    if states[0].attribute in ("color", "size", "pose", "hidden") and len(key) <= 3
}
COUNTS: Final[Mapping[Phrase, Values]] = {
    **{(word,): (digit,) for digit, word in NUMBERS.items()},
    **{(digit,): (digit,) for digit in NUMBERS},
    ("single",): ("1",),
    ("several",): ("2", "3", "4"),
}

#: Every word that can be understood.
KNOWN: Final = frozenset(
    {w for table in (NOUNS, STATES, RELATIONS, PLACEMENTS, COUNTS) for key in table for w in key}
    | (ARTICLES | COPULAS | PRONOUNS | PICTURES | FILLERS | PHOTO_ADJECTIVES | JOINTS)
    | _WORDS["others"]
)
