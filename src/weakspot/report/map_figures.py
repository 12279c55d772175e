"""The figures of a landscape: heat maps, cells in space, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import map_charts as drawn
from weakspot.report import plots, vega_charts
from weakspot.report.figure import Figure, named
from weakspot.report.plots import Lanes, Mark
from weakspot.studies.map.result import MapResult

#: Heat maps, and cells that are drawn in space.
HEATS, CELLS = 28, 200
_RATE: Final = "failure rate"


def map_figures(known: MapResult) -> list[Figure]:
    """Failures against queries, the worst cells in space, rates over one axis or over every two."""
    told = known.plain()
    result, whole = told["landscape"], told["every_cell"]
    axes = result["axes"]
    found = [_curve(result["trace"], result["queries"])]
    cells = list(enumerate(whole["rate"])) if whole is not None else [(int(c), r) for c, r in result["top"]]
    if cells and len(axes) >= 3:
        top = max((c["rate"] for c in result["worst"]), default=1.0)
        found.append(_scatter(axes, cells, top, every=whole is not None))
    if whole is not None and len(axes) == 1:
        columns = (whole[key] for key in ("rate", "low", "high", "n", "failures"))
        rates = [Rate(*row) for row in zip(*columns, strict=True)]
        note = "Believed rates with intervals for 95 %; values that were never asked are left out."
        found.append(bars(axes[0], {_RATE: rates}, "axis", "Rate by {}", note))
    heats = [heat(axes, pair, max(map(max, pair["rates"]))) for pair in result["heat"][:HEATS]]
    return found + heats


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


def bars(
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


def heat(axes: Sequence[dict[str, Any]], pair: dict[str, Any], top: float, *, when: str = "") -> Figure:
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
