"""`world:cells`: scenes of the drawn world, by the cells of a space whose axes are their attributes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, case_seed
from weakspot.world.grammar import describe
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import SUBJECTS, SceneSet

#: Stands for whatever cell an input is shown in, so that its chance is the same in all.
_INPUT: Final = Hypothesis("an input")


class Scenes:
    """Draws scenes of the world with the attributes of a cell, of all subjects at random.

    An input that a policy has chosen is a subject and the random numbers that a scene is made of: shown in
    another cell it has the same subject, and what the cell does not say is drawn from the same numbers.

    Args:
        space: Its axes are attributes of a scene.
    """

    cpu_bound = True
    sees = "the subject of the scene"

    def __init__(self, space: ConceptSpace) -> None:
        self.space = space
        self._placed: dict[tuple[str, int], int] = {}
        for axis in space.axes:
            for value in axis.values:
                SceneSet.of({axis.name: [value]})  # says what is no attribute, or no value of it

    def place(self, hypothesis: Hypothesis, index: int, number: int) -> None:
        """Say which input a draw shows that a policy has chosen."""
        self._placed[hypothesis.id, index] = number

    def contexts(self, inputs: Sequence[int]) -> NDArray[np.float32]:
        """What a policy may see of inputs: the subject, which is the right label."""
        return np.eye(len(SUBJECTS), dtype=np.float32)[np.asarray(inputs, np.int64) % len(SUBJECTS)]

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says all of the scene."""
        region, cases = self.space.read(hypothesis), []
        fixed: dict[str, Any] = {}
        if region is not None:
            fixed = {a.name: [a.values[i] for i in r] for a, r in zip(self.space.axes, region, strict=True)}
        for index in indices:
            placed = self._placed.get((hypothesis.id, index))
            own = case_seed(seed, hypothesis, index) if placed is None else case_seed(seed, _INPUT, placed)
            rng = random.Random(own)  # noqa: S311
            one = {name: [rng.choice(values)] for name, values in fixed.items()}
            subject = rng.choice(SUBJECTS) if placed is None else SUBJECTS[placed % len(SUBJECTS)]
            scene = sample(SceneSet.of({"subject": [subject], **one}), rng)
            cases.append(Case(hypothesis, index, own, render(scene, own, 64), scene.subject, describe(scene)))
        return cases


def load(*, space: ConceptSpace) -> Scenes:
    """The source of a study that varies a space."""
    return Scenes(space)
