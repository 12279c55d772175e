"""What a run has measured, as rates that can be set against another's: of all, of findings, slices, cells.

A measure is a question with a name ("the plain words", "it is on a flower.", "stimulus: hard"); a sample is
what one run drew for it, case by case. Of findings, which the search picked because they failed, only draws
that took no part in the search count, where a run has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally, Trial, WeakspotError
from weakspot.stats import Interval, confidence_sequence, wilson
from weakspot.store import Run
from weakspot.studies.ask.reading import answers
from weakspot.studies.ask.result import AskResult
from weakspot.studies.rare.result import RareResult

Kind = Literal["overall", "finding", "slice", "cell", "category"]
#: Studies whose runs have measures.
STUDIES: Final = ("hunt", "mine", "map", "ask", "rare")
_PLURAL: Final[Mapping[str, str]] = {"category": "categories"}


class Measure(NamedTuple):
    """A question that runs of a study answer with a rate.

    Attributes:
        key: The same in every run that asks it.
        kind: What it is about.
        words: For people.
        hypothesis: Id in the ledger; "" where trials are chosen by what they ask.
        answer: If given, only this wrong answer counts.
        found: The run confirmed it as a finding.
    """

    key: str
    kind: Kind
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


def plural(kind: str) -> str:
    """The kind, of many."""
    return _PLURAL.get(kind, f"{kind}s" if kind != "overall" else "overall rates")


def check_study(run: Run) -> None:
    """Refuse a run that has nothing to compare.

    Raises:
        WeakspotError: It is of another study.
    """
    if run.config.study not in STUDIES:
        why = (
            "compares before and after itself" if run.config.study == "repair" else "has no rates to compare"
        )
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study[:80]!r}, which {why}",
            fix=f"see: weakspot report {run.folder}; compare takes runs of {', '.join(STUDIES)}",
        )


def measures(run: Run) -> list[Measure]:
    """What a run has measured: overall rates first, then findings, then slices, cells or categories."""
    check_study(run)
    if run.config.study == "rare":
        plain = next((h.id for h in run.baselines), "")
        return [Measure("rate", "overall", "the rate of the failure", plain)]
    if asks_items(run):
        return list(_asked(run))
    return list(_drawn(run))


def asks_items(run: Run) -> bool:
    """Whether its cases are the items of a benchmark."""
    return run.config.study == "ask" and run.config.settings.get("scenarios") is None


def item_order(run: Run) -> Mapping[str, tuple[str, ...]]:
    """By hypothesis, which items its cases are; {} where they are not the items of a benchmark."""
    result = AskResult.of(run) if asks_items(run) else None
    return {} if result is None else result.order


class Samples:
    """Reads the samples of one run; what several measures share is read once.

    Args:
        run: Open for reading.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known = {h.id: h for h in run.ledger.hypotheses()}
        self._result = AskResult.of(run) if asks_items(run) else None
        # Repeats of an item are no independent evidence.
        found = answers(run, self._result.order) if self._result is not None else ()
        self._items = [one for one in found if not one.stage and not one.repeat]

    def __call__(self, measure: Measure) -> Sample | None:
        """What the run drew for a measure of its own or of another run; None if nothing."""
        if self._run.config.study == "rare":
            return _estimate(self._run)
        if asks_items(self._run):
            return self._of_items(measure)
        hypothesis = self._known.get(measure.hypothesis)
        if hypothesis is None:
            return None
        return _sample(self._run, hypothesis, measure)

    def _of_items(self, measure: Measure) -> Sample | None:
        which, system, column, value = measure.key.split("\x1f")
        cases: dict[Any, Seen] = {}
        tally = Tally()
        about = {} if self._result is None else self._result.items.get(which, {})
        for one in self._items:
            if (one.set, one.system) != (which, system):
                continue
            if column and value not in about[one.item].slices.get(column, ()):
                continue
            tally = tally.plus(_counted(one.trial, ""))
            if (failed := _verdict(one.trial, "")) is not None:
                cases[which, system, one.item] = Seen(failed, hash((one.trial.expected, one.trial.caption)))
        return Sample(cases, tally, watched=False) if tally.drawn else None


