"""The benchmark of hunting: worlds whose every weak spot is known, our hunt and its rivals side by side.

A planted failure is *found* when a reported text fails more often than the baseline, is about it (its scenes
are commoner there than in nature) and owes most of its failures to it. It is *named exactly* when the first
such text, in the order in which a person reads them, says its attributes, no more and no fewer. A reported
text is a *false discovery* when its true rate is not above the baseline's. All three follow from the world.

The weak spots of trained networks, the world's own classifiers, come from data: sentences that captions say,
that fail at least five times as often as the label and make one natural picture in a thousand fail, by the
table `world.classifier.truth`. What a method reports beyond these may be as true, so it is measured.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from weakspot import hunt
from weakspot.bench import llms, rivals
from weakspot.bench.rivals import Reported
from weakspot.core import Case, Classifier, Hypothesis, Output, Source, WeakspotError
from weakspot.stats import exceeds
from weakspot.world import classifier
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import probability
from weakspot.world.planted import LEAST, NOTABLE, PlantedClassifier, Truth, WordsOnly, World, plant
from weakspot.world.render import render
from weakspot.world.renderer import Renderer
from weakspot.world.scene import DEFAULTS, SUBJECTS, SceneSet

#: Of the pictures of trained networks, in pixels, as `world:renderer` draws them and the tables were made.
SIZE: Final = 64
#: Fresh pictures by which a reported text is judged, at most; so many at a time, until it is clear with this
#: error whether it fails more often than the label.
FRESH, AT_ONCE, CLEAR = 1000, 256, 1e-4
#: A sentence with fewer failures in the table is no known weak spot.
FAILURES: Final = 8


#: A way to find weak spots of a classifier on one label: the texts it reports, best first, and the images it
#: spent, at most `budget`.
Method = Callable[..., Reported]


def ours(
    target: Classifier,
    *,
    base: Hypothesis,
    source: Source,
    budget: int,
    seed: int,
    llm: str | None = None,
    propose: str = "both",
) -> Reported:
    """`hunt`, as a user calls it; with a language model where one is named."""
    asked: dict[str, Any] = {} if llm is None else {"llm": llms.model(llm), "propose": propose}
    label = next(label for label in target.labels if base_sentence(label) == base.text)
    with tempfile.TemporaryDirectory(prefix="weakspot-") as folder:
        images, out = f"images={budget}", Path(folder) / "run"
        with hunt(target, label=label, source=source, budget=images, seed=seed, out=out, **asked) as run:
            # One text may be confirmed several times, for several wrong answers.
            texts = dict.fromkeys(f.hypothesis.text for f in run.findings if f.confirmed)
            return Reported([*texts], int(run.ledger.spend()["images"]))


METHODS: Final[Mapping[str, Method]] = {
    "ours": ours,
    "single": rivals.single_sentences,
    "domino": rivals.mixture_slices,
    "keywords": rivals.keywords,
}
#: In which a language model proposes.
ASKING: Final[Mapping[str, Method]] = {name: partial(ours, propose=name) for name in llms.PROPOSING}
ABOUT: Final[Mapping[str, str]] = {
    "ours": "hunt",
    "single": "hunt, single sentences only",
    "domino": "mixture slices (after Domino)",
    "keywords": "keywords of wrong captions",
    "llm": "a language model proposes",
    "both": "the same beside the rules",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
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


def _truth(world: World, text: str) -> Truth | None:
    """What is true of a text's scenes; None of one that cannot be read, which is a false discovery too."""
    try:
        return world.truth(text)
    except WeakspotError:
        return None


def score(world: World, method: str, reported: Reported, *, seconds: float = 0.0) -> Score:
    base = base_sentence(world.label)
    nature = world.truth(base).common
    judged = [(text, _truth(world, text)) for text in reported.texts]
    true = [(text, truth) for text, truth in judged if truth and truth.rate > world.baseline * (1 + 1e-9)]
    found = exact = named = 0
    for i, failure in enumerate(world.failures):
        if failure not in world.notable:
            continue
        about = [text for text, at in true if at.shares[i] > 0.5 and at.common[i] > nature[i]]
        found += bool(about)
        exact += bool(about) and world.same(about[0], failure)
        named += any(world.same(text, failure) for text in about)
    return Score(
        method=method,
        notable=len(world.notable),
        found=found,
        exact=exact,
        named=named,
        reported=len(judged),
        false=len(judged) - len(true),
        images=reported.images,
        seconds=seconds,
        texts=tuple(
            (text.removeprefix(base).strip(), truth.rate if truth else None) for text, truth in judged
        ),
    )


