"""Distances of distributions: shares from wanted ones, landscapes of rates, sets of pictures' features."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import Estimate, Interval, _check_level, clopper_pearson

Array = NDArray[np.float64]

#: With more values than this the groups are too many to be looked at one by one.
FEW: Final = 8


def total_variation(counts: Sequence[int], wanted: Sequence[float], *, level: float = 0.95) -> Estimate:
    """The distance between observed shares and wanted ones, with an interval for the true distance.

    TV = max over groups A of |p(A) − w(A)|. Of few values every group gets an exact interval of its share,
    all of them together at `level` (Bonferroni; a group and its complement are one); the ends of the distance
    are the largest of the groups' ends. Of many, |p̂ − p|₁ is bounded as Weissman et al. (2003) do:
    P(|p̂ − p|₁ ≥ a) ≤ (2^k − 2) exp(−n a² / 2). Both hold the level whatever the truth is, for independent
    draws, and more than hold it if the draws were spread evenly over several sources.

    Args:
        wanted: The share each value should have; they are scaled to sum to 1.

    Returns:
        The plain estimate, which is too large on average for few draws, and the ends.
    """
    n, k = sum(counts), len(counts)
    if k < 2 or len(wanted) != k:
        raise ValueError(f"Two values at least, and a wanted share of each; got {k} and {len(wanted)}.")
    if any(c < 0 for c in counts):
        raise ValueError("Counts must not be negative.")
    shares = np.asarray(wanted, dtype=float)
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise ValueError("Wanted shares must be finite, not negative, and not all 0.")
    shares = shares / shares.sum()
    most = float(1 - shares.min())
    if n == 0:
        return Estimate(math.nan, 0.0, most)
    seen = np.asarray(counts, dtype=float) / n
    rate = float(np.abs(seen - shares).sum() / 2)
    if k > FEW:
        half = math.sqrt(2 * (k * math.log(2) - math.log(1 - level)) / n) / 2
        return Estimate(rate, max(rate - half, 0.0), min(rate + half, most))
    groups = [g for size in range(1, k) for g in itertools.combinations(range(k), size) if 0 in g]
    low = high = 0.0
    for group in groups:
        ends = clopper_pearson(sum(counts[i] for i in group), n, 1 - (1 - level) / len(groups))
        want = float(shares[list(group)].sum())
        low = max(low, ends.low - want, want - ends.high)
        high = max(high, abs(ends.low - want), abs(ends.high - want))
    return Estimate(rate, min(low, rate), max(min(high, most), rate))


def shares(rates: ArrayLike) -> Array:
    """How the failures are distributed over the cells, if all cells are shown equally often."""
    values = np.asarray(rates, dtype=float).ravel()
    if not len(values) or not np.all(np.isfinite(values)) or (values < 0).any():
        raise ValueError("Rates must be finite, not negative, and at least one.")
    total = values.sum()
    return np.full(len(values), 1 / len(values)) if total == 0 else values / total


def wasserstein(first: ArrayLike, second: ArrayLike, distances: Sequence[Array]) -> float:
    """W1 between two landscapes of rates (row-major) on one grid, exact; both are normalised to sum to 1.

    `distances` say per axis how far its values are from each other; cells are as far apart as these add up
    to. So mass can be moved along one axis after the other, and the cheapest plan is a flow along the lines
    of the grid: a linear programme with few variables per cell.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, hstack

    p, q = shares(first), shares(second)
    shape = tuple(len(d) for d in distances)
    if len(p) != math.prod(shape) or len(q) != len(p):
        raise ValueError(
            f"A landscape of shape {shape} has {math.prod(shape)} cells, got {len(p)} and {len(q)}."
        )
    if np.allclose(p, q, atol=1e-15):
        return 0.0
    tails, heads, costs = [], [], []
    number = np.arange(len(p)).reshape(shape)
    for axis, far in enumerate(distances):
        line = np.moveaxis(number, axis, 0)
        for i, j in _needed(np.asarray(far, dtype=float)):
            tails.append(line[i].ravel())
            heads.append(line[j].ravel())
            costs.append(np.full(line[i].size, far[i][j]))
    tail, head, cost = np.concatenate(tails), np.concatenate(heads), np.concatenate(costs)
    edge = np.arange(len(tail))
    rows, columns = np.concatenate([tail, head]), np.concatenate([edge, edge])
    flow = coo_matrix((np.concatenate([np.ones(len(edge)), -np.ones(len(edge))]), (rows, columns)))
    both = np.concatenate([cost, cost])  # either way along an edge
    solved = linprog(both, A_eq=hstack([flow, -flow]).tocsc(), b_eq=p - q, bounds=(0, None), method="highs")
    if not solved.success:  # rounding can leave the balances a hair apart
        raise ArithmeticError(f"The distance of two landscapes could not be computed: {solved.message}")
    return float(solved.fun)


