"""Rates from repeats: coverage for skewed estimates, and what is proven where they disagree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.rare import plain_draws

from weakspot.stats import clopper_pearson
from weakspot.stats.intervals import rate_from_repeats


@pytest.mark.parametrize("repeats", [8, 12, 20])
@pytest.mark.parametrize("sigma", [0.2, 0.5, 0.8])
def test_lognormal_repeats_are_covered(sigma: float, repeats: int) -> None:
    """Estimates like those of splitting: unbiased, skewed to the right."""
    rng = np.random.default_rng(3)
    estimates = 1e-5 * np.exp(rng.normal(-sigma * sigma / 2, sigma, (1500, repeats)))
    found = [rate_from_repeats(row, n=2000) for row in estimates.tolist()]
    covered = np.mean([r.low <= 1e-5 <= r.high for r in found])
    assert covered >= 0.95 - 0.02
    assert all(r.low <= r.rate <= r.high for r in found)


def test_repeats_that_miss_a_mode_now_and_then_are_covered() -> None:
    """Four tenths of the rate are found by a third of the repeats only."""
    rng = np.random.default_rng(4)
    noise = np.exp(rng.normal(-0.08, 0.4, (1500, 12)))
    estimates = 1e-5 * noise * (0.6 + 0.4 * 3 * (rng.random((1500, 12)) < 1 / 3))
    found = [rate_from_repeats(row, n=2000) for row in estimates.tolist()]
    assert np.mean([r.low <= 1e-5 <= r.high for r in found]) >= 0.93


def test_disagreement_leaves_what_is_proven() -> None:
    lucky = rate_from_repeats([0.0] * 9 + [3e-5, 1e-6, 0.0], failures=0, n=4000)
    assert not lucky.agree
    assert lucky.rate == pytest.approx(31e-6 / 12)
    assert lucky.low == pytest.approx(0.025 * lucky.rate)
    assert lucky.high == lucky.ceiling == clopper_pearson(0, 4000).high
    none = rate_from_repeats([0.0] * 12, n=4000)
    assert none == (0.0, 0.0, lucky.ceiling, lucky.ceiling, False)
    assert rate_from_repeats([1e-6, 1e-5]).high == 1.0


def test_agreement_gives_a_narrow_interval() -> None:
    found = rate_from_repeats([0.9e-5, 1e-5, 1.1e-5, 1.2e-5, 0.8e-5, 1e-5], n=1000)
    assert found.agree
    assert 0.8e-5 < found.low < found.rate < found.high < 1.25e-5
    assert found.ceiling > 1e-3
    same = rate_from_repeats([0.25, 0.25, 0.25])
    assert (same.rate, same.low, same.high) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("failures", [1, 5, 20, 100])
def test_plain_draws_inverts_clopper_pearson(failures: int) -> None:
    n = 10_000_000
    low, high = clopper_pearson(failures, n)
    assert plain_draws(failures / n, low, high) == pytest.approx(n, rel=0.01)


def test_plain_draws_at_its_ends() -> None:
    assert plain_draws(1e-5, 0.0, 1e-4) == pytest.approx(1e5)
    assert plain_draws(1e-5, 1e-5, 1e-5) == math.inf


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="at least two estimates"):
        rate_from_repeats([1e-5])
    with pytest.raises(ValueError, match="at least two estimates"):
        rate_from_repeats([1e-5, -1e-5])
    with pytest.raises(ValueError, match="confidence level"):
        rate_from_repeats([1e-5, 1e-5], level=1.0)
    with pytest.raises(ValueError, match="between 0 and the number"):
        rate_from_repeats([1e-5, 1e-5], failures=2, n=1)
    with pytest.raises(ValueError, match="lie in its interval"):
        plain_draws(1e-5, 2e-5, 3e-5)
