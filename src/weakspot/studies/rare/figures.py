"""The figures of a run of `rare`: how rare it is, on a logarithmic axis; what the failures have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.plots import Figure, Lanes, Mark
from weakspot.stats import wilson
from weakspot.studies.rare.result import RareResult

FAILING, USUAL = "of the failures", "of all pictures"
#: Of the picture: one row, and what is above and below all of them.
_ROW, _HEAD, _FOOT = 30.0, 8.0, 30.0
_SMALL: Final = 1e-3
_COLUMNS: Final = ("share", "low", "high", "times", "n")


class Line(NamedTuple):
    """A row of the picture of the rate: points, and an interval; `low` is None where it has no lower end."""

    name: str
    points: tuple[float, ...]
    low: float | None
    high: float | None
    told: str


def size(rate: float) -> str:
    """A rate in percent, or per million where it is very small."""
    return f"{1e6 * rate:.3g} per million" if 0 < rate < _SMALL else show.percent(rate)


def interval(low: float, high: float) -> str:
    """An interval in the unit of `size`: of the high end."""
    if high < _SMALL:
        return f"[{1e6 * low:.3g}, {1e6 * high:.3g}]"
    return f"[{size(low)} to {size(high)}]" if low < _SMALL else show.interval(low, high)


def lines(result: RareResult) -> list[Line]:
    """The rate with its interval; below it what it is made of, and what independent draws alone bound."""
    rate, low, high = result.rate, result.low, result.high
    ends = f"[{size(low)} to {size(high)}]" if low > 0 else f"at most {size(high)}"
    first = f"{size(rate)} {ends}" if rate > 0 else ends
    found = [Line("the rate", (rate,) if rate > 0 else (), low or None, high, first)]
    repeats = tuple(float(r) for r in result.repeats)
    if repeats:
        seen = tuple(sorted(r for r in repeats if r > 0))
        empty = len(repeats) - len(seen)
        told = f"{size(seen[0])} to {size(seen[-1])}" if seen else "none saw a failure"
        told += f"; {empty} saw no failure" if empty and seen else ""
        found.append(Line(f"its {show.plural(len(repeats), 'repeat')}", seen, None, None, told))
        alone, n = result.independent.failures, result.independent.n
        seen = (alone / n,) if alone and n else ()
        told = f"at most {size(result.ceiling)}; {show.count(alone)} of {show.count(n)} failed"
        found.append(Line("independent draws alone", seen, None, result.ceiling, told))
    return found


def rate_figure(result: RareResult) -> Figure:
    rows = lines(result)
    title = "How rare the failure is"
    data = [
        (row.name, point, "" if row.low is None else row.low, "" if row.high is None else row.high)
        for row in rows
        for point in row.points or ("",)
    ]
    note = "On a logarithmic axis: every mark is ten times the one before it."
    if result.repeats:
        note += " The repeats are independent estimates of the same rate."
    return Figure("rate", title, ("what", "rate", "low", "high"), data, _drawn(rows, title), note)


def common_figure(result: RareResult) -> Figure:
    """What is said of failures more often than of others, with intervals where the draws are independent."""
    n, exact = result.independent.n, not result.repeats
    marks, rows = [], []
    for i, one in enumerate(result.common, start=1):
        words = f"{i}. {show.shorten(one.words, 120)}"
        for series, rate in (
            (USUAL, _share(one.usual, n, certain=True)),
            (FAILING, _share(one.failing, result.found, certain=exact)),
        ):
            marks.append(Mark(words, series, rate))
            rows.append((one.words, series, *_row(rate)))
    drawn = Lanes(marks, (USUAL, FAILING), bars=True)
    title = "Words of the failures, and of all pictures"
    ends = ", with 95 % Wilson intervals."
    note = "How often these words are said of the failures found, and of all pictures"
    note += ends if exact else "; the failures descend from few first draws: no interval."
    columns = ("words", "of", *_COLUMNS)
    return Figure("common", title, columns, rows, plots.lanes(drawn, title), note)


def answers_figure(result: RareResult) -> Figure:
    exact, of = not result.repeats, result.found
    marks = [
        Mark(show.shorten(answer, 60) or "(nothing)", "", _share(share, of, certain=exact))
        for answer, share in result.answers
    ]
    title = "Answers of the failures"
    note = f"Shares of the {show.plural(of, 'failure')} found" + (
        ", with 95 % Wilson intervals." if exact else "."
    )
    rows = [(mark.row, *_row(mark.rate)) for mark in marks]
    drawn = plots.lanes(Lanes(marks, ("",), bars=True), title)
    return Figure("answers", title, ("answer", *_COLUMNS), rows, drawn, note)


def _row(rate: Rate) -> tuple[float, ...]:
    return rate.value, rate.low, rate.high, rate.failures, rate.n


def _share(share: float, n: int, *, certain: bool) -> Rate:
    """A share of n as a rate; without an interval where the n are not independent."""
    times = round(share * n)
    ends = wilson(times, n) if certain and n else (share, share)
    return Rate(share, *ends, n, times)


# -- the rate on a logarithmic axis ------------------------------------------------------------------


def _range(rows: Sequence[Line]) -> tuple[int, int]:
    """Powers of ten around all that is shown."""
    some = [v for row in rows for v in (*row.points, row.low, row.high) if v]
    if not some:
        return -6, 0
    low, high = math.floor(math.log10(min(some)) + 1e-9), math.ceil(math.log10(max(some)) - 1e-9)
    low = low - 1 if any(row.high and not row.low for row in rows) else low  # an arm without a lower end
    return max(min(low, high - 1), -12), min(high, 0)


def _mark(power: int) -> str:
    return f"{10 ** (power + 6):g} per million" if power < -3 else show.level(10.0**power)


def _drawn(rows: Sequence[Line], title: str) -> Markup:
    first, last = _range(rows)
    span = plots.WIDE - plots.NAMES - 60

    def x(rate: float) -> float:
        share = (math.log10(rate) - first) / (last - first) if rate > 0 else 0.0
        return round(plots.NAMES + span * min(max(share, 0.0), 1.0), 1)

    bottom = _HEAD + _ROW * len(rows)
    parts = []
    for power in range(first, last + 1):
        at = x(10.0**power)
        line = Markup('<line x1="{0}" x2="{0}" y1="{1}" y2="{2}" stroke="var(--line)"/>')
        parts.append(line.format(at, _HEAD, bottom))
        parts.append(plots.text(at, bottom + 18, _mark(power), "middle"))
    for i, row in enumerate(rows):
        y, ink = _HEAD + _ROW * (i + 0.5), "var(--fail)" if i == 0 else "var(--base)"
        parts.append(plots.text(plots.NAMES - 10, y + 4, row.name, "end", "var(--ink)"))
        if row.high is not None:
            arm = Markup('<rect x="{}" y="{}" width="{}" height="2" fill="{}"><title>{}</title></rect>')
            left = x(row.low or 0.0)
            parts.append(arm.format(left, y - 1, round(x(row.high) - left, 1), ink, row.told))
        dot = Markup('<circle cx="{}" cy="{}" r="{}" fill="{}"><title>{}</title></circle>')
        many = len(row.points) > 1
        parts += [
            dot.format(x(p), y, 3.5 if many else 5, ink, size(p) if many else row.told) for p in row.points
        ]
    return plots.svg(plots.WIDE, bottom + _FOOT, title, parts)
