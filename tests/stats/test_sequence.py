"""The confidence sequence: simultaneous coverage under constant peeking, and its ends."""

from __future__ import annotations

import math
from functools import cache
from time import perf_counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from weakspot.stats import clopper_pearson, confidence_sequence

counts = st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def log_ratio(f: int, n: int, theta: float) -> float:
    mixture = math.lgamma(f + 0.5) + math.lgamma(n - f + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
    return mixture - f * math.log(theta) - (n - f) * math.log1p(-theta)


@pytest.mark.parametrize("p", [1e-4, 1e-3, 0.01, 0.1, 0.3, 0.5])
def test_all_intervals_cover_at_once(p: float) -> None:
    rng = np.random.default_rng(11)
    early = np.cumsum(rng.binomial(1, p, (1000, 100)), axis=1)
    late = early[:, -1:] + np.cumsum(rng.binomial(50, p, (1000, 198)), axis=1)
    failures = np.concatenate([early, late], axis=1)
    n = np.concatenate([np.arange(1, 101), 100 + 50 * np.arange(1, 199)])
    interval = cache(confidence_sequence)
    ends = np.array(
        [[interval(f, m) for f, m in zip(row, n.tolist(), strict=True)] for row in failures.tolist()]
    )
    assert np.mean(np.all((ends[..., 0] <= p) & (p <= ends[..., 1]), axis=1)) >= 0.95


@given(counts, st.sampled_from((0.5, 0.9, 0.95, 0.999)))
@example((716788, 716789), 0.999)
@settings(max_examples=200, deadline=None)
def test_ends_lie_where_the_ratio_crosses(count: tuple[int, int], level: float) -> None:
    f, n = count
    low, high = confidence_sequence(f, n, level)
    bar = -math.log1p(-level)
    slack = 1e-6 + 1e-12 * n * math.log(n + 1)
    slack_high = slack + 4e-16 * (n - f) / max(1 - high, 1e-300)  # 1 − high is known to a bit of 1 only
    assert 0 <= low <= f / n <= high <= 1
    assert low == 0 if f == 0 else log_ratio(f, n, low) == pytest.approx(bar, abs=slack)
    assert high == 1 if f == n else log_ratio(f, n, high) == pytest.approx(bar, abs=slack_high)


def test_no_trials_say_nothing() -> None:
    assert confidence_sequence(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("f", "n"), [(500, 1000), (10, 1000), (5000, 10_000)])
def test_peeking_costs_at_most_a_little_more_than_twice_the_width(f: int, n: int) -> None:
    low, high = confidence_sequence(f, n)
    fixed = clopper_pearson(f, n)
    assert 1.0 < (high - low) / (fixed.high - fixed.low) < 2.1


def test_one_interval_takes_microseconds() -> None:
    best = math.inf
    for _ in range(30):
        start = perf_counter()
        confidence_sequence(60, 6000)
        best = min(best, perf_counter() - start)
    assert best < 1e-4


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="between 0 and the number"):
        confidence_sequence(3, 2)
    with pytest.raises(ValueError, match="confidence level"):
        confidence_sequence(1, 2, 1.5)
