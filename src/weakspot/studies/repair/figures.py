"""The figures of a repair: rates and landscape before and after, the course of the training."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.cells import Axis, axis_figure, heat_figure
from weakspot.report.plots import Figure, Lanes, Mark
from weakspot.stats import wilson
from weakspot.studies.repair.result import Change, Landscape

#: Pairs of axes that are shown.
PAIRS: Final = 10
BEFORE, AFTER = "before", "after"


def landscapes(landscape: Landscape) -> list[Figure]:
    """The landscape before and after; nothing of one that was not kept whole."""
    if landscape.before is None or landscape.after is None:
        return []
    axes = [Axis(axis.name, axis.values) for axis in landscape.axes]
    if len(axes) == 1:
        each = max(1, landscape.n // len(axes[0].values))
        rates = {
            when: [_rate(round(rate * each), each, rate) for rate in some]
            for when, some in ((AFTER, landscape.after), (BEFORE, landscape.before))
        }
        note = f"On the same cases, about {show.count(each)} of each value, with 95 % Wilson intervals."
        return [axis_figure(axes[0], rates, "axis-before-after", "Rate by {} before and after", note)]
    shape = [len(axis.values) for axis in axes]
    grids = [np.array(some).reshape(shape) for some in (landscape.before, landscape.after)]
    found: list[Figure] = []
    for a, b in list(itertools.combinations(range(len(axes)), 2))[:PAIRS]:
        rest = tuple(i for i in range(len(axes)) if i not in (a, b))
        means = [grid.mean(axis=rest) for grid in grids]
        top = float(max(mean.max() for mean in means))
        for when, mean in zip((BEFORE, AFTER), means, strict=True):
            found.append(heat_figure(axes, (a, b), mean.tolist(), top, when=when))
    return found


def changes(found: Sequence[Change]) -> Figure:
    marks, rows = [], []
    for i, row in enumerate(found, start=1):
        words = f"{i}. {show.shorten(row.words, 120)}"
        for series, failures in ((BEFORE, row.before), (AFTER, row.after)):
            rate = _rate(failures, row.n, failures / row.n if row.n else 0.0)
            marks.append(Mark(words, series, rate))
            rows.append((words, series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    title = "Failure rates before and after the repair"
    columns = ("where", "when", "rate", "low", "high", "failures", "n")
    drawn = plots.lanes(Lanes(marks, (AFTER, BEFORE)), title)
    note = "On the same cases, with 95 % Wilson intervals."
    return Figure("before-after", title, columns, rows, drawn, note)


def rounds(curve: Sequence[Mapping[str, float]], best: int) -> Figure:
    series = ("transformed", "plain")
    rows = [(row["epoch"], key, row[key], row["epoch"] == best) for key in series for row in curve]
    lines = [plots.Curve(key, [(row["epoch"], row[key]) for row in curve], best) for key in series]
    drawn = plots.curves(lines, "validation failures against rounds", across="rounds", shares=True)
    columns = ("round", "pictures", "share failed", "kept")
    title, note = "Validation failures against rounds", "The round that was kept is marked."
    return Figure("rounds", title, columns, rows, drawn, note)


def _rate(failures: int, n: int, value: float) -> Rate:
    return Rate(value, *(wilson(failures, n) if n else (0.0, 1.0)), n, failures)
