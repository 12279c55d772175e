"""Pictures of a landscape: rates by one axis or by two, and how the search went."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weakspot.core import Rate
from weakspot.report.cells import Axis, axis_figure, heat_figure
from weakspot.report.plots import Curve, Figure, curves
from weakspot.studies.map.result import CellRates, Landscape

#: Heat maps of a report.
HEATS: Final = 28
_RATE: Final = "failure rate"


def landscapes(landscape: Landscape, every_cell: CellRates | None) -> Iterator[Figure]:
    """Heat maps on one scale; of a single axis its rates."""
    axes = [Axis(axis.name, axis.values) for axis in landscape.axes]
    if every_cell is not None and len(axes) == 1:
        known = every_cell
        columns = (known.rate, known.low, known.high, known.n, known.failures)
        note = "Believed rates with intervals for 95 %; values that were never asked are left out."
        # A value of an axis is there because a row has it, so its cell has a rate.
        by_value = [
            Rate(r or 0.0, low or 0.0, high or 0.0, *n) for r, low, high, *n in zip(*columns, strict=True)
        ]
        yield axis_figure(axes[0], {_RATE: by_value}, "axis", "Rate by {}", note)
    shown = landscape.heat[:HEATS]
    top = max((rate for one in shown for row in one.rates for rate in row if rate is not None), default=0.0)
    for one in shown:
        yield heat_figure(axes, one.axes, one.rates, top)


def progress(landscape: Landscape) -> Figure:
    """How many failures were found by so many queries."""
    points = [(0, 0), *landscape.trace]
    picture = curves([Curve("", points)], "failures found against queries", across="queries", up="failures")
    title = "Failures found as the search went on"
    return Figure("queries", title, ("queries", "failures"), points, picture, wide=False)
