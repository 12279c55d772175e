"""One comparison of two rates, against scipy."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact

from weakspot.stats import fisher, mcnemar

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
