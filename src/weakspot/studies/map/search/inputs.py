"""What an input's answers in some cells say of it in the others: some pictures fail everywhere.

Where it is known which input a query showed, the Δ of each input is modelled over the cells,
Δ_i(c) = φ(c)·β_i + e with β_i ~ N(μ, Σ), all of it learnt by EM. A cell's rate is then what the model expects
over *all* inputs, plus the mean of what it got wrong on those that were shown, each expected without its own
answer (leave-one-out). That stays right if the model is wrong: a bad model only saves nothing. What is left
of the chance says how many plain queries a query is now worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.stats.landscape import Smoothness

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Larger spaces have few queries per cell and many per input: there this costs more than it saves.
MOST_CELLS, MOST_INPUTS = 1024, 5000
#: Δ is cut to this: how sure a sure answer is tells nothing.
FAR: Final = 8.0
#: Rounds of EM at first, and when it goes on from an earlier fit.
FIRST, AGAIN = 6, 1
#: Inputs that are computed together.
TOGETHER: Final = 64


class Adjusted(NamedTuple):
    """Counts of cells as if they had been measured with less chance: what the queries are worth.

    Expected are the rates over all inputs (`everywhere`) and over those the cell has not shown (`rest`).
    """

    n: Floats
    failures: Floats
    everywhere: Floats
    rest: Floats


@dataclass
class InputModel:
    """The model of Δ over cells (rows of values), fitted again and again as answers come in."""

    prior: Smoothness
    cells: Ints
    inputs: int

    def __post_init__(self) -> None:
        blocks = tuple(block for block in self.prior.blocks if len(block) <= 2)
        self._x = Smoothness(self.prior.shape, self.prior.features, blocks).rows(self.cells)
        self._mean: Floats | None = None
        self._cov, self._noise = np.eye(self._x.shape[1]) * 0.1, 1.0
        self._cov[0, 0] = 4.0

    def adjust(self, cells: Ints, inputs: Ints, failed: Floats, delta: Floats) -> Adjusted | None:
        """Learn from all queries so far, an input at most once per cell.

        None where failures are not Δ above some limit.
        """
        lowest, highest = delta[failed == 1], delta[failed == 0]
        if not len(lowest) or not len(highest) or lowest.min() < highest.max():
            return None
        limit = (lowest.min() + highest.max()) / 2
        y = np.clip(delta - limit, -FAR, FAR)
        asked = _by_input(cells, inputs, y, self.inputs)
        rounds = FIRST if self._mean is None else AGAIN
        if self._mean is None:
            self._mean = np.zeros(self._x.shape[1])
            self._mean[0] = float(y.mean())
        for _ in range(rounds):
            self._mean, self._cov, self._noise = self._one_round(self._mean, asked)
        return self._count(self._mean, asked, cells, inputs, failed)

    def _one_round(self, mean: Floats, asked: list[_Some]) -> tuple[Floats, Floats, float]:
        """One round of EM: mean and covariance of the inputs' weights, and the variance that is left."""
        weights = np.tile(mean, (self.inputs, 1))
        cov, noise = self._cov, self._noise
        explained, off, queries = np.zeros_like(cov), 0.0, 0
        for some in asked:
            x = self._x[some.cells] * some.there[..., None]
            across = x @ cov
            inverse = np.linalg.inv(across @ x.transpose(0, 2, 1) + _diagonal(some.there, noise))
            pull = (inverse @ ((some.y - x @ mean) * some.there)[..., None])[..., 0]
            weights[some.inputs] += (across * pull[..., None]).sum(axis=1)
            queries += int(some.there.sum())
            flat = across.reshape(-1, len(cov))
            explained += flat.T @ (inverse @ across).reshape(-1, len(cov))
            kept = np.diagonal(inverse, axis1=1, axis2=2) * some.there
            off += noise**2 * float((pull**2).sum() - kept.sum()) + noise * float(some.there.sum())
        centre = weights.mean(axis=0)
        apart = weights - centre
        spread = (apart.T @ apart - explained) / self.inputs + cov
        values, vectors = np.linalg.eigh(
            (spread + spread.T) / 2
        )  # rounding must not make a variance negative
        spread = (vectors * np.maximum(values, 1e-4)) @ vectors.T
        return centre, spread, max(off / max(queries, 1), 0.05)

    def _count(self, mean: Floats, asked: list[_Some], cells: Ints, inputs: Ints, failed: Floats) -> Adjusted:
        from scipy.special import ndtr

        size, cov, noise = len(self._x), self._cov, self._noise
        base, wide = self._x @ mean, self._x @ cov
        spread = (wide * self._x).sum(axis=1)
        total, shown = np.zeros(size), np.zeros(size)
        own = np.zeros((self.inputs, size))  # P(failed) of each query, expected without its own answer
        for some in asked:
            x = self._x[some.cells] * some.there[..., None]
            across = wide @ x.transpose(0, 2, 1)  # inputs × cells × queries
            inverse = np.linalg.inv(x @ cov @ x.transpose(0, 2, 1) + _diagonal(some.there, noise))
            pull = (inverse @ ((some.y - base[some.cells]) * some.there)[..., None])[..., 0]
            left = np.maximum(spread - ((across @ inverse) * across).sum(axis=2), 0.0)
            expected = ndtr((base + (across @ pull[..., None])[..., 0]) / np.sqrt(left + noise))
            precise = np.diagonal(inverse, axis1=1, axis2=2)
            alone = ndtr((some.y - pull / precise) * np.sqrt(precise))
            row, column = np.nonzero(some.there)
            place = some.cells[row, column]
            expected[row, place] = own[some.inputs[row], place] = alone[row, column]
            total += expected.sum(axis=0)
            np.add.at(shown, place, alone[row, column])
        n = np.bincount(cells, minlength=size)
        wrong = failed - own[inputs, cells]
        everywhere = total / self.inputs
        rest = np.where(self.inputs > n, (total - shown) / np.maximum(self.inputs - n, 1), everywhere)
        rate = np.clip(everywhere + np.bincount(cells, wrong, size) / np.maximum(n, 1), 0.002, 0.998)
        plain = float((n * rate * (1 - rate)).sum() / max(n.sum(), 1))
        worth = min(max(plain / max(float((wrong**2).mean()), 1e-6), 1.0), 20.0)
        return Adjusted(np.asarray(n * worth, float), n * worth * rate, everywhere, rest)


class _Some(NamedTuple):
    """Queries of some inputs, a row each, filled up to one length; `there` is 1 where there is one."""

    inputs: Ints
    cells: Ints
    y: Floats
    there: Floats


def _by_input(cells: Ints, inputs: Ints, y: Floats, size: int) -> list[_Some]:
    """All queries, those of inputs with about as many of them together; inputs without any too."""
    order = np.argsort(inputs, kind="stable")
    cells, y = cells[order], y[order]
    ends = np.searchsorted(inputs[order], np.arange(size + 1))
    sizes, parts = np.diff(ends), []
    rising = np.argsort(sizes, kind="stable")
    for at in range(0, size, TOGETHER):
        some = rising[at : at + TOGETHER]
        steps = np.arange(max(int(sizes[some].max()), 1))
        there = steps < sizes[some][:, None]
        place = np.where(there, ends[some][:, None] + steps, 0)
        parts.append(_Some(some, cells[place], y[place], there.astype(float)))
    return parts


def _diagonal(there: Floats, noise: float) -> Floats:
    """The variance of each query, and 1 where there is none, which then changes nothing."""
    return np.asarray(np.where(there > 0, noise, 1.0)[..., None] * np.eye(there.shape[1]))
