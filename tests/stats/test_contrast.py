"""Two rates set against each other: promises kept whenever somebody stops, classical tests for a fixed n."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weakspot.stats import fisher, mcnemar, paired_difference, wilson
from weakspot.stats.contrast import contrast_paired, contrast_separate, joined, sign_evidence
from weakspot.stats.intervals import Interval


def test_a_fixed_number_of_the_same_cases_is_mcnemar_and_tango() -> None:
    found = contrast_paired(4, 15, 200)
    assert found.p == found.exact == mcnemar(4, 15)
    assert (found.low, found.high) == paired_difference(15, 4, 200)
    assert found.difference == pytest.approx(11 / 200)


def test_a_fixed_number_of_separate_cases_is_fisher_and_newcombe() -> None:
    found = contrast_separate(5, 100, 20, 120)
    assert found.p == found.exact == fisher(20, 120, 5, 100, alternative="two-sided")
    one, two = wilson(5, 100), wilson(20, 120)
    d = 20 / 120 - 5 / 100
    assert found.low == pytest.approx(d - math.hypot(20 / 120 - two.low, one.high - 0.05))
    assert found.high == pytest.approx(d + math.hypot(two.high - 20 / 120, 0.05 - one.low))


@pytest.mark.parametrize("watched", [False, True])
def test_exchanging_the_runs_turns_everything_round(watched: bool) -> None:
    for one, other in (
        (contrast_paired(3, 11, 90, watched=watched), contrast_paired(11, 3, 90, watched=watched)),
        (
            contrast_separate(3, 50, 9, 70, watched=watched),
            contrast_separate(9, 70, 3, 50, watched=watched),
        ),
    ):
        assert (one.difference, one.low, one.high) == pytest.approx(
            (-other.difference, -other.high, -other.low)
        )
        assert (one.p, one.exact) == pytest.approx((other.p, other.exact))


def test_the_bet_on_signs_is_fair_on_average() -> None:
    """Of all sequences of n fair signs, the mean evidence is 1: it is an e-value."""
    for n in (1, 2, 7, 40):
        weights = [math.comb(n, b) * 0.5**n for b in range(n + 1)]
        mean = sum(w * math.exp(sign_evidence(b, n - b)) for b, w in enumerate(weights))
        assert mean == pytest.approx(1.0)


def worst_moment(rng: np.random.Generator, p10: float, p01: float, n: int = 300) -> tuple[int, int, int]:
    """Cases of two equal or unequal models, looked at after every case and stopped when it looks worst."""
    draw = rng.random(n)
    first, second = np.cumsum(draw < p10), np.cumsum((draw >= p10) & (draw < p10 + p01))
    z = (second - first) / np.sqrt(np.maximum(first + second, 1))
    at = 20 + int(np.argmax(z[20:]))
    return int(first[at]), int(second[at]), at + 1


def test_whoever_stops_at_the_worst_moment_is_not_fooled() -> None:
    rng = np.random.default_rng(1)
    runs = [worst_moment(rng, 0.15, 0.15) for _ in range(1500)]
    found = [contrast_paired(*run, watched=True) for run in runs]
    assert np.mean([one.exact <= 0.05 for one in found]) > 0.08  # McNemar's test is
    assert np.mean([one.p <= 0.05 for one in found]) <= 0.05
    assert np.mean([one.low <= 0 <= one.high for one in found]) >= 0.95
    uneven = [contrast_paired(*worst_moment(rng, 0.1, 0.2), watched=True) for _ in range(600)]
    assert np.mean([one.low <= 0.1 <= one.high for one in uneven]) >= 0.95


def test_separate_samples_that_stop_by_their_failures_keep_the_promise() -> None:
    rng = np.random.default_rng(2)
    wrong = covered = 0
    for _ in range(250):
        samples = []
        for _ in range(2):
            failed = np.cumsum(rng.random(300) < 0.1)
            at = int(np.argmax(failed >= 12)) if failed[-1] >= 12 else 299
            samples += [int(failed[at]), at + 1]
        found = contrast_separate(*samples, watched=True)
        wrong += found.p <= 0.05
        covered += found.low <= 0 <= found.high
    assert wrong <= 0.05 * 250
    assert covered >= 0.95 * 250


def test_a_real_difference_is_seen() -> None:
    assert contrast_paired(5, 60, 400, watched=True).p < 1e-6
    assert contrast_separate(5, 300, 60, 300, watched=True).p < 1e-4


def test_ends_stay_within_what_a_difference_can_be() -> None:
    assert joined(1.0, Interval(0.2, 1.0), 0.0, Interval(0.0, 0.9)).high == 1.0
    every = contrast_paired(0, 5, 5, watched=True)
    assert -1 <= every.low <= every.difference <= every.high == 1


@pytest.mark.parametrize("broken", [lambda: contrast_paired(0, 0, 0), lambda: contrast_separate(0, 0, 1, 2)])
def test_nothing_cannot_be_compared(broken: object) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        broken()  # type: ignore[operator]
    with pytest.raises(ValueError, match="negative"):
        sign_evidence(-1, 2)
