"""hunt in a collection: photographs that are there, and of which each is asked about once.

A folder is finite, so nothing is drawn for a hypothesis. The classifier is asked about each photograph once,
as a case of the baseline, or about a random part of them where the budget is smaller. What can be said of
photographs follows from their captions; where there are none, a captioner describes them, or an encoder sees
words of a list in them. Half of the photographs suggest the few statements that explain their failures, the
other half tests them, and the other way round (`concepts.finite`); the list of both controls the
false-discovery rate. A rate is that of all photographs in the folder that a statement is true of, estimated
from those that did not suggest it, so its interval is that of a finite population.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import ceil, log
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.columns import Concept, Concepts
from weakspot.concepts.finite.bound import highest
from weakspot.concepts.finite.counts import PICKED
from weakspot.concepts.finite.graded import Choice, suggest
from weakspot.concepts.finite.nested import Explained, explained
from weakspot.concepts.finite.propose import Statement, members
from weakspot.concepts.finite.spots import Spot, held, joined, weak_spots
from weakspot.concepts.same import forms_of, meanings_of
from weakspot.concepts.seen import Seen
from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Trial, Usage, WeakspotError
from weakspot.core.ports import Collected, Skipping
from weakspot.engine import Engine
from weakspot.engine.engine import Want
from weakspot.stats import finite_population, wilson
from weakspot.store.blobs import encode
from weakspot.studies.hunt.impact import listed
from weakspot.studies.hunt.parts import HuntParts
from weakspot.studies.hunt.photographs import (
    PICTURE,
    Described,
    Photographs,
    described,
    in_order,
    in_words,
    ranked_first,
    read_photographs,
    together,
)
from weakspot.studies.hunt.result import CollectionRead, HuntResult, Meant, NotFound, Skipped
from weakspot.studies.hunt.settings import HuntSettings
from weakspot.study import Context
from weakspot.study.labels import base_hypothesis

#: At most so many things are said together.
LONGEST: Final = 3
#: Photographs of all labels that are asked about before it is the first label's turn again.
TURN: Final = 1024
#: Photographs kept of each finding: (failing, passing).
KEPT: Final = (24, 12)
#: Photographs that show what a word stands for: so many that look most like it, and as many at the edge.
STANDING: Final = 4
#: What a group of photographs that look alike must gain beyond a word, for it is said less plainly.
ALIKE: Final = 2.0

Rows = NDArray[np.bool_]
Numbers = NDArray[np.int64]


def in_collection(context: Context[HuntSettings, HuntParts], source: Collected) -> HuntResult:
    """Ask about each photograph once; suggest by one half, confirm by the other."""
    settings, parts, ledger = context.settings, context.parts, context.ledger
    bases = [base_hypothesis(settings.task, parts.words, label) for label in settings.hunted]
    ledger.add_hypotheses(bases)
    photographs = read_photographs(source, bases, settings.hunted, seed=settings.seed)
    left_out = parts.source.skipped if isinstance(parts.source, Skipping) else ()
    skipped = tuple(Skipped(name=name, reason=reason) for name, reason in left_out)
    sizes = tuple(photographs.sizes)
    context.publish(
        HuntResult(skipped=skipped, collection=CollectionRead(photographs=sum(sizes), sizes=sizes))
    )
    with context.engine(source=parts.source, target=parts.target, judge=parts.verdicts) as engine:
        with context.within_budget():
            ask(engine, bases, sizes)
        said = described(context, source, photographs)
        answers = answers_of(engine, bases, photographs)
        found = analysed(settings, said, answers)
        meant = keep_findings(context, engine, found, photographs, said, answers)
    asked = sum(engine.tally(base).drawn for base in bases)
    if asked < len(photographs):
        context.end(f"the budget was enough for {asked:,} of {len(photographs):,} photographs")
    bound = not_found(said, answers, found)
    read = said.read.model_copy(update={"bound": bound, "meant": tuple(meant)})
    return HuntResult(skipped=skipped, collection=read)


def ask(engine: Engine, bases: Sequence[Hypothesis], sizes: Sequence[int]) -> None:
    """Let every photograph be answered, or of each label the same share of them.

    The labels take turns, so that where a budget ends is about the same share of each, and each is in a
    random order.
    """
    affordable = min(engine.spending.room() / max(sum(sizes), 1), 1.0)
    turns = max(ceil(affordable * sum(sizes) / TURN), 1)
    for turn in range(1, turns + 1):
        share = affordable * turn / turns
        wants = [Want(base, int(share * size + 1e-9)) for base, size in zip(bases, sizes, strict=True)]
        engine.draw([want for want in wants if want.n], phase="asked")
    room = engine.spending.room()  # of shares that are no whole numbers something is left
    for base, size in zip(bases, sizes, strict=True):
        missing = min(size - engine.tally(base).drawn, room)
        if missing > 0:
            engine.draw([Want(base, engine.tally(base).drawn + missing)], phase="asked")
            room -= missing


class Answers:
    """The trials of photographs by row; without those that have no verdict.

    Attributes:
        rows: The numbers of the photographs that were judged.
        failed: Which of these failed.
        half: Which of these are of the first half. Each photograph has its half whatever else was asked.
    """

    def __init__(self, trials: dict[int, Trial]) -> None:
        self.trials = trials
        self.rows = np.array(sorted(trials), np.int64)
        self.failed = np.array([bool(trials[row].failed) for row in self.rows.tolist()], bool)
        self.half = self.rows % 2 == 0  # their order is random already


def answers_of(engine: Engine, bases: Sequence[Hypothesis], photographs: Photographs) -> Answers:
    """What was answered, of all that this engine has seen."""
    found: dict[int, Trial] = {}
    for number, base in enumerate(bases):
        end = engine.tally(base).drawn
        for trial in engine.run.ledger.trials(base, stage=Stage.EXPLORE):
            if trial.index < end and trial.failed is not None and trial.status is not Status.INVALID:
                found[photographs.row(number, trial.index)] = trial
    return Answers(found)


class Found(NamedTuple):
    """The statements that held, and the concepts that they are of."""

    concepts: Concepts
    spots: list[Spot]


def analysed(settings: HuntSettings, said: Described, answers: Answers) -> Found:
    """The statements that held on the half that did not suggest them."""
    if not answers.failed.any() or answers.failed.all():
        return Found(said.concepts, [])
    if said.seen is not None:
        return by_degrees(settings, said.concepts, said.seen, answers)
    concepts = said.concepts
    spots = weak_spots(
        concepts.rows[answers.rows],
        answers.failed,
        answers.half,
        fdr=settings.fdr,
        longest=min(settings.sentences, LONGEST),
        dear=np.array([concept.dear for concept in concepts.concepts]),
        meanings=meanings_of(concepts.concepts),
    )
    return Found(concepts, spots)


def by_degrees(settings: HuntSettings, plain: Concepts, seen: Seen, answers: Answers) -> Found:
    """The same where an encoder ranks the photographs: each half also chooses from where on a word is said.

    A word and its cut stand before the other half is looked at. Two words of an encoder err together, so one
    is said at a time.
    """
    near, rows = seen.graded.near, plain.rows
    every = log(max(len(seen.words) + len(plain.concepts), 2))
    dear = np.array([every + ALIKE + concept.dear for concept in plain.concepts])
    chosen: dict[bool, list[Choice]] = {}
    for side in (True, False):
        here = answers.rows[answers.half == side]
        graded = seen.graded._replace(near=near[here])
        chosen[side] = suggest(graded, rows[here], dear, answers.failed[answers.half == side])
    cuts = list(dict.fromkeys(one for some in chosen.values() for one in some if one.share))
    number = {cut: len(plain.concepts) + i for i, cut in enumerate(cuts)}
    said = Concepts(
        tuple(Concept(PICTURE, "near", seen.words[cut.number], share=cut.share) for cut in cuts),
        csc_matrix(np.column_stack([near[:, cut.number] <= cut.share for cut in cuts]).astype(np.float32))
        if cuts
        else csc_matrix((len(near), 0), dtype=np.float32),
    )
    concepts = together(plain, said)
    suggested = {side: [(number.get(one, one.number),) for one in some] for side, some in chosen.items()}
    part = concepts.rows[answers.rows]
    confirmed = held(part, answers.failed, answers.half, suggested, fdr=settings.fdr)
    dears = np.array([concept.dear for concept in concepts.concepts])
    meanings = meanings_of(concepts.concepts)
    return Found(concepts, joined(part, answers.failed, confirmed, dear=dears, meanings=meanings))


def keep_findings(
    context: Context[HuntSettings, HuntParts],
    engine: Engine,
    found: Found,
    photographs: Photographs,
    said: Described,
    answers: Answers,
) -> list[Meant]:
    """Each spot as a finding, with the photographs that tested it as its trials; what the words stand for."""
    ledger, concepts = context.ledger, found.concepts
    statements = [spot.statement for spot in found.spots]
    places = explained(concepts.rows[answers.rows], answers.failed, statements)
    hypotheses = [photographs.hypothesis(concepts.concepts, one) for one in statements]
    findings, meant = [], []
    for spot, place, (hypothesis, phrase) in zip(found.spots, places, hypotheses, strict=True):
        every = of_statement(concepts, spot.statement)
        inside = every[answers.rows]
        here = answers.half == spot.side
        told = standing_for(concepts, spot, said.seen, answers.rows[inside & here])
        shown = {row for pictures in told.values() for row in pictures}
        trials = copied(engine, photographs, hypothesis, answers, inside & here, shown)
        ledger.add_hypotheses([hypothesis])
        ledger.forget(hypothesis, Stage.CONFIRM)
        ledger.record(trials, {})
        for word, pictures in told.items():
            indices = [Stage.CONFIRM.start + photographs.index(hypothesis, row) for row in pictures]
            trust = said.seen.trust.get(word) if said.seen else None
            meant.append(
                Meant(
                    finding=hypothesis.id,
                    word=word,
                    typical=tuple(indices[:STANDING]),
                    edge=tuple(indices[STANDING:]),
                    trust=trust,
                )
            )
        under = "" if place.under is None else hypotheses[place.under][0].id
        findings.append(
            Finding(
                hypothesis=hypothesis,
                phrase=phrase,
                rate=rate_of(answers, inside & here, int(every.sum()), picked=True),
                baseline=rate_of(answers, ~inside & here, len(every) - int(every.sum())),
                log_evidence=-log(2.0) - 0.5 * log(max(spot.tested.p, 1e-300)),
                confirmed=True,
                confusions=confusions(trials),
                failing=kept(trials, failed=True),
                passing=kept(trials, failed=False),
                under=under,
                impact=impact(place, answers),
                forms=forms(concepts, spot),
            )
        )
    rows = {
        hypothesis.id: of_statement(concepts, one)
        for one, (hypothesis, _) in zip(statements, hypotheses, strict=True)
    }
    ledger.set_findings(with_own(listed(findings, context.settings.order), rows, answers))
    return meant


def standing_for(concepts: Concepts, spot: Spot, seen: Seen | None, rows: Numbers) -> dict[str, list[int]]:
    """For the word of a finding, the photographs that look most like it, then those that do so least."""
    [first, *others] = [concepts.concepts[i] for i in spot.statement]
    if seen is None or others or first.test != "near":
        return {}
    ranked = rows[np.argsort(seen.graded.near[rows, seen.words.index(first.value)], kind="stable")].tolist()
    return {first.value: [*ranked[:STANDING], *ranked[STANDING:][-STANDING:]]}


def with_own(findings: Sequence[Finding], rows: Mapping[str, Rows], answers: Answers) -> list[Finding]:
    """Each with the share of all failures that no finding before it speaks of, in the order of the list."""
    left = answers.failed.copy()
    found = []
    for finding in findings:
        own = rows[finding.hypothesis.id][answers.rows] & left
        found.append(replace(finding, own=int(own.sum()) / int(answers.failed.sum())))
        left &= ~own
    return found


def of_statement(concepts: Concepts, statement: Statement) -> Rows:
    """Which photographs of the collection a statement is true of."""
    found = np.zeros(concepts.rows.shape[0], bool)
    found[members(concepts.rows, [statement]).indices] = True
    return found


def rate_of(answers: Answers, chosen: Rows, population: int, *, picked: bool = False) -> Rate:
    """The rate of those photographs in the collection of which some, chosen at random, were judged.

    Args:
        chosen: Of the photographs with a verdict, those that count.
        population: How many such photographs the collection has.
        picked: They are shown because they fail often, here and now; see `PICKED`.
    """
    n, k = int(chosen.sum()), int(answers.failed[chosen].sum())
    low, high = finite_population(k, n, population)
    low = finite_population(k, n, population, PICKED).low if picked else low
    return Rate(k / n if n else 0.0, low, high, n, k)


def impact(place: Explained, answers: Answers) -> Rate:
    """The share of all failures that are of a statement, with an interval for more failures like these."""
    every = int(answers.failed.sum())
    return Rate(place.failures / every, *wilson(place.failures, every), every, place.failures)


def forms(concepts: Concepts, spot: Spot) -> tuple[str, ...]:
    """Other words for about the same photographs."""
    statements = [[concepts.concepts[i] for i in one] for one in (spot.statement, *spot.forms)]
    said, *others = (
        one[0].value if len(one) == 1 and one[0].test == "near" else in_words(in_order(one))
        for one in statements
    )
    own = forms_of(statements[0])
    return tuple(dict.fromkeys([*own, *(other for other in others if other != said)]))


def copied(
    engine: Engine,
    photographs: Photographs,
    hypothesis: Hypothesis,
    answers: Answers,
    chosen: Rows,
    shown: Collection[int],
) -> list[Trial]:
    """The trials of photographs as those of a finding; some, and those to be shown, with the picture."""
    left = {True: KEPT[0], False: KEPT[1]}
    found = []
    for row in answers.rows[chosen].tolist():
        trial = answers.trials[row]
        blob = None
        if row in shown or left[bool(trial.failed)] > 0:
            left[bool(trial.failed)] -= 1
            blob = trial.blob or photograph(engine, photographs, row)
        index = Stage.CONFIRM.start + photographs.index(hypothesis, row)
        found.append(replace(trial, hypothesis=hypothesis.id, index=index, blob=blob, usage=Usage()))
    return found


def photograph(engine: Engine, photographs: Photographs, row: int) -> str | None:
    """The digest of a photograph that is kept as evidence; None where it cannot be read any more."""
    base, index = photographs.case(row)
    try:
        [case] = engine.source.draw(base, [index], seed=engine.seed)
    except WeakspotError:
        return None
    content = encode(case.input)
    return None if content is None else engine.run.blobs.put(content)


def confusions(trials: Sequence[Trial]) -> tuple[tuple[str, float], ...]:
    """What was said instead, as shares of the failures."""
    said = Counter(trial.answer or "" for trial in trials if trial.failed)
    return tuple((answer, times / said.total()) for answer, times in said.most_common())


def kept(trials: Sequence[Trial], *, failed: bool) -> tuple[int, ...]:
    return tuple(trial.index for trial in trials if bool(trial.failed) is failed and trial.blob)


def not_found(said: Described, answers: Answers, found: Found) -> NotFound | None:
    """How often something may fail at most among photographs that no finding speaks of."""
    concepts = said.concepts
    if said.seen is not None:
        concepts = together(concepts, ranked_first(said.seen, len(said.seen.graded.near)))
    left = np.ones(len(answers.rows), bool)
    for spot in found.spots:
        left &= ~of_statement(found.concepts, spot.statement)[answers.rows]
    if answers.failed.all() or not left.any():
        return None
    bound = highest(concepts.rows[answers.rows][left], answers.failed[left], None, every=len(left))
    if bound is None:
        return None
    return NotFound(concepts=bound.concepts, photographs=bound.rows, rate=bound.rate)
