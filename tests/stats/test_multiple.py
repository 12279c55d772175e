"""Many tests at once: agreement with scipy and the promised error rates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm

from weakspot.stats import adjusted_bh, adjusted_holm, closed_e_bh, e_bh

pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(pvalues)
def test_bh_agrees_with_scipy(p: list[float]) -> None:
    np.testing.assert_allclose(adjusted_bh(p), false_discovery_control(p), rtol=1e-12, atol=1e-300)


@given(pvalues, st.sampled_from((0.01, 0.05, 0.2)))
def test_holm_steps_down(p: list[float], alpha: float) -> None:
    """Holm by its definition: go up from the smallest while p_(i) (m − i) ≤ alpha."""
    expected = [False] * len(p)
    for rank, index in enumerate(np.argsort(p, kind="stable")):
        if p[index] * (len(p) - rank) > alpha:
            break
        expected[index] = True
    assert [q <= alpha for q in adjusted_holm(p)] == expected
    assert all(a >= b for a, b in zip(adjusted_holm(p), adjusted_bh(p), strict=True))


@given(st.lists(st.floats(-10, 20), min_size=1, max_size=20), st.sampled_from((0.05, 0.2)))
def test_e_bh_by_its_definition(logs: list[float], alpha: float) -> None:
    m = len(logs)
    ks = [k for k in range(1, m + 1) if sum(np.exp(v) >= m / (alpha * k) * (1 - 1e-12) for v in logs) >= k]
    k = max(ks, default=0)
    assert sum(e_bh(logs, alpha)) >= k
    assert all(r == (v >= sorted(logs)[-k]) for v, r in zip(logs, e_bh(logs, alpha), strict=True)) or k == 0


def admissible(values: Sequence[Fraction], chosen: set[int], alpha: Fraction) -> bool:
    """The condition of closed e-BH, by its definition: every set A of hypotheses is looked at."""
    every = range(len(values))
    return all(
        sum(values[i] for i in some) * alpha * len(chosen) >= len(chosen & set(some)) * size
        for size in range(1, len(values) + 1)
        for some in combinations(every, size)
    )


#: E-values at which sets of them just reach their bars, or just do not, as well as tiny and huge ones.
EVALUES = st.sampled_from((0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 21, 30, 40, 60, 1000, 10**300))


@given(st.lists(EVALUES, min_size=1, max_size=6), st.sampled_from((Fraction(1, 20), Fraction(1, 4))))
def test_closed_e_bh_is_the_largest_set_of_its_definition(evalues: list[int], alpha: Fraction) -> None:
    """Against all sets R and all sets A, in exact arithmetic."""
    values = [Fraction(e) for e in evalues]
    every = range(len(values))
    sizes = [
        size
        for size in range(1, len(values) + 1)
        if any(admissible(values, set(some), alpha) for some in combinations(every, size))
    ]
    with np.errstate(divide="ignore"):
        logs = np.log(np.array(evalues, dtype=float)).tolist()
    found = {i for i, rejected in enumerate(closed_e_bh(logs, float(alpha))) if rejected}
    assert len(found) == max(sizes, default=0)
    assert not found or admissible(values, found, alpha)
    assert all(values[i] >= values[j] for i in found for j in every if j not in found)


@given(st.lists(st.floats(-12, 12), min_size=7, max_size=8))
def test_closed_e_bh_looks_at_the_worst_set_for_every_size(logs: list[float]) -> None:
    """As above with up to eight e-values, where only R of the largest e-values are tried."""
    values = [Fraction(float(np.exp(min(v, 8.0)))) for v in logs]
    order = sorted(range(len(logs)), key=lambda i: -logs[i])
    alpha = Fraction(1, 10)
    sizes = [k for k in range(1, len(logs) + 1) if admissible(values, set(order[:k]), alpha)]
    assert sum(closed_e_bh([min(v, 8.0) for v in logs], 0.1)) == max(sizes, default=0)


@given(st.lists(st.floats(-800, 900), max_size=40), st.sampled_from((0.01, 0.05, 0.2)))
def test_closed_e_bh_rejects_all_that_e_bh_does(logs: list[float], alpha: float) -> None:
    both = zip(e_bh(logs, alpha), closed_e_bh(logs, alpha), strict=True)
    assert all(closed or not plain for plain, closed in both)


def test_a_large_e_value_helps_the_others() -> None:
    assert e_bh(np.log([1000, 12]).tolist()) == [True, False]
    assert closed_e_bh(np.log([1000, 12]).tolist()) == [True, True]
    # Of equal ones that do not all fit, the first: {1, 2} and {1, 3} may be rejected, all three may not.
    assert closed_e_bh(np.log([100, 10, 10]).tolist()) == [True, True, False]


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_false_discoveries_stay_under_alpha(correlation: float) -> None:
    rng = np.random.default_rng(5)
    m, real, shares_bh, shares_e, shares_closed, family, found, more = 40, 10, [], [], [], 0, 0, 0
    shift = np.where(np.arange(m) < real, 3.5, 0.0)
    for _ in range(1000):
        noise = np.sqrt(correlation) * rng.normal() + np.sqrt(1 - correlation) * rng.normal(size=m)
        z = noise + shift
        p = norm.sf(z).tolist()
        bh, e = [q <= 0.1 for q in adjusted_bh(p)], e_bh((3.0 * z - 4.5).tolist(), 0.1)
        closed = closed_e_bh((3.0 * z - 4.5).tolist(), 0.1)
        shares_closed.append(sum(closed[real:]) / max(1, sum(closed)))
        more += sum(closed[:real])
        shares_bh.append(sum(bh[real:]) / max(1, sum(bh)))
        shares_e.append(sum(e[real:]) / max(1, sum(e)))
        family += any(q <= 0.1 for q in adjusted_holm(p)[real:])
        found += sum(e[:real])
    assert np.mean(shares_bh) <= 0.1 * 30 / 40 + 0.02
    assert np.mean(shares_e) <= 0.1
    assert np.mean(shares_closed) <= 0.1
    assert family / 1000 <= 0.1 + 0.03
    assert found / 10_000 > 0.3
    assert more > 1.03 * found


def test_empty_and_certain() -> None:
    assert adjusted_holm([]) == adjusted_bh([]) == e_bh([]) == closed_e_bh([]) == []
    assert adjusted_holm([0.0, 1.0]) == [0.0, 1.0]
    assert e_bh([-np.inf, np.inf]) == closed_e_bh([-np.inf, np.inf]) == [False, True]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted_bh([0.1, 1.2])
    with pytest.raises(ValueError, match="NaN"):
        e_bh([float("nan")])
    with pytest.raises(ValueError, match="NaN"):
        closed_e_bh([float("nan")])
    with pytest.raises(ValueError, match="error rate"):
        e_bh([0.1], alpha=0.0)
