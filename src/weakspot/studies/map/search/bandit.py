"""Bandits with a smoothness prior: what one cell answers says something of the cells beside it.

Each round the landscape is fitted to all answers (`weakspot.stats.landscape`) and the next batch goes to
cells that may be among the worst: where posterior draws disagree on which these are (Thompson sampling for
the worst few, not the worst alone), or by the upper end of what is believed (UCB). Where a cell can show only
so many inputs, what it has shown is known, and only the rest is in doubt: a cell that has shown them all is
asked no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.stats.landscape import Fit, logits, rates, sampled
from weakspot.studies.map.search.problem import Floats, Log

#: Posterior draws times cells that are held at once.
_ROOM: Final = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditSettings:
    """How a bandit spends its queries."""

    worst: int = 5  # cells that are looked for, and places: worst cells no two of which are neighbours
    draws: int = 64  # of the posterior per round
    sure: float = 0.2  # part of a batch for the worst as they are believed, whose rates people read …
    known: float = 0.02  # … as long as the standard deviation of such a rate is more than this
    first: float = 0.2  # part of the budget that is spread over the whole space first
    rounds: int = 30  # about how often it looks at what it knows
    least: int = 64  # queries of a batch
    chunk: int = 8  # queries of one cell in a batch, at most
    reach: float = 2.0  # standard deviations that UCB hopes for


def thompson(log: Log, rng: np.random.Generator, settings: BanditSettings | None = None) -> None:
    """A batch goes where posterior draws of the landscape disagree on which the worst cells and places are.

    A cell that is among them in a share p of the draws is asked in proportion to p (1 - p): what is certainly
    among the worst need not be asked much more often, and what is on the border must be.
    """
    settings = settings or BanditSettings()
    near: dict[int, list[int]] = {}

    def choose(found: Fit, batch: int) -> NDArray[np.int64]:
        chunk = max(1, min(settings.chunk, batch // (4 * settings.worst)))
        open_cells = log.left() > 0
        cells, places, mean, sd = _among(log, found, rng, settings, near)
        # Places are what a map is made for, and the worst cells are mostly beside each other.
        doubt = _shares(open_cells * (cells * (1 - cells) + 2 * places * (1 - places)))
        worst = _shares(open_cells * (cells + places) * (sd > settings.known))
        weights = doubt + settings.sure / (1 - settings.sure) * worst
        if weights.any():
            chosen = _in_proportion(weights, math.ceil(batch / chunk), rng)
        else:
            chosen = _largest(np.where(open_cells, mean, -1.0), settings.worst)
        return np.resize(np.repeat(chosen, chunk), batch)

    _play(log, rng, settings, choose)


def _among(
    log: Log, found: Fit, rng: np.random.Generator, settings: BanditSettings, near: dict[int, list[int]]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Per cell: in which shares of draws it is one of the worst cells, and places; its mean rate and sd."""
    size = log.problem.space.size
    cells, places, total, squares = (np.zeros(size) for _ in range(4))
    most = max(1, _ROOM // size)
    for at in range(0, settings.draws, most):
        for row in sampled(found, rng, min(most, settings.draws - at)):
            rates = log.finite(row)
            cells[_largest(rates, settings.worst)] += 1
            places[_places(log, rates, settings.worst, near)] += 1
            total += rates
            squares += rates**2
    mean = total / settings.draws
    sd = np.sqrt(np.maximum(squares / settings.draws - mean**2, 0.0))
    return cells / settings.draws, places / settings.draws, mean, sd


def _places(log: Log, rates: Floats, k: int, near: dict[int, list[int]]) -> list[int]:
    """The k worst cells no two of which are beside each other (`weakspot.concepts.modes.apart`, but fast)."""
    space = log.problem.space
    widest = sum(
        n - 1 if a.metric == "categorical" else 2 for a, n in zip(space.axes, space.shape, strict=True)
    )
    chosen: list[int] = []
    taken: set[int] = set()
    for cell in _largest(rates, k * (1 + widest)).tolist():
        if cell not in taken:
            chosen.append(cell)
            if len(chosen) == k:
                break
            taken.update(near.get(cell) or near.setdefault(cell, space.beside(cell)))
    return chosen


def _shares(weights: Floats) -> Floats:
    """The same with the sum 1, or all 0."""
    return weights / max(float(weights.sum()), 1e-12)


def _in_proportion(weights: Floats, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """n places, each as often as its weight says, but for rounding by chance; in random order."""
    ends = np.cumsum(weights)
    points = (rng.random() + np.arange(n)) / n * ends[-1]
    return np.asarray(
        rng.permutation(np.minimum(np.searchsorted(ends, points, "right"), len(ends) - 1)), np.int64
    )


def ucb(log: Log, rng: np.random.Generator, settings: BanditSettings | None = None) -> None:
    """Each batch goes to the cells whose rate, as far as is believed, could be highest."""
    settings = settings or BanditSettings()

    def choose(found: Fit, batch: int) -> NDArray[np.int64]:
        every = np.arange(log.problem.space.size)
        mean, variance = logits(found, every)
        value = log.finite(1 / (1 + np.exp(-(mean + settings.reach * np.sqrt(variance)))))
        value = np.where(log.left() > 0, value, -1.0)
        chunk = max(1, min(settings.chunk, batch // (2 * settings.worst)))
        cells = _largest(value, max(1, batch // chunk))
        return np.repeat(cells[value[cells] >= 0], chunk)

    _play(log, rng, settings, choose)


def _play(log: Log, rng: np.random.Generator, settings: BanditSettings, choose: object) -> None:
    """Spread the first queries, then choose until nothing is left."""
    spread(log, rng, int(settings.first * log.budget))
    prior, found = log.prior(), None
    batch = max(settings.least, log.budget // settings.rounds)
    while log.room and (log.left() > 0).any():
        found = log.sharpened(prior, found)
        before = log.spent
        log.ask(choose(found, min(batch, log.room)))  # type: ignore[operator]
        if log.spent == before:  # a safeguard: whatever was chosen could not be asked
            spread(log, rng, 1)


def spread(log: Log, rng: np.random.Generator, queries: int) -> None:
    """Queries over the whole space: each cell as often as the others, or as many cells as can be reached."""
    queries = min(queries, log.room)
    while queries > 0 and (log.left() > 0).any():
        row = rng.permutation(np.flatnonzero(log.left() > 0))[:queries]
        log.ask(row)
        queries -= len(row)


def narrow(log: Log, rng: np.random.Generator, *, chunk: int = 8) -> None:
    """Spend what is left where least is known: on the cells with the widest intervals, whatever their rates.

    A search for the worst leaves the rest as it is. This makes the widest intervals of the whole landscape
    narrower, and with them what a report can only call uncertain.
    """
    prior, found = log.prior(), None
    rounds = 4 if log.problem.space.size <= 20_000 else 1  # all intervals of a large space take a while
    batch = math.ceil(log.room / rounds)
    while log.room and (log.left() > 0).any():
        found = log.fit(prior, found)
        _, low, high = rates(found, np.arange(log.problem.space.size))
        wide = np.where(log.left() > 0, high - low, -1.0)
        size = max(1, min(chunk, batch // 12))
        cells = _largest(wide, math.ceil(batch / size))
        before = log.spent
        log.ask(np.repeat(cells[wide[cells] >= 0], size)[:batch])
        if log.spent == before:
            spread(log, rng, 1)


def _largest(values: Floats, k: int) -> NDArray[np.int64]:
    """The places of the k largest, largest first."""
    k = min(k, len(values))
    top = np.argpartition(-values, k - 1)[:k]
    return np.asarray(top[np.argsort(-values[top], kind="stable")], np.int64)


def worst_cells(log: Log, k: int) -> NDArray[np.int64]:
    """The k cells that are believed to fail most, worst first, by all that the log knows."""
    found = log.sharpened(log.prior())
    every = np.arange(log.problem.space.size)
    mean, variance = logits(found, every)
    rate = 1 / (1 + np.exp(-mean / np.sqrt(1 + math.pi * variance / 8)))
    return _largest(log.finite(rate), k)
