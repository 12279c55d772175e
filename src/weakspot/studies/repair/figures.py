"""Pictures of a repair: rates and landscape before and after, the course of the training."""

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
from weakspot.text import clauses

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
            for when, some in ((BEFORE, landscape.before), (AFTER, landscape.after))
        }
        note = f"On the same cases, about {show.count(each)} of each value, with 95 % Wilson intervals."
        return [axis_figure(axes[0], rates, "axis-before-after", "Rate by {} before and after", note)]
    shape = [len(axis.values) for axis in axes]
    grids = [np.array(some).reshape(shape) for some in (landscape.before, landscape.after)]
    every = []
    for a, b in list(itertools.combinations(range(len(axes)), 2))[:PAIRS]:
        rest = tuple(i for i in range(len(axes)) if i not in (a, b))
        means = [grid.mean(axis=rest) for grid in grids]
        every += [((a, b), when, mean) for when, mean in zip((BEFORE, AFTER), means, strict=True)]
    top = float(max((mean.max() for _, _, mean in every), default=0.0))
    return [heat_figure(axes, pair, mean.tolist(), top, when=when) for pair, when, mean in every]


def changes(found: Sequence[Change], name: str) -> Figure:
    """The rates before and after as a picture, to be saved for slides."""
    marks, rows = [], []
    for i, row in enumerate(found, start=1):
        words = f"{i}. {where(row.words)}"
        for series, rate in zip((BEFORE, AFTER), both(row), strict=True):
            marks.append(Mark(words, series, rate))
            rows.append((words, series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    title = "Failure rates before and after the repair"
    columns = ("where", "when", "rate", "low", "high", "failures", "n")
    drawn = plots.lanes(Lanes(marks, (BEFORE, AFTER), inks=plots.RUNS), title)
    note = "On the same cases, with 95 % Wilson intervals."
    return Figure(f"before-after-{name}", title, columns, rows, drawn, note)


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


def where(words: str) -> str:
    """Where a rate was measured, as part of a sentence."""
    words = show.shorten(words, 120).rstrip(".")
    label, colon, rest = words.partition(": ")
    if colon and clauses.clause(rest):
        return f"{label}, {clauses.when(rest)}"
    return clauses.when(words) if clauses.clause(words) else words


def both(row: Change) -> tuple[Rate, Rate]:
    """The rates before and after, with Wilson's intervals."""
    before, after = (
        _rate(failed, row.n, failed / row.n if row.n else 0.0) for failed in (row.before, row.after)
    )
    return before, after
