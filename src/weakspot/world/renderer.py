"""Sources that draw the world: by what words say, by the cells of a space, or as labelled pictures.

What is left open is sampled from the world's natural distribution, in which context and subject go
together: bees are mostly on flowers, flies rarely.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, WeakspotError, case_seed
from weakspot.world.grammar import base_sentence, describe, parse
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import SUBJECTS, Scene, SceneSet
from weakspot.world.space import SceneSpace

if TYPE_CHECKING:
    from weakspot.concepts.space import ConceptSpace
    from weakspot.sources.labelled import LabelledImages

#: Stands for whatever cell an input is shown in, so that its chance is the same in all.
_INPUT: Final = Hypothesis("an input")


class Renderer:
    """`world:renderer`: draws exactly what the words say, `size` pixels wide.

    What they leave open is as common as in nature, or (`balanced`) everything as common as the rest.
    """

    #: Drawing is arithmetic in Python: it pays to spread it over processes.
    cpu_bound = True

    def __init__(self, *, size: int = 64, balanced: bool = False) -> None:
        self.size, self.balanced = size, balanced

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption of a case says all of its scene."""
        cases = []
        for index in indices:
            own_seed = case_seed(seed, hypothesis, index)
            scene = self.scene(hypothesis, own_seed)
            image = render(scene, own_seed, self.size)
            cases.append(Case(hypothesis, index, own_seed, image, scene.subject, describe(scene)))
        return cases

    def understands(self, text: str) -> bool:
        """Whether a text can be drawn: it is of the world's English and does not contradict itself."""
        try:
            _meaning(text)
        except WeakspotError:
            return False
        return True

    def space(self, hypothesis: Hypothesis) -> SceneSpace:
        """What the words leave open, to be moved in; see `weakspot.sources.spaces.Spaced`."""
        return SceneSpace(hypothesis, _meaning(hypothesis.text), size=self.size, balanced=self.balanced)

    def scene(self, hypothesis: Hypothesis, own_seed: int) -> Scene:
        """The scene of the case with this seed, without drawing it."""
        choose = sample_uniform if self.balanced else sample
        return choose(_meaning(hypothesis.text), random.Random(own_seed))  # noqa: S311


@lru_cache(maxsize=4096)
def _meaning(text: str) -> SceneSet:
    return parse(text)


def load(*, size: str = "64", balanced: str = "no") -> Renderer:
    """`world:renderer?size=128&balanced=yes`."""
    if not size.isdigit() or not 16 <= int(size) <= 2048:
        raise WeakspotError(f"pictures cannot be {size!r} pixels wide", fix="choose a size from 16 to 2048")
    if balanced not in ("yes", "no"):
        raise WeakspotError(f"balanced cannot be {balanced!r}", fix="choose yes or no")
    return Renderer(size=int(size), balanced=balanced == "yes")


class Scenes:
    """`world:cells`: draws scenes with the attributes of a cell of a space, of all subjects at random.

    The space's axes are attributes of a scene. An input that a policy has chosen is a subject and the random
    numbers that a scene is made of: shown in another cell it has the same subject, and what the cell does not
    say is drawn from the same numbers.
    """

    cpu_bound = True
    sees = "the subject of the scene"

    def __init__(self, *, space: ConceptSpace) -> None:
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


def pictures(count: str = "2000") -> LabelledImages:
    """`world:2000`: the first so many of an endless row of natural pictures; the subjects take turns."""
    from weakspot.sources.labelled import LabelledImages

    if not count.isdecimal() or not 0 < int(count) <= 100_000:
        raise WeakspotError(f"the world cannot draw {count[:40]!r} pictures", fix="write world:2000")
    source, names = Renderer(), [f"world {i}" for i in range(int(count))]
    labels = tuple(SUBJECTS[i % len(SUBJECTS)] for i in range(len(names)))

    def draw(i: int) -> NDArray[np.uint8]:
        (case,) = source.draw(Hypothesis(base_sentence(labels[i])), [i], seed=2406)
        return np.asarray(case.input)

    digests = tuple(hashlib.sha256(name.encode()).hexdigest() for name in names)
    return LabelledImages(tuple(names), labels, digests, draw)
