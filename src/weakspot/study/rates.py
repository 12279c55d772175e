"""What a run has measured, as rates that can be set against another run's.

Of findings, which the search picked because they failed, only draws that took no part in the search count,
where a run has any. A study whose rates are others subclasses `Rates` and names it in `Study.rates`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally, Trial, WeakspotError
from weakspot.stats import Interval, confidence_sequence, wilson
from weakspot.store import Run, RunConfig, count
from weakspot.study.study import find_study

#: Of all cases, and of a confirmed finding; a study may have parts of other kinds.
OVERALL, FINDING = "overall", "finding"
#: Settings that decide what is drawn.
DRAWN: Final = ("seed", "source", "images", "corpus", "texts", "noise", "benchmark", "space", "parts")
#: Digests of these say nothing about the draws.
_ANSWERS: Final = (
    "target", "encoder", "judge", "captioner", "reference", "llm", "verify", "downstream", "matcher",
)  # fmt: skip


class Measure(NamedTuple):
    """A question that runs of a study answer with a rate.

    Attributes:
        key: The same in every run that asks it.
        kind: "overall", "finding", or the kind of part that a study has: cell, slice, category.
        hypothesis: Id in the ledger; "" where trials are chosen by what they ask.
        answer: If given, only this wrong answer counts.
        found: The run confirmed it as a finding.
    """

    key: str
    kind: str
    words: str
    hypothesis: str = ""
    answer: str = ""
    found: bool = False


class Seen(NamedTuple):
    """A case as a run judged it; `content` says what it showed, as far as the ledger knows."""

    failed: bool
    content: int


class Sample(NamedTuple):
    """What a run drew for a measure.

    Attributes:
        cases: With a verdict, by what identifies them in every run with the same draws.
        tally: Of all trials, errors included.
        watched: Their number depended on what was seen, so intervals must hold at any time.
        estimate: Rate and interval where they do not follow from counts; such a sample has no cases.
    """

    cases: Mapping[Any, Seen]
    tally: Tally
    watched: bool
    estimate: Rate | None = None

    def rate(self, level: float = 0.95) -> Rate:
        """With an interval: anytime-valid if watched, else Wilson's."""
        if self.estimate is not None:
            return self.estimate
        n, failures = self.tally.n, self.tally.failures
        ends: Interval = (confidence_sequence if self.watched else wilson)(failures, n, level)
        return Rate(failures / n if n else 0.0, ends.low, ends.high, n, failures)


class Excluded(NamedTuple):
    """What was tried and not found, of how many things, and how often any of them may fail at most (95 %)."""

    words: str
    of: int
    bound: float


class Rates:
    """The rates of one run: of its baselines and its findings, and of all hypotheses where they are parts.

    Attributes:
        part: What the study calls a hypothesis that is neither; "" where such are not compared.
        watched: The numbers of cases depended on what was seen.
        tests: How two runs are compared, where that does not follow from counts.
    """

    part = ""
    watched = True
    tests = ""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def name(self) -> str:
        """What only runs of the same can be compared with."""
        return self.run.config.study

    @cached_property
    def known(self) -> dict[str, Hypothesis]:
        return {h.id: h for h in self.run.ledger.hypotheses()}

    def measures(self) -> Iterator[Measure]:
        """What the run has measured: overall rates first, then findings, then parts."""
        bases, listed = self.run.baselines, set[str]()
        for base in bases:
            listed.add(base.id)
            yield Measure(f"{OVERALL} {base.id}", OVERALL, base.text, base.id)
        for finding in self.run.findings:
            if finding.confirmed:
                listed.add(finding.hypothesis.id)
                yield _measure_of(finding, [base.text for base in bases])
        for one in self.known.values() if self.part else ():
            if one.id not in listed and self.is_part(one):
                words = dict(one.concepts).get("name", one.text)
                yield Measure(f"{self.part} {one.id}", self.part, words, one.id)

    def is_part(self, hypothesis: Hypothesis) -> bool:
        """Whether a hypothesis is a part whose rate can be compared."""
        return True

    def sample(self, measure: Measure) -> Sample | None:
        """What the run drew for a measure of its own or of another run; None if nothing."""
        hypothesis = self.known.get(measure.hypothesis)
        if hypothesis is None:
            return None
        trials: Sequence[Trial] = self.run.ledger.trials(hypothesis)
        if measure.kind == FINDING and any(Stage.of(t.index) is Stage.CONFIRM for t in trials):
            trials = [t for t in trials if Stage.of(t.index) is Stage.CONFIRM]
        return sample_of(((t.index, t) for t in trials), answer=measure.answer, watched=self.watched)

    def separate(self, other: RunConfig) -> str:
        """Why another run did not draw the same cases, in a sentence without its beginning; "" if it did."""
        own = self.run.config
        for key in DRAWN:
            if own.settings.get(key) != other.settings.get(key):
                return f"their {key} differs"
        for key in sorted(own.digests.keys() & other.digests.keys()):
            # A second verifier is "verify 2".
            if key.split()[0] not in _ANSWERS and own.digests[key] != other.digests[key]:
                return f"the {key} changed between them"
        return ""

    def order(self, hypothesis: Hypothesis) -> Sequence[str] | None:
        """Which items the cases of a hypothesis are, where they are the items of a benchmark."""
        return None

    def excluded(self) -> Excluded | None:
        """How often anything that was tried and not found may fail; None where the run does not say."""
        return None

    def notes(self, other: Rates) -> Iterator[str]:
        """What is to be known where this run is compared with another one."""
        yield from ()


def rates_of(run: Run) -> Rates:
    """The rates of any run; an error if it has none that could be compared."""
    study = find_study(run.config.study)
    made = study.find("rates")
    if made is None:
        raise WeakspotError(
            f"{run.folder} is a run of {study.name}, whose rates cannot be compared: {study.incomparable}",
            fix=f"see: weakspot report {run.folder}",
        )
    found: Rates = made(run)
    return found


def fixed(run: Run) -> bool:
    """Whether it was planned beforehand how often each hypothesis of a run is drawn."""
    try:
        return not rates_of(run).watched
    except WeakspotError:  # a study of a package that is gone, or without rates: then it is not known
        return False


def comparable(run: Run) -> bool:
    return find_study(run.config.study).rates is not None


def sample_of(cases: Iterator[tuple[Any, Trial]], *, answer: str = "", watched: bool = True) -> Sample | None:
    """A sample of trials by what identifies their cases; None where there are none.

    If an `answer` is given, only that wrong answer counts as a failure.
    """
    seen: dict[Any, Seen] = {}
    tally = Tally()
    for key, trial in cases:
        failed = _verdict(trial, answer)
        tally = tally.plus(count(failed, trial.status))
        if failed is not None:
            seen[key] = Seen(failed, hash((trial.expected, trial.caption)))
    return Sample(seen, tally, watched) if tally.drawn else None


def plural(kind: str) -> str:
    """The kind, of many."""
    if kind == OVERALL:
        return "overall rates"
    return f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"


def _measure_of(finding: Finding, bases: Sequence[str]) -> Measure:
    own = finding.hypothesis
    words = finding.phrase
    if len(bases) > 1 and any(own.text.startswith(base) for base in bases):
        words = own.text
    words += f" → {finding.answer}" if finding.answer else ""
    return Measure(f"{FINDING} {own.id} {finding.answer}", FINDING, words, own.id, finding.answer, True)


def _verdict(trial: Trial, answer: str) -> bool | None:
    if trial.failed is None or trial.status in (Status.ERROR, Status.INVALID):
        return None
    return trial.failed and (not answer or trial.answer == answer)
