"""table: weak spots of an evaluation that has been run already.

Every row has a verdict and things that can be said of it: words of its texts, values of its columns, ranges,
wider nouns, what an encoder sees in its picture, a group of rows with vectors like its own. The rows are cut
in two halves, and rows of one group stay together. Each half suggests the few statements that explain its
failures best; the other half tests them, with the false-discovery rate held over both lists. Of what is
confirmed, statements that mark about the same rows are one weak spot. Of all the rows that none of them
speaks of, a bound says how bad a concept among them may be at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.finite.bound import highest
from weakspot.concepts.finite.confirm import halves
from weakspot.concepts.finite.counts import Counts, Total
from weakspot.concepts.finite.nested import explained
from weakspot.concepts.finite.propose import Statement, members
from weakspot.concepts.finite.spots import Spot, weak_spots
from weakspot.concepts.same import forms_of, meanings_of
from weakspot.core import Finding, Hypothesis, Rate, Stage, Trial
from weakspot.records import Judged
from weakspot.records.suspicion import label_share, suspicion
from weakspot.stats import wilson
from weakspot.store import Ledger
from weakspot.store.blobs import Blobs
from weakspot.studies.table.evidence import Evidence, Measured
from weakspot.studies.table.large import in_pieces
from weakspot.studies.table.parts import InPieces, TableParts
from weakspot.studies.table.pictures import kept
from weakspot.studies.table.result import Bound, ExampleRow, TableResult, WeakSpot
from weakspot.studies.table.settings import TableSettings
from weakspot.studies.table.suggested import asked_about, asks
from weakspot.study import Context
from weakspot.study.language_model import KeptAnswers

#: Failing rows shown of each weak spot, and answers.
EXAMPLES: Final = 6
ANSWERS: Final = 4
#: The ledger holds a trial for each row of a table of at most so many.
TRIALS: Final = 200_000
#: From here a failure is said to be probably the label's.
DOUBTED: Final = 0.5
#: Rows left out that are listed.
LISTED: Final = 50

#: What is said last: what a picture shows, then what a text says.
_ORDER: Final = {"shows": 1, "mentions": 2}

Rows = NDArray[np.bool_]


def table(context: Context[TableSettings, TableParts | InPieces]) -> TableResult:
    """Suggest by some rows, confirm by others; say what is left."""
    settings, given = context.settings, context.parts
    if isinstance(given, InPieces):
        found = in_pieces(context, given.pieces)
    else:
        given = context.parts = given.looked_at(context.run.folder / "pictures", context.watch)
        found = in_halves(settings, given, llm=asks(context))
    parts = found.parts
    judged, concepts = parts.judged, parts.concepts
    # Of a table in pieces the rows in memory are a sample, which no trials are kept of.
    whole = not found.sampled
    base = Hypothesis(f"a row of {settings.target}", origin="baseline")
    doubts = suspicion(judged)
    keep = partial(keep_trials, context.ledger, judged, doubts)
    keep(base, np.flatnonzero(np.full(len(judged), whole)), Stage.EXPLORE)
    spots, findings = [], []
    for spot, evidence in zip(found.spots, found.evidence, strict=True):
        words = phrases(parts, spot.statement)
        hypothesis = Hypothesis(
            f"{base.text}: {' and '.join(words)}",
            tuple((concepts.concepts[i].name, "yes") for i in spot.statement),
            origin="rows",
            parent=base.id,
        )
        keep(hypothesis, np.flatnonzero(evidence.shown & whole), Stage.CONFIRM)
        weak = weak_spot(context.run.blobs, found, spot, evidence, hypothesis, doubts)
        spots.append(weak)
        findings.append(finding_of(weak, hypothesis, found.usual.failures))
    places = explained(concepts.rows, judged.failed, [spot.statement for spot in found.spots])
    context.ledger.set_findings(
        [
            replace(
                finding,
                under="" if place.under is None else findings[place.under].hypothesis.id,
                forms=(*forms_of([concepts.concepts[i] for i in spot.statement]), *finding.forms),
            )
            for finding, place, spot in zip(findings, places, found.spots, strict=True)
        ]
    )
    return TableResult(
        origin=judged.records.origin,
        form=judged.records.form,
        rule=judged.rule,
        rows=found.usual.n,
        failures=found.usual.failures,
        usual=found.usual,
        columns=tuple(taken_for(judged)),
        left_out=found.left_out,
        reasons=tuple((one.line, one.reason) for one in found.first_left_out[:LISTED]),
        notes=tuple(judged.records.notes),
        concepts=len(concepts.concepts),
        llm=found.llm,
        wider=parts.wider,
        label=share_of(judged, doubts, np.ones(len(judged), bool)),
        spots=tuple(spots),
        bound=bound(parts, [of_statement(parts, spot.statement) for spot in found.spots]),
        sampled=found.sampled,
        tested=found.tested,
    )


def in_halves(settings: TableSettings, parts: TableParts, *, llm: KeptAnswers | None = None) -> Measured:
    """Each half of the rows suggests, and the other tests."""
    judged, failed = parts.judged, parts.judged.failed
    doubts = suspicion(judged)
    half = halves(len(judged), settings.seed, parts.groups)
    asked = None
    if llm is not None:
        asked = asked_about(settings, parts, llm, (~half, half))
        parts = asked.parts
    concepts = parts.concepts
    spots = weak_spots(
        concepts.rows,
        failed,
        half,
        fdr=settings.fdr,
        groups=parts.groups,
        longest=settings.sentences,
        dear=np.array([concept.dear for concept in concepts.concepts]),
        doubts=doubts,
        meanings=meanings_of(concepts.concepts),
        suggest=None if asked is None else asked.suggest,
    )
    evidence = []
    for spot in spots:
        inside, tested = of_statement(parts, spot.statement), half if spot.side else ~half
        evidence.append(
            Evidence(
                Total(int(inside.sum()), int((inside & failed).sum())),
                rate_of(parts, inside & tested, picked=True),
                rate_of(parts, tested & ~inside),
                int((failed & tested).sum()),
                inside & tested,
            )
        )
    usual = rate_of(parts, np.ones(len(judged), bool))
    use = None if asked is None else asked.use
    return Measured(parts, spots, evidence, usual, len(judged.left_out), judged.left_out, llm=use)


def weak_spot(
    blobs: Blobs,
    found: Measured,
    spot: Spot,
    evidence: Evidence,
    hypothesis: Hypothesis,
    doubts: NDArray[np.float64],
) -> WeakSpot:
    """A confirmed statement as it is told."""
    parts = found.parts
    judged = parts.judged
    failing = np.flatnonzero(evidence.shown & judged.failed)
    answers = Counter(judged.answer[row] for row in failing.tolist())
    return WeakSpot(
        hypothesis=hypothesis.id,
        says=tuple(phrases(parts, spot.statement)),
        forms=tuple(tuple(phrases(parts, form)) for form in spot.forms),
        rows=evidence.whole.n,
        failures=evidence.whole.k,
        rate=evidence.rate,
        elsewhere=evidence.elsewhere,
        p=spot.tested.p,
        impact=evidence.whole.k / max(found.usual.failures, 1),
        own=max(spot.tested.own, 0.0) / max(evidence.failures, 1),
        both=spot.both,
        label=share_of(judged, doubts, of_statement(parts, spot.statement)),
        answers=tuple(
            (answer, times / len(failing)) for answer, times in answers.most_common(ANSWERS) if answer
        ),
        examples=tuple(example(blobs, judged, int(row)) for row in shown_first(judged, failing, doubts)),
    )


def finding_of(weak: WeakSpot, hypothesis: Hypothesis, failures: int) -> Finding:
    """The same as every study says it, the p-value as an e-value, 1/(2√p); `failures` are of all rows."""
    return Finding(
        hypothesis=hypothesis,
        phrase=" and ".join(weak.says),
        rate=weak.rate,
        baseline=weak.elsewhere,
        log_evidence=-log(2.0) - 0.5 * log(max(weak.p, 1e-300)),
        confirmed=True,
        confusions=weak.answers,
        failing=tuple(Stage.CONFIRM.start + one.row for one in weak.examples),
        impact=Rate(weak.impact, *wilson(weak.failures, failures), failures, weak.failures),
        own=weak.own,
        forms=tuple(" and ".join(form) for form in weak.forms),
    )


def of_statement(parts: TableParts, statement: Statement) -> Rows:
    found = np.zeros(len(parts.judged), bool)
    found[members(parts.concepts.rows, [statement]).indices] = True
    return found


def phrases(parts: TableParts, statement: Statement) -> list[str]:
    """What a statement says, as people read it; columns before words."""
    concepts = [parts.concepts.concepts[i] for i in statement]
    return [concept.phrase for concept in sorted(concepts, key=lambda c: _ORDER.get(c.test, 0))]


def rate_of(parts: TableParts, rows: Rows, *, picked: bool = False) -> Rate:
    """The failure rate of some rows, with its interval; `picked` as in `Counts.rate`."""
    group = None if parts.groups is None else parts.groups[rows]
    failed = parts.judged.failed[rows]
    return Counts.of(np.zeros(len(failed), np.int64), failed, group).rate(picked=picked)


def share_of(judged: Judged, doubts: NDArray[np.float64], rows: Rows) -> tuple[float, float, float] | None:
    """The share of the failures of some rows that is probably the label's; None where nothing can be said."""
    if not doubts.any() or not (judged.failed & rows).any():
        return None
    found = label_share(judged.failed, doubts, rows)
    return found.rate, found.low, found.high


