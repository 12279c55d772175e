from __future__ import annotations

import pytest

from weakspot.core import Rate
from weakspot.report.plots import axis


@pytest.mark.parametrize(
    ("high", "top", "labels"),
    [
        (0.7, 0.8, ["0 %", "20 %", "40 %", "60 %", "80 %"]),
        (1.0, 1.0, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        (0.011, 0.0125, ["0 %", "0.25 %", "0.50 %", "0.75 %", "1.0 %", "1.2 %"]),
        (0.04, 0.04, ["0 %", "1.0 %", "2.0 %", "3.0 %", "4.0 %"]),
    ],
)
def test_axis_is_short_and_round(high: float, top: float, labels: list[str]) -> None:
    found = axis([Rate(high / 2, 0.0, high, 10, 5)])
    assert found.top == pytest.approx(top)
    assert [t.label for t in found.ticks] == labels
    assert found.few[0] == found.ticks[0]
    assert found.few[-1] == found.ticks[-1]


def test_axis_holds_every_interval() -> None:
    for i in range(1, 1000):
        found = axis([Rate(0.0, 0.0, i / 1000, 10, 0)])
        assert i / 1000 <= found.top * (1 + 1e-9) <= 1.0 + 1e-6
        assert 2 <= len(found.ticks) <= 6


def test_axis_of_nothing() -> None:
    assert axis([]).top == 1.0
    assert axis([Rate(0.0, 0.0, 1.0, 0, 0)]).top == 1.0


def test_bar_is_in_percent_of_the_width() -> None:
    bar = axis([Rate(0.5, 0.4, 0.8, 10, 5)]).bar(Rate(0.4, 0.2, 0.8, 10, 4))
    assert bar == (50.0, 25.0, 100.0)
