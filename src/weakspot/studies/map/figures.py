"""The figures of a landscape: failures against queries, cells in space, rates by one axis or by two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report.cells import Axis, Cell, axis_figure, heat_figure, space
from weakspot.report.plots import Curve, Figure, curves
from weakspot.studies.map.result import CellRates, Landscape

#: Heat maps, and cells that are drawn in space.
HEATS, CELLS = 28, 200
_RATE: Final = "failure rate"


def figures(landscape: Landscape, every_cell: CellRates | None) -> Iterator[Figure]:
    """All of a landscape, as far as its axes and its size allow."""
    axes = [Axis(axis.name, axis.values) for axis in landscape.axes]
    yield _queries(landscape)
    rates = landscape.top if every_cell is None else tuple(enumerate(every_cell.rate))
    if rates and len(axes) >= 3:
        yield _space(landscape, axes, rates, whole=every_cell is not None)
    if every_cell is not None and len(axes) == 1:
        known = every_cell
        columns = (known.rate, known.low, known.high, known.n, known.failures)
        note = "Believed rates with intervals for 95 %; values that were never asked are left out."
        by_value = [Rate(*row) for row in zip(*columns, strict=True)]
        yield axis_figure(axes[0], {_RATE: by_value}, "axis", "Rate by {}", note)
    for one in landscape.heat[:HEATS]:
        yield heat_figure(axes, one.axes, one.rates, max(map(max, one.rates)))


def _queries(landscape: Landscape) -> Figure:
    points = [(0, 0), *landscape.trace]
    picture = curves([Curve("", points)], "failures found against queries", across="queries", up="failures")
    title = "Failures against queries"
    return Figure("queries", title, ("queries", "failures"), points, picture, wide=False)


def _space(
    landscape: Landscape, axes: list[Axis], rates: tuple[tuple[int, float], ...], *, whole: bool
) -> Figure:
    shape = [len(axis.values) for axis in axes]
    cells, rows = [], []
    for number, rate in sorted(rates, key=lambda cell: -cell[1])[:CELLS]:
        place = [int(i) for i in np.unravel_index(number, shape)]
        values = [str(axis.values[i]) for axis, i in zip(axes, place, strict=True)]
        cells.append(Cell(place, rate, ", ".join(values)))
        rows.append((*values, rate))
    which = "All" if whole and len(cells) == len(rates) else "The worst"
    title = f"{which} {len(cells)} cells, by the first three axes"
    columns = (*(show.shorten(axis.name, 60) for axis in axes), _RATE)
    top = max((cell.rate for cell in landscape.worst), default=1.0)
    return Figure("cells", title, columns, rows, space(axes, cells, top), wide=False)
