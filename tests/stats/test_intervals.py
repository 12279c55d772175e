"""Intervals after a fixed end: exact coverage, agreement with scipy, and the shape of the ends."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special
from scipy.stats import binomtest

from weakspot.stats import Interval, blaker, clopper_pearson, wilson

Method = Callable[[int, int, float], Interval]
RATES = (1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5)

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.sampled_from((0.8, 0.9, 0.95, 0.99))


@cache
def ends(method: Method, n: int, level: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The ends for 0 to `most` failures; more are taken to cover nothing, which only lowers coverage."""
    table = np.array([method(x, n, level) for x in range(most + 1)])
    return table[:, 0], table[:, 1]


def exact_coverage(method: Method, n: int, level: float, rates: np.ndarray) -> np.ndarray:
    """P(low(X) ≤ p ≤ high(X)), summed over the binomial distribution, at each p."""
    mean = n * rates.max()
    most = min(n, int(mean + 6 * np.sqrt(mean) + 12))
    low, high = ends(method, n, level, most)
    x = np.arange(most + 1)
    covers = (low <= rates[:, None]) & (rates[:, None] <= high)
    return np.asarray((covers * np.exp(log_pmf(x, n, rates[:, None]))).sum(axis=1))


def log_pmf(x: np.ndarray, n: int, p: np.ndarray) -> np.ndarray:
    choose = special.gammaln(n + 1) - special.gammaln(x + 1) - special.gammaln(n - x + 1)
    return np.asarray(choose + x * np.log(p) + (n - x) * np.log1p(-p))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [10, 30, 100, 300])
@pytest.mark.parametrize("method", [wilson, clopper_pearson])
def test_exact_coverage_holds_everywhere(method: Method, n: int, level: float) -> None:
    low, high = ends(method, n, level, n)
    # Coverage is least just outside an end, so those points are what matters.
    edges = np.concatenate([low - 1e-10, high + 1e-10])
    rates = np.concatenate([np.geomspace(1e-4, 0.5, 500), edges[(edges >= 1e-4) & (edges <= 0.5)]])
    assert exact_coverage(method, n, level, rates).min() >= level - 1e-7


@pytest.mark.parametrize(("n", "top"), [(1000, 0.2), (3000, 0.06), (10000, 0.02)])
def test_wilson_covers_rare_failures_in_large_samples(n: int, top: float) -> None:
    rates = np.geomspace(1e-4, top, 400)
    assert exact_coverage(wilson, n, 0.95, rates).min() >= 0.95 - 1e-7


@pytest.mark.parametrize("p", RATES)
def test_simulated_coverage_in_ten_thousand_trials(p: float) -> None:
    seen = np.random.default_rng(1).binomial(10_000, p, 2000)
    x, times = np.unique(seen, return_counts=True)
    intervals = {int(k): wilson(int(k), 10_000) for k in x}
    covered = sum(t for k, t in zip(x, times, strict=True) if intervals[k].low <= p <= intervals[k].high)
    assert covered / 2000 >= 0.95 - 0.013


def test_plain_wilson_would_not_cover() -> None:
    """The reason for the correction: scipy's plain score interval, at the rate the docstring names."""

    def plain(x: int, n: int, level: float) -> Interval:
        return Interval(*binomtest(x, n).proportion_ci(level, "wilson"))

    assert exact_coverage(plain, 1000, 0.95, np.array([0.176e-3])).min() < 0.85


@given(counts, levels)
@settings(max_examples=60, deadline=None)
def test_wilson_lies_between_blaker_and_clopper_pearson(count: tuple[int, int], level: float) -> None:
    outer, middle, inner = (f(*count, level) for f in (clopper_pearson, wilson, blaker))
    assert outer.low <= middle.low <= inner.low
    assert inner.high <= middle.high <= outer.high
    assert inner.low <= count[0] / count[1] <= inner.high


def test_wilson_is_narrower_than_clopper_pearson_and_near_the_plain_one() -> None:
    for n, ratio in ((30, 0.96), (300, 0.99)):
        w, c = ends(wilson, n, 0.95, n), ends(clopper_pearson, n, 0.95, n)
        assert np.mean((w[1] - w[0]) / (c[1] - c[0])) < ratio
    plain = binomtest(1200, 4000).proportion_ci(0.95, "wilson")
    assert wilson(1200, 4000) == pytest.approx((plain.low, plain.high), abs=2e-4)


@given(counts, levels)
@settings(max_examples=60, deadline=None)
def test_clopper_pearson_agrees_with_scipy(count: tuple[int, int], level: float) -> None:
    reference = binomtest(*count).proportion_ci(level, "exact")
    assert clopper_pearson(*count, level) == pytest.approx((reference.low, reference.high), abs=1e-9)


@given(counts, levels)
@settings(max_examples=40, deadline=None)
def test_blaker_keeps_what_its_test_keeps(count: tuple[int, int], level: float) -> None:
    """Points just outside are rejected by the acceptability function, computed directly."""
    x, n = count
    low, high = blaker(x, n, level)
    k = np.arange(n + 1)
    for p in (low - 1e-7, high + 1e-7):
        if 0 < p < 1:
            pmf = np.exp(log_pmf(k, n, np.array(p)))
            smaller_tail = np.minimum(np.cumsum(pmf), np.cumsum(pmf[::-1])[::-1])
            assert pmf[smaller_tail <= smaller_tail[x] * (1 + 1e-9)].sum() <= 1 - level + 1e-5


@pytest.mark.parametrize("method", [wilson, clopper_pearson, blaker])
def test_no_trials_say_nothing(method: Method) -> None:
    assert method(0, 0, 0.95) == (0.0, 1.0)


@pytest.mark.parametrize("bad", [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 0.0), (1, 5, 1.0)])
@pytest.mark.parametrize("method", [wilson, clopper_pearson, blaker])
def test_bad_arguments_are_named(method: Method, bad: tuple[int, int, float]) -> None:
    with pytest.raises(ValueError, match=r"between 0 and"):
        method(*bad)
