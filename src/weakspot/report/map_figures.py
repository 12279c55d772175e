"""The figures of a map and of a repair: heat maps, cells in space, curves, rates before and after."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import map_charts as drawn
from weakspot.report import plots, vega_charts
from weakspot.report.figure import Figure, named
from weakspot.report.plots import Lanes, Mark
from weakspot.stats import wilson
from weakspot.store import Run

#: Heat maps of a map and of a repair, and cells that are drawn in space.
HEATS, REPAIRED, CELLS = 28, 10, 200
BEFORE, AFTER = "before", "after"
_RATE: Final = "failure rate"


def map_figures(run: Run, result: Mapping[str, Any]) -> list[Figure]:
    """Failures against queries, the worst cells in space, rates over one axis or over every two."""
    axes, whole = result["axes"], run.ledger.fact("landscape")
    found = [_curve(result["trace"], result["queries"])]
    cells = list(enumerate(whole["rate"])) if whole is not None else [(int(c), r) for c, r in result["top"]]
    if cells and len(axes) >= 3:
        top = max((c["rate"] for c in result["worst"]), default=1.0)
        found.append(_scatter(axes, cells, top, every=whole is not None))
    if whole is not None and len(axes) == 1:
        columns = (whole[key] for key in ("rate", "low", "high", "n", "failures"))
        rates = [Rate(*row) for row in zip(*columns, strict=True)]
        note = "Believed rates with intervals for 95 %; values that were never asked are left out."
        found.append(_bars(axes[0], {_RATE: rates}, "axis", "Rate by {}", note))
    heats = [_heat(axes, pair, max(map(max, pair["rates"]))) for pair in result["heat"][:HEATS]]
    return found + heats


def repair_figures(result: Mapping[str, Any]) -> list[Figure]:
    """Rates before and after, the course of the training, the landscape before and after."""
    found = []
    rows = [*result.get("chosen", []), *result.get("others", [])]
    rows += [row for row in (result.get("clean"), result.get("elsewhere")) if row]
    if rows and result["method"] != "data":
        found.append(_changed(rows))
    if (training := result.get("training")) and training["curve"]:
        found.append(_learning(training["curve"], training["best"]))
    landscape = result.get("landscape")
    if not landscape or landscape["before"] is None:
        return found
    axes = landscape["axes"]
    shape = [len(axis["values"]) for axis in axes]
    if len(axes) == 1:
        each = max(1, landscape["n"] // shape[0])
        rates = {
            when: [_about(rate, each) for rate in landscape[key]]
            for when, key in ((AFTER, AFTER), (BEFORE, BEFORE))
        }
        note = f"On the same cases, about {show.count(each)} of each value, with 95 % Wilson intervals."
        return [*found, _bars(axes[0], rates, "axis-before-after", "Rate by {} before and after", note)]
    grids = [np.array(landscape[key]).reshape(shape) for key in (BEFORE, AFTER)]
    for a, b in list(itertools.combinations(range(len(axes)), 2))[:REPAIRED]:
        rest = tuple(i for i in range(len(axes)) if i not in (a, b))
        means = [grid.mean(axis=rest) for grid in grids]
        top = float(max(mean.max() for mean in means))
        for when, mean in zip((BEFORE, AFTER), means, strict=True):
            found.append(_heat(axes, {"axes": [a, b], "rates": mean.tolist()}, top, when=when))
    return found


def _curve(trace: Sequence[Sequence[int]], queries: int) -> Figure:
    points = [(0, 0), *((int(q), int(f)) for q, f in trace)]
    return Figure(
        "queries",
        "Failures against queries",
        ("queries", "failures"),
        points,
        drawn.curve(trace, queries),
        lambda: vega_charts.curve(points, across="queries", up="failures"),
        wide=False,
    )


def _about(rate: float, n: int) -> Rate:
    failures = round(rate * n)
    return Rate(rate, *wilson(failures, n), n, failures)


def _bars(
    axis: Mapping[str, Any], rates: Mapping[str, Sequence[Rate]], name: str, title: str, note: str
) -> Figure:
    """Rates over one axis: a row for each value, with intervals; several series below one another."""
    marks, rows = [], []
    for i, value in enumerate(axis["values"]):
        for series, some in rates.items():
            rate = some[i]
            marks.append(Mark(show.shorten(str(value), 120), series, rate))
            rows.append((str(value), series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    data, title = Lanes(marks, tuple(rates), bars=True), title.format(show.shorten(axis["name"], 40))
    return Figure(
        named("rate", name, axis["name"]),
        title,
        (show.shorten(axis["name"], 60), "of", "rate", "low", "high", "failures", "n"),
        rows,
        plots.lanes(data, title),
        lambda: vega_charts.lanes(data),
        note,
    )


def _scatter(
    axes: Sequence[dict[str, Any]], known: Sequence[tuple[int, float]], top: float, *, every: bool
) -> Figure:
    shape = [len(axis["values"]) for axis in axes]
    order = sorted(known, key=lambda cell: -cell[1])
    cells = []
    for number, rate in order[:CELLS]:
        place = [int(i) for i in np.unravel_index(number, shape)]
        words = ", ".join(str(axis["values"][i]) for axis, i in zip(axes, place, strict=True))
        cells.append((place, float(rate), words))
    rows = [
        (*(str(axis["values"][i]) for axis, i in zip(axes, place, strict=True)), rate)
        for place, rate, _ in cells
    ]
    which = "All" if every and len(cells) == len(order) else "The worst"
    return Figure(
        "cells",
        f"{which} {len(cells)} cells, by the first three axes",
        (*(show.shorten(axis["name"], 60) for axis in axes), _RATE),
        rows,
        drawn.scatter(axes, cells, top),
        lambda: vega_charts.scatter(axes, cells, top),
        wide=False,
        live=True,
    )


def _heat(axes: Sequence[dict[str, Any]], pair: dict[str, Any], top: float, *, when: str = "") -> Figure:
    a, b = (axes[i] for i in pair["axes"])
    rows = [
        (str(r), str(c), float(pair["rates"][i][j]))
        for i, r in enumerate(a["values"])
        for j, c in enumerate(b["values"])
    ]
    names = f"{show.shorten(a['name'], 40)} and {show.shorten(b['name'], 40)}"
    return Figure(
        named("rate", *pair["axes"], a["name"], b["name"], when),
        f"{when}: rate by {names}" if when else f"Rate by {names}",
        (show.shorten(a["name"], 60), show.shorten(b["name"], 60), _RATE),
        rows,
        drawn.heat(axes, pair, top),
        lambda: vega_charts.heat(axes, pair, top),
        wide=False,
    )


def _changed(found: Sequence[Mapping[str, Any]]) -> Figure:
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
        lambda: vega_charts.lanes(data),
        "On the same cases, with 95 % Wilson intervals.",
    )


def _learning(curve: Sequence[Mapping[str, float]], best: int) -> Figure:
    from weakspot.report.repair_page import learning

    series = ("transformed", "plain")
    rows = [(row["epoch"], key, row[key], row["epoch"] == best) for key in series for row in curve]
    return Figure(
        "rounds",
        "Validation failures against rounds",
        ("round", "pictures", "share failed", "kept"),
        rows,
        learning(curve, best),
        lambda: vega_charts.lines(rows, across="rounds"),
        "The round that was kept is marked.",
    )
