"""The words of the drawn world: what each says about a scene, without any rule of how they combine.

Articles never matter for the meaning, so keys are phrases without them ("on left", "under water").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

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


#: How a place is said after "the background is".
PLACE_NAMES: Final[Mapping[str, str]] = {
    "meadow": "a meadow",
    "forest": "a forest",
    "snow": "snow",
    "beach": "a beach",
    "sea": "the sea",
    "riverbed": "a riverbed",
    "underwater": "under water",
    "rocks": "rocks",
    "desert": "a desert",
    "street": "a street",
    "living room": "a living room",
    "kitchen": "a kitchen",
}
#: Nouns that take no article.
MASS_NOUNS: Final = frozenset({"grass", "bars", "snow", "rocks", "nothing", "something"})
NUMBERS: Final[Mapping[str, str]] = {"1": "one", "2": "two", "3": "three", "4": "four"}

#: The predicate that says each value of an attribute whose sentence is "it is …".
PREDICATES: Final[Mapping[str, Mapping[str, str]]] = {
    "color": {"natural": "naturally coloured", **{c: c for c in COLORS}},
    "size": {"medium": "medium-sized", "small": "small", "large": "large"},
    "position": {
        "centre": "in the centre",
        "left": "on the left",
        "right": "on the right",
        "top": "at the top",
        "bottom": "at the bottom",
    },
    "facing": {"right": "facing right", "left": "facing left"},
    "pose": {
        "upright": "upright",
        "tilted left": "tilted to the left",
        "tilted right": "tilted to the right",
        "upside down": "upside down",
    },
    "hidden": {"no": "fully visible", "partly": "partly hidden", "half": "half hidden"},
    "light": {"day": "day", "dusk": "dusk", "night": "night", "glare": "glare"},
    "weather": {"clear": "clear", "rain": "raining", "snowfall": "snowing", "fog": "foggy"},
}

ARTICLES: Final = frozenset({"a", "an", "the"})
COPULAS: Final = frozenset(
    {"is", "are", "was", "were", "does", "do", "has", "have", "sits", "stands", "lies", "rests"}
)
PRONOUNS: Final = frozenset({"it", "they", "them", "this", "these"})
PICTURES: Final = frozenset(
    {"photo", "photograph", "photos", "photographs", "picture", "pictures", "image", "images", "drawing"}
)
#: Words that may stand between two phrases without saying anything.
FILLERS: Final = frozenset(
    {
        "seen",
        "taken",
        "shown",
        "photographed",
        "sitting",
        "standing",
        "lying",
        "resting",
        "also",
        "which",
        "that",
    }
)
JOINTS: Final = frozenset({".", ",", "and", "but", "while"})
PHOTO_ADJECTIVES: Final = frozenset({"realistic", "photorealistic", "real"})


def phrase(text: str) -> Phrase:
    """The words of a phrase as keys have them: hyphens opened, articles dropped."""
    return tuple(w for w in text.replace("-", " ").split() if w not in ARTICLES)


def _nouns() -> dict[Phrase, Noun]:
    table: dict[Phrase, Noun] = {}

    def add(names: Iterable[str], *, plural: bool = False, **readings: Iterable[str]) -> None:
        for name in names:
            table[phrase(name)] = Noun({k: tuple(v) for k, v in readings.items()}, plural)

    irregular = {"fly": "flies", "butterfly": "butterflies", "wolf": "wolves", "crayfish": "", "goldfish": ""}
    synonyms = {"ladybird": "ladybug", "crayfish": "crawfish", "mushroom": "toadstool"}
    for name in SUBJECTS:
        beside = [name] if name in COMPANIONS else []
        extra = [synonyms[name]] if name in synonyms else []
        plurals = [irregular.get(name, name + "s"), *(e + "s" for e in extra)]
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
            plural = {"fungus": "fungi"}.get(group, group + "s")
            add([plural], plural=True, subject=members, companion=beside)
    for prop in PROPS:
        add([prop], companion=[prop])
    for support in SUPPORTS:
        add([support], support=[support])
    for plural, support in (("flowers", "flower"), ("leaves", "leaf"), ("branches", "branch")):
        add([plural], support=[support])
    for screen in SCREENS:
        add([screen], screen=[screen])
    add(["netting"], screen=["net"])
    add(["fence"], subject=["fence"], screen=["fence"])
    for place in PLACES:
        add([place, f"{place} background"], place=[place])
    for name, place in (
        ("under water", "underwater"),
        ("ocean", "sea"),
        ("road", "street"),
        ("woods", "forest"),
    ):
        add([name], place=[place])
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
    add("gray", "color", "grey")
    for text in (
        "naturally colored",
        "natural colour",
        "natural color",
        "its natural colour",
        "its natural color",
    ):
        add(text, "color", "natural")
    for text, value in (("big", "large"), ("little", "small"), ("medium", "medium")):
        add(text, "size", value)
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
    add("partially hidden", "hidden", "partly")
    add("visible", "hidden", "no")
    add("under water", "background", "underwater")
    add("underwater", "background", "underwater")
    for light in ("day", "dusk", "night", "glare"):
        for before in ("at", "by", "in", "during", "with"):
            add(f"{before} {light}", "light", light)
    for text in ("daylight", "in daylight", "daytime"):
        add(text, "light", "day")
    words = {
        "clear": ("in clear weather", "clear weather"),
        "rain": ("rain", "in rain", "rainy", "it rains", "with rain"),
        "snowfall": (
            "snowfall",
            "in snowfall",
            "falling snow",
            "in falling snow",
            "it snows",
            "with snowfall",
        ),
        "fog": ("fog", "in fog", "with fog"),
    }
    for weather, texts in words.items():
        for text in texts:
            add(text, "weather", weather)
    for adjective, weather in (("rainy", "rain"), ("foggy", "fog"), ("clear", "clear")):
        for light in ("day", "dusk", "night"):
            for before in ("on", "at", "in", "during"):
                table[before, adjective, light] = (State("weather", (weather,)), State("light", (light,)))
    return table


#: Phrases that put the subject in relation to a thing; the value names the rule that reads the thing.
RELATIONS: Final[Mapping[Phrase, str]] = {
    phrase(text): rule
    for rule, texts in {
        "on": ("on", "on top of", "upon"),
        "behind": ("behind",),
        "in": ("in", "inside"),
        "against": ("against", "at"),
        "before": ("in front of",),
        "near": ("near", "by", "close to"),
        "beside": ("next to", "beside"),
        "left": ("left of", "to left of", "on left of"),
        "right": ("right of", "to right of", "on right of"),
        "with": ("with", "there is", "there are"),
        "without": ("without", "with no", "no", "there is no", "there are no"),
    }.items()
    for text in texts
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
_THERE: Final = {
    "companion": "companion",
    "support": "on",
    "screen": "behind",
    "place": "background",
    "background": "background",
    "nothing": "companion",
}
READINGS_OF: Final[Mapping[str, Mapping[str, str]]] = {
    "on": {
        "support": "on",
        "place": "background",
        "background": "background",
        "anything": "on",
        "nothing": "on",
    },
    "behind": {"screen": "behind", "anything": "behind", "nothing": "behind"},
    "in": {"screen": "behind", "place": "background"},
    "against": {"place": "background", "background": "background"},
    "before": {"companion": "companion", "place": "background", "background": "background"},
    "near": {"companion": "companion", "place": "background"},
    "beside": {"companion": "companion"},
    "left": {"companion": "companion"},
    "right": {"companion": "companion"},
    "with": _THERE,
}
#: Where a companion is when the subject is in this relation to it …
PLACES_OF: Final[Mapping[str, Values]] = {
    "before": ("behind",),
    "beside": ("left", "right"),
    "left": ("right",),
    "right": ("left",),
}
#: … and when it is in this relation to the subject.
SIDES: Final[Mapping[str, Values]] = {
    "left": ("left",),
    "right": ("right",),
    "beside": ("left", "right"),
    "near": ("left", "right", "behind"),
    "behind": ("behind",),
}
HINTS: Final[Mapping[str, str]] = {
    "before": "a net, a fence, grass or bars are always in front: say 'it is behind a fence.'",
    "behind": "it can be behind a net, a fence, grass or bars; other things are beside or behind it",
}

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
_OTHER_WORDS: Final = (
    "not or nor no any of showing shows weather light plain coloured colored other another its"
)

#: Every word that can be understood.
KNOWN: Final = frozenset(
    {w for table in (NOUNS, STATES, RELATIONS, PLACEMENTS, COUNTS) for key in table for w in key}
    | (ARTICLES | COPULAS | PRONOUNS | PICTURES | FILLERS | PHOTO_ADJECTIVES | JOINTS)
    | set(_OTHER_WORDS.split())
)
