"""Worlds with planted failures: classifiers whose every weak spot is known, in words and by its rate.

They read the scene instead of looking at the picture. On each planted failure, one or two attributes
together ("it is on a plate. it is dusk."), they give one wrong answer at a known rate; elsewhere they err at
a low rate with any wrong answer. Because nature's attributes are independent given the subject, the true
failure rate of any text follows by arithmetic, without sampling.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import combinations, product
from operator import and_
from random import Random
from typing import Any, Final, NamedTuple

from weakspot.core import Case, Hypothesis, Output, WeakspotError, case_seed
from weakspot.world.grammar import base_sentence, complete, describe, parse, phrase
from weakspot.world.nature import PARENT_OF, probability
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, DEFAULTS, PARENTS, SUBJECTS, Scene, SceneSet

#: Rates of planted failures, sampled evenly on the logarithm.
RATES: Final = (0.05, 0.9)
#: Failures per natural picture of the whole world, planted ones and others: what a hunt's baseline measures.
BASELINES: Final = (0.001, 0.02)
#: Failures per natural picture that each planted failure makes at least: one that makes fewer is met so
#: rarely that nobody would miss it, and no search by sampling could find it.
LEAST: Final = 0.001
#: A planted failure counts for recall if its rate is at least so many times the baseline's.
NOTABLE: Final = 5.0
MOST: Final = 3
#: Of the scenes with one of two planted attributes, at most this share has the other too; with more, the one
#: alone would say nearly the same, and no description could be told to be the right one.
TELLING: Final = 0.5


@dataclass(frozen=True, slots=True)
class Planted:
    where: SceneSet  # the scenes on which the classifier errs: one or two attributes, each with one value
    rate: float  # how often it errs there
    answer: str  # the wrong label it then says

    @property
    def words(self) -> str:
        """What it is called, in the sentences of a hunt."""
        beyond = {name: values for name, values in self.where.allowed if name != "subject"}
        return phrase(SceneSet.of(beyond)).removeprefix("a realistic photograph.").strip()


class Truth(NamedTuple):
    """What is true of the scenes of a text.

    Of its failures each planted one makes one of `shares`, in the world's order; the rest are errors that
    happen anywhere. `common` is how much of the text's scenes each planted failure covers.
    """

    rate: float  # failures per picture
    shares: tuple[float, ...]
    common: tuple[float, ...]


@dataclass(frozen=True)
class World:
    """A label, how often the classifier errs anywhere, and its planted failures.

    Where several hold in one scene, the one with the highest rate does.
    """

    seed: int  # what it errs on follows from this and the case's seed
    label: str  # the subject whose failures are planted
    error: float  # failures per picture outside the planted failures, and on other subjects
    failures: tuple[Planted, ...]

    @property
    def _own(self) -> SceneSet:
        return SceneSet.of({"subject": [self.label]})

    @cached_property
    def baseline(self) -> float:
        """The true failure rate on the label's natural scenes, which a hunt's baseline estimates."""
        return self.truth(base_sentence(self.label)).rate

    @property
    def notable(self) -> tuple[Planted, ...]:
        """The planted failures that should be found: their rate is `NOTABLE` times the baseline's or more."""
        return tuple(f for f in self.failures if f.rate >= NOTABLE * self.baseline)

    def culprit(self, scene: Scene) -> Planted | None:
        """The planted failure that holds in a scene, the worst of several."""
        if scene.subject != self.label:
            return None
        held = [f for f in self.failures if f.where.matches(scene)]
        return max(held, key=lambda f: f.rate, default=None)

    def truth(self, text: str) -> Truth:
        """What is true of a text's natural scenes of the label; exact. An error where there are none."""
        asked = parse(text)
        total = _within(asked, [self._own], self.label)
        if not total:
            raise WeakspotError(
                f"no {self.label} can be as {text[:80]!r} says", fix="describe something that is possible"
            )
        asked &= self._own
        order = sorted(range(len(self.failures)), key=lambda i: -self.failures[i].rate)
        made = [0.0] * len(order)
        common = [_within(asked, [f.where], self.label) / total for f in self.failures]
        # A failure acts on its scenes but for those of worse ones: inclusion and exclusion over these.
        for place, i in enumerate(order):
            worse = [self.failures[j].where for j in order[:place]]
            alone = sum(
                (-1) ** k * _within(asked, [self.failures[i].where, *some], self.label)
                for k in range(place + 1)
                for some in combinations(worse, k)
            )
            made[i] = alone / total
        rates = [m * f.rate for m, f in zip(made, self.failures, strict=True)]
        rate = sum(rates) + (1 - sum(made)) * self.error
        return Truth(rate, tuple(r / rate for r in rates), tuple(common))

    def same(self, text: str, failure: Planted) -> bool:
        """Whether a text says exactly a planted failure: the same scenes, no more and no fewer."""
        own, said = self._own, parse(text)
        sides = probability(own & failure.where, self.label), _within(said, [own], self.label)
        both = _within(said, [own, failure.where], self.label)
        return all(math.isclose(side, both, rel_tol=1e-9) for side in sides)

    def to_json(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "label": self.label,
            "baseline": self.baseline,
            "error": self.error,
            "planted": [
                {"words": f.words, "rate": f.rate, "answer": f.answer, "notable": f in self.notable}
                for f in self.failures
            ],
        }


