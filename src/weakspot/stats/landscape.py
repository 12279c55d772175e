"""The failure rate of every cell of a grid, with an interval, from whatever trials there are.

The log odds of failing are a sum: a constant, an effect of each axis, of each pair of axes (of three where
the grid is small), and something of the cell's own. Effects vary smoothly over the axis' metric; how much
each matters is learnt from the counts (empirical Bayes), so an axis without influence is averaged over and a
rough landscape gives wide intervals. It is Bayesian, so it does not matter who chose which cells were asked
how often, as long as the inputs within a cell were drawn at random.

    η(c) = w₀ + Σ_a φ_a(c)·w_a + Σ_{a<b} φ_a(c)⊗φ_b(c)·w_ab + … + u(c),   w_B ~ N(0, v_B),  u ~ N(0, τ²)

φ_a φ_aᵀ is a Matérn kernel over the distances of the axis, centred. The posterior is Laplace's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Cells = NDArray[np.int64]

#: No model has more features; effects of more axes together are left to the cells' own part.
MOST_FEATURES: Final = 600
#: The distance over which an effect changes, where the farthest values are 1 apart.
REACH: Final = 0.6
#: Rounds of Newton's method and of learning the variances.
ROUNDS: Final = 30
#: Standard deviations on either side of an interval: more than the 1.96 of 95 %, since the variances are
#: themselves estimated and cells may be rougher than they look; `benchmarks/map_search.py` measures it.
WIDTH: Final = 2.8
#: Standard deviations on either side of an interval for what is left to chance alone.
Z: Final = 1.96
#: The variance that effects of one axis, of two and of more usually have, and how many weights' worth of
#: evidence that is: few trials alone would call every effect small, and the intervals too narrow.
USUAL, LOOKS = (0.3, 0.02, 0.005), 2.0
#: The least variance of a cell's own part: no landscape is exactly a sum of smooth effects.
_FLOOR: Final = 0.0025
#: An end of an interval that is nearer than this to 0 or to 1 is there.
END: Final = 0.005
_CHUNK: Final = 8192


@dataclass(frozen=True)
class Smoothness:
    """What is believed before any trial: which effects there can be, and how they vary.

    Attributes:
        features: Per axis a row for every value.
        blocks: The groups of axes whose joint effects are modelled; () is the constant.
    """

    shape: tuple[int, ...]
    features: tuple[Array, ...]
    blocks: tuple[tuple[int, ...], ...]

    def widths(self) -> list[int]:
        return [math.prod(self.features[a].shape[1] for a in block) for block in self.blocks]

    def rows(self, cells: Cells) -> Array:
        """All features of cells, which are given by the numbers of their values, one row each."""
        columns = []
        for block in self.blocks:
            part = np.ones((len(cells), 1))
            for a in block:
                wide = self.features[a][cells[:, a]]
                shape = len(cells), part.shape[1] * wide.shape[1]
                part = (part[:, :, None] * wide[:, None, :]).reshape(shape)
            columns.append(part)
        return np.concatenate(columns, axis=1)


def smoothness(distances: Sequence[Array]) -> Smoothness:
    """The prior of a grid whose axes have these distances between their values."""
    features = tuple(_features(np.asarray(d, dtype=float)) for d in distances)
    widths = [f.shape[1] for f in features]
    blocks: list[tuple[int, ...]] = [()]
    total = 1
    for order in range(1, len(widths) + 1):
        more = list(itertools.combinations(range(len(widths)), order))
        total += sum(math.prod(widths[a] for a in block) for block in more)
        if order > 1 and total > MOST_FEATURES:
            break
        blocks += more
    return Smoothness(tuple(len(f) for f in features), features, tuple(blocks))


def _features(distances: Array) -> Array:
    """Rows φ with φ φᵀ the centred Matérn kernel, of mean variance 1."""
    near = math.sqrt(3) * distances / REACH
    kernel = (1 + near) * np.exp(-near)
    centre = np.eye(len(kernel)) - 1 / len(kernel)
    kernel = centre @ kernel @ centre
    values, vectors = np.linalg.eigh(kernel / np.trace(kernel) * len(kernel))
    kept = values > 1e-6 * values.max()
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


class Fit(NamedTuple):
    """The posterior.

    Attributes:
        variances: Learnt, per block.
        own: τ², the variance of a cell's own part.
        cells: The numbers (row-major) of the cells that were asked, rising.
        noise: The variance of their measured log odds.
        offset: What was measured beyond the smooth part.
    """

    smooth: Smoothness
    mean: Array
    covariance: Array
    variances: Array
    own: float
    cells: Cells
    noise: Array
    offset: Array


def fit(
    smooth: Smoothness, cells: ArrayLike, failures: ArrayLike, n: ArrayLike, *, start: Fit | None = None
) -> Fit:
    """Learn from counts.

    Args:
        cells: Numbers (row-major) of cells, each once.
        n: Trials of each; cells without are left out.
        start: An earlier fit of the same grid, to begin with.
    """
    cells, f, total = (np.asarray(x) for x in (cells, failures, n))
    order = np.argsort(cells)
    order = order[total[order] > 0]
    cells, f, total = cells[order].astype(np.int64), f[order].astype(float), total[order].astype(float)
    if np.any((f < 0) | (f > total)):
        raise ValueError("Failures must lie between 0 and the number of trials, in every cell.")
    widths = smooth.widths()
    block = np.repeat(np.arange(len(widths)), widths)
    x = smooth.rows(np.stack(np.unravel_index(cells, smooth.shape), axis=1))
    variances = np.full(len(widths), 0.3) if start is None else start.variances.copy()
    variances[0] = 10.0  # the constant is hardly restrained
    usual = np.array([USUAL[min(len(axes), len(USUAL)) - 1] for axes in smooth.blocks])
    own = 0.05 if start is None else start.own
    pooled = (f.sum() + 0.5) / (total.sum() + 1.0)
    eta = np.full(len(cells), math.log(pooled / (1 - pooled)))
    if start is not None and len(cells):
        eta = x @ start.mean
    mean, cov = np.zeros(len(block)), np.diag(variances[block])
    noise, offset = np.zeros(len(cells)), np.zeros(len(cells))
    for turn in range(ROUNDS if start is None else ROUNDS // 3):
        if not len(cells):
            break
        p = 1 / (1 + np.exp(-np.clip(eta, -12, 12)))
        weight = np.maximum(total * p * (1 - p), 1e-4)
        noise = 1 / weight
        z = eta + np.clip((f - total * p) / weight, -8, 8)
        joint = 1 / (noise + own)
        a = x.T @ (x * joint[:, None])
        a[np.diag_indices_from(a)] += 1 / variances[block]
        cov = np.linalg.inv(a)
        mean = cov @ (x.T @ (joint * z))
        smooth_part = x @ mean
        share = own * joint  # of what was measured beyond the smooth part, how much is the cell's own
        offset = share * (z - smooth_part)
        before, eta = eta, smooth_part + offset
        second = np.bincount(block, mean**2 + np.diag(cov), len(widths))
        variances = np.maximum((second + LOOKS * usual) / (np.asarray(widths) + LOOKS), 1e-5)
        variances[0] = 10.0
        if turn % 3 == 1:  # EM would take hundreds of rounds for this one
            tried = [max(own * factor, _FLOOR) for factor in (0.25, 0.6, 1.0, 1.7, 4.0)]
            own = max(tried, key=lambda t: _log_evidence(x, z, noise + t, variances[block]))
        elif turn > 6 and np.abs(eta - before).max() < 1e-3:
            break
    return Fit(smooth, mean, cov, variances, own, cells, noise, offset)


def _log_evidence(x: Array, z: Array, noise: Array, variances: Array) -> float:
    """log N(z; 0, x diag(variances) xᵀ + diag(noise)), but for a constant."""
    a = x.T @ (x / noise[:, None])
    a[np.diag_indices_from(a)] += 1 / variances
    right = x.T @ (z / noise)
    factor = np.linalg.cholesky(a)
    half = np.linalg.solve(factor, right)
    sizes = 2 * np.log(np.diag(factor)).sum() + np.log(noise).sum() + np.log(variances).sum()
    return float(-0.5 * (sizes + (z * z / noise).sum() - half @ half))


def logits(found: Fit, cells: Cells) -> tuple[Array, Array]:
    """Posterior mean and variance of the log odds of cells, by their numbers."""
    means, variances = [], []
    place = _places(found, cells)
    for at in range(0, len(cells), _CHUNK):
        some, known = cells[at : at + _CHUNK], place[at : at + _CHUNK]
        x = found.smooth.rows(np.stack(np.unravel_index(some, found.smooth.shape), axis=1))
        mean = x @ found.mean
        variance = np.einsum("ij,jk,ik->i", x, found.covariance, x, optimize=True)
        asked = known >= 0
        noise = found.noise[known[asked]]
        kept = np.ones(len(some))  # the part of the smooth effect's doubt that a cell's own trials leave
        kept[asked] = noise / (noise + found.own)
        mean[asked] += found.offset[known[asked]]
        means.append(mean)
        variances.append(kept**2 * variance + found.own * kept)
    return np.concatenate(means), np.concatenate(variances)


def _places(found: Fit, cells: Cells) -> Cells:
    """Where each cell stands among those that were asked; −1 if it was not."""
    if not len(found.cells):
        return np.full(len(cells), -1)
    at = np.minimum(np.searchsorted(found.cells, cells), len(found.cells) - 1)
    return np.where(found.cells[at] == cells, at, -1)


class Rates(NamedTuple):
    """Rates of cells: posterior mean, and the ends of an interval for 95 %."""

    rate: Array
    low: Array
    high: Array


def rates(found: Fit, cells: Cells, *, width: float = WIDTH) -> Rates:
    """The posterior rates of cells, by their numbers."""
    mean, variance = logits(found, cells)
    sd = width * np.sqrt(variance)
    rate = _sigmoid(mean / np.sqrt(1 + math.pi * variance / 8))  # of a logistic-normal variable, nearly
    low, high = _sigmoid(mean - sd), _sigmoid(mean + sd)
    # Log odds never reach the ends, but a cell may fail always, or never.
    return Rates(rate, np.where(low < END, 0.0, low), np.where(high > 1 - END, 1.0, high))


def of_finite(found: Rates, failures: ArrayLike, n: ArrayLike, population: ArrayLike) -> Rates:
    """Rates of cells that have so many inputs in all, of which n were seen.

    What was seen is known. How many of the rest fail varies around the cell's rate, which is in doubt itself;
    the two are put together as Zou and Donner (2008) do, with a correction for continuity, and the ends are
    counts that there can be. Cells without inputs get nan.
    """
    f, seen, total = (np.asarray(x, float) for x in (failures, n, population))
    rest = total - seen
    chance = Z**2 * rest * found.rate * (1 - found.rate)
    down = np.sqrt((rest * (found.rate - found.low)) ** 2 + chance)
    up = np.sqrt((rest * (found.high - found.rate)) ** 2 + chance)
    expected = f + rest * found.rate
    low = np.maximum(np.ceil(expected - down - 0.5), f)
    high = np.minimum(np.floor(expected + up + 0.5), f + rest)
    whole = np.where(total > 0, total, np.nan)
    return Rates(expected / whole, low / whole, high / whole)


def mean_over(grid: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """The mean of a grid over some axes, without what is nan; nan where nothing is left."""
    there = ~np.isnan(grid)
    if there.all():
        return np.asarray(grid.mean(axis=axes, keepdims=keepdims))
    total = np.where(there, grid, 0.0).sum(axis=axes, keepdims=keepdims)
    count = there.sum(axis=axes, keepdims=keepdims)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def sampled(found: Fit, rng: np.random.Generator, times: int) -> Array:
    """Rates of all cells as they might be: posterior draws, one row each."""
    smooth, shape = found.smooth, found.smooth.shape
    spread = np.linalg.cholesky(found.covariance + 1e-10 * np.eye(len(found.mean)))
    weights = found.mean + rng.standard_normal((times, len(found.mean))) @ spread.T
    eta = np.zeros((times, *shape))
    ends = np.cumsum(smooth.widths())
    for block, end, wide in zip(smooth.blocks, ends, smooth.widths(), strict=True):
        part = weights[:, end - wide : end].reshape(times, *(smooth.features[a].shape[1] for a in block))
        for i, a in enumerate(block):
            part = np.moveaxis(np.tensordot(part, smooth.features[a], axes=([i + 1], [1])), -1, i + 1)
        eta += part.reshape(times, *(n if a in block else 1 for a, n in enumerate(shape)))
    flat = eta.reshape(times, -1)
    own = rng.standard_normal(flat.shape) * math.sqrt(found.own)
    if len(found.cells):
        # Given the smooth part, a cell that was asked has a narrower part of its own.
        share = found.own / (found.own + found.noise)
        x = smooth.rows(np.stack(np.unravel_index(found.cells, shape), axis=1))
        shifted = found.offset + share * (x @ found.mean - flat[:, found.cells])
        own[:, found.cells] = own[:, found.cells] * np.sqrt(1 - share) + shifted
    return _sigmoid(flat + own)


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))))