def _asked(
    methods: Sequence[str],
    target: Classifier,
    *,
    label: str,
    source: Source,
    budget: int,
    seed: int,
    llm: str | None,
) -> Iterator[tuple[str, Reported, float]]:
    """What each method reports, and the seconds of processor time it took; each makes its own draws."""
    base = Hypothesis(base_sentence(label), origin="baseline")
    for method in methods:
        began = time.process_time()
        ask = METHODS[method] if method in METHODS else partial(ASKING[method], llm=llm)
        reported = ask(target, base=base, source=source, budget=budget, seed=seed)
        yield method, reported, time.process_time() - began


def measure_planted(
    seed: int, *, methods: Sequence[str], budget: int, pictures: bool = False, llm: str | None = None
) -> list[Score]:
    world = plant(seed)
    source: Source = Renderer() if pictures else WordsOnly()
    target = PlantedClassifier(world)
    rows = _asked(methods, target, label=world.label, source=source, budget=budget, seed=seed, llm=llm)
    return [score(world, method, reported, seconds=seconds) for method, reported, seconds in rows]


# -- trained networks ------------------------------------------------------------------------------


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


def trained_classifiers(n: int, *, seed: int) -> list[TrainedClassifier]:
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


def measure_trained(
    world: TrainedClassifier,
    *,
    methods: Sequence[str],
    budget: int,
    seed: int,
    fresh: int = FRESH,
    llm: str | None = None,
) -> list[Score]:
    target, source = Drawing(classifier.load(world.model)), WordsOnly()
    base = base_sentence(world.label)
    usual = classifier.true_rate(world.label, model=world.model)
    known = spots(world)
    scores = []
    rows = _asked(methods, target, label=world.label, source=source, budget=budget, seed=seed, llm=llm)
    for method, reported, seconds in rows:
        rates = [true_rate(target, text, usual, fresh=fresh, seed=seed) for text in reported.texts]
        both = zip(reported.texts, rates, strict=True)
        true = [text for text, rate in both if rate is not None and rate > usual.rate]
        about = [(spot, [t for t in true if _part_of(spot, t, world.label) > 0.5]) for spot in known]
        # A network may be worse still on a part of a weak spot, so the first text about it need not say it.
        named = sum(any(_same(spot, text, world.label) for text in texts) for spot, texts in about)
        said = [text.removeprefix(base).strip() for text in reported.texts]
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


def true_rate(
    target: Classifier, text: str, usual: classifier.TrueRate, *, fresh: int, seed: int
) -> float | None:
    """Failures per picture on fresh pictures that no method has seen; None if the text cannot be drawn."""
    words, n, failures = Hypothesis(text), 0, 0
    while n < fresh:
        some = range(n, min(n + AT_ONCE, fresh))
        try:
            # Another seed than any method's, hence other pictures.
            cases = WordsOnly().draw(words, some, seed=~seed)
        except WeakspotError:
            return None
        outputs = target.answer(cases)
        failures += sum(o.answer != c.expected for c, o in zip(cases, outputs, strict=True))
        n = some.stop
        if exceeds(failures, n, usual.failures, usual.n, alpha=CLEAR):
            break
    return failures / n


def _part_of(spot: Spot, text: str, label: str) -> float:
    asked = parse(text)
    try:
        return probability(asked & spot.where, label) / probability(asked, label)
    except WeakspotError:
        return 0.0


def _same(spot: Spot, text: str, label: str) -> bool:
    whole = probability(spot.where & SceneSet.of({"subject": [label]}), label)
    return _part_of(spot, text, label) > 1 - 1e-9 and probability(parse(text), label) > (1 - 1e-9) * whole
