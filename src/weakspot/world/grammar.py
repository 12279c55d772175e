"""From scenes to English, in the short sentences of a hunt: "it is on a yellow flower."

`describe` says a scene, `phrase` a set of scenes; `parse` reads both back without loss. Plain things
(one upright subject of medium size in the middle of a meadow by day) are not said of a scene, and
`complete` fills them in again: complete(parse(describe(scene))) == scene. `caption` says what people might
write under a picture: true, in many forms, rarely complete; `parse` understands that too, and the scene is
among those it allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Final

from weakspot.core.errors import WeakspotError
from weakspot.world import lexicon
from weakspot.world.cursor import Contradiction, UnknownWords
from weakspot.world.lexicon import PLACE_NAMES, PREDICATES, Values
from weakspot.world.reading import parse
from weakspot.world.scene import (
    ATTRIBUTES,
    BEARERS,
    CHILD_OF,
    DEFAULTS,
    PARENTS,
    PLAIN,
    SUBJECTS,
    Scene,
    SceneSet,
)

__all__ = [
    "Contradiction", "UnknownWords", "base_sentence", "caption", "complete", "deny", "describe", "parse",
    "phrase", "say", "sentences",
]  # fmt: skip

#: Says that an attribute has one of the values, or (not yes) none of them.
Said = Callable[[Values, bool], str]
_AT: Final = {"left": "to the left of it", "right": "to the right of it", "behind": "behind it"}
#: Attributes that have a sentence of their own, not within that of another.
_SAID_ALONE: Final = tuple(name for name in DEFAULTS if name not in CHILD_OF.values())


def _a(noun: str) -> str:
    """The noun with its indefinite article, where it takes one."""
    if noun in lexicon.MASS_NOUNS:
        return noun
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _or(words: Iterable[str]) -> str:
    return " or ".join(words)


def base_sentence(subject: str) -> str:
    """The prompt of a hunt's baseline, with the parent that tells homonyms apart."""
    return f"a realistic photograph of {_a(subject)} ({PARENTS[subject]})."


# -- one attribute ----------------------------------------------------------------------------------


def _subject(values: Values, yes: bool) -> str:
    if yes and len(values) == 1:
        return base_sentence(values[0])
    return f"it is {'' if yes else 'not '}{_or(map(_a, values))}."


def _count(values: Values, yes: bool) -> str:
    number = _or(lexicon.NUMBERS[v] for v in values)
    return f"there {'is' if values == ('1',) else 'are'} {'' if yes else 'not '}{number} of them."


def _background(values: Values, yes: bool) -> str:
    no = "" if yes else "not "
    if values == ("underwater",):
        return f"it is {no}under water."
    return f"the background is {no}{_or(PLACE_NAMES.get(v, v) for v in values)}."


def _predicate(attribute: str) -> Said:
    def sentence(values: Values, yes: bool) -> str:
        if values == ("glare",):
            return f"there is {'' if yes else 'no '}glare."
        if attribute == "facing" and yes:
            return f"it faces {values[0]}."
        start = f"the {attribute} is" if {"glare", "clear"} & set(values) else "it is"
        return f"{start} {'' if yes else 'not '}{_or(PREDICATES[attribute][v] for v in values)}."

    return sentence


def _placed(preposition: str) -> Said:
    def sentence(values: Values, yes: bool) -> str:
        if values == ("nothing",):
            return f"it is {preposition} {'nothing' if yes else 'something'}."
        return f"it is {'' if yes else 'not '}{preposition} {_or(map(_a, values))}."

    return sentence


def _companion(values: Values, yes: bool) -> str:
    if values == ("nothing",):
        return "there is nothing else." if yes else "there is something else."
    return f"there is {_or(map(_a, values))}." if yes else f"there is no {_or(values)}."


def _on_color(values: Values, yes: bool) -> str:
    if values == ("none",):
        return "it is on nothing coloured." if yes else "it is on something coloured."
    return f"it is on {'something' if yes else 'nothing'} {_or(values)}."


def _companion_at(values: Values, yes: bool) -> str:
    if values == ("none",):
        return "nothing is near it." if yes else "something is near it."
    return f"{'something' if yes else 'nothing'} is {_or(_AT[v] for v in values)}."


