"""Bandits with a smoothness prior: what one cell answers says something of the cells beside it.

Each round the landscape is fitted to all answers (`weakspot.stats.landscape`) and the next batch goes to
cells that may be among the worst: by posterior draws (Thompson sampling for the worst few, not the worst
alone), or by the upper end of what is believed (UCB). Where a cell can show only so many inputs, what it has
shown is known, and only the rest is in doubt: a cell that has shown them all is asked no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.search.map_problem import Floats, Log
from weakspot.stats.landscape import Fit, logits, sampled

#: Posterior draws times cells that are held at once.
_ROOM: Final = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class BanditSettings:
    """How a bandit spends its queries.

    Attributes:
        worst: It looks for so many cells.
        first: The part of the budget that is spread over the whole space first.
        rounds: About how often it looks at what it knows.
        least: The smallest batch.
        chunk: Queries of one cell in a batch, at most.
        reach: Standard deviations that UCB hopes for.
    """

    worst: int = 5
    first: float = 0.2
    rounds: int = 30
    least: int = 64
    chunk: int = 8
    reach: float = 2.0


def thompson(log: Log, rng: np.random.Generator, settings: BanditSettings | None = None) -> None:
    """Each part of a batch goes to one of the worst few cells of a landscape drawn from the posterior."""
    settings = settings or BanditSettings()

    def choose(found: Fit, batch: int) -> NDArray[np.int64]:
        chunk = max(1, min(settings.chunk, batch // (4 * settings.worst)))
        draws, chosen = math.ceil(batch / (chunk * settings.worst)), []
        most = max(1, _ROOM // log.problem.space.size)
        open_cells = log.left() > 0
        for at in range(0, draws, most):
            values = sampled(found, rng, min(most, draws - at))
            for row in values:
                finite = log.finite(row)
                ranked = _largest(finite, 4 * settings.worst)
                doubtful = ranked[: settings.worst][open_cells[ranked[: settings.worst]]]
                # Where the worst have shown all their inputs there is nothing to learn from them.
                chosen.append(doubtful if len(doubtful) else ranked[open_cells[ranked]][:1])
        cells = np.concatenate(chosen)
        if not len(cells):
            cells = _largest(np.where(open_cells, log.finite(values[0]), -1.0), settings.worst)
        return np.resize(np.repeat(cells, chunk), batch)

    _play(log, rng, settings, choose)


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
