"""How far apart two failure landscapes are, and how spread out one is.

The distance is Wasserstein's: the least work that turns one distribution of failures into the other, where
moving a share of them costs the distance in the concept space. It sees *where* failures are; the distance
between the sorted shares (`without_location`), which has been published under the same name, does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def shares(rates: ArrayLike) -> Array:
    """How the failures are distributed over the cells, if all cells are shown equally often."""
    values = np.asarray(rates, dtype=float).ravel()
    if not len(values) or not np.all(np.isfinite(values)) or (values < 0).any():
        raise ValueError("Rates must be finite, not negative, and at least one.")
    total = values.sum()
    return np.full(len(values), 1 / len(values)) if total == 0 else values / total


def wasserstein(first: ArrayLike, second: ArrayLike, distances: Sequence[Array]) -> float:
    """W1 between two landscapes on one grid, exact.

    Args:
        first: Rates of all cells, row-major; they are normalised to sum to 1.
        second: The same.
        distances: Per axis, how far its values are from each other; cells are as far apart as these add up
            to.

    As distances add up over the axes, mass can be moved along one axis after the other, and the cheapest plan
    is a flow along the lines of the grid: a linear programme with few variables per cell.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

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
    from scipy.sparse import hstack

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
