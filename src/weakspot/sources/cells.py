"""Sources whose hypotheses are cells of a concept space, and whose draws go through given inputs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Hypothesis, Stage, WeakspotError, case_seed


def cell_of(space: ConceptSpace, region: Region, own: int) -> int:
    """The cell of a region that a draw with this seed shows."""
    rng = random.Random(own)  # noqa: S311
    return space.number([rng.choice(values) for values in region])


class CellSource(ABC):
    """A cell's draws go through the inputs of a part in rounds, each round in an order of its own.

    Args:
        parts: Which inputs each stage draws from, by their numbers.
    """

    def __init__(self, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]) -> None:
        self.space = space
        self.parts = {stage: tuple(some) for stage, some in parts.items()}
        self._placed: dict[tuple[str, int], int] = {}
        self._order = lru_cache(maxsize=4096)(self._shuffled)

    @abstractmethod
    def rounds(self, stage: Stage) -> int:
        """How often each input of a stage's part can be shown in a cell."""

    @abstractmethod
    def none_left(self, count: int) -> WeakspotError:
        """That a part of so many inputs has no further draw."""

    @property
    def inputs(self) -> int:
        return self.distinct * self.rounds(Stage.EXPLORE)

    @property
    def distinct(self) -> int:
        return len(self.parts[Stage.EXPLORE])

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many draws there are; of a policy's own choices any number."""
        del seed
        if "policy" in dict(hypothesis.concepts):
            return 1 << 31
        return len(self.parts[stage]) * self.rounds(stage)

    def place(self, hypothesis: Hypothesis, index: int, chosen: int) -> None:
        """Say which input (by its place in the stage's part) a draw shows that a policy has chosen."""
        self._placed[hypothesis.id, index] = chosen

    def place_of(self, hypothesis: Hypothesis, index: int, *, seed: int) -> int:
        """Which input and round a draw shows: its place in its part, plus a part's length per round."""
        placed = self._placed.get((hypothesis.id, index))
        if placed is not None:
            return placed
        stage = Stage.of(index)
        count = len(self.parts[stage])
        number, at = divmod(index - stage.start, count)
        if number >= self.rounds(stage):
            raise self.none_left(count)
        return int(self._order(hypothesis, stage, seed, number)[at]) + number * count

    def number_of(self, hypothesis: Hypothesis, index: int, *, seed: int) -> int:
        part = self.parts[Stage.of(index)]
        return part[self.place_of(hypothesis, index, seed=seed) % len(part)]

    def seeds(self, own: int, number: int) -> int | list[int]:
        """What the order of a round follows from."""
        return [own, number]

    def _shuffled(self, hypothesis: Hypothesis, stage: Stage, seed: int, number: int) -> NDArray[np.int64]:
        own = case_seed(seed, hypothesis, stage.start)
        return np.random.default_rng(self.seeds(own, number)).permutation(len(self.parts[stage]))
