"""The geometry of the bars: shares of the width, so that it stretches and its text does not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from weakspot.core import Rate
from weakspot.report import format as show

_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


class Tick(NamedTuple):
    """A mark on the axis, at `x` percent of the width."""

    x: float
    label: str


class Bar(NamedTuple):
    """A rate and its interval, in percent of the width."""

    value: float
    low: float
    high: float


class Axis(NamedTuple):
    """A linear axis of rates from zero.

    Attributes:
        top: The rate at the right end.
        ticks: Its marks, from left to right.
    """

    top: float
    ticks: tuple[Tick, ...]

    @property
    def few(self) -> list[Tick]:
        """Every other mark and the last, for a narrow column."""
        last = len(self.ticks) - 1
        return [tick for i, tick in enumerate(self.ticks) if i == last or (i % 2 == 0 and i != last - 1)]

    def bar(self, rate: Rate) -> Bar:
        """Where a rate lies."""
        shares = (x / self.top for x in (rate.value, rate.low, rate.high))
        return Bar(*(round(100 * min(max(share, 0.0), 1.0), 3) for share in shares))


def axis(rates: Iterable[Rate]) -> Axis:
    """The shortest axis with round marks that holds all these intervals."""
    highest = max((r.high for r in rates if r.n and math.isfinite(r.high)), default=1.0)
    top, step = steps(min(max(highest, 1e-6), 1.0))
    parts = round(top / step)
    ticks = (Tick(round(100 * i / parts, 3), show.percent(round(step * i, 9))) for i in range(parts + 1))
    return Axis(top, tuple(ticks))


def steps(highest: float) -> tuple[float, float]:
    """The end of the shortest axis from zero that holds a number, and the distance of its round marks."""
    highest = highest if highest > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(highest / 4))
    step = next(s * power for s in _STEPS if highest <= 5 * s * power * (1 + 1e-9))
    return step * math.ceil(highest / step - 1e-9), step
