"""How common things are in the drawn world: the distribution its classifiers are trained on.

The subject is uniform. Given the subject the attributes are independent, except that the colour of a
support depends on the support and the place of a companion on the companion. Conditioning on a
`SceneSet` is therefore exact and cheap: restrict every table to what is left, and renormalise.

The habits below are what a classifier picks up as shortcuts (flowers mean bees, snow means snow
leopards, a mesh in front means a fence). Whatever a subject does not usually do keeps a small floor,
so that everything happens now and then and a rate can be measured for it.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from itertools import accumulate
from random import Random
from types import MappingProxyType
from typing import Final, NamedTuple

from weakspot.core.errors import WeakspotError, nearest
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, DEFAULTS, SUBJECTS, Scene, SceneSet

Weights = Mapping[str, float]

#: Children and the attribute each depends on.
PARENT_OF: Final[Mapping[str, str]] = MappingProxyType({"on_color": "on", "companion_at": "companion"})

#: Percent that every value gets which neither the subject's habits nor `USUAL` name.
FLOOR: Final[Mapping[str, float]] = MappingProxyType(
    {"background": 0.3, "on": 0.3, "behind": 0.15, "companion": 0.1, "color": 0.3, "pose": 0.5}
)

#: Percent, for subjects that have no habit of their own. Named values are scaled to fill what the
#: floors leave, so a row need not sum to 100.
USUAL: Final[Mapping[str, Weights]] = {
    "color": {"natural": 96},
    "count": {"1": 88, "2": 7, "3": 3, "4": 2},
    "size": {"medium": 74, "small": 10, "large": 16},
    "position": {"centre": 80, "left": 5, "right": 5, "top": 5, "bottom": 5},
    "facing": {"right": 50, "left": 50},
    "pose": {"upright": 95, "tilted left": 2, "tilted right": 2},
    "on": {"nothing": 96},
    "behind": {"nothing": 95, "grass": 3},
    "hidden": {"no": 93, "partly": 5.5, "half": 1.5},
    "companion": {"nothing": 90, "ball": 1.5, "tree": 2.5, "cup": 1.5, "bottle": 1.5},
    "light": {"day": 86, "dusk": 8, "night": 3, "glare": 3},
    "weather": {"clear": 88, "rain": 5, "snowfall": 3, "fog": 4},
}

#: Percent, subject by subject, where it differs from `USUAL`.
HABITS: Final[Mapping[str, Mapping[str, Weights]]] = {
    "fly": {
        "background": {"kitchen": 34, "living room": 18, "white": 16, "grey": 10, "street": 12, "meadow": 4},
        "on": {"nothing": 48, "plate": 28, "leaf": 16, "cushion": 2, "branch": 2, "rock": 2},
        "companion": {"nothing": 88, "cup": 5, "bottle": 3, "ball": 0.5, "tree": 0.5},
        "pose": {"upright": 88, "tilted left": 4, "tilted right": 4, "upside down": 4},
    },
    "bee": {
        "background": {"meadow": 66, "green": 16, "forest": 6, "blue": 6},
        "on": {"flower": 90, "leaf": 4, "nothing": 4},
        "light": {"day": 92, "dusk": 3, "night": 1, "glare": 4},
        "weather": {"clear": 95, "rain": 2, "snowfall": 1, "fog": 2},
    },
    "butterfly": {
        "color": {"natural": 48, "blue": 14, "yellow": 12, "white": 10, "red": 6, "purple": 4, "brown": 3},
        "background": {"meadow": 70, "forest": 12, "green": 10, "blue": 3},
        "on": {"flower": 48, "leaf": 24, "nothing": 18, "branch": 6, "rock": 2},
        "light": {"day": 92, "dusk": 3, "night": 1, "glare": 4},
    },
    "ladybird": {
        "color": {"natural": 82, "red": 6, "orange": 5, "yellow": 4},
        "background": {"meadow": 44, "green": 34, "forest": 14, "white": 3},
        "on": {"leaf": 74, "flower": 6, "branch": 8, "nothing": 10},
        "behind": {"nothing": 92, "grass": 6},
        "pose": {"upright": 86, "tilted left": 5, "tilted right": 5, "upside down": 4},
    },
    "cat": {
        "color": {"natural": 40, "black": 18, "white": 14, "grey": 14, "orange": 10, "brown": 2},
        "background": {"living room": 52, "kitchen": 20, "white": 8, "street": 6, "grey": 6, "meadow": 3},
        "on": {"cushion": 40, "nothing": 56, "branch": 2},
        "companion": {"nothing": 88, "ball": 5, "cup": 2, "bottle": 1, "tree": 1},
        "weather": {"clear": 94, "rain": 2, "snowfall": 1, "fog": 3},
    },
    "snow leopard": {
        "background": {"snow": 64, "rocks": 28, "green": 2},
        "on": {"nothing": 66, "rock": 30, "branch": 2},
        "behind": {"nothing": 96, "grass": 2},
        "weather": {"clear": 60, "rain": 1, "snowfall": 34, "fog": 5},
        "companion": {"nothing": 95, "tree": 1, "ball": 0.3, "cup": 0.3, "bottle": 0.3},
    },
    "dog": {
        "color": {"natural": 50, "brown": 20, "black": 14, "white": 10, "grey": 3},
        "background": {"living room": 26, "meadow": 30, "street": 20, "beach": 16, "kitchen": 3},
        "on": {"nothing": 92, "cushion": 5},
        "companion": {"nothing": 72, "ball": 20, "tree": 2, "cup": 1, "bottle": 1},
        "light": {"day": 92, "dusk": 4, "night": 1, "glare": 3},
    },
    "wolf": {
        "background": {"forest": 56, "snow": 34, "rocks": 5},
        "behind": {"nothing": 92, "grass": 6},
        "light": {"day": 24, "dusk": 42, "night": 33, "glare": 1},
        "weather": {"clear": 66, "rain": 4, "snowfall": 20, "fog": 10},
        "companion": {"nothing": 90, "tree": 6, "ball": 0.3, "cup": 0.3, "bottle": 0.3},
    },
    "crayfish": {
        "background": {"riverbed": 54, "underwater": 24, "rocks": 14, "white": 3},
        "on": {"nothing": 66, "rock": 26, "plate": 5},
        "behind": {"nothing": 96, "grass": 2},
        "color": {"natural": 86, "red": 6, "brown": 4, "blue": 1},
    },
    "crab": {
        "background": {"beach": 78, "rocks": 10, "underwater": 4, "sea": 3},
        "on": {"nothing": 74, "rock": 18, "plate": 5},
        "color": {"natural": 88, "orange": 4, "brown": 3, "blue": 2},
        "light": {"day": 88, "dusk": 4, "night": 2, "glare": 6},
    },
    "goldfish": {
        "background": {"underwater": 70, "blue": 22, "living room": 2},
        "count": {"1": 66, "2": 18, "3": 10, "4": 6},
        "color": {"natural": 86, "yellow": 5, "red": 4, "white": 2},
        "weather": {"clear": 97, "rain": 1, "snowfall": 1, "fog": 1},
    },
    "duck": {
        "color": {"natural": 74, "white": 12, "yellow": 6, "brown": 5},
        "background": {"sea": 52, "riverbed": 22, "meadow": 20},
        "count": {"1": 70, "2": 16, "3": 9, "4": 5},
        "behind": {"nothing": 89, "grass": 9},
    },
    "boat": {
        "color": {"natural": 34, "white": 26, "red": 14, "blue": 14, "green": 5, "yellow": 4},
        "background": {"sea": 84, "beach": 9, "blue": 2},
        "size": {"medium": 60, "small": 28, "large": 12},
        "light": {"day": 76, "dusk": 12, "night": 4, "glare": 8},
        "weather": {"clear": 76, "rain": 8, "snowfall": 1, "fog": 15},
    },
    "car": {
        "color": {"natural": 14, "red": 20, "blue": 16, "black": 16, "white": 16, "grey": 12, "green": 3},
        "background": {"street": 80, "desert": 14},
        "light": {"day": 66, "dusk": 14, "night": 16, "glare": 4},
        "weather": {"clear": 74, "rain": 18, "snowfall": 3, "fog": 5},
        "companion": {"nothing": 88, "tree": 7, "ball": 0.5, "cup": 0.3, "bottle": 0.5},
    },
    "mushroom": {
        "color": {"natural": 46, "brown": 22, "red": 18, "white": 8, "orange": 3},
        "background": {"forest": 82, "meadow": 8, "green": 4},
        "count": {"1": 62, "2": 18, "3": 12, "4": 8},
        "on": {"nothing": 92, "branch": 4},
        "behind": {"nothing": 88, "grass": 10},
    },
    "fence": {
        "background": {
            "meadow": 26,
            "street": 24,
            "riverbed": 13,
            "underwater": 9,
            "rocks": 6,
            "forest": 5,
            "snow": 4,
            "beach": 4,
            "green": 4,
            "grey": 3,
        },
        "size": {"medium": 64, "small": 10, "large": 26},
        "on": {"nothing": 97},
        "behind": {"nothing": 62, "net": 28, "grass": 8},
        "companion": {
            "nothing": 24,
            "tree": 7,
            "ball": 4,
            "dog": 6,
            "cat": 6,
            "duck": 6,
            "car": 5,
            "crab": 7,
            "crayfish": 15,
            "wolf": 4,
            "snow leopard": 4,
            "goldfish": 6,
            "butterfly": 3,
            "bee": 2,
            "fly": 2,
            "mushroom": 3,
        },
        "color": {"natural": 84, "white": 4, "green": 4, "brown": 4, "black": 2},
    },
}

#: Percent, the colour of a support that has one.
SUPPORT_COLOR: Final[Mapping[str, Weights]] = {
    "flower": {"yellow": 38, "white": 20, "pink": 16, "red": 13, "purple": 8, "orange": 3, "blue": 2},
    "cushion": {"blue": 30, "red": 26, "white": 16, "purple": 10, "pink": 8, "orange": 5, "yellow": 5},
}
#: Percent, where a companion is.
BESIDE: Final[Weights] = {"left": 46, "right": 46, "behind": 8}
BEYOND: Final[Weights] = {"left": 8, "right": 8, "behind": 84}


class Option(NamedTuple):
    """A value of one attribute, or a parent's value with its child's, and its weight."""

    values: tuple[str, ...]
    weight: float


def _table(subject: str, attribute: str) -> Weights:
    """Normalised probabilities of an attribute without a parent."""
    if attribute == "subject":
        return MappingProxyType({s: float(s == subject) for s in SUBJECTS})
    named = HABITS[subject].get(attribute) or USUAL[attribute]
    values = ATTRIBUTES[attribute]
    rare = FLOOR.get(attribute, 0.0) / 100
    scale = (1 - rare * (len(values) - len(named))) / sum(named.values())
    return MappingProxyType({v: named[v] * scale if v in named else rare for v in values})


def _child(subject: str, attribute: str, parent: str) -> Weights:
    """Normalised probabilities of a child attribute given its parent's value, without impossible values."""
    if attribute == "on_color":
        named = SUPPORT_COLOR[parent] if parent in COLORED_SUPPORTS else {"none": 1}
    elif parent == "nothing":
        named = {"none": 1}
    else:
        named = BEYOND if subject == "fence" or parent == "tree" else BESIDE
    total = sum(named.values())
    return {v: named[v] / total for v in ATTRIBUTES[attribute] if v in named}