_SAY: Final[Mapping[str, Said]] = {
    "subject": _subject,
    "count": _count,
    "background": _background,
    "on": _placed("on"),
    "behind": _placed("behind"),
    "companion": _companion,
    "on_color": _on_color,
    "companion_at": _companion_at,
    **{attribute: _predicate(attribute) for attribute in PREDICATES},
}
#: Attributes whose absence has a word of its own ("nothing"), which no list may contain.
_ABSENCE: Final = ("on", "behind", "companion", "on_color", "companion_at")


def _say_set(attribute: str, values: tuple[str, ...]) -> str:
    """The sentence for one attribute restricted to some of its values."""
    rest = tuple(v for v in ATTRIBUTES[attribute] if v not in values)
    if attribute in _ABSENCE:
        absence = ATTRIBUTES[attribute][0]
        yes = values == (absence,) or (absence not in values and rest != (absence,))
    else:
        yes = len(values) <= len(rest)
    return _SAY[attribute](values if yes else rest, yes)


def _say_pair(parent: str, value: str, details: tuple[str, ...]) -> str:
    """A support with its colours, a companion with its places."""
    if parent == "on":
        return f"it is on {_a(f'{_or(details)} {value}')}."
    return f"{_a(value)} is {_or(_AT[d] for d in details)}."


def _joins(parent: str, values: tuple[str, ...], details: tuple[str, ...]) -> bool:
    bears, child = BEARERS[parent], ATTRIBUTES[CHILD_OF[parent]]
    return len(values) == 1 and values[0] in bears and "none" not in details and len(details) < len(child) - 1


# -- scenes and sets --------------------------------------------------------------------------------


def say(attribute: str, value: str, detail: str | None = None) -> str:
    """The sentence that an attribute has a value, plain ones too ("it is day.", "it is on nothing.").

    `detail` is the colour of the support (for "on") or the place of the companion (for "companion").
    """
    SceneSet.of({attribute: [value]})
    if detail is None or detail == "none":
        return _SAY[attribute]((value,), True)
    if attribute not in CHILD_OF or not _joins(attribute, (value,), (detail,)):
        raise WeakspotError(f"{attribute} {value!r} cannot have the detail {detail!r}", fix="leave it out")
    SceneSet.of({CHILD_OF[attribute]: [detail]})
    return _say_pair(attribute, value, (detail,))


def deny(attribute: str, value: str) -> str:
    """The sentence that an attribute does not have a value ("it is not night.", "there is no ball.")."""
    SceneSet.of({attribute: [value]})
    return _SAY[attribute]((value,), False)


def sentences(scene: Scene) -> list[str]:
    """One sentence for everything that is not plain, without the base sentence."""
    return [_say_of(scene, name) for name in _SAID_ALONE if getattr(scene, name) != DEFAULTS[name]]


def _say_of(scene: Scene, name: str) -> str:
    return say(name, getattr(scene, name), getattr(scene, CHILD_OF[name]) if name in CHILD_OF else None)


def describe(scene: Scene) -> str:
    """The base sentence and one sentence for everything that is not plain."""
    return " ".join([base_sentence(scene.subject), *sentences(scene)])


def phrase(scenes: SceneSet) -> str:
    """A text for a set of scenes: parse(phrase(scenes)) == scenes.

    Says one value as it is, several with "or", and more than half of them by what is left out.
    """
    said: list[str] = []
    joined: set[str] = set()
    allowed = dict(scenes.allowed)
    for name, values in scenes.allowed:
        child = CHILD_OF.get(name)
        if child in allowed and _joins(name, values, allowed[child]):
            said.append(_say_pair(name, values[0], allowed[child]))
            joined.add(child)
        elif name not in joined:
            said.append(_say_set(name, values))
    if len(scenes["subject"]) > 1:
        said.insert(0, "a realistic photograph.")
    return " ".join(said)


def complete(scenes: SceneSet) -> Scene:
    """The plainest scene of a set, which must name one subject: else its plain or first values."""
    if len(scenes["subject"]) != 1:
        raise WeakspotError(
            "the text does not say what is in the picture",
            fix=f"start with a sentence such as '{base_sentence(SUBJECTS[0])}'",
        )
    chosen = {"subject": scenes["subject"][0]}
    for name, plain in DEFAULTS.items():
        left = scenes[name]
        if name in CHILD_OF:
            bears, detail = BEARERS[name], scenes[CHILD_OF[name]]
            fits = [v for v in left if (detail != ("none",) if v in bears else "none" in detail)]
            if not fits:
                raise WeakspotError(f"no scene fits: {phrase(scenes)}", fix="drop a sentence")
            chosen[name] = plain if plain in fits else fits[0]
            details = [d for d in detail if (d != "none") == (chosen[name] in bears)]
            chosen[CHILD_OF[name]] = details[0]
        elif name not in chosen:
            chosen[name] = plain if plain in left else left[0]
    return Scene(**chosen)


