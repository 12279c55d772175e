"""Spaces of cases that can be moved a little: Gaussian noise, and discrete choices.

A space is what a source leaves open: the noise of a generator, the free choices of a scene. `draw` gives
independent states, one along the first axis. `move` proposes a state near each given one such that, for
pairs of a draw and its proposal, (x, y) is as likely as (y, x): then accepting only what lies in a region
leaves the distribution of draws within the region as it is (Metropolis). `scale` runs from near 0, hardly a
move, to 1, a fresh draw or nearly so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis

States = NDArray[Any]


class Space(Protocol):
    """Where cases come from, and how they are moved."""

    def draw(self, rng: np.random.Generator, n: int) -> States:
        """Independent states, n along the first axis."""
        ...

    def move(self, rng: np.random.Generator, states: States, scale: float) -> States:
        """A proposal for every state, 0 < scale ≤ 1. The states are not changed."""
        ...


class CaseSpace(Space, Protocol):
    """A space whose states are cases of a hypothesis."""

    def to_cases(self, states: States, indices: Sequence[int]) -> list[Case]:
        """The cases of some states, to be numbered so. The same state gives the same case, in any batch.

        Draws of the space have the distribution of the source's own draws, but are not the same cases.
        """
        ...


@runtime_checkable
class Spaced(Protocol):
    """A source that can say what a hypothesis leaves open. Sources need not; it is asked of those that do."""

    def space(self, hypothesis: Hypothesis) -> CaseSpace | None:
        """What is left open; None if this hypothesis or this source's model has no such space."""
        ...


class Gaussian:
    """Standard normal noise of a shape, moved by the preconditioned Crank–Nicolson step.

    y = √(1 − s²) x + s ξ with fresh noise ξ; (x, y) and (y, x) have the same distribution in any dimension
    (Cotter, Roberts, Stuart and White 2013).
    """

    def __init__(self, *shape: int) -> None:
        if not shape or min(shape) < 1:
            raise ValueError(f"Noise has a shape of positive numbers, got {shape}.")
        self.shape = shape

    def draw(self, rng: np.random.Generator, n: int) -> States:
        return rng.standard_normal((n, *self.shape))

    def move(self, rng: np.random.Generator, states: States, scale: float) -> States:
        fresh = rng.standard_normal(states.shape)
        return np.asarray(math.sqrt(1.0 - scale * scale) * states + scale * fresh)


class Choices:
    """Independent discrete choices, moved by choosing some of them anew.

    One choice, picked at random, is always made anew, and each of the others with probability `scale`. A
    state is a row of the indices chosen.
    """

    def __init__(self, probabilities: Sequence[Sequence[float]]) -> None:
        """Take one row of probabilities, summing to 1, for each choice."""
        rows = [np.asarray(row, dtype=float) for row in probabilities]
        if not rows or any(len(row) < 1 or (row < 0).any() or abs(row.sum() - 1) > 1e-9 for row in rows):
            raise ValueError("Each choice has probabilities that are not negative and sum to 1.")
        self._steps = [np.cumsum(row)[:-1] for row in rows]

    def draw(self, rng: np.random.Generator, n: int) -> States:
        points = rng.random((n, len(self._steps)))
        columns = [np.searchsorted(steps, points[:, i], "right") for i, steps in enumerate(self._steps)]
        return np.stack(columns, axis=1)

    def move(self, rng: np.random.Generator, states: States, scale: float) -> States:
        anew = rng.random(states.shape) < scale
        anew[np.arange(len(states)), rng.integers(states.shape[1], size=len(states))] = True
        return np.where(anew, self.draw(rng, len(states)), states)