def _within(scenes: SceneSet, others: Sequence[SceneSet], subject: str) -> float:
    """The natural probability of all sets together."""
    try:
        return probability(reduce(and_, others, scenes), subject)
    except WeakspotError:  # they contradict each other
        return 0.0


# -- the classifier and its source ----------------------------------------------------------------------


class PlantedClassifier:
    """A classifier that errs as its world says; it reads the scene and never looks at a picture.

    A case is right or wrong by (world seed, case seed) alone. Its scene is the input itself (`WordsOnly`), or
    is read from the caption, which for `world:renderer` says all of it.
    """

    labels: tuple[str, ...] = SUBJECTS
    parents: Mapping[str, str] = PARENTS

    def __init__(self, world: World) -> None:
        self.world = world
        self.digest = hashlib.sha256(repr(world).encode()).hexdigest()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(self._answer(case)) for case in cases]

    def _answer(self, case: Case) -> str:
        scene = case.input if isinstance(case.input, Scene) else _read(case.caption)
        failure = self.world.culprit(scene)
        luck = hashlib.blake2b(f"{self.world.seed}:{case.seed}".encode(), digest_size=12).digest()
        if int.from_bytes(luck[:8], "big") >= (failure.rate if failure else self.world.error) * 2**64:
            return scene.subject
        if failure:
            return failure.answer
        others = [s for s in SUBJECTS if s != scene.subject]
        return others[int.from_bytes(luck[8:], "big") % len(others)]


@lru_cache(maxsize=65536)
def _read(caption: str) -> Scene:
    return complete(parse(caption))


class WordsOnly:
    """Draws the scenes and captions of `world:renderer`, but no pictures: the input of a case is its scene.

    For targets that read scenes, and ten times as fast.
    """

    def __init__(self) -> None:
        self._renderer = Renderer()

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        cases = []
        for index in indices:
            own_seed = case_seed(seed, hypothesis, index)
            scene = self._renderer.scene(hypothesis, own_seed)
            cases.append(Case(hypothesis, index, own_seed, scene, scene.subject, describe(scene)))
        return cases


# -- planting -------------------------------------------------------------------------------------------


def plant(seed: int) -> World:
    """A world of this seed.

    The label is any subject, the planted failures are one to three, each of one attribute or of two (as
    likely), no attribute twice in a world, each with another wrong answer. The rate is even on the logarithm
    over `RATES`; then the attributes and then their values are drawn evenly from those for which the planted
    failure makes at least `LEAST` failures per natural picture and the world's baseline stays within
    `BASELINES`. Values are such as captions say: not the plain ones ("it is day."), which captions leave out;
    and of two attributes neither goes nearly always with the other (`TELLING`). So each planted failure is a
    text that the grammar says and reads, and occurs in nature: at a rate of 0.9 in one of 900 pictures or
    more, at 0.05 in one of 50.
    """
    rng = Random(f"planted {seed}")  # noqa: S311
    label = rng.choice(SUBJECTS)
    count = rng.randint(1, MOST)
    low, high = BASELINES
    # The baseline never goes beyond its bounds: what is planted takes `LEAST` or more, the rest the others.
    error = _even_on_the_log(rng, low, high - count * LEAST)
    room = high - error
    failures: list[Planted] = []
    while len(failures) < count:
        rate, size = _even_on_the_log(rng, *RATES), rng.randint(1, 2)
        taken = {name for f in failures for name, _ in f.where.allowed}
        most = room - (count - len(failures) - 1) * LEAST
        choices = [
            (names, fitting)
            for names, sets in _conjunctions(label, size)
            if taken.isdisjoint(names)
            and (fitting := [scenes for scenes, p in sets if LEAST <= p * (rate - error) <= most])
        ]
        if not choices:
            continue
        where = rng.choice(rng.choice(choices)[1])
        room -= probability(where, label) * (rate - error)
        wrong = [s for s in SUBJECTS if s != label and s not in {f.answer for f in failures}]
        failures.append(Planted(where, rate, rng.choice(wrong)))
    return World(seed, label, error, tuple(failures))


def _even_on_the_log(rng: Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


Sets = tuple[tuple[SceneSet, float], ...]


@lru_cache(maxsize=64)
def _conjunctions(subject: str, size: int) -> tuple[tuple[tuple[str, ...], Sets], ...]:
    """All conjunctions of so many attributes, by their attributes, with their natural probabilities."""
    found = []
    for names in combinations(DEFAULTS, size):
        if any(PARENT_OF[name] not in names for name in names if name in PARENT_OF):
            continue  # the colour of a support says nothing without the support
        sets = []
        for row in _values(names):
            scenes = SceneSet.of(dict(zip(names, row, strict=True)))
            p = probability(scenes, subject)
            parts = [SceneSet.of({n: v}) for n, v in scenes.allowed if n not in PARENT_OF]
            if size == 1 or all(p <= TELLING * probability(part, subject) for part in parts):
                sets.append((scenes, p))
        found.append((names, tuple(sets)))
    return tuple(found)


def _values(names: tuple[str, ...]) -> Iterator[tuple[tuple[str], ...]]:
    said = [[v for v in ATTRIBUTES[n] if v not in (DEFAULTS[n], "none")] for n in names]
    for values in product(*said):
        if "on_color" not in names or "on" not in names or values[0] in COLORED_SUPPORTS:
            yield tuple((value,) for value in values)
