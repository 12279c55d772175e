"""What a search over a concept space is given: queries of cells, and a log of what they answered.

The same for every search, so that they can be compared: a query shows the target one input in one cell. `ask`
takes a random input of the cell (of those that cell has not shown yet); only such answers count for the
cell's rate. `ask_on` shows inputs that a policy has chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core.ports import ENDLESS
from weakspot.stats.landscape import Fit, Smoothness, fit, smoothness
from weakspot.studies.map.search.inputs import MOST_CELLS, MOST_INPUTS, Adjusted, InputModel

Cells = NDArray[np.int64]
Floats = NDArray[np.float64]


class Answers(NamedTuple):
    """Per query whether the target failed (1, 0, or nan where that cannot be said), Δ, and the input.

    `inputs` is None where inputs are made as they are needed.
    """

    failed: Floats
    delta: Floats
    inputs: Cells | None = None


NOTHING: Final = Answers(np.zeros(0), np.zeros(0))


class Problem(Protocol):
    """A target under a concept space."""

    @property
    def space(self) -> ConceptSpace: ...

    @property
    def inputs(self) -> int:
        """How many inputs a cell can show; `ENDLESS` where they are made as they are needed."""

    @property
    def distinct(self) -> int:
        """How many of them differ: input i shows the same thing as input i + distinct, changed anew."""

    @property
    def placed(self) -> bool:
        """Whether `ask_on` shows the inputs it is told to; otherwise they are drawn anew for every query."""

    def ask(self, cells: Cells) -> Answers:
        """Show one random input in each of these cells; a cell may be named several times."""

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        """Show these inputs in these cells."""

    def contexts(self, inputs: Cells) -> NDArray[np.float32]:
        """What a policy may see of inputs before it chooses, one row each, from 0 to 1."""


@dataclass
class Log:
    """Spends a budget of queries on a problem and counts.

    Per cell, `n`, `failures` and the sum of Δ are of answers at random inputs; `spent` and `failed` are of
    all queries. `watch` is called after each batch.

    Where cells have inputs of their own, `searched` says per cell how many can be asked, and `population` how
    many there are in all: rates are then rates of these.
    """

    problem: Problem
    budget: int
    watch: Callable[[Log], None] | None = None
    searched: Cells | None = None
    population: Cells | None = None
    spent: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        size = self.problem.space.size
        self.n, self.asked, self.failures = (np.zeros(size, np.int64) for _ in range(3))
        self.delta = np.zeros(size)
        self.trace: list[tuple[int, int]] = []
        self._shown: list[tuple[Cells, Cells, Floats, Floats]] = []
        self._model: InputModel | None = None
        self._adjusted: Adjusted | None = None

    @property
    def room(self) -> int:
        return max(self.budget - self.spent, 0)

    def left(self) -> Cells:
        """Per cell, inputs it has not shown."""
        most = self.problem.inputs if self.searched is None else self.searched
        return np.asarray(most - self.asked)

    @property
    def open(self) -> NDArray[np.bool_]:
        return self.left() > 0

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which cells have inputs at all."""
        return np.ones(len(self.n), bool) if self.population is None else self.population > 0

    @property
    def goes_on(self) -> bool:
        return self.room > 0 and bool(self.open.any())

    def ask(self, cells: Sequence[int] | Cells) -> Answers:
        """Ask as far as there is room, at most once per input of a cell; what was cut off is not answered."""
        wanted = np.asarray(cells, np.int64)
        if (
            self.searched is not None or self.problem.inputs < ENDLESS
        ):  # the k-th mention of a cell needs k inputs that it has not shown
            wanted = wanted[_mentions(wanted) <= self.left()[wanted]]
        wanted = wanted[: self.room]
        answers = self.problem.ask(wanted) if len(wanted) else NOTHING
        self.take(wanted, answers)
        self._count(answers)
        return answers

    def take(self, wanted: Cells, answers: Answers) -> None:
        """Let answers count for the rates of their cells."""
        np.add.at(self.asked, wanted, 1)
        known = np.isfinite(answers.failed)
        np.add.at(self.n, wanted[known], 1)
        np.add.at(self.failures, wanted[known], answers.failed[known].astype(np.int64))
        np.add.at(self.delta, wanted[known], np.nan_to_num(answers.delta[known]))
        if answers.inputs is not None:
            known &= np.isfinite(answers.delta)
            self._shown.append(
                (wanted[known], answers.inputs[known], answers.failed[known], answers.delta[known])
            )

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        """Ask at inputs of a policy's choice, as far as there is room."""
        cells, inputs = cells[: self.room], inputs[: self.room]
        answers = self.problem.ask_on(policy, cells, inputs) if len(cells) else NOTHING
        self._count(answers)
        return answers

    def _count(self, answers: Answers) -> None:
        self.spent += len(answers.failed)
        self.failed += int(np.nansum(answers.failed))
        self.trace.append((self.spent, self.failed))
        if self.watch is not None and len(answers.failed):
            self.watch(self)

    def prior(self) -> Smoothness:
        return smoothness(self.problem.space.distances())

    def fit(self, prior: Smoothness, start: Fit | None = None, *, counts: Adjusted | None = None) -> Fit:
        """The landscape as it is known now, from plain counts or adjusted ones."""
        from threadpoolctl import threadpool_limits

        cells, found = np.flatnonzero(self.n), counts or self
        with threadpool_limits(1):  # the matrices are small: more threads only wait for each other
            return fit(prior, cells, found.failures[cells], found.n[cells], start=start)

    def sharpened(self, prior: Smoothness, start: Fit | None = None) -> Fit:
        """The landscape with less chance in it, where it is known which inputs were shown."""
        problem = self.problem
        if not self._shown or problem.space.size > MOST_CELLS or problem.inputs > MOST_INPUTS:
            return self.fit(prior, start)
        from threadpoolctl import threadpool_limits

        if self._model is None:
            self._model = InputModel(prior, problem.space.grid, problem.inputs)
        cells, inputs, failed, delta = (np.concatenate(column) for column in zip(*self._shown, strict=True))
        with threadpool_limits(1):
            self._adjusted = self._model.adjust(cells, inputs, failed, delta)
        return self.fit(prior, start, counts=self._adjusted)

    def finite(self, rates: Floats) -> Floats:
        """Rates over all inputs of a cell: what was seen, and for the rest the rate that is believed."""
        if self.population is not None:
            rest = self.population - self.n
            return np.asarray((self.failures + rest * rates) / np.maximum(self.population, 1))
        if self.problem.inputs >= ENDLESS:
            return rates
        rest = self.problem.inputs - self.n
        if self._adjusted is not None:  # the inputs that are left are easier, or harder, than most
            rates = np.clip(rates + self._adjusted.rest - self._adjusted.everywhere, 0.0, 1.0)
        return np.asarray((self.failures + rest * rates) / self.problem.inputs)


def _mentions(cells: Cells) -> Cells:
    order = np.argsort(cells, kind="stable")
    ranked, found = cells[order], np.empty(len(cells), np.int64)
    found[order] = np.arange(len(cells)) - np.searchsorted(ranked, ranked) + 1
    return found
