"""The figures of a repair: rates and landscape before and after, the course of the training."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.cells import Axis, axis_figure, heat_figure
from weakspot.report.plots import Figure, Lanes, Mark
from weakspot.stats import wilson

#: Pairs of axes that are shown.
REPAIRED: Final = 10
BEFORE, AFTER = "before", "after"


def landscapes(landscape: Mapping[str, Any]) -> list[Figure]:
    """The landscape before and after."""
    found: list[Figure] = []
    if landscape["before"] is None:
        return found
    axes = [Axis(axis["name"], axis["values"]) for axis in landscape["axes"]]
    shape = [len(axis.values) for axis in axes]
    if len(axes) == 1:
        each = max(1, landscape["n"] // shape[0])
        rates = {
            when: [_rate_of(rate, each) for rate in landscape[key]]
            for when, key in ((AFTER, AFTER), (BEFORE, BEFORE))
        }
        note = f"On the same cases, about {show.count(each)} of each value, with 95 % Wilson intervals."
        return [axis_figure(axes[0], rates, "axis-before-after", "Rate by {} before and after", note)]
    grids = [np.array(landscape[key]).reshape(shape) for key in (BEFORE, AFTER)]
    for a, b in list(itertools.combinations(range(len(axes)), 2))[:REPAIRED]:
        rest = tuple(i for i in range(len(axes)) if i not in (a, b))
        means = [grid.mean(axis=rest) for grid in grids]
        top = float(max(mean.max() for mean in means))
        for when, mean in zip((BEFORE, AFTER), means, strict=True):
            found.append(heat_figure(axes, (a, b), mean.tolist(), top, when=when))
    return found


def changes(found: Sequence[Mapping[str, Any]]) -> Figure:
    marks, rows = [], []
    for i, row in enumerate(found, start=1):
        words, n = f"{i}. {show.shorten(row['words'], 120)}", row["n"]
        for series in (BEFORE, AFTER):
            rate = Rate(
                row[series] / n if n else 0.0, *(wilson(row[series], n) if n else (0.0, 1.0)), n, row[series]
            )
            marks.append(Mark(words, series, rate))
            rows.append((words, series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    data = Lanes(marks, (AFTER, BEFORE))
    title = "Failure rates before and after the repair"
    return Figure(
        "before-after",
        title,
        ("where", "when", "rate", "low", "high", "failures", "n"),
        rows,
        plots.lanes(data, title),
        "On the same cases, with 95 % Wilson intervals.",
    )


def rounds(curve: Sequence[Mapping[str, float]], best: int) -> Figure:
    series = ("transformed", "plain")
    rows = [(row["epoch"], key, row[key], row["epoch"] == best) for key in series for row in curve]
    return Figure(
        "rounds",
        "Validation failures against rounds",
        ("round", "pictures", "share failed", "kept"),
        rows,
        plots.curves(
            [plots.Curve(key, [(row["epoch"], row[key]) for row in curve], best) for key in series],
            "validation failures against rounds",
            across="rounds",
            shares=True,
        ),
        "The round that was kept is marked.",
    )


def _rate_of(rate: float, n: int) -> Rate:
    failures = round(rate * n)
    return Rate(rate, *wilson(failures, n), n, failures)
