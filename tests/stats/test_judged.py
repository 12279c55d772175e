"""Rates behind an erring judge: recovery, coverage, and the limits."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from weakspot.stats import Estimate, clopper_pearson, corrected_rate, rogan_gladen


@cache
def estimate(failures: int, n: int, tp: int, positives: int, tn: int, negatives: int) -> Estimate:
    return corrected_rate(
        failures, n, true_positives=tp, positives=positives, true_negatives=tn, negatives=negatives
    )


def test_rogan_gladen_inverts_the_judge() -> None:
    assert rogan_gladen(145, 1000, sensitivity=0.9, specificity=0.95) == pytest.approx(0.095 / 0.85)
    assert rogan_gladen(10, 1000, sensitivity=0.9, specificity=0.95) == 0.0
    assert rogan_gladen(99, 100, sensitivity=0.9, specificity=0.95) == 1.0
    assert rogan_gladen(7, 100, sensitivity=1.0, specificity=1.0) == pytest.approx(0.07)


@pytest.mark.parametrize(
    ("rate", "n", "sensitivity", "positives", "specificity", "negatives"),
    [
        (0.0, 2000, 0.95, 100, 0.99, 100),
        (0.001, 2000, 0.95, 100, 0.99, 100),
        (0.01, 500, 0.9, 50, 0.98, 50),
        (0.02, 3000, 0.8, 40, 0.999, 400),
        (0.1, 1000, 0.9, 100, 0.95, 100),
        (0.5, 300, 0.9, 50, 0.9, 50),
    ],
)
def test_coverage_with_a_judge_known_from_few_labels(
    rate: float, n: int, sensitivity: float, positives: int, specificity: float, negatives: int
) -> None:
    rng = np.random.default_rng(2)
    size = 150
    seen = rng.binomial(n, rate * sensitivity + (1 - rate) * (1 - specificity), size)
    tp, tn = rng.binomial(positives, sensitivity, size), rng.binomial(negatives, specificity, size)
    found = [
        estimate(int(f), n, int(a), positives, int(b), negatives)
        for f, a, b in zip(seen, tp, tn, strict=True)
    ]
    covered = np.mean([e.low <= rate <= e.high for e in found])
    assert covered >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / size)
    assert all(e.low <= e.rate <= e.high for e in found)


def test_a_perfectly_known_judge_leaves_clopper_pearson() -> None:
    low, high = clopper_pearson(30, 1000)
    found = estimate(30, 1000, 10**9, 10**9, 10**9, 10**9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.01)


def test_points_stand_for_random_draws() -> None:
    """The fixed points against a million draws from the same Beta distributions."""
    rng = np.random.default_rng(0)
    q, se, alarms = (rng.beta(a, b, 10**6) for a, b in ((150, 851), (91, 10), (6, 95)))
    low = np.quantile(np.clip((q - alarms) / (se - alarms), 0, 1), 0.025)
    q, se, alarms = (rng.beta(a, b, 10**6) for a, b in ((151, 850), (90, 11), (5, 96)))
    high = np.quantile(np.clip((q - alarms) / (se - alarms), 0, 1), 0.975)
    found = estimate(150, 1000, 90, 100, 95, 100)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.01 * (high - low))


def test_more_labels_narrow_the_interval() -> None:
    few, many = estimate(60, 1000, 45, 50, 49, 50), estimate(60, 1000, 900, 1000, 980, 1000)
    assert many.high - many.low < few.high - few.low


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="no better than chance"):
        rogan_gladen(1, 10, sensitivity=0.5, specificity=0.5)
    with pytest.raises(ValueError, match="at least one trial"):
        rogan_gladen(0, 0, sensitivity=0.9, specificity=0.9)
    with pytest.raises(ValueError, match="lie in"):
        rogan_gladen(1, 10, sensitivity=1.5, specificity=0.5)
    with pytest.raises(ValueError, match="labelled cases of both kinds"):
        estimate(1, 10, 0, 0, 5, 5)