# -- captions ---------------------------------------------------------------------------------------

#: Share of captions in each form: everything in order, single sentences, one long sentence.
_FORMS: Final = {"full": 0.3, "sentences": 0.35, "fluent": 0.35}
#: How often something is said that is not plain, and something that is.
_SAID, _SAID_PLAIN = 0.8, 0.08
#: How often a caption of single sentences says what is not there.
_DENIES: Final = 0.15


def caption(scene: Scene, rng: Random) -> str:
    """One text that is true of the scene; which one follows from `rng`."""
    form = rng.choices([*_FORMS], [*_FORMS.values()])[0]
    if form == "full":
        return describe(scene)
    said = [name for name in _SAID_ALONE if _mentions(scene, name, rng)]
    return (_single if form == "sentences" else _fluent)(scene, said, rng)


def _mentions(scene: Scene, attribute: str, rng: Random) -> bool:
    plain = getattr(scene, attribute) == DEFAULTS[attribute] and attribute != "background"
    return rng.random() < (_SAID_PLAIN if plain else _SAID)


def _single(scene: Scene, names: list[str], rng: Random) -> str:
    """A base sentence and some of the others, in any order, now and then with a denial."""
    said = [_say_of(scene, name) for name in names]
    if rng.random() < _DENIES:
        name = rng.choice([n for n in _SAID_ALONE if n not in names] or ["light"])
        absent = [v for v in ATTRIBUTES[name] if v not in (getattr(scene, name), "nothing")]
        said.append(deny(name, rng.choice(absent)))
    rng.shuffle(said)
    opening = rng.choice(("a photo of", "a picture of", "an image of", ""))
    base = f"{opening} {_a(scene.subject)}." if opening else base_sentence(scene.subject)
    return " ".join([base, *said])


def _fluent(scene: Scene, names: list[str], rng: Random) -> str:
    """One long sentence: number, adjectives, the subject, and phrases after it."""
    said = {name: getattr(scene, name) for name in names}
    said = {name: value for name, value in said.items() if value not in ("nothing", "natural", "clear")}
    many = said.get("count", "1") != "1"
    plural = lexicon.PLURALS.get(scene.subject, f"{scene.subject}s") or scene.subject
    before = [PREDICATES[name][said[name]] for name in ("size", "color") if name in said]
    head = " ".join([*before, plural if many else scene.subject])
    head = f"{lexicon.NUMBERS[scene.count]} {head}" if many else _a(head)
    after = [PREDICATES[name][said[name]] for name in ("pose", "facing", "hidden") if name in said]
    if "on" in said:
        after.append(f"on {_a(scene.on if scene.on_color == 'none' else f'{scene.on_color} {scene.on}')}")
    if "behind" in said:
        after.append(f"behind {_a(scene.behind)}")
    if "background" in said and scene.background != "underwater":
        after.append(_place(scene.background))
    after += [lexicon.IN_CAPTIONS[said[name]] for name in ("light", "weather") if name in said]
    if "position" in said:
        after.append(PREDICATES["position"][scene.position])
    rng.shuffle(after)
    if said.get("background") == "underwater":
        after.insert(0, "under water")  # after "hidden" it would be what hides the subject
    if "companion" in said:
        after.append(f"with {_a(scene.companion)} {_AT[scene.companion_at]}")
    opening = rng.choice(("a photo of ", "a picture of ", "an image of ", "", ""))
    return f"{opening}{head} {' '.join(after)}".strip() + rng.choice((".", ""))


def _place(background: str) -> str:
    if background in PLAIN:
        return f"against a {background} background"
    before = "on" if background in ("sea", "beach", "riverbed", "rocks", "street") else "in"
    name = PLACE_NAMES[background]
    return f"{before} the {name}" if name in ("snow", "rocks") else f"{before} {name}"