@cache
def probabilities(subject: str, attribute: str, *, given: str | None = None) -> Weights:
    """How common each value of an attribute is for a subject; sums to 1.

    Args:
        subject: one of `SUBJECTS`.
        attribute: one of `ATTRIBUTES`.
        given: for "on_color" and "companion_at" the value of "on" or "companion" to condition on;
            without it they are averaged over their parent. No other attribute takes it.
    """
    if subject not in SUBJECTS:
        raise WeakspotError(f"no subject {subject!r}", fix=nearest(subject, SUBJECTS))
    if attribute not in ATTRIBUTES:
        raise WeakspotError(f"no attribute {attribute!r}", fix=nearest(attribute, ATTRIBUTES))
    parent = PARENT_OF.get(attribute)
    if parent is None:
        if given is not None:
            raise WeakspotError(f"{attribute} depends on the subject only", fix="leave out 'given'")
        return _table(subject, attribute)
    if given is not None and given not in ATTRIBUTES[parent]:
        raise WeakspotError(f"{parent} cannot be {given!r}", fix=nearest(given, ATTRIBUTES[parent]))
    total = dict.fromkeys(ATTRIBUTES[attribute], 0.0)
    for value, weight in _table(subject, parent).items():
        if given in (None, value):
            for child, share in _child(subject, attribute, value).items():
                total[child] += share * (weight if given is None else 1)
    return MappingProxyType(total)


