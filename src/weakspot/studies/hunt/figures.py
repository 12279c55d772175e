"""The figures of a hunt: rates of the findings against the baseline, and what was said before and after."""

from __future__ import annotations

from collections import Counter
from typing import Final

from weakspot.core import Finding, Hypothesis, Rate, Stage
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.plots import Figure, Lanes, Mark
from weakspot.stats import wilson
from weakspot.studies.hunt.listing import Listing
from weakspot.studies.hunt.phrases import titled

#: Findings in a picture, and wrong answers of each.
RATES, CONFUSED, ANSWERS = 24, 8, 4
BEFORE, AFTER = "baseline", "with these words"
_COLUMNS: Final = ("finding", "of", "rate", "low", "high", "failures", "n")


def figures(hunt: Listing) -> list[Figure]:
    """The figures, as far as there are confirmed findings."""
    found = [(rank, f) for rank, f in enumerate(hunt.confirmed, start=1) if f.rate.n]
    if not found:
        return []
    return [_rates(hunt, found[:RATES]), *_confusions(hunt, found[:CONFUSED])]


def _rates(hunt: Listing, found: list[tuple[int, Finding]]) -> Figure:
    names = [f"{rank}. {titled(hunt, f)}" for rank, f in found]
    marks = [Mark(name, "", f.rate) for name, (_, f) in zip(names, found, strict=True)]
    data = Lanes(
        marks, ("",), {n: f.baseline for n, (_, f) in zip(names, found, strict=True) if f.baseline.n}
    )
    rows = [
        (name, of, *_plain(rate))
        for name, (_, f) in zip(names, found, strict=True)
        for of, rate in ((AFTER, f.rate), (BEFORE, f.baseline))
    ]
    title = "Failure rates of the weak spots"
    note = "Points with 95 % intervals on fresh draws; the blue band is the baseline’s interval."
    return Figure("rates", title, _COLUMNS, rows, plots.lanes(data, title), note)


def _confusions(hunt: Listing, found: list[tuple[int, Finding]]) -> list[Figure]:
    marks, rows = [], []
    for rank, finding in found:
        base, heading = hunt.base_of(finding.hypothesis), f"{rank}. {titled(hunt, finding)}"
        if base is None or not base.tally.n:
            continue
        after, n = _said(hunt, finding.hypothesis, Stage.CONFIRM), finding.rate.n
        before = _said(hunt, base.hypothesis, Stage.EXPLORE) + _said(hunt, base.hypothesis, Stage.CONFIRM)
        if not n or not after:
            continue
        answers = [a for a, _ in after.most_common(ANSWERS - 1)]
        answers += [a for a, _ in before.most_common(1) if a not in answers]
        for answer in answers:
            name = show.shorten(answer, 60) or "(nothing)"
            for series, said, of in ((BEFORE, before, base.tally.n), (AFTER, after, n)):
                times = min(said[answer], of)
                rate = Rate(times / of, *wilson(times, of), of, times)
                marks.append(Mark(name, series, rate, heading))
                rows.append((heading, name, series, *_plain(rate)))
    if not marks:
        return []
    data = Lanes(marks, (BEFORE, AFTER), bars=True)
    title = "What is said instead, before and after"
    note = "Wrong answers as a share of all draws, with 95 % Wilson intervals."
    columns = ("finding", "answer", "of", "share", "low", "high", "times", "n")
    return [Figure("answers", title, columns, rows, plots.lanes(data, title), note)]


def _said(hunt: Listing, hypothesis: Hypothesis, stage: Stage) -> Counter[str]:
    return Counter(hunt.run.ledger.answers(hypothesis, stage, failed=True))


def _plain(rate: Rate) -> tuple[float | int, ...]:
    return rate.value, rate.low, rate.high, rate.failures, rate.n
