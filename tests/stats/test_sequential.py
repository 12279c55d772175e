"""The sequential test: its error under every kind of peeking, its power, and its arithmetic."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from weakspot.stats import (
    exceeds,
    exceeds_each,
    log_evidence,
    log_evidence_below,
    log_evidences,
)
from weakspot.stats.sequential import (
    _BASELINE_DOWN,
    _BASELINE_UP,
    _HYPOTHESIS_DOWN,
    _HYPOTHESIS_UP,
    Mixture,
    lowest_wealths,
)

SIMULATIONS = 2000
counts = st.integers(0, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
factors = st.sampled_from((0.3, 1.0, 1.5, 5.0))


class Race:
    """Simulations of one race side by side; those that have rejected are no longer tested."""

    def __init__(self, p1: float, p0: float, *, head_start: int = 0, factor: float = 1.0, size: int) -> None:
        self.rng = np.random.default_rng(7)
        self.p1, self.p0, self.factor = p1, p0, factor
        self.f1, self.n1 = np.zeros(size, dtype=int), np.zeros(size, dtype=int)
        self.f0, self.n0 = self.rng.binomial(head_start, p0, size), np.full(size, head_start)
        self.stopped_at = np.full(size, -1)

    def draw(self, more1: np.ndarray | int, more0: np.ndarray | int) -> None:
        self.n1, self.n0 = self.n1 + more1, self.n0 + more0
        self.f1 = self.f1 + self.rng.binomial(more1, self.p1, self.f1.size)
        self.f0 = self.f0 + self.rng.binomial(more0, self.p0, self.f0.size)

    def peek(self) -> None:
        going = np.flatnonzero(self.stopped_at < 0)
        f1, n1, f0, n0 = (count[going] for count in (self.f1, self.n1, self.f0, self.n0))
        rejects = going[exceeds_each(f1, n1, f0, n0, factor=self.factor)]
        self.stopped_at[rejects] = self.n1[rejects]

    @property
    def share_stopped(self) -> float:
        return float(np.mean(self.stopped_at >= 0))


@pytest.mark.parametrize("p", [1e-3, 0.01, 0.1, 0.5])
@pytest.mark.parametrize("schedule", ["together", "head start", "unequal", "adaptive"])
def test_equal_rates_are_called_different_in_at_most_a_twentieth(p: float, schedule: str) -> None:
    race = Race(p, p, head_start=6000 if schedule == "head start" else 0, size=SIMULATIONS)
    for batch in range(200):
        if schedule == "together":
            race.draw(50, 50)
        elif schedule == "head start":
            race.draw(50, 20 * (race.n0[0] < 10_000))
        elif schedule == "unequal":
            race.draw(50, 500 if batch % 10 == 9 else 0)
        else:
            # Greedy: draw where the next batch is likelier to look like a difference.
            ahead = race.f1 * (race.n0 + 1) > race.f0 * (race.n1 + 1)
            race.draw(np.where(ahead, 20, 80), np.where(ahead, 80, 20))
        race.peek()
    assert race.share_stopped <= 0.05


@pytest.mark.parametrize(("p1", "p0", "factor"), [(0.03, 0.01, 3.0), (0.5, 0.25, 2.0), (0.05, 0.1, 0.5)])
def test_the_factor_is_respected(p1: float, p0: float, factor: float) -> None:
    race = Race(p1, p0, factor=factor, size=SIMULATIONS)
    for _ in range(100):
        race.draw(50, 50)
        race.peek()
    assert race.share_stopped <= 0.05


@pytest.mark.parametrize(("p", "factor"), [(0.01, 3.0), (0.1, 1.0), (0.2, 2.0)])
def test_futility_errs_in_at_most_a_twentieth(p: float, factor: float) -> None:
    rng = np.random.default_rng(3)
    wrong = np.zeros(SIMULATIONS, dtype=bool)
    f1 = np.zeros(SIMULATIONS, dtype=int)
    f0 = rng.binomial(2000, p, SIMULATIONS)
    for batch in range(1, 41):
        f1 = f1 + rng.binomial(100, factor * p, SIMULATIONS)
        n1, n0 = np.full(SIMULATIONS, 100.0 * batch), np.full(SIMULATIONS, 2000.0)
        counts_of = f1.astype(np.float64), n1, f0.astype(np.float64), n0
        evidence = lowest_wealths(_HYPOTHESIS_DOWN, _BASELINE_UP, *counts_of, factor=factor)
        wrong |= evidence >= math.log(20)
    assert wrong.mean() <= 0.05


# p1, p0, baseline's trials beforehand, baseline grows too, batch, trials by which nine tenths are decided
POWER = [
    (0.6, 0.01, 6000, False, 1, 6),
    (0.6, 0.01, 0, True, 1, 20),
    (0.1, 0.01, 6000, False, 5, 105),
    (0.1, 0.01, 0, True, 5, 270),
    (0.03, 0.01, 6000, False, 50, 1250),
    (0.03, 0.01, 0, True, 50, 2300),
    (0.02, 0.01, 6000, False, 100, 9000),
    (0.5, 0.4, 0, True, 50, 1500),
    (7.1e-3, 1.4e-5, 200_000, False, 20, 600),
    (7.1e-3, 1.4e-5, 0, True, 20, 2000),
]


@pytest.mark.parametrize(("p1", "p0", "head_start", "both", "batch", "limit"), POWER)
def test_power(p1: float, p0: float, head_start: int, both: bool, batch: int, limit: int) -> None:
    race = Race(p1, p0, head_start=head_start, size=400)
    while race.share_stopped < 1 and race.n1[0] < 4 * limit:
        race.draw(batch, batch if both else 0)
        race.peek()
    trials = np.where(race.stopped_at < 0, 4 * limit, race.stopped_at)
    print(f"{p1:7} against {p0:7}, n0 = {head_start:7}{' growing' if both else '':8}: ", end="")
    print(f"mean {trials.mean():6.1f}, nine tenths by {np.quantile(trials, 0.9):6.0f}")
    assert np.quantile(trials, 0.9) <= limit


def test_futility_is_found() -> None:
    """A hypothesis that fails like its baseline (1 % of 6,000) is soon known not to be ten times worse."""
    assert log_evidence_below(2, 150, 60, 6000, factor=10.0) > math.log(20)
    assert log_evidence_below(30, 1000, 60, 6000, factor=1.0) < 0


def log_wealth(bets: Mixture, failures: int, n: int, theta: float) -> float:
    logs = bets.stakes(np.array([float(failures)]))[0] - n * np.log1p(theta * bets.tilt)
    return float(np.logaddexp.reduce(logs))


def log_product(
    first: Mixture, second: Mixture, f: tuple[int, int, int, int], c: float, theta: float
) -> float:
    return log_wealth(first, f[0], f[1], c * theta) + log_wealth(second, f[2], f[3], theta)


@given(counts, counts, factors, st.floats(1e-9, 1 - 1e-9))
@settings(max_examples=300, deadline=None)
def test_evidence_is_nowhere_above_the_product(
    a: tuple[int, int], b: tuple[int, int], factor: float, share: float
) -> None:
    theta = share * min(1.0, 1.0 / factor)
    up = log_product(_HYPOTHESIS_UP, _BASELINE_DOWN, (*a, *b), factor, theta)
    down = log_product(_HYPOTHESIS_DOWN, _BASELINE_UP, (*a, *b), factor, theta)
    assert log_evidence(*a, *b, factor=factor) <= up + 1e-8 + 1e-12 * abs(up)
    assert log_evidence_below(*a, *b, factor=factor) <= down + 1e-8 + 1e-12 * abs(down)


@given(counts, counts, factors)
@settings(max_examples=40, deadline=None)
def test_evidence_is_the_least_product(a: tuple[int, int], b: tuple[int, int], factor: float) -> None:
    x = np.linspace(-25, 25, 201)
    top = min(1.0, 1.0 / factor)

    def height(log_odds: float) -> float:
        theta = top / (1 + math.exp(-log_odds))
        return log_product(_HYPOTHESIS_UP, _BASELINE_DOWN, (*a, *b), factor, theta)

    best = int(np.argmin([height(v) for v in x]))
    bounds = (x[max(best - 1, 0)], x[min(best + 1, 200)])
    least = minimize_scalar(height, bounds=bounds, method="bounded", options={"xatol": 1e-9}).fun
    assert log_evidence(*a, *b, factor=factor) == pytest.approx(least, rel=1e-7, abs=1e-5)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=20), factors)
@settings(max_examples=40, deadline=None)
def test_arrays_agree_with_scalars(
    pairs: list[tuple[tuple[int, int], tuple[int, int]]], factor: float
) -> None:
    columns = [np.array(column) for column in zip(*((*a, *b) for a, b in pairs), strict=True)]
    above = [log_evidence(*a, *b, factor=factor) for a, b in pairs]
    below = [log_evidence_below(*a, *b, factor=factor) for a, b in pairs]
    np.testing.assert_allclose(log_evidences(*columns, factor=factor), above, rtol=1e-9, atol=1e-6)
    found = lowest_wealths(_HYPOTHESIS_DOWN, _BASELINE_UP, *(c * 1.0 for c in columns), factor=factor)
    np.testing.assert_allclose(found, below, rtol=1e-9, atol=1e-6)
    calls = exceeds_each(*columns, factor=factor).tolist()
    assert calls == [exceeds(*a, *b, factor=factor) for a, b in pairs]


@pytest.mark.parametrize("p", [0.01, 0.3])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_one_sample_evidence_has_mean_one_at_its_null(p: float, n: int) -> None:
    f = np.arange(n + 1)
    pmf = np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in f])
    for bets in (_HYPOTHESIS_UP, _HYPOTHESIS_DOWN):
        values = np.exp([log_wealth(bets, int(k), n, p) for k in f])
        assert (pmf * values).sum() == pytest.approx(1.0, abs=1e-9)


@given(counts, counts, factors)
@settings(max_examples=60, deadline=None)
def test_one_more_failure_is_more_evidence(a: tuple[int, int], b: tuple[int, int], factor: float) -> None:
    now = log_evidence(*a, *b, factor=factor)
    assert log_evidence(a[0] + 1, a[1] + 1, *b, factor=factor) >= now - 1e-6 - 1e-9 * abs(now)
    assert log_evidence(*a, b[0] + 1, b[1] + 1, factor=factor) <= now + 1e-6 + 1e-9 * abs(now)


def test_ends_of_the_range() -> None:
    assert log_evidence(0, 0, 0, 0) == pytest.approx(0.0, abs=1e-9)
    assert log_evidence(0, 0, 0, 500) == pytest.approx(0.0, abs=1e-6)
    assert log_evidence(50, 50, 0, 0) == pytest.approx(0.0, abs=1e-6)
    assert log_evidence(10_000, 10_000, 0, 10_000) > 10_000
    assert log_evidences(np.zeros((2, 3)), 5, 0, np.full(3, 9)).shape == (2, 3)


def test_one_evidence_takes_microseconds() -> None:
    best = math.inf
    for _ in range(30):
        start = perf_counter()
        log_evidence(30, 1000, 60, 6000)
        best = min(best, perf_counter() - start)
    assert best < 3e-4


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="between 0 and the number"):
        log_evidence(2, 1, 0, 0)
    with pytest.raises(ValueError, match="in every entry"):
        log_evidences([2], 1, 0, 0)
    with pytest.raises(ValueError, match="factor must be positive"):
        log_evidence_below(1, 2, 0, 5, factor=0.0)
    with pytest.raises(ValueError, match="error rate"):
        exceeds(1, 2, 0, 5, alpha=1.0)
