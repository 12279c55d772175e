"""Two runs of a study set against each other: what is new, gone, worse, better, and how sure that is.

The same cases in both runs are compared in pairs; otherwise the two rates are compared, and it is said why.
All comparisons of two runs are one family: their p-values are adjusted together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import Rate, WeakspotError, check_known
from weakspot.report.format import clean
from weakspot.stats import adjusted_bh, adjusted_holm
from weakspot.stats.contrast import Contrast, contrast_paired, contrast_separate, joined
from weakspot.stats.intervals import Interval
from weakspot.store import Run, RunConfig
from weakspot.study.rates import FINDING, OVERALL, Measure, Rates, Sample, plural, rates_of

#: How p-values of many comparisons are adjusted, by name.
ADJUSTMENTS: Final[Mapping[str, Callable[[Sequence[float]], list[float]]]] = {
    "holm": adjusted_holm,
    "bh": adjusted_bh,
}
#: What the words in `MeasureRow.change` are.
WORSE, BETTER, OPEN, UNMEASURED = "worse", "better", "no difference shown", "not measured in both"
#: Slices, cells and categories with fewer cases in both are left out: nothing could come of it.
FEWEST: Final = 10
#: Settings that decide what a failure is.
JUDGED: Final = ("judge", "label", "labels", "target_label", "verify", "sense", "threshold", "validity")


class Side(NamedTuple):
    """One of the two runs."""

    folder: str
    model: str
    state: str
    created: str
    findings: int


class MeasureRow(NamedTuple):
    """A measure in both runs."""

    measure: Measure  # what is compared
    first: Rate | None  # the first run's rate; None where it was not measured
    second: Rate | None  # the second's
    contrast: Contrast | None  # second minus first; None where one is missing
    paired: bool  # on the same cases
    adjusted: float | None  # the p-value, adjusted for all rows
    found: tuple[bool, bool]  # whether it is a confirmed finding of the first, of the second
    change: str  # "worse", "better", "no difference shown" or "not measured in both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two runs."""

    study: str  # of both
    first: Side  # the first run
    second: Side  # the second
    settings: tuple[tuple[str, str, str], ...]  # (name, in the first, in the second) of those that differ
    separate: str  # why cases are not compared in pairs; "" if they are, where they are shared
    notes: tuple[str, ...]  # what else is to be known
    # overall rates, findings, slices, cells: in each kind those that changed most first
    rows: tuple[MeasureRow, ...]
    adjustment: str  # "holm" or "bh"
    alpha: float  # of the adjusted p-values
    watched: bool  # the numbers of cases depended on what was seen
    tested_by: str = ""  # how it was tested, where that does not follow from counts

    def changed(self, change: str) -> list[MeasureRow]:
        """The rows that became so."""
        return [row for row in self.rows if row.change == change]

    @property
    def new(self) -> list[MeasureRow]:
        """Findings of the second run alone."""
        return [row for row in self.rows if row.found == (False, True)]

    @property
    def gone(self) -> list[MeasureRow]:
        """Findings of the first run alone."""
        return [row for row in self.rows if row.found == (True, False)]

    @property
    def thing(self) -> str:
        """What each of the two is, for people."""
        return "run"

    @property
    def tests(self) -> int:
        """How many comparisons were made."""
        return sum(row.contrast is not None for row in self.rows)


def compare(
    first: Run, second: Run, *, adjustment: str = "holm", alpha: float = 0.05, level: float = 0.95
) -> Compared:
    """Set two runs of a study against each other; either may still be running.

    The second is the later one: "worse" means that it fails more often. The adjustment is "holm" (family-wise
    error) or "bh" (false-discovery rate); the level is of each interval by itself.
    """
    check_known(adjustment, ADJUSTMENTS, f"no adjustment is called {adjustment[:60]!r}")
    if not 0 < alpha < 1:
        raise WeakspotError(f"alpha cannot be {alpha}", fix="choose e.g. 0.05")
    one, two = rates_of(first), rates_of(second)
    if one.name != two.name:
        raise WeakspotError(
            f"{first.folder} is a run of {one.name}, {second.folder} one of {two.name}",
            fix="compare two runs of the same study",
        )
    separate = one.separate(second.config)
    rows = [_row(*both, separate=separate, level=level) for both in _joined(one, two)]
    few = [row for row in rows if _too_few(row)]
    rows = adjusted_rows([row for row in rows if not _too_few(row)], adjustment, alpha)
    return Compared(
        study=first.config.study,
        first=_side(first),
        second=_side(second),
        settings=differing(first.config, second.config),
        separate=separate,
        notes=tuple(_notes(one, two, rows, few)),
        rows=tuple(rows),
        adjustment=adjustment,
        alpha=alpha,
        watched=one.watched,
        tested_by=one.tests,
    )


def compare_folders(first: Path, second: Path, **how: Any) -> Compared:
    with Run.read(first) as one, Run.read(second) as two:
        return compare(one, two, **how)


def differing(first: RunConfig, second: RunConfig) -> tuple[tuple[str, str, str], ...]:
    """(name, in the first, in the second) of the settings that differ."""
    ours, theirs = first.settings, second.settings
    return tuple(
        (key, _plain(ours.get(key)), _plain(theirs.get(key)))
        for key in dict.fromkeys([*ours, *theirs])
        if ours.get(key) != theirs.get(key)
    )


