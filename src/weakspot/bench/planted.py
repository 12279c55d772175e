"""The benchmark of hunting: worlds whose every weak spot is known, our hunt and its rivals side by side.

A planted failure is *found* when a reported text fails more often than the baseline, is about it (its scenes
are commoner there than in nature) and owes most of its failures to it. It is *named exactly* when the first
such text, in the order in which a person reads them, says its attributes, no more and no fewer. A reported
text is a *false discovery* when its true rate is not above the baseline's. All three follow from the world by
arithmetic, not from samples.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from weakspot import hunt
from weakspot.bench import rivals
from weakspot.bench.rivals import Reported
from weakspot.core import Classifier, Hypothesis, Source, WeakspotError
from weakspot.world.grammar import base_sentence
from weakspot.world.planted import PlantedClassifier, Truth, WordsOnly, World, plant
from weakspot.world.renderer import Renderer


class Method(Protocol):
    """A way to find weak spots of a classifier on one label."""

    def __call__(
        self, target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int
    ) -> Reported:
        """The texts it reports, best first, and the images it spent; at most `budget`."""
        ...


def ours(target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int) -> Reported:
    """`hunt`, as a user calls it."""
    label = next(label for label in target.labels if base_sentence(label) == base.text)
    with tempfile.TemporaryDirectory(prefix="weakspot-") as folder:
        images, out = f"images={budget}", Path(folder) / "run"
        with hunt(target, label=label, source=source, budget=images, seed=seed, out=out) as run:
            # One text may be confirmed several times, for several wrong answers.
            texts = dict.fromkeys(f.hypothesis.text for f in run.findings if f.confirmed)
            return Reported([*texts], int(run.ledger.spend()["images"]))


METHODS: Final[Mapping[str, Method]] = {
    "ours": ours,
    "single": rivals.single_sentences,
    "domino": rivals.mixture_slices,
    "keywords": rivals.keywords,
}
ABOUT: Final[Mapping[str, str]] = {
    "ours": "hunt",
    "single": "hunt, single sentences only",
    "domino": "mixture slices (after Domino)",
    "keywords": "keywords of wrong captions",
}


class Judged(NamedTuple):
    """One reported text against the truth; `truth` is None where it cannot be read, which is false too."""

    text: str
    truth: Truth | None
    false: bool
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one method did on one world."""

    method: str
    notable: int  # planted failures that should be found
    found: int  # of those, found
    exact: int  # of those, named exactly by the first text about them
    named: int  # of those, named exactly by any text
    reported: int  # texts that were reported
    false: int  # of those, false discoveries
    images: int  # that the classifier was asked about
    seconds: float  # of processor time
    texts: tuple[tuple[str, float | None], ...] = ()  # what was reported, each with its true rate


def judge(world: World, text: str) -> Judged:
    try:
        truth = world.truth(text)
    except WeakspotError:
        return Judged(text, None, false=True, exact=False)
    false = truth.rate <= world.baseline * (1 + 1e-9)
    return Judged(text, truth, false, any(world.same(text, f) for f in world.failures))


def score(world: World, method: str, reported: Reported, *, seconds: float = 0.0) -> Score:
    base = base_sentence(world.label)
    nature = world.truth(base).common
    judged = [judge(world, text) for text in reported.texts]
    found = exact = named = 0
    for i, failure in enumerate(world.failures):
        if failure not in world.notable:
            continue
        true = [(j, j.truth) for j in judged if j.truth and not j.false]
        about = [j for j, truth in true if truth.shares[i] > 0.5 and truth.common[i] > nature[i]]
        found += bool(about)
        exact += bool(about) and world.same(about[0].text, failure)
        named += any(world.same(j.text, failure) for j in about)
    return Score(
        method=method,
        notable=len(world.notable),
        found=found,
        exact=exact,
        named=named,
        reported=len(judged),
        false=sum(j.false for j in judged),
        images=reported.images,
        seconds=seconds,
        texts=tuple((j.text.removeprefix(base).strip(), j.truth.rate if j.truth else None) for j in judged),
    )


def measure(seed: int, *, methods: Sequence[str], budget: int, pictures: bool = False) -> list[Score]:
    """All methods on the planted world of this seed; each sees its own draws of the same world."""
    world = plant(seed)
    source: Source = Renderer() if pictures else WordsOnly()
    base = Hypothesis(base_sentence(world.label), origin="baseline")
    scores = []
    for method in methods:
        target = PlantedClassifier(world)
        reported, seconds = timed(METHODS[method], target, base=base, source=source, budget=budget, seed=seed)
        scores.append(score(world, method, reported, seconds=seconds))
    return scores


def timed(method: Method, target: Classifier, **asked: Any) -> tuple[Reported, float]:
    """What a method reports, and the seconds of processor time it took."""
    began = time.process_time()
    reported = method(target, **asked)
    return reported, time.process_time() - began
