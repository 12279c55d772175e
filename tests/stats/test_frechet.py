"""FID and KID: closed forms, an independent computation, unbiasedness and coverage by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import sqrtm

from weakspot.stats import fid, kid, kid_interval, too_few

RNG = np.random.default_rng(0)


def normal(n: int, d: int, *, at: float = 0.0, spread: float = 1.0, seed: int = 0) -> NDArray[np.float64]:
    return at + spread * np.random.default_rng(seed).standard_normal((n, d))


def with_moments(n: int, mean: NDArray[np.float64], cov: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows whose sample mean and covariance are exactly these."""
    d = len(mean)
    raw = np.random.default_rng(n).standard_normal((n, d))
    raw -= raw.mean(0)
    white = raw @ np.linalg.inv(np.linalg.cholesky(np.cov(raw, rowvar=False))).T
    return mean + white @ np.linalg.cholesky(cov).T


def test_fid_of_known_gaussians_is_the_closed_form() -> None:
    one, two = np.diag([1.0, 4.0, 9.0]), np.diag([4.0, 1.0, 16.0])
    a, b = with_moments(50, np.zeros(3), one), with_moments(80, np.array([1.0, 2.0, 2.0]), two)
    # Of diagonal covariances: the squared distances of the means and of the standard deviations.
    assert fid(a, b) == pytest.approx(9 + (1 + 1 + 1), rel=1e-9)
    assert fid(b, a) == pytest.approx(fid(a, b), rel=1e-12)


def test_fid_agrees_with_the_root_of_a_product_of_covariances() -> None:
    mix = RNG.standard_normal((6, 6))
    a, b = normal(200, 6) @ mix, normal(300, 6, at=0.5, seed=1)
    one, two = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    slow = ((a.mean(0) - b.mean(0)) ** 2).sum() + np.trace(one + two - 2 * np.real(sqrtm(one @ two)))
    assert fid(a, b) == pytest.approx(slow, rel=1e-8)


def test_fid_of_a_set_to_itself_is_nothing_even_with_few_examples_or_huge_numbers() -> None:
    for n, d, scale in ((500, 8, 1.0), (10, 300, 1.0), (10, 300, 1e6), (40, 40, 1e-6)):
        rows = scale * normal(n, d)
        size = float((rows**2).sum() / n)
        assert 0 <= fid(rows, rows) <= 1e-12 * size * n
        assert fid(rows, rows + 3 * scale) == pytest.approx(9 * d * scale**2, rel=1e-9)


def test_fid_with_fewer_examples_than_features_is_that_of_the_space_they_span() -> None:
    # 12 examples of 5 numbers, put isometrically into 400 dimensions: nothing may change.
    basis = np.linalg.qr(RNG.standard_normal((400, 5)))[0].T
    a, b = normal(12, 5), normal(15, 5, at=1.0, seed=3)
    assert fid(a @ basis, b @ basis) == pytest.approx(fid(a, b), rel=1e-9)
    assert too_few(a @ basis, b @ basis)
    assert not too_few(normal(50, 5), normal(50, 5))


def test_fid_takes_float32_in_full_precision() -> None:
    a, b = normal(100, 20).astype(np.float32), normal(100, 20, seed=5).astype(np.float32)
    assert fid(a, b) == fid(a.astype(np.float64), b.astype(np.float64))


