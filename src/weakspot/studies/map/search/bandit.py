"""Bandits with a smoothness prior: what one cell answers says something of the cells beside it.

Each round the landscape is fitted to all answers (`weakspot.stats.landscape`) and the next batch goes to
cells that may be among the worst: where posterior draws disagree on which these are (Thompson sampling for
the worst few, not the worst alone), or by the upper end of what is believed (UCB). Where a cell can show only
so many inputs, what it has shown is known, and only the rest is in doubt: a cell that has shown them all is
asked no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from weakspot.stats.landscape import Fit, logits, rates, sampled
from weakspot.studies.map.search.problem import Cells, Floats, Log

#: Cells that are looked for, and places: worst cells no two of which are neighbours.
WORST: Final = 5
#: Posterior draws per round.
DRAWS: Final = 64
#: Part of a batch for the worst as they are believed, whose rates people read, as long as the standard
#: deviation of such a rate is more than `KNOWN`.
SURE, KNOWN = 0.2, 0.02
#: Part of the budget that is spread over the whole space first.
FIRST: Final = 0.2
#: About how often a bandit looks at what it knows, and queries of a batch at least.
ROUNDS, LEAST = 30, 64
#: Queries of one cell in a batch, at most.
CHUNK: Final = 8
#: Standard deviations that UCB hopes for.
REACH: Final = 2.0
#: Posterior draws times cells that are held at once.
_ROOM: Final = 1 << 24


def thompson(log: Log, rng: np.random.Generator) -> None:
    """A batch goes where posterior draws of the landscape disagree on which the worst cells and places are.

    A cell that is among them in a share p of the draws is asked in proportion to p (1 - p): what is certainly
    among the worst need not be asked much more often, and what is on the border must be.
    """
    beside = cache(log.problem.space.beside)

    def choose(found: Fit, batch: int) -> Cells:
        chunk = max(1, min(CHUNK, batch // (4 * WORST)))
        cells, places, mean, sd = _among(log, found, rng, beside)
        # Places are what a map is made for, and the worst cells are mostly beside each other.
        doubt = _shares(log.open * (cells * (1 - cells) + 2 * places * (1 - places)))
        worst = _shares(log.open * (cells + places) * (sd > KNOWN))
        weights = doubt + SURE / (1 - SURE) * worst
        if weights.any():
            chosen = _in_proportion(weights, math.ceil(batch / chunk), rng)
        else:
            chosen = largest(np.where(log.open, mean, -1.0), WORST)
        return np.resize(np.repeat(chosen, chunk), batch)

    _play(log, rng, choose)


def _among(
    log: Log, found: Fit, rng: np.random.Generator, beside: Callable[[int], list[int]]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Per cell: in which shares of draws it is one of the worst cells, and places; its mean rate and sd."""
    size = log.problem.space.size
    cells, places, total, squares = (np.zeros(size) for _ in range(4))
    most = max(1, _ROOM // size)
    for at in range(0, DRAWS, most):
        for row in sampled(found, rng, min(most, DRAWS - at)):
            rates = log.finite(row)
            cells[largest(rates, WORST)] += 1
            places[_places(log, rates, beside)] += 1
            total += rates
            squares += rates**2
    mean = total / DRAWS
    return cells / DRAWS, places / DRAWS, mean, np.sqrt(np.maximum(squares / DRAWS - mean**2, 0.0))


def _places(log: Log, rates: Floats, beside: Callable[[int], list[int]]) -> list[int]:
    """The worst cells no two of which are beside each other."""
    space = log.problem.space
    widest = sum(
        n - 1 if a.metric == "categorical" else 2 for a, n in zip(space.axes, space.shape, strict=True)
    )
    chosen: list[int] = []
    taken: set[int] = set()
    for cell in largest(rates, WORST * (1 + widest)).tolist():
        if cell not in taken:
            chosen.append(cell)
            if len(chosen) == WORST:
                break
            taken.update(beside(cell))
    return chosen


def _shares(weights: Floats) -> Floats:
    """The same with the sum 1, or all 0."""
    return weights / max(float(weights.sum()), 1e-12)


def _in_proportion(weights: Floats, n: int, rng: np.random.Generator) -> Cells:
    """n places, each as often as its weight says, but for rounding by chance; in random order."""
    ends = np.cumsum(weights)
    points = (rng.random() + np.arange(n)) / n * ends[-1]
    return rng.permutation(np.minimum(np.searchsorted(ends, points, "right"), len(ends) - 1))


def ucb(log: Log, rng: np.random.Generator) -> None:
    """Each batch goes to the cells whose rate, as far as is believed, could be highest."""

    def choose(found: Fit, batch: int) -> Cells:
        mean, variance = logits(found, np.arange(log.problem.space.size))
        value = log.finite(1 / (1 + np.exp(-(mean + REACH * np.sqrt(variance)))))
        value = np.where(log.open, value, -1.0)
        chunk = max(1, min(CHUNK, batch // (2 * WORST)))
        cells = largest(value, max(1, batch // chunk))
        return np.repeat(cells[value[cells] >= 0], chunk)

    _play(log, rng, choose)


def _play(log: Log, rng: np.random.Generator, choose: Callable[[Fit, int], Cells]) -> None:
    """Spread the first queries, then choose until nothing is left."""
    spend_evenly(log, rng, int(FIRST * log.budget))
    prior, found = log.prior(), None
    batch = max(LEAST, log.budget // ROUNDS)
    while log.goes_on:
        found = log.sharpened(prior, found)
        ask(log, rng, choose(found, min(batch, log.room)))


def ask(log: Log, rng: np.random.Generator, cells: Cells, *, instead: int = 1) -> None:
    """Ask; a safeguard: where nothing that was chosen could be asked, so many queries go over the space."""
    before = log.spent
    log.ask(cells)
    if log.spent == before:
        spend_evenly(log, rng, instead)


def spend_evenly(log: Log, rng: np.random.Generator, queries: int) -> None:
    """Queries over the whole space: each cell as often as the others, or as many cells as can be reached."""
    queries = min(queries, log.room)
    while queries > 0 and log.open.any():
        row = rng.permutation(np.flatnonzero(log.open))[:queries]
        log.ask(row)
        queries -= len(row)


def narrow(log: Log, rng: np.random.Generator) -> None:
    """Spend what is left where least is known: on the cells with the widest intervals, whatever their rates.

    A search for the worst leaves the rest as it is. This makes the widest intervals of the whole landscape
    narrower, and with them what a report can only call uncertain.
    """
    prior, found = log.prior(), None
    rounds = 4 if log.problem.space.size <= 20_000 else 1  # all intervals of a large space take a while
    batch = math.ceil(log.room / rounds)
    while log.goes_on:
        found = log.fit(prior, found)
        _, low, high = rates(found, np.arange(log.problem.space.size))
        wide = np.where(log.open, high - low, -1.0)
        chunk = max(1, min(CHUNK, batch // 12))
        cells = largest(wide, math.ceil(batch / chunk))
        ask(log, rng, np.repeat(cells[wide[cells] >= 0], chunk)[:batch])


def largest(values: Floats, k: int) -> Cells:
    """The places of the k largest, largest first."""
    k = min(k, len(values))
    top = np.argpartition(-values, k - 1)[:k]
    return np.asarray(top[np.argsort(-values[top], kind="stable")], np.int64)
