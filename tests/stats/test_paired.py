"""One comparison of two rates, against scipy."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact, multinomial

from weakspot.stats import fisher, mcnemar, paired_difference, sign_flip

counts = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.integers(0, 500), st.integers(0, 500))
@settings(deadline=None)
def test_mcnemar_agrees_with_scipy(b: int, c: int) -> None:
    expected = binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(expected, rel=1e-9)


@given(counts, counts, st.sampled_from(("greater", "less", "two-sided")))
@settings(max_examples=150, deadline=None)
def test_fisher_agrees_with_scipy(a: tuple[int, int], b: tuple[int, int], alternative: Any) -> None:
    table = [[a[0], a[1] - a[0]], [b[0], b[1] - b[0]]]
    expected = float(fisher_exact(table, alternative=alternative).pvalue)
    assert fisher(*a, *b, alternative=alternative) == pytest.approx(expected, rel=1e-7)


def test_large_samples_are_no_trouble() -> None:
    assert fisher(600, 1000, 60, 6000) < 1e-300
    assert fisher(100, 100_000, 100, 100_000) == pytest.approx(0.53, abs=0.01)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="negative"):
        mcnemar(-1, 2)
    with pytest.raises(ValueError, match="between 0 and the number"):
        fisher(3, 2, 0, 1)
    with pytest.raises(ValueError, match="alternative"):
        fisher(1, 2, 0, 1, alternative="more")  # type: ignore[arg-type]


def test_paired_difference_covers_close_to_its_level() -> None:
    n, level = 60, 0.95
    outcomes = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    ends = np.array([paired_difference(b, c, n, level) for b, c in outcomes])
    counts = np.array([(b, c, n - b - c) for b, c in outcomes])
    coverages = []
    for p, q in itertools.product((0.01, 0.05, 0.2, 0.4), (0.0, 0.02, 0.1, 0.4)):
        weight = multinomial.pmf(counts, n, [p, q, 1 - p - q])
        delta = p - q
        coverages.append(weight[(ends[:, 0] <= delta + 1e-9) & (delta - 1e-9 <= ends[:, 1])].sum())
    assert min(coverages) >= 0.93
    assert 0.94 <= np.mean(coverages) <= 0.98


def test_paired_difference_leaves_out_nothing_just_when_the_score_test_rejects() -> None:
    z = 1.959963984540054
    for b, c in itertools.product(range(0, 30, 3), range(0, 30, 3)):
        if b + c == 0:
            continue
        low, high = paired_difference(b, c, 100)
        assert (low > 0 or high < 0) == (abs(b - c) / math.sqrt(b + c) > z)
        assert low <= (b - c) / 100 <= high
        assert paired_difference(c, b, 100) == pytest.approx((-high, -low), abs=1e-9)


def test_paired_difference_at_the_edges() -> None:
    assert paired_difference(0, 0, 0) == (-1.0, 1.0)
    low, high = paired_difference(0, 0, 50)
    assert -0.08 < low < 0 < high < 0.08
    low, high = paired_difference(50, 0, 50)
    assert (low, high) == pytest.approx(((50 - 1.96**2) / (50 + 1.96**2), 1.0), abs=1e-3)
    for wrong in ((-1, 0, 5), (3, 3, 5)):
        with pytest.raises(ValueError, match="cannot differ"):
            paired_difference(*wrong)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
@settings(deadline=None)
def test_signs_of_one_size_are_mcnemars_test(wins: int, losses: int, ties: int) -> None:
    expected = binomtest(wins, wins + losses, alternative="greater").pvalue if wins + losses else 1.0
    found = sign_flip([1.0] * wins + [-1.0] * losses + [0.0] * ties)
    assert found == pytest.approx(expected, rel=1e-9)


def test_sign_flips_agree_with_scipy_and_keep_their_level() -> None:
    from scipy.stats import permutation_test

    rng, small = np.random.default_rng(0), 0
    d = rng.normal(0.4, 1, 12)
    exact = permutation_test((d,), np.sum, permutation_type="samples", alternative="greater").pvalue
    assert sign_flip(d.tolist()) == pytest.approx(exact, abs=0.01)
    for _ in range(400):
        small += sign_flip(rng.choice([-1, -0.5, 0, 0.25, 0.5, 1], 40) * rng.choice([-1, 1], 40)) < 0.05
    assert small <= 400 * 0.05 + 3.5 * math.sqrt(400 * 0.05 * 0.95)
    assert sign_flip([]) == 1.0
    with pytest.raises(ValueError, match="finite"):
        sign_flip([math.nan])