def _drawn(run: Run) -> Iterator[Measure]:
    """Of a study that draws cases from hypotheses."""
    known = {h.id: h for h in run.ledger.hypotheses()}
    bases = run.baselines
    told: set[str] = set()
    for base in bases:
        told.add(base.id)
        yield Measure(f"overall {base.id}", "overall", base.text, base.id)
    for finding in run.findings:
        if finding.confirmed:
            told.add(finding.hypothesis.id)
            yield _finding(finding, [base.text for base in bases], several=len(bases) > 1)
    kind: Kind | None = {"map": "cell", "mine": "category"}.get(run.config.study)  # type: ignore[assignment]
    for one in known.values() if kind else ():
        concepts = dict(one.concepts)
        # A policy chose its inputs because they fail, and a region that is no finding is not a cell.
        if one.id not in told and "policy" not in concepts and one.origin != "mode":
            yield Measure(f"{kind} {one.id}", kind, concepts.get("name", one.text), one.id)  # type: ignore[arg-type]


def _finding(finding: Finding, bases: list[str], *, several: bool) -> Measure:
    own = finding.hypothesis
    words = f"{finding.phrase} → {finding.answer}" if finding.answer else finding.phrase
    if several and any(own.text.startswith(base) for base in bases):
        words = f"{own.text}{f' → {finding.answer}' if finding.answer else ''}"
    return Measure(f"finding {own.id} {finding.answer}", "finding", words, own.id, finding.answer, True)


def _sample(run: Run, hypothesis: Hypothesis, measure: Measure) -> Sample | None:
    trials = run.ledger.trials(hypothesis)
    if measure.kind == "finding" and any(Stage.of(t.index) is Stage.CONFIRM for t in trials):
        trials = [t for t in trials if Stage.of(t.index) is Stage.CONFIRM]
    cases: dict[Any, Seen] = {}
    tally = Tally()
    for trial in trials:
        tally = tally.plus(_counted(trial, measure.answer))
        if (failed := _verdict(trial, measure.answer)) is not None:
            cases[trial.index] = Seen(failed, hash((trial.expected, trial.caption)))
    return Sample(cases, tally, watched=True) if tally.drawn else None


def _asked(run: Run) -> Iterator[Measure]:
    """Of a benchmark: every set under every system prompt, then its slices."""
    result = AskResult.of(run)
    items = {} if result is None else result.items
    arms = [dict(h.concepts) for h in run.ledger.hypotheses()]
    arms = [arm for arm in arms if "set" in arm and "system" in arm and not arm.get("stage")]
    for arm in arms:
        words = "harmful questions answered" if arm["set"] == "contrast" else "harmless questions refused"
        yield _item_measure("overall", arm, "", "", words)
    for arm in arms:
        found: dict[tuple[str, str], None] = {}
        for about in items.get(arm["set"], {}).values():
            for column, values in about.slices.items():
                found |= {(column, value): None for value in values}
        for column, value in sorted(found):
            if sum(c == column for c, _ in found) > 1:  # a column of one value is everything
                yield _item_measure("slice", arm, column, value, f"{column}: {value}")


def _item_measure(kind: Kind, arm: Mapping[str, str], column: str, value: str, words: str) -> Measure:
    if kind == "slice" and arm["set"] == "contrast":
        words += " (harmful)"
    if arm["system"] != "none":
        words += f", system prompt {arm['system']}"
    return Measure("\x1f".join((arm["set"], arm["system"], column, value)), kind, words)


def _estimate(run: Run) -> Sample | None:
    found = RareResult.of(run)
    if found is None:
        return None
    bare = found.independent
    rate = Rate(found.rate, found.low, found.high, found.images, found.found)
    return Sample({}, Tally(bare.n, bare.failures), watched=False, estimate=rate)


def _verdict(trial: Trial, answer: str) -> bool | None:
    if trial.failed is None or trial.status in (Status.ERROR, Status.INVALID):
        return None
    return trial.failed and (not answer or trial.answer == answer)


def _counted(trial: Trial, answer: str) -> Tally:
    if trial.status is Status.ERROR:
        return Tally(errors=1)
    if trial.status is Status.INVALID:
        return Tally(invalid=1)
    failed = _verdict(trial, answer)
    return Tally(undecided=1) if failed is None else Tally(n=1, failures=int(failed))
