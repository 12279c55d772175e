"""The trade-off as a picture: benign questions refused against harmful ones answered, a point per model.

A model that tells the two apart is near the origin; caution that buys nothing moves a point to the right and
not down. Geometry only: the template draws it, and writes the names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from weakspot.core import Rate
from weakspot.report.chart import Tick, axis

#: The plot in its own units: left, top, width, height; and the whole picture.
LEFT, TOP, WIDTH, HEIGHT = 64.0, 16.0, 560.0, 320.0
SIZE: Final = (640, 392)
#: Points in one picture; more could not be told apart.
MOST: Final = 40


class Point(NamedTuple):
    """A model in the picture, in units of the plot.

    Attributes:
        number: What the picture calls it.
        name: Whose point it is.
        benign: Refused of the benign questions.
        harmful: Answered of the harmful ones.
        x: Of `benign`, with the ends of its interval.
        y: Of `harmful`, with the ends of its interval, from above.
    """

    number: int
    name: str
    benign: Rate
    harmful: Rate
    x: tuple[float, float, float]
    y: tuple[float, float, float]


class Picture(NamedTuple):
    """Points, and the marks of both axes in units of the plot."""

    points: list[Point]
    across: list[Tick]
    up: list[Tick]


def picture(named: Iterable[tuple[str, Mapping[str, Any]]]) -> Picture | None:
    """The picture of figures by name; those without both rates are left out, None if none is left.

    Args:
        named: Figures as a run has them: `rate`, `rate_interval`, `n`, and the same under `contrast`.
    """
    found = []
    for name, figures in named:
        benign = _rate(figures, figures.get("refused"))
        refused = _rate(figures.get("contrast") or {}, (figures.get("contrast") or {}).get("refused"))
        if benign is not None and refused is not None:
            found.append((name, benign, _answered(refused)))
    found = found[:MOST]
    if not found:
        return None
    wide, high = axis([b for _, b, _ in found]), axis([h for _, _, h in found])

    def x(share: float) -> float:
        return round(LEFT + WIDTH * min(share / wide.top, 1.0), 2)

    def y(share: float) -> float:
        return round(TOP + HEIGHT * (1 - min(share / high.top, 1.0)), 2)

    points = [
        Point(i, name, b, h, (x(b.value), x(b.low), x(b.high)), (y(h.value), y(h.low), y(h.high)))
        for i, (name, b, h) in enumerate(found, start=1)
    ]
    across = [Tick(round(LEFT + WIDTH * tick.x / 100, 2), tick.label) for tick in wide.ticks]
    up = [Tick(round(TOP + HEIGHT * (1 - tick.x / 100), 2), tick.label) for tick in high.ticks]
    return Picture(points, across, up)


def _rate(figures: Mapping[str, Any], refused: Any) -> Rate | None:
    value, ends = figures.get("rate"), figures.get("rate_interval")
    if value is None or not isinstance(ends, Sequence) or len(ends) != 2:
        return None
    return Rate(float(value), float(ends[0]), float(ends[1]), int(figures.get("n") or 1), int(refused or 0))


def _answered(refused: Rate) -> Rate:
    return Rate(1 - refused.value, 1 - refused.high, 1 - refused.low, refused.n, refused.n - refused.failures)