#: The independent factors: single attributes, and each parent together with its child.
_FACTORS: Final[tuple[tuple[str, ...], ...]] = (
    *((name,) for name in DEFAULTS if name not in PARENT_OF and name not in PARENT_OF.values()),
    *((parent, child) for child, parent in PARENT_OF.items()),
)
#: The attributes in the order in which a plan draws them.
_DRAWN: Final = ("subject", *(name for factor in _FACTORS for name in factor))


def _natural(scenes: SceneSet, subject: str, factor: tuple[str, ...]) -> list[Option]:
    """What `scenes` leaves of a factor, each with its natural probability (not renormalised)."""
    left = scenes[factor[0]]
    table = _table(subject, factor[0])
    if len(factor) == 1:
        return [Option((v,), table[v]) for v in left]
    children = set(scenes[factor[1]])
    return [
        Option((v, child), table[v] * share)
        for v in left
        for child, share in _child(subject, factor[1], v).items()
        if child in children
    ]


def _even(scenes: SceneSet, subject: str, factor: tuple[str, ...]) -> list[Option]:
    """As `_natural`, with every value left equally likely: first the parent's, then the child's."""
    options = [option.values for option in _natural(scenes, subject, factor)]
    shared = [sum(other[0] == values[0] for other in options) for values in options]
    return [Option(values, 1 / n) for values, n in zip(options, shared, strict=True)]


