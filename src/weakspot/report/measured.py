"""What was measured beside the race: every label's baseline, edits of findings, what a person tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally
from weakspot.stats import wilson
from weakspot.store import Run, rate
from weakspot.studies.hunt.result import HuntResult, Tries


class Base(NamedTuple):
    """The baseline of one label, over all its draws.

    Attributes:
        label: The label; "" where a run does not say it.
        tally: Its counts.
    """

    label: str
    hypothesis: Hypothesis
    tally: Tally

    @property
    def rate(self) -> Rate:
        """Failures per valid case."""
        return rate(self.tally)

    @property
    def unchecked(self) -> Rate:
        """Failures per case, had nobody asked whether the cases are valid."""
        return rate(self.tally.unchecked)

    @property
    def invalid(self) -> Rate:
        """The source's own errors: see `own_errors`."""
        return own_errors(self.tally)


class Rung(NamedTuple):
    """One edit of a finding: what was changed, and the rate with the changed words.

    Attributes:
        kind: What was done ("negate", "colour", …).
        before: The words that were there.
        after: The words that took their place; "" if there are none.
    """

    hypothesis: Hypothesis
    phrase: str
    kind: str
    before: str
    after: str
    rate: Rate


class Tried(NamedTuple):
    """Words that a person brought, measured against a baseline.

    Attributes:
        verdict: In plain words, as it was when they were last tried.
        answers: What was said instead, with its share of the failures.
        failing: Indices of failing trials kept as evidence.
        passing: Indices of passing trials kept as evidence.
    """

    label: str
    hypothesis: Hypothesis
    phrase: str
    rate: Rate
    baseline: Rate
    verdict: str
    answers: tuple[tuple[str, float], ...]
    failing: tuple[int, ...]
    passing: tuple[int, ...]

    @property
    def lift(self) -> float:
        """How many times the baseline's rate; nan where neither failed, or nothing was judged."""
        if not self.rate.n or not (self.rate.failures or self.baseline.failures):
            return float("nan")
        return self.rate.value / self.baseline.value if self.baseline.value > 0 else float("inf")


def own_errors(tally: Tally) -> Rate:
    """How often a source drew what it should not have, by the second opinions: a Wilson interval.

    Cases without a verdict were not shown to them, and do not count.
    """
    n = tally.n + tally.invalid
    low, high = wilson(tally.invalid, n) if n else (0.0, 1.0)
    return Rate(tally.invalid / n if n else 0.0, low, high, n, tally.invalid)


def bases_of(run: Run) -> list[Base]:
    """The baselines that have been entered, in the order of the labels."""
    ledger, settings = run.ledger, run.config.settings
    labels = [str(label) for label in settings.get("labels") or [settings.get("label") or ""]]
    found = []
    for label, hypothesis in zip(labels, run.baselines, strict=False):
        both = ledger.tally(hypothesis, Stage.EXPLORE).plus(ledger.tally(hypothesis, Stage.CONFIRM))
        found.append(Base(label, hypothesis, both))
    return found


def base_of(hypothesis: Hypothesis, bases: Sequence[Base]) -> Base | None:
    """The baseline that a text begins with, the longest one; the only one where there is one."""
    fitting = [base for base in bases if hypothesis.text.startswith(base.hypothesis.text)]
    only = bases[0] if len(bases) == 1 else None
    return max(fitting, key=lambda base: len(base.hypothesis.text), default=only)


def as_unchecked(run: Run, finding: Finding) -> Rate | None:
    """A finding's rate if nobody had asked whether its cases are valid; None where nobody did."""
    if finding.unchecked is None or not finding.answer:
        return finding.unchecked
    doubted = sum(
        trial.status is Status.INVALID and bool(trial.failed) and trial.answer == finding.answer
        for trial in run.ledger.trials(finding.hypothesis, stage=Stage.CONFIRM)
    )
    return rate(Tally(finding.unchecked.n, finding.rate.failures + doubted))


def rungs_of(
    run: Run, result: HuntResult, finding: Finding, known: Mapping[str, Hypothesis], base: Base | None
) -> tuple[Rung, ...]:
    """The measured edits of a finding, those that fail most first."""
    found: dict[str, Rung] = {}
    for row in result.edits:
        hypothesis = known.get(row.hypothesis)
        if row.finding != finding.hypothesis.id or hypothesis is None:
            continue
        phrase = hypothesis.beyond(base.hypothesis if base else None)
        measured = rate(_tally(run, hypothesis, finding.answer))
        found[row.hypothesis] = Rung(hypothesis, phrase, row.kind, row.before, row.after, measured)
    return tuple(sorted(found.values(), key=lambda rung: (-rung.rate.value, rung.phrase)))


def tries_of(run: Run, known: Mapping[str, Hypothesis], bases: Sequence[Base]) -> tuple[Tried, ...]:
    """What persons tried, in the order in which they began."""
    usual = {base.hypothesis.id: base for base in bases}
    found = []
    for row in (Tries.of(run) or Tries()).rows:
        hypothesis, base = known.get(row.hypothesis), usual.get(row.baseline)
        if hypothesis is None or base is None:
            continue
        tally = run.ledger.tally(hypothesis, Stage.EXPLORE)
        answers = run.ledger.answers(hypothesis, Stage.EXPLORE, failed=True)
        kept = {
            failed: run.ledger.trials(hypothesis, stage=Stage.EXPLORE, failed=failed, kept=True, limit=24)
            for failed in (True, False)
        }
        found.append(
            Tried(
                label=base.label,
                hypothesis=hypothesis,
                phrase=hypothesis.beyond(base.hypothesis),
                rate=rate(tally),
                baseline=base.rate,
                verdict=row.verdict,
                answers=tuple((answer, times / tally.failures) for answer, times in answers.items()),
                failing=tuple(trial.index for trial in kept[True]),
                passing=tuple(trial.index for trial in kept[False]),
            )
        )
    return tuple(found)


def _tally(run: Run, hypothesis: Hypothesis, answer: str) -> Tally:
    tally = run.ledger.tally(hypothesis, Stage.EXPLORE)
    if not answer:
        return tally
    said = run.ledger.answers(hypothesis, Stage.EXPLORE, failed=True)
    return tally._replace(failures=said.get(answer, 0))
