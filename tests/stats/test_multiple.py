"""Many tests at once: agreement with scipy and the promised error rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm

from weakspot.stats import adjusted_bh, adjusted_holm, e_bh

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


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_false_discoveries_stay_under_alpha(correlation: float) -> None:
    rng = np.random.default_rng(5)
    m, real, shares_bh, shares_e, family, found = 40, 10, [], [], 0, 0
    shift = np.where(np.arange(m) < real, 3.5, 0.0)
    for _ in range(1000):
        noise = np.sqrt(correlation) * rng.normal() + np.sqrt(1 - correlation) * rng.normal(size=m)
        z = noise + shift
        p = norm.sf(z).tolist()
        bh, e = [q <= 0.1 for q in adjusted_bh(p)], e_bh((3.0 * z - 4.5).tolist(), 0.1)
        shares_bh.append(sum(bh[real:]) / max(1, sum(bh)))
        shares_e.append(sum(e[real:]) / max(1, sum(e)))
        family += any(q <= 0.1 for q in adjusted_holm(p)[real:])
        found += sum(e[:real])
    assert np.mean(shares_bh) <= 0.1 * 30 / 40 + 0.02
    assert np.mean(shares_e) <= 0.1
    assert family / 1000 <= 0.1 + 0.03
    assert found / 10_000 > 0.3


def test_empty_and_certain() -> None:
    assert adjusted_holm([]) == adjusted_bh([]) == e_bh([]) == []
    assert adjusted_holm([0.0, 1.0]) == [0.0, 1.0]
    assert e_bh([-np.inf, np.inf]) == [False, True]


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted_bh([0.1, 1.2])
    with pytest.raises(ValueError, match="NaN"):
        e_bh([float("nan")])
    with pytest.raises(ValueError, match="error rate"):
        e_bh([0.1], alpha=0.0)