def bound(parts: TableParts, spots: list[Rows]) -> Bound | None:
    """How often a concept of some size may fail at most among rows that no weak spot speaks of."""
    left = ~np.logical_or.reduce([np.zeros(len(parts.judged), bool), *spots])
    groups = None if parts.groups is None else parts.groups[left]
    found = highest(parts.plain.rows[left], parts.judged.failed[left], groups, every=len(left))
    return None if found is None else Bound(**found._asdict())


def shown_first(judged: Judged, failing: NDArray[np.int64], doubts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Failing rows worth showing: the model's own errors before the label's, the surest first."""
    score = np.nan_to_num(judged.score[failing], nan=0.0)
    order = np.lexsort((failing, -score, doubts[failing] > 0.5))
    return failing[order][:EXAMPLES]


def example(blobs: Blobs, judged: Judged, row: int) -> ExampleRow:
    score = float(judged.score[row])
    return ExampleRow(
        row=row,
        line=int(judged.records.lines[row]),
        expected=judged.expected[row],
        answer=judged.answer[row],
        score=None if np.isnan(score) else score,
        text=judged.text_of(row)[:600],
        picture=kept(blobs, judged, row),
    )


def keep_trials(
    ledger: Ledger,
    judged: Judged,
    doubts: NDArray[np.float64],
    hypothesis: Hypothesis,
    rows: NDArray[np.int64],
    stage: Stage,
) -> None:
    """A trial for each row, unless the table is a large one or an earlier session kept them."""
    ledger.add_hypotheses([hypothesis])
    if len(judged) > TRIALS or not len(rows) or ledger.count(hypothesis, stage):
        return
    spend = {"rows": len(rows)} if stage is Stage.EXPLORE else {}
    ledger.record(list(trials_of(hypothesis, judged, doubts, rows, stage)), spend)


def trials_of(
    hypothesis: Hypothesis,
    judged: Judged,
    doubts: NDArray[np.float64],
    rows: NDArray[np.int64],
    stage: Stage,
) -> Iterator[Trial]:
    """The rows as trials; of a failure that is probably the label's the detail says how probably."""
    from weakspot.core import Status

    for row in rows.tolist():
        answer, score = judged.answer[row], float(judged.score[row])
        yield Trial(
            hypothesis.id,
            stage.start + row,
            Status.OK,
            bool(judged.failed[row]),
            None,
            judged.expected[row] or "",
            answer,
            ((answer, score),) if answer and not np.isnan(score) else (),
            judged.text_of(row)[:600],
            f"probably the label's: {doubts[row]:.2f}" if doubts[row] >= DOUBTED else "",
        )


def taken_for(judged: Judged) -> Iterator[tuple[str, str]]:
    """What each column with a role was taken for, for people."""
    named = {
        "label": "right answer", "prediction": "the model's answer", "score": "how sure it was",
        "image": "picture", "group": "rows that belong together", "id": "which input",
        "relabelled": "other right answers",
    }  # fmt: skip
    for role, meaning in named.items():
        if column := getattr(judged.roles, role):
            yield column, meaning
    yield from ((column, "text") for column in judged.roles.text)