def _needed(far: Array) -> list[tuple[int, int]]:
    """The pairs of values between which no third lies; the others are reached through those."""
    n = len(far)
    return [
        (i, j)
        for i in range(n)
        for j in range(i + 1, n)
        if all(far[i, k] + far[k, j] > far[i, j] + 1e-12 for k in range(n) if k not in (i, j))
    ]


def without_location(first: ArrayLike, second: ArrayLike) -> float:
    """The mean difference of the sorted shares: the same for any permutation of the cells."""
    p, q = np.sort(shares(first)), np.sort(shares(second))
    return float(np.abs(p - q).mean())


def entropy(rates: ArrayLike) -> float:
    """How spread out failures are: 0 if all lie in one cell, 1 if they are everywhere alike."""
    p = shares(rates)
    if len(p) < 2:
        return 0.0
    inside = p[p > 0]
    return float(-(inside * np.log(inside)).sum() / math.log(len(p)))


#: Rows of a kernel matrix that are held at once.
_BLOCK: Final = 512


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
        level: Share of such intervals that hold the true distance, for many examples.
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


def _discrepancies(a: Array, b: Array, weights_a: Array, weights_b: Array) -> Array:
    """The distance once per row of weights, which say how often each example is there."""
    within = _within(a, weights_a) + _within(b, weights_b)
    between = np.zeros(len(weights_a))
    for part, kernel in _kernels(a, b):
        between += ((weights_a[:, part] @ kernel) * weights_b).sum(1)
    return np.asarray(within - 2 * between / (weights_a.sum(1) * weights_b.sum(1)))


def _within(rows: Array, weights: Array) -> Array:
    """The mean of the kernel over all pairs of different examples."""
    total = np.zeros(len(weights))
    for part, kernel in _kernels(rows, rows):
        total += ((weights[:, part] @ kernel) * weights).sum(1)
    own = ((rows**2).sum(1) / rows.shape[1] + 1) ** 3
    squares = weights**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((total - squares @ own) / (weights.sum(1) ** 2 - squares.sum(1)))


def _kernels(a: Array, b: Array) -> Iterator[tuple[slice, Array]]:
    """The kernel matrix, some rows at a time."""
    for start in range(0, len(a), _BLOCK):
        part = slice(start, start + _BLOCK)
        yield part, (a[part] @ b.T / a.shape[1] + 1) ** 3


def _root(rows: Array) -> Array:
    """A matrix R, as small as there is, with Rᵀ R = the covariance."""
    centred = (rows - rows.mean(0)) / np.sqrt(len(rows) - 1)
    return np.asarray(np.linalg.qr(centred, mode="r")) if len(rows) > rows.shape[1] else centred


def _checked(a: ArrayLike, b: ArrayLike) -> tuple[Array, Array]:
    one, two = (_floats(x) for x in (a, b))
    if one.shape[1] != two.shape[1]:
        raise ValueError(f"The sets have {one.shape[1]} and {two.shape[1]} features.")
    return one, two


def _floats(x: ArrayLike) -> Array:
    rows = np.asarray(x, np.float64)
    if rows.ndim != 2 or len(rows) < 2 or not rows.shape[1]:
        raise ValueError(f"A set is at least two rows of features, got the shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError("Features must be finite numbers.")
    return rows
