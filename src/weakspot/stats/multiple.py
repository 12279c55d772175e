"""Many tests at once: family-wise error and the false-discovery rate.

Holm's procedure keeps the chance of any false rejection at alpha, under any dependence of the tests.
Benjamini and Hochberg's keeps the expected share of false rejections at alpha for independent (or positively
dependent) p-values; `e_bh` does so for e-values under any dependence, and `closed_e_bh` does so too and never
rejects fewer. As e-values of `weakspot.stats.sequential` hold at any time, both hold after any stopping. All
answers are in the order given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def adjusted_holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: the smallest alpha at which each is rejected."""
    p, order = _sorted(pvalues)
    factors = p.size - np.arange(p.size)
    return _unsorted(np.maximum.accumulate(p * factors), order)


def adjusted_bh(pvalues: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values: the smallest alpha at which each is rejected."""
    p, order = _sorted(pvalues)
    factors = p.size / np.arange(1, p.size + 1)
    return _unsorted(np.minimum.accumulate((p * factors)[::-1])[::-1], order)


def e_bh(log_evalues: Sequence[float], alpha: float = 0.05) -> list[bool]:
    """Which hypotheses the e-BH procedure rejects (Wang and Ramdas 2022).

    With m e-values in falling order it rejects the k largest, k the greatest number with
    e_(k) ≥ m / (alpha k). Values are natural logs; −∞ stands for an e-value of 0.
    """
    logs = _checked(log_evalues, alpha)
    if logs.size == 0:
        return []
    falling = np.sort(logs)[::-1]
    ranks = np.arange(1, logs.size + 1)
    passing = np.flatnonzero(falling >= math.log(logs.size / alpha) - np.log(ranks))
    if passing.size == 0:
        return [False] * logs.size
    return [bool(value) for value in logs >= falling[passing[-1]]]


def closed_e_bh(log_evalues: Sequence[float], alpha: float = 0.05) -> list[bool]:
    """Which hypotheses the closed e-BH procedure rejects (Xu, Fischer and Ramdas 2025, arXiv 2504.11759).

    It rejects the largest set R such that for every set A of hypotheses

        mean of the e-values of A  ≥  |A ∩ R| / (alpha |R|).

    One of these sets A is that of the true null hypotheses. The mean of their e-values is an e-value, and
    |A ∩ R| / |R| is then the share of false ones in R: it is at most alpha times that mean, hence in
    expectation at most alpha, under any dependence. All that e-BH rejects is rejected, and often more,
    because a large e-value helps the others. Of equal values that do not all fit into R the first are taken.

    Cubic in the number of e-values at worst, and quick for several hundred.
    """
    logs = _checked(log_evalues, alpha)
    m = logs.size
    # In every A with an e-value of m / alpha or more the mean is large enough: larger ones change nothing.
    order = np.argsort(-logs, kind="stable")
    values = np.exp(np.minimum(logs[order], math.log(max(m, 1) / alpha)))
    sure = sum(e_bh(log_evalues, alpha))
    k = next((k for k in range(m, sure, -1) if _closed(values, k, alpha)), sure)
    rejected = np.zeros(m, np.bool_)
    rejected[order[:k]] = True
    return [bool(value) for value in rejected]


#: A mean that is short of its bar by rounding alone has reached it.
_ROUNDING = 1.0 - 1e-12


def _closed(values: NDArray[np.float64], k: int, alpha: float) -> bool:
    """Whether the k largest of falling e-values meet the condition of `closed_e_bh` for every set A.

    Of all A with r of the k and s of the others, the mean is least for the r smallest of the k and the s
    smallest of the others, and the bar is the same. So only these need a look.
    """
    if values[k - 1] < _ROUNDING / (alpha * k):  # A is the smallest of them alone
        return False
    inside = np.cumsum(values[:k][::-1])
    outside = np.concatenate([[0.0], np.cumsum(values[k:][::-1])])
    r, s = np.arange(1, k + 1)[:, None], np.arange(outside.size)
    means = (inside[:, None] + outside) / (r + s)
    return bool(np.all(means >= _ROUNDING * r / (alpha * k)))


def _sorted(pvalues: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    p = np.asarray(pvalues, dtype=float)
    if p.ndim != 1 or not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("P-values must be a flat sequence of numbers between 0 and 1.")
    order = np.argsort(p, kind="stable")
    return p[order], order


def _unsorted(adjusted: NDArray[np.float64], order: NDArray[np.intp]) -> list[float]:
    result = np.empty_like(adjusted)
    result[order] = np.minimum(adjusted, 1.0)
    return [float(value) for value in result]


def _checked(log_evalues: Sequence[float], alpha: float) -> NDArray[np.float64]:
    _check_alpha(alpha)
    logs = np.asarray(log_evalues, dtype=float)
    if logs.ndim != 1 or np.isnan(logs).any():
        raise ValueError("Log e-values must be a flat sequence without NaN.")
    return logs


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"An error rate lies strictly between 0 and 1, got {alpha}.")
