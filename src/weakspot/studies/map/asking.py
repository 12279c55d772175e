"""A search's queries as trials of a run: a cell is a hypothesis, and the ledger has every answer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Hypothesis
from weakspot.core.ports import ENDLESS, Counted, Numbered, Placing, Visible
from weakspot.engine import Engine, Lane, Want
from weakspot.studies.map.search.problem import Answers, Cells, Log

#: Cells that are shown while the search goes on.
SHOWN = 8


class Asking:
    """A problem whose queries go through the engine; see `Problem`."""

    def __init__(self, engine: Engine, *, space: ConceptSpace) -> None:
        source = engine.source
        self.space, self._engine, self._source = space, engine, source
        self.inputs = source.inputs if isinstance(source, Numbered) else ENDLESS
        self.distinct = source.distinct if isinstance(source, Numbered) else ENDLESS
        self.placed = isinstance(source, Placing)
        self.hypothesis = cache(lambda cell, policy="": space.hypothesis(int(cell), policy=policy))

    def log(self, budget: int) -> Log:
        """A log of queries that knows how many inputs there are, and shows how it goes on."""
        log = Log(self, budget, self.show_worst)
        if isinstance(self._source, Counted):
            log.searched, log.population = self._source.searched, self._source.population
        return log

    def ask(self, cells: Cells) -> Answers:
        return self._ask([self.hypothesis(cell) for cell in cells], None)

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        return self._ask([self.hypothesis(cell, policy) for cell in cells], inputs)

    def _ask(self, asked: Sequence[Hypothesis], inputs: Cells | None) -> Answers:
        """Draw the next trials of these hypotheses, and read what came of them in the ledger."""
        engine = self._engine
        wanted: dict[str, list[int]] = {}  # the queries of each hypothesis, by their places
        for i, hypothesis in enumerate(asked):
            wanted.setdefault(hypothesis.id, []).append(i)
        start = {own: engine.tally(asked[rows[0]]).drawn for own, rows in wanted.items()}
        wants = []
        for own, rows in wanted.items():
            chosen = [] if inputs is None else [(start[own] + k, int(inputs[i])) for k, i in enumerate(rows)]
            wants.append(Want(asked[rows[0]], start[own] + len(rows), placed=tuple(chosen)))
        engine.draw(wants)
        failed, delta = np.full(len(asked), np.nan), np.full(len(asked), np.nan)
        shown = np.zeros(len(asked), np.int64) if inputs is None else inputs
        for own, rows in wanted.items():
            hypothesis, first = asked[rows[0]], start[own]
            outcomes = engine.run.ledger.outcomes(hypothesis, first, first + len(rows))
            for i, outcome in zip(rows, outcomes, strict=False):
                if outcome.failed is not None:
                    failed[i] = outcome.failed
                    delta[i] = outcome.failed if outcome.score is None else outcome.score
            if inputs is None and isinstance(self._source, Numbered):
                for k, i in enumerate(rows):
                    shown[i] = self._source.place_of(hypothesis, first + k, seed=engine.seed)
        known = inputs is not None or isinstance(self._source, Numbered)
        return Answers(failed, delta, shown if known else None)

    def contexts(self, inputs: Cells) -> NDArray[np.float32]:
        if not isinstance(self._source, Visible):
            return np.zeros((len(inputs), 1), np.float32)
        return np.asarray(self._source.contexts([int(i) for i in inputs]), np.float32)

    def show_worst(self, log: Log) -> None:
        shrunk = (log.failures + 0.5) / (log.n + 2)
        worst = np.argsort(-np.where(log.n > 0, shrunk, -1.0), kind="stable")[:SHOWN]
        found = [self.hypothesis(cell) for cell in worst if log.n[cell]]
        lanes = [Lane(one, self._engine.tally(one)) for one in found]
        self._engine.watch.update("search", lanes, self._engine.spending.amounts)
