"""Searches by a model of Δ itself: a Gaussian process with expected improvement, and Parzen estimators (TPE).

The bandits model whether a cell fails; these model by how much. That is more to learn from a query where Δ
tells near misses from sure answers, and misleading where a few large Δ are not many failures.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from weakspot.studies.map.search.bandit import ask, largest, spend_evenly
from weakspot.studies.map.search.problem import Cells, Floats, Log

#: Cells the process is fitted to, and cells it looks at.
FITTED, LOOKED = 500, 20_000
#: Queries of one cell, and rounds.
CHUNK, ROUNDS, LEAST = 8, 40, 64
_LENGTHS: Final = (0.3, 0.6, 1.2, 2.4)


def gaussian_process(log: Log, rng: np.random.Generator) -> None:
    """Cells whose mean Δ is expected to exceed the worst so far by most (expected improvement)."""
    spend_evenly(log, rng, int(0.2 * log.budget))
    batch = max(LEAST, log.budget // ROUNDS)
    while log.goes_on:
        asked = np.flatnonzero(log.n)
        if len(asked) > FITTED:  # the worst, and others at random
            worst = asked[largest(log.delta[asked] / log.n[asked], FITTED // 2)]
            asked = np.union1d(worst, rng.choice(asked, FITTED // 2, replace=False))
        looked = np.flatnonzero(log.open)
        if len(looked) > LOOKED:
            looked = np.union1d(rng.choice(looked, LOOKED, replace=False), asked[log.open[asked]])
        y, n = log.delta[asked] / log.n[asked], log.n[asked]
        mean, sd = _posterior(_kernels(log, asked, asked), _kernels(log, looked, asked), y, n)
        best = float(y.max()) if len(y) else 0.0
        cells = looked[largest(_improvement(mean, sd, best), max(1, batch // CHUNK))]
        ask(log, rng, np.repeat(cells, CHUNK)[: log.room])


def _kernels(log: Log, first: Cells, second: Cells) -> Floats:
    """Distances in the concept space between two lists of cells."""
    space, far = log.problem.space, np.zeros((len(first), len(second)))
    for axis, d in enumerate(space.distances()):
        far += d[np.ix_(space.grid[first, axis], space.grid[second, axis])]
    return far


def _posterior(own: Floats, other: Floats, y: Floats, n: Cells) -> tuple[Floats, Floats]:
    """Mean and standard deviation; the length of the kernel is that of the largest likelihood."""
    centre, scale = float(y.mean()), float(max(y.var(), 1e-6))
    noise = np.diag(4.0 / n + 1e-6)  # a query's Δ varies by about 2 from input to input
    tried = []
    for length in _LENGTHS:
        factor = np.linalg.cholesky(scale * np.exp(-own / length) + noise)
        white = np.linalg.solve(factor, y - centre)
        tried.append((float(-0.5 * white @ white - np.log(np.diag(factor)).sum()), factor, white, length))
    _, factor, white, length = max(tried, key=lambda one: one[0])
    across = np.linalg.solve(factor, (scale * np.exp(-other / length)).T)
    return centre + white @ across, np.sqrt(np.maximum(scale - (across**2).sum(0), 1e-12))


def _improvement(mean: Floats, sd: Floats, best: float) -> Floats:
    from scipy.special import ndtr

    z = (mean - best) / sd
    return np.asarray(sd * (z * ndtr(z) + np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)))


def parzen(log: Log, rng: np.random.Generator) -> None:
    """Cells made of values that are common among the largest Δ and rare among the others (TPE)."""
    spend_evenly(log, rng, int(0.2 * log.budget))
    space = log.problem.space
    batch = max(LEAST, log.budget // ROUNDS)
    smear = [np.exp(-d / 0.3) for d in space.distances()]
    while log.goes_on:
        asked = np.flatnonzero(log.n)
        y = log.delta[asked] / log.n[asked]
        good = y >= np.quantile(y, 0.85)
        values = space.grid[asked]
        odds, drawn = [], []
        for axis, kernel in enumerate(smear):
            counts = [np.bincount(values[g, axis], minlength=len(kernel)) for g in (good, ~good)]
            dense = [(1 + kernel @ c) / (1 + kernel @ c).sum() for c in counts]
            odds.append(np.log(dense[0] / dense[1]))
            drawn.append(rng.choice(len(kernel), 16 * batch, p=dense[0]))
        cells = np.unique(np.ravel_multi_index(tuple(drawn), space.shape))
        cells = cells[log.open[cells]]
        score = np.sum([of[space.grid[cells, axis]] for axis, of in enumerate(odds)], axis=0)
        best = cells[largest(score, max(1, batch // CHUNK))] if len(cells) else cells
        ask(log, rng, np.repeat(best, CHUNK)[: log.room], instead=batch)
