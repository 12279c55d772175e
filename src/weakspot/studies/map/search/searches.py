"""The searches by name. All spend the same budget of queries; `auto` is what wins in the benchmark.

Bandits (`thompson`, `ucb`) fit a landscape that is smooth over the metric (`weakspot.stats.landscape`) to all
answers in each round, and ask where the worst cells may be. `gp` and `tpe` model by how much a cell fails:
more to learn from where Δ tells near misses from sure answers, misleading where a few large Δ are not many
failures. Where a cell can show only so many inputs, what it has shown is known, and only the rest in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from weakspot.core import WeakspotError, nearest
from weakspot.stats.landscape import Fit, logits, rates, sampled
from weakspot.studies.map.search.problem import Cells, Floats, Log
from weakspot.studies.map.search.rl import AGENTS, learn

Search = Callable[[Log, np.random.Generator], Any]
#: Finds the worst cells and modes with the fewest queries: see docs/evidence/map.md.
DEFAULT: Final = "thompson"
#: Queries asked at once by searches that learn nothing.
BATCH: Final = 256
#: Part of the budget that the others spread over the whole space first.
FIRST: Final = 0.2
#: Queries of a batch of theirs at least, and of one cell in it at most.
LEAST, CHUNK = 64, 8
#: About how often bandits and models look at what they know.
ROUNDS, MODELLED = 30, 40
#: Cells that a bandit looks for, and places: worst cells no two of which are neighbours.
WORST: Final = 5
#: Posterior draws per round, and posterior draws times cells that are held at once.
DRAWS, HELD = 64, 1 << 24
#: Part of a batch for the worst as they are believed, whose rates people read, as long as the standard
#: deviation of such a rate is more than `KNOWN`.
SURE, KNOWN = 0.2, 0.02
#: Standard deviations that UCB hopes for.
REACH: Final = 2.0
#: Cells that a Gaussian process is fitted to, cells it looks at, and lengths of its kernel.
FITTED, LOOKED = 500, 20_000
LENGTHS: Final = (0.3, 0.6, 1.2, 2.4)


def find(name: str) -> str:
    """The name of the search that is meant; an error says the nearest right one."""
    if name == "auto":
        return DEFAULT
    if name not in SEARCHES:
        raise WeakspotError(
            f"no search is called {name[:60]!r}",
            fix=nearest(name, SEARCHES) or f"choose from: auto, {', '.join(SEARCHES)}",
        )
    return name


def search(name: str) -> Search:
    """The function of a name, which spends a log's budget."""
    return SEARCHES[find(name)]


def at_random(log: Log, rng: np.random.Generator) -> None:
    while log.goes_on:
        log.ask(rng.choice(np.flatnonzero(log.open), min(BATCH, log.room)))


def exhaustive(log: Log, rng: np.random.Generator) -> None:
    """Every cell equally often, in rounds; within a round in random order."""
    size = int(log.there.sum())
    if log.budget < size:
        raise WeakspotError(
            f"{log.budget:,} queries do not reach each of {size:,} cells",
            fix=f"give at least {size:,}, or use another search, which learns from neighbouring cells",
        )
    while log.goes_on:
        row = rng.permutation(np.flatnonzero(log.open))
        for at in range(0, len(row), BATCH):
            log.ask(row[at : at + BATCH])


# -- bandits -----


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
    most = max(1, HELD // size)
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
    k = min(k, len(values))
    top = np.argpartition(-values, k - 1)[:k]
    return np.asarray(top[np.argsort(-values[top], kind="stable")], np.int64)


# -- models of Δ ----


def gaussian_process(log: Log, rng: np.random.Generator) -> None:
    """Cells whose mean Δ is expected to exceed the worst so far by most (expected improvement)."""
    spend_evenly(log, rng, int(FIRST * log.budget))
    batch = max(LEAST, log.budget // MODELLED)
    while log.goes_on:
        asked = np.flatnonzero(log.n)
        if len(asked) > FITTED:  # the worst, and others at random
            worst = asked[largest(log.delta[asked] / log.n[asked], FITTED // 2)]
            asked = np.union1d(worst, rng.choice(asked, FITTED // 2, replace=False))
        looked = np.flatnonzero(log.open)
        if len(looked) > LOOKED:
            looked = np.union1d(rng.choice(looked, LOOKED, replace=False), asked[log.open[asked]])
        y, n = log.delta[asked] / log.n[asked], log.n[asked]
        mean, sd = _posterior(_distances(log, asked, asked), _distances(log, looked, asked), y, n)
        best = float(y.max()) if len(y) else 0.0
        cells = looked[largest(_improvement(mean, sd, best), max(1, batch // CHUNK))]
        ask(log, rng, np.repeat(cells, CHUNK)[: log.room])


def _distances(log: Log, first: Cells, second: Cells) -> Floats:
    space, far = log.problem.space, np.zeros((len(first), len(second)))
    for axis, d in enumerate(space.distances()):
        far += d[np.ix_(space.grid[first, axis], space.grid[second, axis])]
    return far


def _posterior(own: Floats, other: Floats, y: Floats, n: Cells) -> tuple[Floats, Floats]:
    """Mean and standard deviation; the length of the kernel is that of the largest likelihood."""
    centre, scale = float(y.mean()), float(max(y.var(), 1e-6))
    noise = np.diag(4.0 / n + 1e-6)  # a query's Δ varies by about 2 from input to input
    tried = []
    for length in LENGTHS:
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
    spend_evenly(log, rng, int(FIRST * log.budget))
    space = log.problem.space
    batch = max(LEAST, log.budget // MODELLED)
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


SEARCHES: Final[dict[str, Search]] = {
    "thompson": thompson,
    "ucb": ucb,
    "gp": gaussian_process,
    "tpe": parzen,
    **{name: partial(learn, policy=name) for name in AGENTS},
    "random": at_random,
    "exhaustive": exhaustive,
}
