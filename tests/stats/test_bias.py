"""The interval of total variation covers the true distance as often as it says, whatever the truth is."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.stats.distances import total_variation


@pytest.mark.parametrize(
    ("truth", "wanted"),
    [
        ([0.5, 0.5], [0.5, 0.5]),  # nothing is wrong: the hard case, where the estimate is always too large
        ([0.93, 0.07], [0.5, 0.5]),
        ([0.6, 0.3, 0.1], [1, 1, 1]),
        ([0.25, 0.25, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]),
        ([1.0, 0.0, 0.0], [0.2, 0.4, 0.4]),
        ([0.1] * 10, [0.1] * 10),  # more values than groups are looked at one by one
    ],
)
@pytest.mark.parametrize("n", [12, 150])
def test_coverage(truth: list[float], wanted: list[float], n: int) -> None:
    rng = np.random.default_rng([len(truth), n])
    share = np.array(wanted) / np.sum(wanted)
    distance = np.abs(np.array(truth) - share).sum() / 2
    inside = 0
    for _ in range(400):
        found = total_variation(rng.multinomial(n, truth).tolist(), wanted)
        assert 0 <= found.low <= found.rate <= found.high <= 1
        inside += found.low - 1e-12 <= distance <= found.high + 1e-12
    assert inside / 400 >= 0.93  # 0.95 less three standard errors of the simulation


def test_draws_spread_evenly_over_cells_are_covered_too() -> None:
    """As the study draws: ten of each cell, whose shares differ."""
    rng, cells = np.random.default_rng(4), [0.1, 0.5, 0.95]
    distance = abs(np.mean(cells) - 0.5)
    hits = 0
    for _ in range(400):
        seen = sum(int(rng.binomial(10, p)) for p in cells)
        found = total_variation([seen, 30 - seen], [1, 1])
        hits += int(found.low <= distance <= found.high)
    assert hits / 400 >= 0.95


def test_by_hand_and_narrowing() -> None:
    assert total_variation([75, 25], [0.5, 0.5]).rate == pytest.approx(0.25)
    assert total_variation([8, 1, 1], [1, 1, 2]).rate == pytest.approx(0.55)
    few, many = total_variation([15, 5], [1, 1]), total_variation([1500, 500], [1, 1])
    assert many.high - many.low < (few.high - few.low) / 5
    assert many.low > 0.2
    nothing = total_variation([0, 0, 0], [1, 1, 2])
    assert np.isnan(nothing.rate)
    assert (nothing.low, nothing.high) == (0.0, 0.75)


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [([5], [1]), ([1, 2], [1]), ([1, -1], [1, 1]), ([1, 1], [0, 0]), ([1, 1], [float("nan"), 1])],
)
def test_what_is_no_distribution_is_refused(counts: list[int], wanted: list[float]) -> None:
    with pytest.raises(ValueError, match=r"Two values|Counts|Wanted"):
        total_variation(counts, wanted)