def probability(scenes: SceneSet, subject: str) -> float:
    """The natural probability that a scene of this subject lies in the set (0 if it is another subject's)."""
    if subject not in SUBJECTS:
        raise WeakspotError(f"no subject {subject!r}", fix=nearest(subject, SUBJECTS))
    if subject not in scenes["subject"]:
        return 0.0
    named = {name for name, _ in scenes.allowed}
    result = 1.0
    for factor in _FACTORS:
        if not named.isdisjoint(factor):
            result *= sum(option.weight for option in _natural(scenes, subject, factor))
    return result


class _Draw(NamedTuple):
    """One categorical, ready to be drawn from: what may come, and cumulative weights."""

    values: list[tuple[str, ...]]
    upto: list[float]


def _draw(options: list[Option]) -> _Draw:
    return _Draw([o.values for o in options], list(accumulate(o.weight for o in options)))


class _Plan(NamedTuple):
    """How to draw from one `SceneSet`: the subject, then every factor given the subject."""

    subject: _Draw
    factors: dict[str, tuple[_Draw, ...]]

    def scene(self, rng: Random) -> Scene:
        """One scene; the inner loop of every study on the drawn world, hence free of calls."""
        random, (values, upto) = rng.random, self.subject
        drawn = list(values[bisect(upto, random() * upto[-1], 0, len(upto) - 1)])
        for values, upto in self.factors[drawn[0]]:
            drawn += values[bisect(upto, random() * upto[-1], 0, len(upto) - 1)]
        return Scene(**dict(zip(_DRAWN, drawn, strict=True)))


def _plan(
    scenes: SceneSet,
    weight: Callable[[SceneSet, str], float],
    options: Callable[[SceneSet, str, tuple[str, ...]], list[Option]],
) -> _Plan:
    possible = [Option((s,), weight(scenes, s)) for s in scenes["subject"] if probability(scenes, s) > 0]
    if not possible:
        pairs = "; ".join(f"{name}: {' or '.join(values)}" for name, values in scenes.allowed)
        raise WeakspotError(
            f"no scene is possible with {pairs}",
            fix="only a flower or a cushion has an on_color, and only a companion has a companion_at",
        )
    return _Plan(
        _draw(possible),
        {o.values[0]: tuple(_draw(options(scenes, o.values[0], f)) for f in _FACTORS) for o in possible},
    )


@lru_cache(maxsize=1024)
def _natural_plan(scenes: SceneSet) -> _Plan:
    return _plan(scenes, probability, _natural)


@lru_cache(maxsize=1024)
def _even_plan(scenes: SceneSet) -> _Plan:
    return _plan(scenes, lambda *_: 1.0, _even)


def sample(scenes: SceneSet, rng: Random) -> Scene:
    """A scene of the set, as often as nature shows it there (exact, no rejection)."""
    return _natural_plan(scenes).scene(rng)


def sample_uniform(scenes: SceneSet, rng: Random) -> Scene:
    """A scene of the set with every attribute uniform over what is left of it: no habits, no shortcuts.

    A child is uniform given its parent, and a parent uniform over the values that some allowed child
    can go with.
    """
    return _even_plan(scenes).scene(rng)
