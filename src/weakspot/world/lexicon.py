"""The words of the drawn world: what each says about a scene, without any rule of how they combine.

Articles never matter for the meaning, so keys are phrases without them ("on left", "under water").
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.world.scene import (
    COLORS,
    COMPANIONS,
    PARENTS,
    PLACES,
    PLAIN,
    PROPS,
    SCREENS,
    SUBJECTS,
    SUPPORTS,
)

Phrase = tuple[str, ...]
Values = tuple[str, ...]


class Noun(NamedTuple):
    """A noun's readings: what it names as a subject, companion, support, screen or place."""

    readings: Mapping[str, Values]
    plural: bool = False


class State(NamedTuple):
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
PREDICATES: Final[Mapping[str, Mapping[str, str]]] = {
    attribute: _TABLES["predicates"][attribute] | ({c: c for c in COLORS} if attribute == "color" else {})
    for attribute in ("color", "size", "position", "facing", "pose", "hidden", "light", "weather")
}
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


def _nouns() -> dict[Phrase, Noun]:
    table: dict[Phrase, Noun] = {}

    def add(names: Iterable[str], *, plural: bool = False, **readings: Iterable[str]) -> None:
        for name in names:
            table[phrase(name)] = Noun({k: tuple(v) for k, v in readings.items()}, plural)

    for name in SUBJECTS:
        beside = [name] if name in COMPANIONS else []
        extra = [other] if (other := _TABLES["synonyms"].get(name)) else []
        plurals = [PLURALS.get(name, name + "s"), *(e + "s" for e in extra)]
        add([name, *extra], subject=[name], companion=beside)
        add(filter(None, plurals), plural=True, subject=[name], companion=beside)
    groups = {
        parent: [s for s in SUBJECTS if PARENTS[s] == parent] for parent in dict.fromkeys(PARENTS.values())
    }
    groups["animal"] = [s for s in SUBJECTS if PARENTS[s] not in ("vehicle", "fungus", "barrier")]
    for group in ("thing", "object", "subject"):
        groups[group] = list(SUBJECTS)
    for group, members in groups.items():
        beside = [m for m in members if m in COMPANIONS]
        add([group], subject=members, companion=beside)
        if group != "fish":
            add([PLURALS.get(group, group + "s")], plural=True, subject=members, companion=beside)
    for prop in PROPS:
        add([prop], companion=[prop])
    for support in SUPPORTS:
        add([support], support=[support])
    for support in ("flower", "leaf", "branch"):
        add([PLURALS.get(support, support + "s")], support=[support])
    for screen in SCREENS:
        add([screen], screen=[screen])
    add(["netting"], screen=["net"])
    add(["fence"], subject=["fence"], screen=["fence"])
    for place in PLACES:
        add([place, f"{place} background"], place=[place])
    add(["under water"], place=["underwater"])
    add(["ocean"], place=["sea"])
    add(["road"], place=["street"])
    add(["woods"], place=["forest"])
    add(["river bed"], place=["riverbed"])
    add(["water"], place=["sea", "riverbed", "underwater"])
    add(["grass"], screen=["grass"], place=["meadow"])
    add(["companion", "companions", "something else", "anything else"], companion=COMPANIONS)
    add(["nothing else", "no companion"], nothing=["any"])
    add(["background"], background=PLACES + PLAIN)
    add(["something", "anything"], anything=["any"])
    add(["nothing"], nothing=["any"])
    return table


def _states() -> dict[Phrase, tuple[State, ...]]:
    table: dict[Phrase, tuple[State, ...]] = {}

    def add(text: str, attribute: str, *values: str) -> None:
        table[phrase(text)] = (State(attribute, values),)

    for attribute, values in PREDICATES.items():
        for value, text in values.items():
            add(text, attribute, value)
    for side in ("left", "right", "top", "bottom", "centre", "center", "middle"):
        value = side if side in ("left", "right", "top", "bottom") else "centre"
        for before in ("on", "at", "in", "to"):
            for after in (
                "",
                " side",
                " half",
                *(f" of {p}" for p in ("picture", "image", "photo", "photograph")),
            ):
                add(f"{before} {side}{after}", "position", value)
    add("centred", "position", "centre")
    add("centered", "position", "centre")
    for side in ("left", "right"):
        for verb in ("face", "faces", "facing", "look", "looks", "looking", "turned"):
            add(f"{verb} {side}", "facing", side)
            add(f"{verb} to {side}", "facing", side)
        add(f"tilted {side}", "pose", f"tilted {side}")
    add("tilted", "pose", "tilted left", "tilted right")
    add("hidden", "hidden", "partly", "half")
    for light in ("day", "dusk", "night", "glare"):
        for before in ("at", "by", "in", "during", "with"):
            add(f"{before} {light}", "light", light)
    for attribute, values in _TABLES["states"].items():
        for value, texts in values.items():
            for text in texts:
                add(text, attribute, value)
    for adjective, weather in (("rainy", "rain"), ("foggy", "fog"), ("clear", "clear")):
        for light in ("day", "dusk", "night"):
            for before in ("on", "at", "in", "during"):
                table[before, adjective, light] = (State("weather", (weather,)), State("light", (light,)))
    return table


#: Phrases that put the subject in relation to a thing; the value names the rule that reads the thing.
RELATIONS: Final[Mapping[Phrase, str]] = {
    phrase(text): rule for rule, texts in _TABLES["relations"].items() for text in texts
}


def _placements() -> dict[Phrase, Values]:
    table: dict[str, Values] = {}
    for side in ("left", "right"):
        table |= {f"{before} {side}": (side,) for before in ("to the", "on the", "on its")}
    for it in ("it", "them"):
        for side in ("left", "right"):
            table |= {f"{before} {side} of {it}": (side,) for before in ("to the", "on the", "")}
        table |= {f"{near} {it}": ("left", "right") for near in ("next to", "beside")}
        table |= {f"{near} {it}": ("left", "right", "behind") for near in ("near", "close to")}
        table[f"behind {it}"] = ("behind",)
    return {phrase(text): values for text, values in table.items()}


#: Where a companion is, seen from the subject ("a ball is to the left of it").
PLACEMENTS: Final[Mapping[Phrase, Values]] = _placements()
#: Which readings of a noun a relation takes, in order, and the attribute it then speaks of.
READINGS_OF: Final[Mapping[str, Mapping[str, str]]] = _TABLES["readings"]
#: Where a companion is when the subject is in this relation to it …
PLACES_OF: Final[Mapping[str, Values]] = {rule: tuple(at) for rule, at in _TABLES["places_of"].items()}
#: … and when it is in this relation to the subject.
SIDES: Final[Mapping[str, Values]] = {rule: tuple(at) for rule, at in _TABLES["sides"].items()}
HINTS: Final[Mapping[str, str]] = _TABLES["hints"]

NOUNS: Final[Mapping[Phrase, Noun]] = _nouns()
STATES: Final[Mapping[Phrase, tuple[State, ...]]] = _states()
#: Adjectives of a subject that stand before it.
ADJECTIVES: Final[Mapping[Phrase, State]] = {
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
