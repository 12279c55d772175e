"""A landscape of which every answer is known: what searches are compared and tested on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.studies.map.search.problem import Answers, Cells


class Table:
    """A problem whose every answer is known: Δ of each cell and input (cells × inputs), failed where
    above 0.
    """

    def __init__(
        self, space: ConceptSpace, delta: NDArray[np.float32], contexts: NDArray[np.float32], *, seed: int = 0
    ) -> None:
        self.space, self.inputs, self.distinct, self.placed = space, delta.shape[1], delta.shape[1], True
        self._delta, self._contexts, self._seed = delta, contexts, seed
        self._order: dict[int, Cells] = {}
        self._shown = np.zeros(len(delta), np.int64)

    def ask(self, cells: Cells) -> Answers:
        inputs = np.empty(len(cells), np.int64)
        for i, cell in enumerate(cells.tolist()):
            if cell not in self._order:
                self._order[cell] = np.random.default_rng([self._seed, cell]).permutation(self.inputs)
            inputs[i] = self._order[cell][self._shown[cell]]
            self._shown[cell] += 1
        return self.ask_on("", cells, inputs)._replace(inputs=inputs)

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        del policy
        delta = self._delta[cells, inputs].astype(float)
        return Answers((delta > 0).astype(float), delta)

    def contexts(self, inputs: Cells) -> NDArray[np.float32]:
        return self._contexts[inputs]
