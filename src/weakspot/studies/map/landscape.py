"""What a map says: the landscape with intervals, its modes in words, how much of it is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.modes import FailingSet, Mode, minimal_sets, modes
from weakspot.concepts.space import ConceptSpace
from weakspot.stats.distances import entropy, total_variation
from weakspot.stats.landscape import WIDTH, Fit, Rates, mean_over, of_finite, rates, sampled
from weakspot.store import Run
from weakspot.studies.map import result as found
from weakspot.studies.map.result import BiasFound, BiasRow
from weakspot.studies.map.search.problem import Cells, Floats, Log

#: Modes, minimal sets and cells that are listed.
MODES, SETS, LISTED = 8, 8, 12
#: Landscapes of at most so many cells are kept whole; of larger ones so many of the worst.
KEPT_WHOLE, KEPT_WORST = 20_000, 200
#: A cell is known if its interval is at most this wide.
KNOWN = 0.1
#: Posterior draws behind the chance that something worse was missed, and by how much it must be worse.
DRAWS, WORSE = 200, 0.02


class Believed:
    """The rates of all cells, as they are believed after a search.

    Cells with at least the rate `above` belong to modes: by default half-way from the mean to the worst cell,
    but not below `least`. The rate of a cell that has no inputs is nan.
    """

    def __init__(self, log: Log, *, least: float = 0.0, above: float | None = None) -> None:
        self.log, self.space = log, log.problem.space
        prior, every = log.prior(), np.arange(self.space.size)
        self.fit: Fit = log.fit(prior)
        # Intervals are those of plain counts; what the inputs did in other cells only moves the rates.
        plain, rate = rates(self.fit, every), rates(log.sharpened(prior), every).rate
        self.rates = Rates(rate, np.minimum(plain.low, rate), np.maximum(plain.high, rate))
        if log.population is not None:
            self.rates = of_finite(self.rates, log.failures, log.n, log.population)
        known = self.rates.rate[log.there]
        between = float(known.mean() + known.max()) / 2
        self.above = above = max(least, between) if above is None else above
        self.modes: list[Mode] = modes(self.space, self.rates.rate, above=above)
        self.sets: list[FailingSet] = minimal_sets(self.space, self.rates.rate, above=above, most=SETS)

    def landscape(
        self, rng: np.random.Generator, *, search: str, compared: found.Compared | None, note: str
    ) -> found.Landscape:
        """Everything a report shows; posterior draws are made with `rng`."""
        log, space, rate, there = self.log, self.space, self.rates.rate, self.log.there
        wide = self.rates.high - self.rates.low
        boxes = map(space.cells, [space.whole, *(one.region for one in self.sets)])
        regions = [cells[there[cells]] for cells in boxes]
        draws, missed = self._drawn(rng, regions)
        means = [float(rate[there].mean()), *(one.rate for one in self.sets)]
        whole, *sets = map(self._together, regions, means, draws)
        by_axis = [_mean(space, rate, [a]) for a in range(len(space.axes))]
        return found.Landscape(
            cells=int(there.sum()),
            axes=tuple(
                found.AxisRates(name=axis.name, values=axis.values, metric=axis.metric, rates=_plain(mean))
                for axis, mean in zip(space.axes, by_axis, strict=True)
            ),
            above=self.above,
            rate=whole.rate,
            whole=whole,
            entropy=entropy(rate[there]),
            coverage=found.Coverage(
                asked=float((log.n > 0)[there].mean()),
                known=float((wide <= KNOWN)[there].mean()),
                above=float((rate >= self.above)[there].mean()),
            ),
            missed=missed,
            missed_draws=0 if self._listed()[there].all() else DRAWS,
            modes=tuple(map(self._mode, self.modes[:MODES])),
            modes_in_all=len(self.modes),
            sets=tuple(
                found.FailingSet(words=one.words, region=one.region, **dict(mean))
                for one, mean in zip(self.sets, sets, strict=True)
            ),
            worst=tuple(map(self._cell, self._largest(rate, LISTED))),
            top=self._top(),
            uncertain=tuple(map(self._cell, self._largest(wide, LISTED))),
            heat=tuple(
                found.HeatMap(axes=pair, rates=tuple(map(_plain, np.round(_mean(space, rate, pair), 4))))
                for pair in combinations(range(len(space.axes)), 2)
            ),
            trace=thinned(log.trace),
            queries=log.spent,
            failures=log.failed,
            search=search,
            compared=compared,
            note=note,
        )

    def every_cell(self) -> found.CellRates | None:
        """Rates, intervals and counts of every cell; None of a very large space."""
        if self.space.size > KEPT_WHOLE:
            return None
        return found.CellRates(
            rate=_plain(np.round(self.rates.rate, 5)),
            low=_plain(np.round(self.rates.low, 5)),
            high=_plain(np.round(self.rates.high, 5)),
            n=tuple(self.log.n.tolist()),
            failures=tuple(self.log.failures.tolist()),
        )

    def _largest(self, values: Floats, most: int) -> list[int]:
        """The cells with the largest values, of those that have inputs."""
        ranked = np.argsort(-values, kind="stable")  # nan comes last
        return [int(cell) for cell in ranked[: min(most, int(self.log.there.sum()))]]

    def _drawn(self, rng: np.random.Generator, regions: Sequence[Cells]) -> tuple[Floats, float]:
        """The mean rate of each region in each posterior draw (regions × draws), and the chance that a cell
        outside the listed modes is worse, by `WORSE`, than all of theirs.
        """
        inside, log = self._listed(), self.log
        outside = log.there & ~inside
        means, worse, step = [], 0, max(1, (1 << 22) // self.space.size)
        for at in range(0, DRAWS, step):
            values = sampled(self.fit, rng, min(step, DRAWS - at))
            if log.population is not None:
                rest = rng.binomial(log.population - log.n, values)
                values = (log.failures + rest) / np.maximum(log.population, 1)
            means.append([values[:, cells].mean(axis=1) for cells in regions])
            best = np.where(inside, values, -1.0).max(axis=1) if inside.any() else self.above
            worse += int((np.where(outside, values, -1.0).max(axis=1) > best + WORSE).sum())
        return np.concatenate(means, axis=1), worse / DRAWS

    def _listed(self) -> NDArray[np.bool_]:
        """Which cells belong to the listed modes."""
        inside = np.zeros(self.space.size, bool)
        for mode in self.modes[:MODES]:
            inside[list(mode.cells)] = True
        return inside

    def _together(self, cells: Cells, rate: float, draws: Floats) -> found.Estimate:
        """The mean rate of a region, with an interval as wide as those of cells, and its counts."""
        middle, far = float(draws.mean()), WIDTH * float(draws.std())
        return found.Estimate(
            rate=rate,
            low=max(min(middle, rate) - far, 0.0),
            high=min(max(middle, rate) + far, 1.0),
            n=int(self.log.n[cells].sum()),
            failures=int(self.log.failures[cells].sum()),
        )

    def _mode(self, mode: Mode) -> found.Mode:
        return found.Mode(
            peak=mode.peak,
            **self._believed(mode.peak),
            cells=len(mode.cells),
            region=mode.region,
            words=mode.words,
            peak_words=self.space.words(mode.peak),
        )

    def _cell(self, cell: int) -> found.Cell:
        return found.Cell(cell=cell, words=self.space.words(cell), **self._believed(cell))

    def _believed(self, cell: int) -> dict[str, Any]:
        numbers = {name: float(rates[cell]) for name, rates in self.rates._asdict().items()}
        return numbers | {"n": int(self.log.n[cell]), "failures": int(self.log.failures[cell])}

    def _top(self) -> tuple[tuple[int, float], ...]:
        """The worst cells and their rates, of a landscape that is not kept whole."""
        if self.space.size <= KEPT_WHOLE:
            return ()
        worst = self._largest(self.rates.rate, KEPT_WORST)
        return tuple((cell, round(float(self.rates.rate[cell]), 5)) for cell in worst)


def usual_rate(log: Log) -> float:
    """The rate of all inputs together, as it is believed, where each cell has so many of its own."""
    rate = log.finite(rates(log.fit(log.prior()), np.arange(log.problem.space.size)).rate)
    return float(np.average(rate, weights=log.population))


def _mean(space: ConceptSpace, rate: Floats, kept: Sequence[int]) -> Floats:
    grid = rate.reshape(space.shape)
    return mean_over(grid, tuple(a for a in range(grid.ndim) if a not in kept))


def _plain(rates: Floats) -> tuple[float | None, ...]:
    """Rates as they are kept: None of what has no inputs."""
    return tuple(None if math.isnan(rate) else rate for rate in rates.tolist())


def thinned(trace: Sequence[tuple[int, int]], most: int = 120) -> tuple[tuple[int, int], ...]:
    if not trace:
        return ()
    places = np.unique(np.linspace(0, len(trace) - 1, most).astype(int))
    return tuple(trace[i] for i in places)


# -- the bias of a generator ------------------------------------------------------------------------


#: Cells of larger spaces are not gone through one by one.
MOST_CELLS: Final = 20_000


class Bias(NamedTuple):
    """The attribute whose values the trials' answers name, and the wanted share of each."""

    space: ConceptSpace
    attribute: tuple[str, ...]
    wanted: tuple[float, ...]

    def measure(self, run: Run) -> BiasFound:
        """A row for all cells together, and one per value of an axis."""
        seen = self._answers(run)
        rows = [self._row("everywhere", seen, range(self.space.size))]
        for at, axis in enumerate(self.space.axes):
            for i, value in enumerate(axis.values):
                cells = np.flatnonzero(self.space.grid[:, at] == i).tolist()
                rows.append(self._row(f"{axis.name} {value}", seen, cells))
        wanted = tuple(share / sum(self.wanted) for share in self.wanted)
        return BiasFound(attribute=self.attribute, wanted=wanted, rows=tuple(filter(None, rows)))

    def _answers(self, run: Run) -> dict[int, list[str]]:
        """What was seen in each cell's own draws, in their order."""
        found: dict[int, list[str]] = {}
        asked = {hypothesis.id for hypothesis in run.ledger.hypotheses()}
        for cell in range(min(self.space.size, MOST_CELLS)):
            hypothesis = self.space.hypothesis(cell)
            if hypothesis.id in asked:
                trials = run.ledger.trials(hypothesis)
                found[cell] = [t.answer for t in trials if t.answer in self.attribute]
        return found

    def _row(self, where: str, seen: dict[int, list[str]], cells: Sequence[int]) -> BiasRow | None:
        asked = [seen[cell] for cell in cells if seen.get(cell)]
        if not asked:
            return None
        each = min(map(len, asked))
        counts = Counter(answer for answers in asked for answer in answers[:each])
        numbers = tuple(counts[value] for value in self.attribute)
        apart = total_variation(numbers, self.wanted)
        return BiasRow(
            where=where,
            counts=numbers,
            n=sum(numbers),
            cells=len(asked),
            of=len(cells),
            apart=apart.rate,
            low=apart.low,
            high=apart.high,
        )
