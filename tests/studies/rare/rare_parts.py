"""A planted rare failure: inputs of noise, and a classifier that errs in the tail of one direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, Output, Scores, case_seed
from weakspot.sources.spaces import Gaussian

LABELS = ("fly", "bee", "cat")
#: The failure lies beyond so many standard deviations: 1.07e-4 of all cases.
BEYOND = 3.7
TRUTH = 0.5 * math.erfc(BEYOND / math.sqrt(2))


class Noise(Gaussian):
    """States are the inputs themselves."""

    def __init__(self, hypothesis: Hypothesis) -> None:
        super().__init__(4)
        self.hypothesis = hypothesis

    def to_cases(self, states: NDArray[Any], indices: Sequence[int]) -> list[Case]:
        return [
            Case(self.hypothesis, index, index, state, "fly", caption(self.hypothesis, state))
            for index, state in zip(indices, states, strict=True)
        ]


class Spaced:
    """A source that can be moved in."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        cases = []
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            state = np.random.default_rng(own).standard_normal(4)
            cases.append(Case(hypothesis, index, own, state, "fly", caption(hypothesis, state)))
        return cases

    def space(self, hypothesis: Hypothesis) -> Noise:
        return Noise(hypothesis)


class Unspaced(Spaced):
    """One that cannot."""

    space = None  # type: ignore[assignment]


def caption(hypothesis: Hypothesis, state: NDArray[Any]) -> str:
    """What the source knows: whether the direction that matters is far out, and something else."""
    far = " it is on a flower." if state[0] > 3 else ""
    return f"{hypothesis.text}{far} it is on the {'left' if state[1] > 0 else 'right'}."


class Deep:
    """Right but for the tail; it counts what it is asked, and can be stopped at a call."""

    labels = LABELS
    parents: dict[str, str] = {"fly": "insect"}  # noqa: RUF012

    def __init__(self, *, beyond: float = BEYOND, scores: bool = True, stop_at: int | None = None) -> None:
        self.beyond, self.scores, self.stop_at = beyond, scores, stop_at
        self.asked: list[int] = []

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        if self.stop_at is not None and len(self.asked) >= self.stop_at:
            raise KeyboardInterrupt
        self.asked += [case.index for case in cases]
        return [self._one(float(case.input[0])) for case in cases]

    def _one(self, x: float) -> Output:
        logit = 3 * (self.beyond - x)
        p = 1 / (1 + math.exp(-min(logit, 30.0)))
        values = np.array([p, (1 - p) * 0.9, (1 - p) * 0.1], np.float32)
        answer = "fly" if logit >= 0 else "bee"
        return Output(answer, Scores(LABELS, values) if self.scores else None)
