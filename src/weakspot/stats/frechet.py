"""How far two sets of feature vectors lie apart: the Fréchet distance (FID) and the kernel distance (KID).

Rows are examples, columns are features; the arithmetic is in float64 whatever is given. FID is biased: it is
too large for few examples, the more so the more features there are, and with fewer examples than features
(`too_few`) its covariances are not even of full rank. KID is unbiased for any number, and may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import Interval, _check_level

#: Rows of a kernel matrix that are held at once.
_BLOCK: Final = 512

_Rows = NDArray[np.float64]


def fid(a: ArrayLike, b: ArrayLike) -> float:
    """The Fréchet distance of two Gaussians with the sets' means and covariances (Heusel et al. 2017).

    ‖μ₁ − μ₂‖² + tr(Σ₁ + Σ₂ − 2 (Σ₁ Σ₂)^½). With Σ₁ = Rᵀ R and Σ₂ = Sᵀ S, the trace of the root is the sum
    of the singular values of R Sᵀ. No product of covariances is formed and no root of a matrix taken, so
    nothing can turn complex, and covariances without full rank are as good as others.
    """
    one, two = _checked(a, b)
    first, second = _root(one), _root(two)
    shared = float(np.linalg.svd(first @ second.T, compute_uv=False).sum())
    apart = float(((one.mean(0) - two.mean(0)) ** 2).sum())
    return max(0.0, apart + float((first**2).sum()) + float((second**2).sum()) - 2 * shared)


def kid(a: ArrayLike, b: ArrayLike) -> float:
    """The unbiased squared mean discrepancy with the kernel (x·y / d + 1)³ (Bińkowski et al. 2018)."""
    one, two = _checked(a, b)
    return float(_discrepancies(one, two, np.ones((1, len(one))), np.ones((1, len(two))))[0])


def kid_interval(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, replicates: int = 500, seed: int = 0
) -> Interval:
    """A bootstrap interval of `kid`: quantiles over sets drawn anew, with replacement, from both.

    An example that was drawn twice is not compared with itself: that pair says nothing about the
    distribution, and would make every replicate too large. Equal arguments give equal ends. For sets of
    the same distribution, where the distance has no slope, the interval is wider than it need be.

    Args:
        a: One set, (examples, features).
        b: The other.
        level: Share of such intervals that hold the true distance, for many examples.
        replicates: Sets drawn anew.
        seed: Of the draws.
    """
    _check_level(level)
    if replicates < 2:
        raise ValueError(f"An interval needs at least two replicates, got {replicates}.")
    one, two = _checked(a, b)
    rng = np.random.default_rng(seed)
    weights = [
        rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=replicates).astype(np.float64)
        for rows in (one, two)
    ]
    values = _discrepancies(one, two, *weights)
    values = values[np.isfinite(values)]  # of two examples one can be all that was drawn
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail]) if len(values) else (-np.inf, np.inf)
    return Interval(float(low), float(high))


def too_few(a: ArrayLike, b: ArrayLike) -> bool:
    """Whether a set has fewer examples than features, so that `fid` says more about that than about it."""
    return any(len(rows) <= rows.shape[1] for rows in _checked(a, b))


def _discrepancies(a: _Rows, b: _Rows, weights_a: _Rows, weights_b: _Rows) -> _Rows:
    """The distance once per row of weights, which say how often each example is there."""
    within = _within(a, weights_a) + _within(b, weights_b)
    between = np.zeros(len(weights_a))
    for part, kernel in _kernels(a, b):
        between += ((weights_a[:, part] @ kernel) * weights_b).sum(1)
    return np.asarray(within - 2 * between / (weights_a.sum(1) * weights_b.sum(1)))


def _within(rows: _Rows, weights: _Rows) -> _Rows:
    """The mean of the kernel over all pairs of different examples."""
    total = np.zeros(len(weights))
    for part, kernel in _kernels(rows, rows):
        total += ((weights[:, part] @ kernel) * weights).sum(1)
    own = ((rows**2).sum(1) / rows.shape[1] + 1) ** 3
    squares = weights**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((total - squares @ own) / (weights.sum(1) ** 2 - squares.sum(1)))


def _kernels(a: _Rows, b: _Rows) -> Iterator[tuple[slice, _Rows]]:
    """The kernel matrix, some rows at a time."""
    for start in range(0, len(a), _BLOCK):
        part = slice(start, start + _BLOCK)
        yield part, (a[part] @ b.T / a.shape[1] + 1) ** 3


def _root(rows: _Rows) -> _Rows:
    """A matrix R, as small as there is, with Rᵀ R = the covariance."""
    centred = (rows - rows.mean(0)) / np.sqrt(len(rows) - 1)
    return np.asarray(np.linalg.qr(centred, mode="r")) if len(rows) > rows.shape[1] else centred


def _checked(a: ArrayLike, b: ArrayLike) -> tuple[_Rows, _Rows]:
    one, two = (_floats(x) for x in (a, b))
    if one.shape[1] != two.shape[1]:
        raise ValueError(f"The sets have {one.shape[1]} and {two.shape[1]} features.")
    return one, two


def _floats(x: Any) -> _Rows:
    rows = np.asarray(x, np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1]:
        raise ValueError(f"A set is at least two rows of features, got the shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("Features must be finite numbers.")
    return rows