def _joined(
    first: Rates, second: Rates
) -> list[tuple[Measure, tuple[bool, bool], Sample | None, Sample | None]]:
    """The measures of either run with what both drew for them."""
    own = {m.key: m for m in first.measures()}, {m.key: m for m in second.measures()}
    every = own[0] | own[1]
    found = {m.hypothesis for m in every.values() if m.kind == FINDING and not m.answer}
    rows = []
    for key, measure in every.items():
        if _is_part(measure) and measure.hypothesis in found:
            continue  # it is there as a finding
        which = tuple(key in some and some[key].found for some in own)
        one, two = first.sample(measure), second.sample(measure)
        if _is_part(measure) and (one is None or two is None):
            continue  # cells that only one search visited say nothing about the other
        rows.append((measure, (which[0], which[1]), one, two))
    return rows


def _is_part(measure: Measure) -> bool:
    """Whether it is of a kind of which there may be very many."""
    return measure.kind not in (OVERALL, FINDING)


def _row(
    measure: Measure,
    found: tuple[bool, bool],
    one: Sample | None,
    two: Sample | None,
    *,
    separate: str,
    level: float,
) -> MeasureRow:
    rates = [None if s is None or not s.rate().n else s.rate(level) for s in (one, two)]
    contrast, paired = None, False
    if one is not None and two is not None and rates[0] is not None and rates[1] is not None:
        contrast, paired = _set_against(one, two, pair=not separate, level=level)
    return MeasureRow(measure, rates[0], rates[1], contrast, paired, None, found, UNMEASURED)


def _set_against(one: Sample, two: Sample, *, pair: bool, level: float = 0.95) -> tuple[Contrast, bool]:
    """Second minus first, and whether on the same cases, if the runs may be paired.

    Cases are the same if both runs drew them at the same place and, as far as the ledger knows, they show the
    same; at least half of the smaller sample must be. Both samples have cases with a verdict.
    """
    if one.estimate is not None and two.estimate is not None:
        return _estimates(one.estimate, two.estimate), False
    watched = one.watched or two.watched
    shared = [
        (one.cases[key].failed, two.cases[key].failed)
        for key in one.cases.keys() & two.cases.keys()
        if pair and one.cases[key].content == two.cases[key].content
    ]
    if shared and 2 * len(shared) >= min(len(one.cases), len(two.cases)):
        only_first = sum(a and not b for a, b in shared)
        only_second = sum(b and not a for a, b in shared)
        return contrast_paired(only_first, only_second, len(shared), watched=watched, level=level), True
    a, b = one.tally, two.tally
    return contrast_separate(a.failures, a.n, b.failures, b.n, watched=watched, level=level), False


def _estimates(one: Rate, two: Rate) -> Contrast:
    """Two estimates with 95 % intervals of their own; p is 0.05 just where the interval leaves out 0."""
    low, high = joined(two.value, Interval(two.low, two.high), one.value, Interval(one.low, one.high))
    p = 0.05 if low > 0 or high < 0 else 1.0
    return Contrast(two.value - one.value, low, high, p, p, min(one.n, two.n), one.failures, two.failures)


def _too_few(row: MeasureRow) -> bool:
    return _is_part(row.measure) and row.contrast is not None and row.contrast.n < FEWEST


def adjusted_rows(rows: Sequence[MeasureRow], adjustment: str, alpha: float) -> list[MeasureRow]:
    """Adjust the p-values, say what changed, and put what changed most first within each kind."""
    tested = [row for row in rows if row.contrast is not None]
    adjusted = iter(ADJUSTMENTS[adjustment]([row.contrast.p for row in tested if row.contrast]))
    done = []
    for row in rows:
        if row.contrast is None:
            done.append(row)
            continue
        p, sure = next(adjusted), row.contrast.low > 0 or row.contrast.high < 0
        change = OPEN
        if p <= alpha and sure:
            change = WORSE if row.contrast.difference > 0 else BETTER
        done.append(row._replace(adjusted=p, change=change))
    kinds = list(dict.fromkeys(row.measure.kind for row in rows))
    return sorted(
        done,
        key=lambda row: (
            kinds.index(row.measure.kind),
            -abs(row.contrast.difference) if row.contrast and row.measure.kind != "overall" else 0.0,
        ),
    )


def _notes(one: Rates, two: Rates, rows: Sequence[MeasureRow], few: Sequence[MeasureRow]) -> list[str]:
    found, first, second = list[str](), one.run, two.run
    if few:
        which = "1 is" if len(few) == 1 else f"{len(few)} are"
        found.append(
            f"Of the {plural(few[0].measure.kind)}, {which} left out: fewer than {FEWEST} cases in both."
        )
    if changed := [k for k in JUDGED if first.config.settings.get(k) != second.config.settings.get(k)]:
        found.append(f"The two runs count different things as failures: they differ in {', '.join(changed)}.")
    found += one.notes(two)
    unfinished = [run for run in (first, second) if run.state != "finished"]
    found += [f"{run.folder} is not finished ({run.state})." for run in unfinished]
    same = [run.config.digests.get("target") for run in (first, second)]
    names = [model_of(run.config) for run in (first, second)]
    if same[0] is not None and same[0] == same[1]:
        found.append(
            "Both runs asked the same model, so any difference comes from luck, the draws or the settings."
        )
    elif None not in same and names[0] == names[1]:
        found.append("The models have the same name but different contents.")
    if not any(row.contrast for row in rows):
        found.append("Nothing was measured in both runs, so nothing can be compared.")
    return found


def _side(run: Run) -> Side:
    confirmed = sum(finding.confirmed for finding in run.findings)
    return Side(str(run.folder), model_of(run.config), run.state, run.config.created, confirmed)


def model_of(config: RunConfig) -> str:
    return clean(str(config.settings.get("target") or config.settings.get("encoder") or ""))


def _plain(value: object) -> str:
    return "–" if value is None else clean(str(value))
