"""Rates of cases in clusters keep their promise where plain binomial intervals break theirs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weakspot.stats import clopper_pearson
from weakspot.stats.clustered import clustered_rate


def covered(rate: float, clusters: int, *, alike: float, runs: int = 400) -> tuple[float, float]:
    """How often the clustered and the plain interval hold the rate; `alike` is the correlation within."""
    rng = np.random.default_rng([int(100 * rate), clusters, int(100 * alike)])
    hits = plain = 0
    for _ in range(runs):
        sizes = rng.integers(1, 9, clusters)
        a = rate * (1 / alike - 1) if alike else 0
        own = rng.beta(a, a / rate * (1 - rate), clusters) if alike else np.full(clusters, rate)
        groups = np.repeat(np.arange(clusters), sizes)
        values = (rng.random(len(groups)) < own[groups]).astype(float)
        found = clustered_rate(values, groups)
        hits += found.low <= rate <= found.high
        low, high = clopper_pearson(int(values.sum()), len(values))
        plain += low <= rate <= high
    return hits / runs, plain / runs


@pytest.mark.parametrize("rate", [0.5, 0.85])
@pytest.mark.parametrize("clusters", [25, 150])
def test_the_interval_covers(rate: float, clusters: int) -> None:
    ours, plain = covered(rate, clusters, alike=0.5)
    assert ours >= 0.93
    assert plain < 0.9  # or the clusters would make no difference


def test_it_is_not_too_wide_without_clusters() -> None:
    ours, _ = covered(0.6, 150, alike=0.0)
    assert 0.93 <= ours <= 0.995
    rng = np.random.default_rng(0)
    values = (rng.random(400) < 0.3).astype(float)
    found = clustered_rate(values, np.arange(400))
    low, high = clopper_pearson(int(values.sum()), 400)
    np.testing.assert_allclose((found.low, found.high), (low, high), atol=2e-3)


def test_a_cluster_of_copies_counts_once() -> None:
    once = clustered_rate([1, 0, 1, 1, 0, 1, 1, 0], range(8))
    often = clustered_rate(np.repeat([1, 0, 1, 1, 0, 1, 1, 0], 5), np.repeat(range(8), 5))
    assert often.rate == once.rate
    assert often.n == 5 * once.n
    np.testing.assert_allclose((often.low, often.high), (once.low, once.high), atol=0.01)


def test_tests_agree_with_the_interval() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        groups = np.repeat(range(30), 3)
        found = clustered_rate((rng.random(90) < 0.6).astype(float), groups)
        for bound in (0.4, 0.5, 0.6, 0.7):
            assert (found.above(bound) < 0.025) == (found.low > bound)
            assert (found.below(bound) < 0.025) == (found.high < bound)


def test_extremes() -> None:
    assert math.isnan(clustered_rate([], []).rate)
    assert clustered_rate([], []).above(0.5) == 1
    one = clustered_rate([1, 1, 1], [4, 4, 4])
    assert (one.clusters, one.effective, one.high) == (1, 1, 1)
    assert one.low < 0.05
    assert clustered_rate([0.5] * 10, range(10)).rate == 0.5
    sure = clustered_rate([1.0] * 50, range(50))
    assert sure.high == 1
    assert 0.9 < sure.low < 1
    assert sure.below(0.5) == 1


@pytest.mark.parametrize("values", [[2.0], [math.nan], [[1.0]], [1.0, 0.0]])
def test_bad_input(values: list[float]) -> None:
    with pytest.raises(ValueError, match="flat sequence"):
        clustered_rate(values, [0])
    with pytest.raises(ValueError, match="level"):
        clustered_rate([1.0], [0], level=1)