def test_kid_is_the_mean_over_pairs() -> None:
    a, b = normal(9, 4), normal(7, 4, at=0.3, seed=2)

    def k(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
        return float((x @ y / 4 + 1) ** 3)

    within = [np.mean([k(x, y) for x, y in itertools.permutations(s, 2)]) for s in (a, b)]
    between = np.mean([k(x, y) for x in a for y in b])
    assert kid(a, b) == pytest.approx(sum(within) - 2 * between, rel=1e-10)


def true_kid(d: int, shift: float) -> float:
    """Of N(0, I) and N(shift, I), from the moments of products of Gaussians."""

    def mean_kernel(a: float, s: float, t: float) -> float:
        """E (x·y / d + 1)³ for means with the product a and the squared lengths s and t."""
        second = a * a + s + t + d
        third = a**3 + 3 * a * (s + t + d + 2)
        return 1 + 3 * a / d + 3 * second / d**2 + third / d**3

    s = d * shift**2
    return mean_kernel(0, 0, 0) + mean_kernel(s, s, s) - 2 * mean_kernel(0, 0, s)


def test_kid_of_known_gaussians_is_the_closed_form() -> None:
    a, b = normal(3000, 4), normal(3000, 4, at=0.7, seed=1)
    assert kid(a, b) == pytest.approx(true_kid(4, 0.7), rel=0.1)


def test_kid_does_not_depend_on_how_the_work_is_cut() -> None:
    a, b = normal(1100, 5), normal(700, 5, at=0.2, seed=1)
    whole = (a @ b.T / 5 + 1) ** 3
    aa, bb = ((x @ x.T / 5 + 1) ** 3 for x in (a, b))
    within = [(m.sum() - np.trace(m)) / (len(m) * (len(m) - 1)) for m in (aa, bb)]
    assert kid(a, b) == pytest.approx(sum(within) - 2 * whole.mean(), rel=1e-9)


def test_kid_is_unbiased_at_any_number_while_fid_is_not() -> None:
    d, shift = 4, 0.5
    # One distribution: the true distances are 0.
    kids = [kid(normal(12, d, seed=i), normal(12, d, seed=10_000 + i)) for i in range(800)]
    fids = [fid(normal(12, d, seed=i), normal(12, d, seed=10_000 + i)) for i in range(50)]
    assert abs(np.mean(kids)) < 4 * np.std(kids) / np.sqrt(len(kids))
    assert min(kids) < 0 < max(kids)
    assert np.mean(fids) > 0.3
    few = [kid(normal(10, d, seed=i), normal(10, d, at=shift, seed=9_000 + i)) for i in range(800)]
    assert abs(np.mean(few) - true_kid(d, shift)) < 4 * np.std(few) / np.sqrt(len(few))


def test_the_interval_of_kid_covers() -> None:
    d, shift, repeats = 3, 0.6, 200
    truth = true_kid(d, shift)
    held, held_of_nothing = 0, 0
    for i in range(repeats):
        a, b = normal(60, d, seed=i), normal(60, d, at=shift, seed=5_000 + i)
        low, high = kid_interval(a, b, replicates=150, seed=i)
        held += low <= truth <= high
        low, high = kid_interval(a, normal(60, d, seed=7_000 + i), replicates=150, seed=i)
        held_of_nothing += low <= 0 <= high
    assert 0.89 <= held / repeats <= 0.99
    assert held_of_nothing / repeats >= 0.93


def test_the_interval_is_the_same_each_time_and_wider_for_more_certainty() -> None:
    a, b = normal(60, 5), normal(50, 5, at=0.4, seed=1)
    low, high = kid_interval(a, b)
    assert (low, high) == kid_interval(a, b)
    assert low < kid(a, b) < high
    wide = kid_interval(a, b, level=0.999)
    assert wide.low < low
    assert wide.high > high


def test_two_examples_are_the_least_there_can_be() -> None:
    low, high = kid_interval(normal(2, 3), normal(2, 3, seed=1))
    assert low <= high
    for wrong in (normal(1, 3), np.zeros((4, 0)), np.zeros(4)):
        with pytest.raises(ValueError, match="at least two rows"):
            fid(wrong, normal(5, 3))
    with pytest.raises(ValueError, match="3 and 4 features"):
        kid(normal(5, 3), normal(5, 4))
    with pytest.raises(ValueError, match="finite"):
        fid(np.full((5, 3), np.nan), normal(5, 3))
    with pytest.raises(ValueError, match="replicates"):
        kid_interval(normal(5, 3), normal(5, 3), replicates=1)
