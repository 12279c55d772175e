"""The frugal test: its error under its own allocation and under hostile ones, its draws, its arithmetic."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np
import pytest
from benchmarks.frugal import (
    _PAIRS,
    baseline_per_draw,
    exceeds_each_frugal,
    log_evidence_frugal,
    log_evidences_frugal,
    next_arm,
    pairs,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

counts = st.integers(0, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
factors = st.sampled_from((0.3, 1.0, 2.0, 5.0))


class Duels:
    """Tests side by side, simulated from failure to failure as `next_arm` draws, read around each of them."""

    def __init__(self, p1: float, p0: float, *, factor: float = 1.0, size: int) -> None:
        self.rng = np.random.default_rng(7)
        self.p1, self.p0, self.factor = p1, p0, factor
        self.f1, self.n1, self.f0, self.n0 = np.zeros((4, size))
        self.next1, self.next0 = (self.rng.geometric(p, size).astype(float) for p in (p1, p0))
        self.decided = np.zeros(size, dtype=bool)

    def step(self) -> None:
        """To the next failure of either sample, in those that are undecided."""
        i = np.flatnonzero(~self.decided)
        per_draw = baseline_per_draw(factor=self.factor)
        r = np.where(self.f1[i] > 0, per_draw, per_draw / 8)
        ahead = np.maximum(self.n0[i], np.ceil(r * self.next1[i]))
        base = self.next0[i] <= ahead
        drawn = np.maximum(self.n1[i], np.minimum(self.next1[i] - 1, np.floor((self.next0[i] - 1) / r)))
        self.n1[i] = np.where(base, drawn, self.next1[i])
        self.n0[i] = np.where(base, self.next0[i], ahead)
        self.peek(i, self.f1[i], self.n1[i] - ~base, self.f0[i], self.n0[i] - base)
        self.f1[i] += ~base
        self.f0[i] += base
        self.peek(i, self.f1[i], self.n1[i], self.f0[i], self.n0[i])
        self.next1[i] += np.where(base, 0, self.rng.geometric(self.p1, i.size))
        self.next0[i] += np.where(base, self.rng.geometric(self.p0, i.size), 0)

    def peek(self, i: np.ndarray, *now: np.ndarray) -> None:
        self.decided[i] |= exceeds_each_frugal(*now, factor=self.factor)


NULLS = [
    (1e-6, 1e-6, 1.0),
    (1e-3, 1e-3, 1.0),
    (0.1, 0.1, 1.0),
    (0.5, 0.5, 1.0),
    (1e-5, 3e-5, 1.0),
    (0.02, 0.1, 1.0),
    (2e-6, 1e-6, 2.0),
    (0.6, 0.3, 2.0),
]


@pytest.mark.parametrize(("p1", "p0", "factor"), NULLS)
def test_false_decisions_are_at_most_a_twentieth(p1: float, p0: float, factor: float) -> None:
    duels = Duels(p1, p0, factor=factor, size=600)
    for _ in range(100):
        duels.step()
    assert duels.decided.mean() <= 0.05


@pytest.mark.parametrize("p", [1e-3, 0.1])
@pytest.mark.parametrize("schedule", ["together", "caption first", "greedy", "bold"])
def test_no_schedule_breaks_it(p: float, schedule: str) -> None:
    rng, size = np.random.default_rng(3), 500
    f1, n1, f0, n0 = np.zeros((4, size))
    wrong = np.zeros(size, dtype=bool)
    for batch in range(120):
        if schedule == "together":
            more1, more0 = np.full((2, size), 40)
        elif schedule == "caption first":
            more1, more0 = (np.full(size, 40 * (batch < 40))), np.full(size, 40 * (batch >= 40))
        else:  # draw where the next batch is likelier to look like a difference
            ahead = f1 * (n0 + 1) > f0 * (n1 + 1)
            bold = schedule == "bold"
            more1, more0 = np.where(ahead, 0 if bold else 20, 60), np.where(ahead, 60, 0 if bold else 20)
        n1, n0 = n1 + more1, n0 + more0
        f1, f0 = f1 + rng.binomial(more1, p), f0 + rng.binomial(more0, p)
        wrong |= exceeds_each_frugal(f1, n1, f0, n0)
    assert wrong.mean() <= 0.05


# p1, p0 and the images of the paper (arXiv 2208.08831), and how many times fewer ours are on average
PAPER = [
    (3.2e-5, 2.2e-6, 9.7e6, 15),
    (7.1e-3, 1.4e-5, 1.4e6, 300),
    (1.7e-2, 4.7e-6, 4.3e6, 300),
]


@pytest.mark.parametrize(("p1", "p0", "published", "fewer"), PAPER)
def test_draws_at_the_published_rates(p1: float, p0: float, published: float, fewer: int) -> None:
    duels = Duels(p1, p0, size=1000)
    for _ in range(200):
        duels.step()
    assert duels.decided.all()
    draws = duels.n1 + duels.n0
    print(
        f"{p1:7} against {p0:7}: mean {draws.mean():9,.0f}, 95 % by {np.quantile(draws, 0.95):9,.0f}, ",
        end="",
    )
    print(f"{published / draws.mean():,.0f} times fewer")
    assert draws.mean() * fewer <= published


def test_four_failures_decide_against_a_baseline_without_any() -> None:
    per_draw = baseline_per_draw()
    for n1 in (4, 40, 4_000, 4_000_000):
        n0 = math.ceil(per_draw * n1)
        assert log_evidence_frugal(4, n1, 0, n0) >= math.log(20)
    assert log_evidence_frugal(3, 4_000, 0, math.ceil(per_draw * 4_000)) < math.log(20)


def test_the_rule_keeps_the_baseline_just_ahead() -> None:
    for factor, sharing in ((1.0, 1), (2.0, 1), (1.0, 10)):
        wanted = baseline_per_draw(sharing=sharing, factor=factor)
        n1 = n0 = 0
        while n1 < 200:
            if next_arm(min(n1, 1), n1, 0, n0, sharing=sharing, factor=factor) == "hypothesis":
                n1 += 1
            else:
                n0 += 1
            assert n0 >= math.floor(wanted * n1) or n1 <= 1
        assert n0 <= wanted * (n1 + 1) + 1
    assert next_arm(0, 0, 0, 0) == "hypothesis"
    assert next_arm(0, 1000, 0, 300) == "hypothesis"
    assert next_arm(1, 1000, 0, 300) == "baseline"
    assert next_arm(1, 1000, 15, 100_000) == "hypothesis"


def test_hypotheses_that_share_a_baseline_let_it_grow() -> None:
    per_draw = [baseline_per_draw(sharing=k) for k in (1, 2, 5, 10, 100)]
    assert per_draw == sorted(per_draw)
    for k, r in zip((2, 5, 10, 100), per_draw[1:], strict=True):
        cost = minimize_scalar(lambda r, k=k: (k + r) / math.log1p(r), bounds=(1, 1000), method="bounded").fun
        assert (k + r) / math.log1p(r) == pytest.approx(cost, rel=1e-6)


@given(counts, counts, factors)
@settings(max_examples=40, deadline=None)
def test_evidence_is_the_least_wealth(a: tuple[int, int], b: tuple[int, int], factor: float) -> None:
    x = np.linspace(-25, 25, 201)
    top = min(1.0, 1.0 / factor)

    def height(log_odds: float) -> float:
        return _PAIRS.log_wealth(*a, *b, top / (1 + math.exp(-log_odds)), factor=factor)

    best = int(np.argmin([height(v) for v in x]))
    bounds = (x[max(best - 1, 0)], x[min(best + 1, 200)])
    least = minimize_scalar(height, bounds=bounds, method="bounded", options={"xatol": 1e-9}).fun
    found = log_evidence_frugal(*a, *b, factor=factor)
    assert found == pytest.approx(least, rel=1e-7, abs=1e-5)
    assert found <= least + 1e-6


@pytest.mark.parametrize(
    ("p1", "p0", "theta", "factor"), [(0.2, 0.2, 0.2, 1), (0.4, 0.2, 0.2, 2), (0.1, 0.3, 0.2, 1)]
)
def test_the_wealth_has_mean_at_most_one(p1: float, p0: float, theta: float, factor: float) -> None:
    """By exact summation after fixed numbers of trials; equal to 1 on the edge of the null hypothesis."""
    n1, n0 = 9, 14
    mean = 0.0
    for x in range(n1 + 1):
        for y in range(n0 + 1):
            chance = math.comb(n1, x) * p1**x * (1 - p1) ** (n1 - x)
            chance *= math.comb(n0, y) * p0**y * (1 - p0) ** (n0 - y)
            mean += chance * math.exp(_PAIRS.log_wealth(x, n1, y, n0, theta, factor=factor))
    assert mean <= 1 + 1e-9
    if p1 == factor * p0:
        assert mean == pytest.approx(1.0, abs=1e-9)


@given(counts, counts, factors)
@settings(max_examples=60, deadline=None)
def test_one_more_failure_is_more_evidence(a: tuple[int, int], b: tuple[int, int], factor: float) -> None:
    now = log_evidence_frugal(*a, *b, factor=factor)
    assert log_evidence_frugal(a[0] + 1, a[1] + 1, *b, factor=factor) >= now - 1e-6 - 1e-9 * abs(now)
    assert log_evidence_frugal(*a, b[0] + 1, b[1] + 1, factor=factor) <= now + 1e-6 + 1e-9 * abs(now)


def test_arrays_agree_with_scalars() -> None:
    rng = np.random.default_rng(2)
    n1, n0 = rng.integers(1, 10**7, 40), rng.integers(1, 10**7, 40)
    f1, f0 = (n1 * rng.random(40) ** 8).astype(int), (n0 * rng.random(40) ** 8).astype(int)
    rows: Any = list(zip(f1.tolist(), n1.tolist(), f0.tolist(), n0.tolist(), strict=True))
    one_by_one = np.array([log_evidence_frugal(*row) for row in rows])
    np.testing.assert_allclose(log_evidences_frugal(f1, n1, f0, n0), one_by_one, rtol=1e-9, atol=1e-6)
    assert exceeds_each_frugal(f1, n1, f0, n0).tolist() == (one_by_one >= math.log(20)).tolist()
    assert log_evidences_frugal(np.zeros((2, 3)), 5, 0, np.full(3, 9)).shape == (2, 3)


def test_ends_of_the_range() -> None:
    assert log_evidence_frugal(0, 0, 0, 0) == pytest.approx(0.0, abs=1e-9)
    assert log_evidence_frugal(50, 50, 0, 0) < math.log(20)
    assert log_evidence_frugal(0, 500, 0, 500) < 0.1
    assert log_evidence_frugal(10_000, 10_000, 0, 10_000) > 3_000
    assert log_evidence_frugal(4, 4, 10, 10) < 0.1


def test_one_evidence_takes_a_millisecond_or_two() -> None:
    best = math.inf
    for _ in range(30):
        start = perf_counter()
        log_evidence_frugal(30, 1000, 60, 6000)
        best = min(best, perf_counter() - start)
    assert best < 2e-3


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="in every entry"):
        log_evidence_frugal(2, 1, 0, 0)
    with pytest.raises(ValueError, match="factor must be positive"):
        log_evidence_frugal(1, 2, 0, 5, factor=0.0)
    with pytest.raises(ValueError, match="error rate"):
        exceeds_each_frugal(1, 2, 0, 5, alpha=1.0)
    with pytest.raises(ValueError, match="between 0 and the number"):
        next_arm(2, 1, 0, 0)
    with pytest.raises(ValueError, match="At least one hypothesis"):
        baseline_per_draw(sharing=0)
    with pytest.raises(ValueError, match="more failures in the first"):
        pairs([(1.0, -0.5, -0.5)])
