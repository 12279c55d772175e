"""Bounds on many rates at once: their coverage at any time, and against a search that picks what to try."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weakspot.stats import clopper_pearson
from weakspot.stats.certify import (
    draws_to_decide,
    log_evidence_over,
    log_evidence_under,
    lower_bounds,
    part,
    upper_bounds,
)

counts = st.integers(0, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
rates = st.floats(0.001, 0.999)


def test_the_parts_of_the_error_sum_to_one() -> None:
    assert part(np.arange(64)).sum() == pytest.approx(0.5)
    assert 0.999 < part(np.arange(10**6)).sum() < 1
    assert float(part(48)) > 0.3 * float(part(0))


@given(counts, rates, st.floats(0.001, 0.2))
def test_a_bound_is_where_the_evidence_is_enough(count: tuple[int, int], rate: float, error: float) -> None:
    f, n = count
    bar = -math.log(error)
    high, low = float(upper_bounds(f, n, error)), float(lower_bounds(f, n, error))
    assert 0 <= low <= (f / n if n else 1) <= high <= 1
    if abs(rate - high) > 1e-6:
        assert (float(log_evidence_under(f, n, rate)) >= bar) is (rate > high and n > 0)
    if abs(rate - low) > 1e-6:
        assert (float(log_evidence_over(f, n, rate)) >= bar) is (rate < low and n > 0)


@given(counts, st.sampled_from((0.05, 1e-3, 1e-5)))
def test_bounds_are_not_much_wider_than_of_a_fixed_count(count: tuple[int, int], error: float) -> None:
    f, n = count
    if n < 30:
        return
    fixed, high = clopper_pearson(f, n, 1 - 2 * error).high, float(upper_bounds(f, n, error))
    assert high >= fixed - 1e-9
    assert high <= f / n + 2.4 * (fixed - f / n)


def test_bounds_of_known_counts() -> None:
    assert upper_bounds([0, 0, 24], [0, 300, 24], 0.001).tolist() == pytest.approx([1, 0.026, 1], abs=0.001)
    assert lower_bounds([0, 10], [0, 10], 0.001).tolist() == pytest.approx([0, 0.45], abs=0.01)
    with pytest.raises(ValueError, match="between 0 and the number"):
        upper_bounds(3, 2, 0.05)
    with pytest.raises(ValueError, match="strictly between"):
        upper_bounds(1, 2, 0.0)
    with pytest.raises(ValueError, match="strictly between"):
        log_evidence_under(1, 2, 1.0)


@pytest.mark.parametrize("p", [0.003, 0.05, 0.3])
def test_a_rate_hardly_ever_leaves_its_bounds(p: float) -> None:
    """Looked at after every eight trials up to 2,400, at 10 %, on each side."""
    rng = np.random.default_rng(1)
    f, left = np.zeros(2000), np.zeros((2, 2000), np.bool_)
    for turn in range(1, 301):
        f += rng.binomial(8, p, f.size)
        left[0] |= log_evidence_under(f, 8 * turn, p) >= math.log(10)
        left[1] |= log_evidence_over(f, 8 * turn, p) >= math.log(10)
    print(f"p = {p}: bounds broken by {left[0].mean():.3f} above, {left[1].mean():.3f} below")
    assert (left.mean(axis=1) <= 0.1).all()


def missed_by_a_search(size: int, *, rounds: int = 60) -> float:
    """How often a search that tries to gets a rate past its bound, at 95 %.

    It keeps on proposing: each new caption has a rate of its own, draws go to the captions that have failed
    least for their rate, and what failed most is taken for a finding and left out.
    """
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(size):
        p, f, n = np.empty(0), np.empty(0), np.empty(0)
        broken = False
        for turn in range(rounds):
            if turn % 2 == 0:
                p, f, n = np.append(p, rng.uniform(0.01, 0.4)), np.append(f, 0), np.append(n, 0)
            lucky = np.argsort((f + 1) / (n + 2) / p)[:6]
            n[lucky] += 16
            f[lucky] += rng.binomial(16, p[lucky])
            high = upper_bounds(f, n, 0.05 * part(np.arange(p.size)))
            kept = np.ones(p.size, np.bool_)
            kept[np.argsort(-(f + 0.5) / (n + 1))[:3]] = False
            broken |= bool((p[kept] > high[kept]).any())
        missed += broken
    return missed / size


def test_bounds_hold_against_a_search() -> None:
    assert missed_by_a_search(40) <= 0.05


@pytest.mark.long
def test_bounds_hold_against_many_searches() -> None:
    share = missed_by_a_search(1000)
    print(f"a bound was broken in {share:.3f} of the searches")
    assert share <= 0.05


def test_how_many_draws_it_takes() -> None:
    """About as many as simulated runs take, and none for what cannot be decided."""
    rng = np.random.default_rng(5)
    for rate, p in ((0.08, 0.02), (0.08, 0.2)):
        guess, taken = draws_to_decide(0, 0, rate=rate, error=1e-4, guess=p), []
        for _ in range(60):
            f = n = 0
            while max(float(e(f, n, rate)) for e in (log_evidence_under, log_evidence_over)) < math.log(1e4):
                f, n = f + rng.binomial(8, p), n + 8
            taken.append(n)
        assert 0.6 * np.mean(taken) <= guess <= 1.6 * np.mean(taken)
    assert draws_to_decide(0, 10, rate=0.1, error=0.01, guess=0.1) == math.inf
    assert draws_to_decide(0, 10, rate=0.1, error=0.01, guess=0.0) == math.inf
