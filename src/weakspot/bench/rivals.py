"""Other ways to find a classifier's weak spots, for comparison: each with the same images to spend as a hunt.

- `single_sentences`: the hunt's baseline, race and confirmation, but every caption is one sentence.
- `mixture_slices`: after Domino (Eyuboglu et al., 2022). A mixture over features and predictions jointly, so
  that a slice is alike in what is seen and in how it is misread; slices with many errors are reported, each
  called by the text nearest to what sets it apart.
- `keywords`: after Bias-to-Text (Kim et al., 2024). What the captions of wrong pictures say more often than
  those of right ones.

The last two were published for a fixed labelled set, so they spend all their images on the label's natural
pictures; they report their best few without a test, as published. Where they would use an encoder they are
given what it can only approximate: the sentences that are true of each picture.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import combinations, compress
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import said_more_often
from weakspot.core import Classifier, Hypothesis, Source, Stage
from weakspot.engine import (
    Budget,
    BudgetSpent,
    ConfirmSettings,
    Engine,
    Lane,
    RaceSettings,
    State,
    confirm,
    race,
    stop,
)
from weakspot.judges import LabelJudge
from weakspot.stats import exceeds
from weakspot.store import Run, RunConfig
from weakspot.text.sentences import rank, sentences, without_adjectives

#: So many slices or keywords are reported.
REPORTED: Final = 5
#: Components of the mixture, weight of the predictions in it, dimensions kept and rounds, as Domino has them.
SLICES: Final = 25
WEIGHT: Final = 10.0
DIMENSIONS: Final = 64
ROUNDS: Final = 40
#: A slice that fails less than so many times as often as all pictures is not reported.
WORSE: Final = 2.0
#: Winners of the race that are confirmed.
PLACES: Final = 8

Floats = NDArray[np.float64]


class Reported(NamedTuple):
    """What a method says: texts (the base sentence and what it adds), best first; and images it spent."""

    texts: list[str]
    images: int


def said_of_failures(
    base: Hypothesis, failing: Sequence[str], passing: Sequence[str], *, most: int = 24, least: float = 1.5
) -> list[Hypothesis]:
    """One hypothesis per sentence that captions of failures have more often: the baseline and that sentence.

    A sentence and the same sentence without its adjectives are both candidates, so that "it is on a yellow
    flower" does not hide "it is on a flower". `least` is the least ratio of the shares, among captions of
    failures over among those of what was right.
    """

    def said(caption: str) -> frozenset[str]:
        found = set(sentences(caption.removeprefix(base.text)))
        return frozenset(found | {without_adjectives(sentence) for sentence in found})

    ranked = rank(map(said, failing), map(said, passing))[:most]
    texts = [sentence.text for sentence in ranked if sentence.lift >= least]
    return [Hypothesis(f"{base.text} {text}", origin="caption", parent=base.id) for text in texts]


def single_sentences(
    target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int, fdr: float = 0.05
) -> Reported:
    """Race every telling sentence alone against the baseline; confirm on fresh images."""
    with tempfile.TemporaryDirectory(prefix="weakspot-") as folder:
        config = RunConfig(study="hunt", subject="rival", settings={})
        with (
            Run.create(config, folder=Path(folder) / "run") as run,
            Engine(
                run,
                source=source,
                target=target,
                judge=LabelJudge(),
                seed=seed,
                budget=Budget((("images", float(budget)),)),
            ) as engine,
        ):
            texts: list[str] = []
            try:
                engine.test(base, until=stop.failures(200) | stop.spent(0.3))
                engine.test(base, until=stop.failures(5) | stop.spent(0.7))
                explored = partial(run.ledger.trials, base, stage=Stage.EXPLORE)
                captions = said_of_failures(
                    base, *([t.caption for t in explored(failed=failed)] for failed in (True, False))
                )
                gone = engine.spending.share()
                settings = RaceSettings(lift=2.0, first=32, places=PLACES, share=gone + (1 - gone) / 2)
                ahead = _worst_first(race(engine, captions, against=base, settings=settings), State.AHEAD)
                winners = [lane.hypothesis for lane in _general(ahead, base)[:PLACES]]
                lanes, _ = confirm(engine, winners, against=base, settings=ConfirmSettings(fdr=fdr))
                texts = [lane.hypothesis.text for lane in _worst_first(lanes, State.CONFIRMED)]
            except BudgetSpent:
                pass  # without a confirmation there is nothing to report
            return Reported(texts, int(engine.spending.amounts["images"]))


def _worst_first(lanes: Sequence[Lane], state: State) -> list[Lane]:
    return sorted((lane for lane in lanes if lane.state is state), key=lambda lane: -lane.tally.rate)


def _general(lanes: Sequence[Lane], base: Hypothesis) -> list[Lane]:
    """Without those that say the same as a more general one with adjectives, and fail no more than it."""
    tallies = {lane.hypothesis.beyond(base): lane.tally for lane in lanes}
    kept = []
    for lane in lanes:
        words = lane.hypothesis.beyond(base)
        wider = tallies.get(without_adjectives(words), lane.tally)
        if wider is lane.tally or exceeds(lane.tally.failures, lane.tally.n, wider.failures, wider.n):
            kept.append(lane)
    return kept


class Seen(NamedTuple):
    """The label's natural pictures: what is said of each, and what was answered."""

    said: list[frozenset[str]]
    answers: list[str]
    wrong: NDArray[np.bool_]


