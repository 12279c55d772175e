"""How common things are in the drawn world: the distribution its classifiers are trained on.

The subject is uniform. Given the subject the attributes are independent, except that the colour of a
support depends on the support and the place of a companion on the companion. Conditioning on a
`SceneSet` is therefore exact and cheap: restrict every table to what is left, and renormalise.

The habits in `nature.toml` are what a classifier picks up as shortcuts (flowers mean bees, snow means snow
leopards, a mesh in front means a fence). Whatever a subject does not usually do keeps a small floor,
so that everything happens now and then and a rate can be measured for it.
"""

from __future__ import annotations

import tomllib
from bisect import bisect
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from weakspot.core.errors import WeakspotError, check_known
from weakspot.world.scene import ATTRIBUTES, CHILD_OF, DEFAULTS, SUBJECTS, Scene, SceneSet

Weights = Mapping[str, float]

#: Children and the attribute each depends on.
PARENT_OF: Final[Mapping[str, str]] = {child: parent for parent, child in CHILD_OF.items()}

TABLES: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("nature.toml").read_text("utf-8"))


class Option(NamedTuple):
    """A value of one attribute, or a parent's value with its child's, and its weight."""

    values: tuple[str, ...]
    weight: float


def _table(subject: str, attribute: str) -> Weights:
    """Normalised probabilities of an attribute without a parent."""
    if attribute == "subject":
        return {s: float(s == subject) for s in SUBJECTS}
    named = TABLES["habits"][subject].get(attribute) or TABLES["usual"][attribute]
    values = ATTRIBUTES[attribute]
    rare = TABLES["floor"].get(attribute, 0.0) / 100
    scale = (1 - rare * (len(values) - len(named))) / sum(named.values())
    return {v: named[v] * scale if v in named else rare for v in values}


def _child(subject: str, attribute: str, parent: str) -> Weights:
    """Normalised probabilities of a child attribute given its parent's value, without impossible values."""
    if attribute == "on_color":
        named = TABLES["support_color"].get(parent, {"none": 1})
    elif parent == "nothing":
        named = {"none": 1}
    else:
        named = TABLES["companion_at"]["beyond" if subject == "fence" or parent == "tree" else "beside"]
    total = sum(named.values())
    return {v: named[v] / total for v in ATTRIBUTES[attribute] if v in named}


#: The independent factors: single attributes, and each parent together with its child.
FACTORS: Final[tuple[tuple[str, ...], ...]] = (
    *((name,) for name in DEFAULTS if name not in PARENT_OF and name not in PARENT_OF.values()),
    *((parent, child) for child, parent in PARENT_OF.items()),
)
#: The attributes in the order in which a plan draws them.
DRAWN: Final = ("subject", *(name for factor in FACTORS for name in factor))


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
    check_known(subject, SUBJECTS, f"no subject {subject!r}")
    if subject not in scenes["subject"]:
        return 0.0
    named = {name for name, _ in scenes.allowed}
    result = 1.0
    for factor in FACTORS:
        if not named.isdisjoint(factor):
            result *= sum(option.weight for option in _natural(scenes, subject, factor))
    return result


class Draw(NamedTuple):
    """One categorical, ready to be drawn from: what may come, and cumulative weights."""

    values: list[tuple[str, ...]]
    upto: list[float]


def _draw(options: list[Option]) -> Draw:
    return Draw([o.values for o in options], list(accumulate(o.weight for o in options)))


class _Plan(NamedTuple):
    """How to draw from one `SceneSet`: the subject, then every factor given the subject."""

    subject: Draw
    factors: dict[str, tuple[Draw, ...]]

    def scene(self, rng: Random) -> Scene:
        """One scene; the inner loop of every study on the drawn world, hence free of calls."""
        random, (values, upto) = rng.random, self.subject
        drawn = list(values[bisect(upto, random() * upto[-1], 0, len(upto) - 1)])
        for values, upto in self.factors[drawn[0]]:
            drawn += values[bisect(upto, random() * upto[-1], 0, len(upto) - 1)]
        return Scene(**dict(zip(DRAWN, drawn, strict=True)))


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
        {o.values[0]: tuple(_draw(options(scenes, o.values[0], f)) for f in FACTORS) for o in possible},
    )


@lru_cache(maxsize=1024)
def natural_plan(scenes: SceneSet) -> _Plan:
    return _plan(scenes, probability, _natural)


@lru_cache(maxsize=1024)
def even_plan(scenes: SceneSet) -> _Plan:
    return _plan(scenes, lambda *_: 1.0, _even)


def sample(scenes: SceneSet, rng: Random) -> Scene:
    """A scene of the set, as often as nature shows it there (exact, no rejection)."""
    return natural_plan(scenes).scene(rng)


def sample_uniform(scenes: SceneSet, rng: Random) -> Scene:
    """A scene of the set with every attribute uniform over what is left of it: no habits, no shortcuts.

    A child is uniform given its parent, and a parent uniform over the values that some allowed child
    can go with.
    """
    return even_plan(scenes).scene(rng)
