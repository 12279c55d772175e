"""The benchmark of hunting on trained networks: the world's own classifiers, whose weak spots were measured.

Their weak spots were not planted but come from data, and `world.classifier.truth` knows how often they fail
on each sentence. A sentence is a known weak spot of a label under the conditions of a planted one: captions
say it, it fails at least five times as often as the label does, and makes one natural picture in a thousand
fail. What a method reports beyond these may be as true, so its rate is measured on fresh pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final, NamedTuple

from weakspot.bench.planted import METHODS, Score, timed
from weakspot.core import Case, Classifier, Hypothesis, Output, WeakspotError
from weakspot.world import classifier
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import probability
from weakspot.world.planted import LEAST, NOTABLE, WordsOnly
from weakspot.world.render import render
from weakspot.world.scene import DEFAULTS, SUBJECTS, SceneSet

#: Of the pictures, in pixels, as `world:renderer` draws them and the tables were made.
SIZE: Final = 64
#: Fresh pictures by which a reported text is judged.
FRESH: Final = 1000
#: A sentence with fewer failures in the table is no known weak spot.
FAILURES: Final = 8


class TrainedClassifier(NamedTuple):
    """A trained classifier and a label on which its weak spots are known."""

    model: str
    label: str


class Spot(NamedTuple):
    sentence: str
    where: SceneSet
    rate: float


def spots(world: TrainedClassifier) -> list[Spot]:
    """The known weak spots, worst first; "on a yellow flower" only where "on a flower" is none."""
    rows = [row for row in classifier.truth(world.model) if row.subject == world.label]
    base = next(row for row in rows if not row.sentence)
    found = []
    for row in rows:
        where = parse(row.sentence) if row.sentence else SceneSet()
        said = row.sentence and not any(values == (DEFAULTS[name],) for name, values in where.allowed)
        common = probability(where, world.label) * row.rate >= LEAST
        if said and common and row.failures >= FAILURES and row.rate >= NOTABLE * base.rate:
            found.append(Spot(row.sentence, where, row.rate))
    general = {spot.where.allowed for spot in found}
    special = [spot for spot in found if len(spot.where.allowed) > 1 and spot.where.allowed[:1] in general]
    return sorted((spot for spot in found if spot not in special), key=lambda spot: -spot.rate)


def worlds(n: int, *, seed: int) -> list[TrainedClassifier]:
    """So many trained classifiers and labels with known weak spots, or all there are; in the seed's order."""
    every = [TrainedClassifier(model, label) for model in classifier.NATURAL for label in SUBJECTS]
    known = [world for world in every if spots(world)]
    Random(f"learnt {seed}").shuffle(known)  # noqa: S311
    return known[:n]


class Drawing:
    """A classifier that draws the picture of a scene itself, and only once for all methods.

    It goes with `WordsOnly`, whose inputs are the scenes.
    """

    def __init__(self, inner: Classifier) -> None:
        self.inner, self.labels, self.parents = inner, inner.labels, inner.parents
        self._known: dict[int, Output] = {}

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        new = [case for case in cases if case.seed not in self._known]
        drawn = [replace(case, input=render(case.input, case.seed, SIZE)) for case in new]
        if drawn:
            self._known |= zip((case.seed for case in new), self.inner.answer(drawn), strict=True)
        return [self._known[case.seed] for case in cases]


def measure(
    world: TrainedClassifier, *, methods: Sequence[str], budget: int, seed: int, fresh: int = FRESH
) -> list[Score]:
    target, source = Drawing(classifier.load(world.model)), WordsOnly()
    base = Hypothesis(base_sentence(world.label), origin="baseline")
    usual = classifier.true_rate(world.label, model=world.model).rate
    known = spots(world)
    scores = []
    for method in methods:
        reported, seconds = timed(METHODS[method], target, base=base, source=source, budget=budget, seed=seed)
        rates = [true_rate(target, text, fresh=fresh, seed=seed) for text in reported.texts]
        true = [t for t, rate in zip(reported.texts, rates, strict=True) if rate is not None and rate > usual]
        about = [(spot, [t for t in true if _share(spot, t, world.label) > 0.5]) for spot in known]
        # A network may be worse still on a part of a weak spot, so the first text about it need not say it.
        named = sum(any(_same(spot, text, world.label) for text in texts) for spot, texts in about)
        said = [text.removeprefix(base.text).strip() for text in reported.texts]
        scores.append(
            Score(
                method=method,
                notable=len(known),
                found=sum(bool(texts) for _, texts in about),
                exact=named,
                named=named,
                reported=len(rates),
                false=len(rates) - len(true),
                images=reported.images,
                seconds=seconds,
                texts=tuple(zip(said, rates, strict=True)),
            )
        )
    return scores


def true_rate(target: Classifier, text: str, *, fresh: int, seed: int) -> float | None:
    """Failures per picture on so many pictures that no method has seen; None if the text cannot be drawn."""
    words, failures = Hypothesis(text), 0
    for start in range(0, fresh, 256):
        try:
            # Another seed than any method's, hence other pictures.
            cases = WordsOnly().draw(words, range(start, min(start + 256, fresh)), seed=~seed)
        except WeakspotError:
            return None
        outputs = target.answer(cases)
        failures += sum(o.answer != c.expected for c, o in zip(cases, outputs, strict=True))
    return failures / fresh


def _share(spot: Spot, text: str, label: str) -> float:
    """How much of a text's scenes lie in a weak spot."""
    asked = parse(text)
    try:
        return probability(asked & spot.where, label) / probability(asked, label)
    except WeakspotError:
        return 0.0


def _same(spot: Spot, text: str, label: str) -> bool:
    """Whether a text says exactly a weak spot."""
    whole = probability(spot.where & SceneSet.of({"subject": [label]}), label)
    return _share(spot, text, label) > 1 - 1e-9 and probability(parse(text), label) > (1 - 1e-9) * whole
