"""Two tables of results, or two logs, set against each other: paired case by case, overall and by category.

A case that was asked several times counts once, by the share of its rows that failed. A row without a verdict
(an error, no score) is neither a success nor a failure: differences are those of cases with a verdict in
both, and bounds say what the missing ones could change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.after.compared import ADJUSTMENTS, FEWEST, UNMEASURED, Compared, MeasureRow, Side, adjusted_rows
from weakspot.after.table_pairs import BY_ID, Cases, Tabled, categories, pair, read_tabled
from weakspot.core import Rate, WeakspotError, check_known
from weakspot.records import Roles
from weakspot.records.judged import Given
from weakspot.report import format as show
from weakspot.stats import sign_flip, wilson
from weakspot.stats.clustered import clustered_rate, exchanged
from weakspot.stats.contrast import Contrast, contrast_paired, paired_difference
from weakspot.stats.intervals import Interval
from weakspot.study.rates import OVERALL, Measure

#: What the comparison of everything is called.
ALL: Final = "all cases"
#: Of parts: the categories of columns.
CATEGORY: Final = "category"
#: Numbers of repeats up to this common multiple are tested exactly.
_EXACT: Final = 5_040


class Missing(NamedTuple):
    """Rows without a verdict among the cases of both tables, and what they could change.

    Attributes:
        both: Cases without any verdict in either.
        low: The least that the second rate minus the first would be, whatever the missing verdicts are.
    """

    first: int
    second: int
    both: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesCompared(Compared):
    """Two tables."""

    pairing: str  # "by id" or "by order"
    cases: int  # that both have
    judged: int  # of these, with a verdict in both
    alone: tuple[int, int]  # cases of the first alone, of the second alone
    missing: dict[str, Missing]  # by the words of a measure
    repeated: bool  # cases were asked several times

    @property
    def thing(self) -> str:
        return "table"


def compare_tables(
    first: Given,
    second: Given,
    *,
    by: Sequence[str] = (),
    named: Roles | None = None,
    failed: str = "",
    adjustment: str = "holm",
    alpha: float = 0.05,
    level: float = 0.95,
) -> TablesCompared:
    """Set two tables or logs against each other; the second is the later one.

    Args:
        by: Columns of the first whose categories are compared too; all p-values are adjusted together.
        named: Columns that a person named, in both.
        failed: What a failure is, in both; see `read_judged`.
    """
    check_known(adjustment, ADJUSTMENTS, f"no adjustment is called {adjustment[:60]!r}")
    if not 0 < alpha < 1:
        raise WeakspotError(f"alpha cannot be {alpha}", fix="choose e.g. 0.05")
    one, two = (read_tabled(given, named=named, failed=failed) for given in (first, second))
    return compare_tabled(one, two, by=by, adjustment=adjustment, alpha=alpha, level=level)


def compare_tabled(
    one: Tabled,
    two: Tabled,
    *,
    by: Sequence[str],
    adjustment: str = "holm",
    alpha: float = 0.05,
    level: float = 0.95,
) -> TablesCompared:
    cases = pair(one, two)
    parts = [(Measure(OVERALL, OVERALL, ALL), cases)]
    for name in by:
        for value, chosen in categories(one, cases, name):
            words = f"{name}: {value}"
            parts.append((Measure(words, CATEGORY, words), cases.only(chosen)))
    rows, missing, few = list[MeasureRow](), dict[str, Missing](), 0
    for measure, part in parts:
        row = _row(measure, part, level)
        if measure.kind != OVERALL and (row.contrast is None or row.contrast.n < FEWEST):
            few += 1
            continue
        rows.append(row)
        missing[measure.words] = missing_of(part)
    if rows[0].contrast is None:
        raise WeakspotError(
            f"no case has a verdict in both {one.records.origin} and {two.records.origin}",
            fix="did one of the evaluations fail? look at its errors",
        )
    return TablesCompared(
        study="",
        first=_side(one),
        second=_side(two),
        settings=() if one.rule == two.rule else (("failure", one.rule, two.rule),),
        separate="",
        notes=tuple(_notes(one, two, cases, missing[ALL], few)),
        rows=tuple(adjusted_rows(rows, adjustment, alpha)),
        adjustment=adjustment,
        alpha=alpha,
        watched=False,
        tested_by=_TESTS if cases.repeated else "",
        pairing=cases.pairing,
        cases=len(cases),
        judged=rows[0].contrast.n,
        alone=cases.alone,
        missing=missing,
        repeated=cases.repeated,
    )


_TESTS: Final = (
    "a sign-flip test over the differences of cases, with Tango's interval for the number of cases that count"
)


def difference(cases: Cases, level: float = 0.95) -> Contrast | None:
    """The second rate minus the first, of the cases with a verdict in both; None if there are none.

    Without repeats that is McNemar's test and Tango's interval. With repeats a case's difference is that of
    two shares; its interval is Tango's for the number of cases that would vary as much.
    """
    both = (cases.judged[0] > 0) & (cases.judged[1] > 0)
    n = int(both.sum())
    if not n:
        return None
    failures, judged = ([side[both] for side in pair] for pair in (cases.failures, cases.judged))
    if max(judged[0].max(), judged[1].max()) == 1:
        return contrast_paired(
            int((failures[0] > failures[1]).sum()), int((failures[1] > failures[0]).sum()), n, level=level
        )
    d = failures[1] / judged[1] - failures[0] / judged[0]
    mean, p = float(d.mean()), _exchanged(failures, judged)
    low, high = _shares_interval(d, level)
    return Contrast(mean, low, high, p, p, n, int((d < 0).sum()), int((d > 0).sum()))


def _exchanged(failures: Sequence[NDArray[np.int64]], judged: Sequence[NDArray[np.int64]]) -> float:
    """Two-sided p-value that each case's difference is as likely as its negative."""
    multiple = math.lcm(*(int(n) for n in np.unique(np.concatenate(judged))))
    if multiple <= _EXACT:
        d = failures[1] * (multiple // judged[1]) - failures[0] * (multiple // judged[0])
        return exchanged(d // max(int(np.gcd.reduce(d)), 1))
    shares = failures[1] / judged[1] - failures[0] / judged[0]
    return min(1.0, 2 * min(sign_flip(shares.tolist()), sign_flip((-shares).tolist())))


def _shares_interval(d: NDArray[np.float64], level: float) -> Interval:
    """Tango's interval for differences of shares, with as many cases as vary as much as these.

    A difference of ±1 in one case varies more than ones of ±½ in two: the count grows accordingly. With few
    cases the variance is not well known, which the t-distribution pays for, as in `clustered_rate`.
    """
    from scipy.stats import norm, t

    n, mean = len(d), float(d.mean())
    worse, better = float(d[d > 0].sum()), float(-d[d < 0].sum())
    variance = float(((d - mean) ** 2).sum()) / max(n - 1, 1)
    effect = 1.0
    if variance > 0:
        quantile = (1 + level) / 2
        wide = float(t.ppf(quantile, n - 1) / norm.ppf(quantile)) ** 2
        effect = variance * wide / ((worse + better) / n - mean**2)
    return paired_difference(worse / effect, better / effect, n / effect, level)


def rate_of(cases: Cases, side: int, level: float = 0.95) -> Rate | None:
    """The failure rate of one table over the cases with a verdict in both; failures are counted per case."""
    both = (cases.judged[0] > 0) & (cases.judged[1] > 0)
    return rate(cases.failures[side][both], cases.judged[side][both], level)


def rate(failures: NDArray[np.int64], judged: NDArray[np.int64], level: float = 0.95) -> Rate | None:
    """The mean share of failures of cases that all have a verdict; None without cases."""
    n = len(judged)
    if not n:
        return None
    if judged.max() == 1:
        k = int(failures.sum())
        return Rate(k / n, *wilson(k, n, level), n, k)
    shares = failures / judged
    found = clustered_rate(shares, np.arange(n), level)
    return Rate(found.rate, found.low, found.high, n, round(float(shares.sum())))


def missing_of(cases: Cases) -> Missing:
    """What is missing, and the least and most that the difference over all these cases could be."""
    gone = [rows - judged for rows, judged in zip(cases.rows, cases.judged, strict=True)]
    low = [failures / rows for failures, rows in zip(cases.failures, cases.rows, strict=True)]
    high = [(f + g) / rows for f, g, rows in zip(cases.failures, gone, cases.rows, strict=True)]
    neither = int(((cases.judged[0] == 0) & (cases.judged[1] == 0)).sum())
    return Missing(
        int(gone[0].sum()),
        int(gone[1].sum()),
        neither,
        float((low[1] - high[0]).mean()) if len(cases) else -1.0,
        float((high[1] - low[0]).mean()) if len(cases) else 1.0,
    )


def to_json(found: TablesCompared) -> dict[str, Any]:
    """What `compare --json` has of tables beside what it has of runs."""
    return {
        "pairing": found.pairing,
        "cases": found.cases,
        "judged_in_both": found.judged,
        "only_in_first": found.alone[0],
        "only_in_second": found.alone[1],
        "repeated": found.repeated,
        "missing": {words: one._asdict() for words, one in found.missing.items()},
    }


def _row(measure: Measure, cases: Cases, level: float) -> MeasureRow:
    contrast = difference(cases, level)
    rates = [rate_of(cases, side, level) for side in (0, 1)]
    return MeasureRow(
        measure, rates[0], rates[1], contrast, contrast is not None, None, (False, False), UNMEASURED
    )


def models_of(table: Tabled) -> str:
    """Which models answered, where the table says it."""
    column = table.records.columns.get("model")
    return "" if column is None else ", ".join(sorted({text for text in column.texts() if text})[:3])


def _side(table: Tabled) -> Side:
    return Side(table.records.origin, models_of(table), "finished", "", 0)


def _notes(one: Tabled, two: Tabled, cases: Cases, missing: Missing, few: int) -> list[str]:
    how = (
        f"by their ids ({one.roles.id})"
        if cases.pairing == BY_ID
        else "by order: both have the same inputs, row by row"
    )
    notes = [f"Rows are paired {how}."]
    if any(cases.alone):
        notes.append(
            f"{cases.alone[0]:,} cases are only in the first table, {cases.alone[1]:,} only in the "
            f"second: they are not compared."
        )
    notes += cases.notes
    if missing.first or missing.second:
        notes.append(
            f"Rows without a verdict: {missing.first:,} in the first table, {missing.second:,} in the "
            f"second ({show.plural(missing.both, 'case')} with none in either). They are left out. Whatever "
            f"their verdicts would be, the difference over all cases lies between {100 * missing.low:+.1f} "
            f"and {100 * missing.high:+.1f} points."
        )
    if cases.repeated:
        notes.append(
            "Cases were asked several times: each counts once, by the share of its rows that failed."
        )
    if few:
        which = "1 category is" if few == 1 else f"{few} categories are"
        notes.append(f"{which} left out: fewer than {FEWEST} cases with a verdict in both.")
    if one.rule != two.rule:
        notes.append(f"The two tables count different things as failures: {one.rule}; {two.rule}.")
    told = [table.records.notes for table in (one, two)]
    notes += [note for note in told[0] if note in told[1]]
    for table, other in ((one, told[1]), (two, told[0])):
        notes += [f"{table.records.origin}: {note}" for note in table.records.notes if note not in other]
        if table.records.left_out:
            first = table.records.left_out[0]
            notes.append(
                f"{table.records.origin}: {len(table.records.left_out):,} rows could not be read (the first: "
                f"line {first.line}, {first.reason[:120]})."
            )
    return notes
