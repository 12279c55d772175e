"""Many tests at once: family-wise error and the false-discovery rate.

Holm's procedure keeps the chance of any false rejection at alpha, under any dependence of the tests.
Benjamini and Hochberg's keeps the expected share of false rejections at alpha for independent (or positively
dependent) p-values; `e_bh` does so for e-values under any dependence, and as e-values of
`weakspot.stats.sequential` hold at any time, after any stopping too. All answers are in the order given.
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
    _check_alpha(alpha)
    logs = np.asarray(log_evalues, dtype=float)
    if logs.ndim != 1 or np.isnan(logs).any():
        raise ValueError("Log e-values must be a flat sequence without NaN.")
    if logs.size == 0:
        return []
    falling = np.sort(logs)[::-1]
    ranks = np.arange(1, logs.size + 1)
    passing = np.flatnonzero(falling >= math.log(logs.size / alpha) - np.log(ranks))
    if passing.size == 0:
        return [False] * logs.size
    return [bool(value) for value in logs >= falling[passing[-1]]]


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


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"An error rate lies strictly between 0 and 1, got {alpha}.")