def look(target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int) -> Seen:
    said: list[frozenset[str]] = []
    answers: list[str] = []
    wrong: list[bool] = []
    for start in range(0, budget, 256):
        cases = source.draw(base, range(start, min(start + 256, budget)), seed=seed)
        for case, output in zip(cases, target.answer(cases), strict=True):
            if output.answer is None:
                continue
            own = sentences(case.caption.removeprefix(base.text))
            said.append(frozenset([*own, *map(without_adjectives, own)]))
            answers.append(output.answer)
            wrong.append(output.answer != case.expected)
    return Seen(said, answers, np.array(wrong, np.bool_))


def keywords(target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int) -> Reported:
    """The sentences whose share among wrong pictures exceeds that among right ones by most."""
    seen = look(target, base=base, source=source, budget=budget, seed=seed)
    failing, passing = (list(compress(seen.said, some)) for some in (seen.wrong, ~seen.wrong))
    best = said_more_often(failing, passing, least=2)[:REPORTED]
    return Reported([f"{base.text} {s}" for s in best], budget)


def mixture_slices(
    target: Classifier, *, base: Hypothesis, source: Source, budget: int, seed: int
) -> Reported:
    """Slices that are alike in what is seen and in how it is misread; those with many errors, in words."""
    from threadpoolctl import threadpool_limits

    seen = look(target, base=base, source=source, budget=budget, seed=seed)
    if not seen.wrong.any():
        return Reported([], budget)
    names = sorted({s for said in seen.said for s in said})
    column = {s: i for i, s in enumerate(names)}
    features = np.zeros((len(seen.said), len(names)))
    for row, said in enumerate(seen.said):
        features[row, [column[s] for s in said]] = 1.0
    labels = sorted(set(seen.answers))
    predictions = np.eye(len(labels))[[labels.index(a) for a in seen.answers]]
    with threadpool_limits(1, user_api="blas"):
        member = fit(_reduced(features), predictions, seed=seed)
    weight = member.sum(0) + 1e-9
    errors = member.T @ seen.wrong / weight
    centres = member.T @ features / weight[:, None] - features.mean(0)
    candidates = sorted(
        {pair for said, w in zip(seen.said, seen.wrong, strict=True) if w for pair in _texts(said)}
    )
    index = [[column[s] for s in text] for text in candidates]
    texts: list[str] = []
    for j in np.argsort(-errors, kind="stable"):
        if errors[j] < WORSE * seen.wrong.mean() or len(texts) == REPORTED or not candidates:
            break
        near = [centres[j, columns].sum() / len(columns) ** 0.5 for columns in index]
        text = " ".join([base.text, *candidates[int(np.argmax(near))]])
        if text not in texts:
            texts.append(text)
    return Reported(texts, budget)


def _texts(said: frozenset[str]) -> list[tuple[str, ...]]:
    alone: list[tuple[str, ...]] = [(s,) for s in said]
    pairs = [
        (a, b) for a, b in combinations(sorted(said), 2) if without_adjectives(a) != without_adjectives(b)
    ]
    return alone + pairs


def _reduced(features: Floats) -> Floats:
    centred = features - features.mean(0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ vectors[:, ::-1][:, :DIMENSIONS])


def fit(features: Floats, predictions: Floats, *, seed: int, slices: int = SLICES) -> Floats:
    """Expectation and maximisation of the error-aware mixture; the memberships, one row per picture.

    P(slice) N(features | mean, diagonal variance) P(prediction | slice) ^ WEIGHT, all of one true label. As
    in Domino it begins with one group of slices per answer, so that slices of mistakes exist from the start.
    """
    rng = np.random.default_rng(seed)
    n = len(features)
    share = predictions.mean(0)
    usual = int(np.argmax(share))
    # Half of the slices to the usual answer, the others spread over the wrong ones by how common they are.
    others = np.delete(share, usual)
    owner = [usual] * (slices - slices // 2)
    if others.sum() > 0:
        wrong = np.delete(np.arange(len(share)), usual)
        owner += [int(wrong[i]) for i in rng.choice(len(wrong), slices // 2, p=others / others.sum())]
    start = predictions[:, owner] * rng.uniform(0.5, 1.5, (n, len(owner))) + 1e-3
    member = start / start.sum(1, keepdims=True)
    floor = 1e-2 * float(features.var(0).mean()) + 1e-9
    for _ in range(ROUNDS):
        weight = member.sum(0) + 1e-9
        means = member.T @ features / weight[:, None]
        variances = np.maximum(member.T @ features**2 / weight[:, None] - means**2, 0) + floor
        said = (member.T @ predictions + 1e-3) / (weight[:, None] + 1e-3 * predictions.shape[1])
        log = np.log(weight / n) + WEIGHT * predictions @ np.log(said).T
        log -= 0.5 * (
            features**2 @ (1 / variances).T
            - 2 * features @ (means / variances).T
            + (means**2 / variances).sum(1)
            + np.log(variances).sum(1)
        )
        log -= log.max(1, keepdims=True)
        member = np.exp(log)
        member /= member.sum(1, keepdims=True)
    return np.asarray(member)
