"""`world:renderer`: a source that draws exactly what the words say.

What they leave open is sampled from the world's natural distribution, in which context and subject go
together: bees are mostly on flowers, flies rarely.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from weakspot.core import Case, Hypothesis, WeakspotError, case_seed
from weakspot.world.grammar import describe, parse
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import Scene, SceneSet
from weakspot.world.space import SceneSpace


class Renderer:
    """Draws scenes of the world.

    Args:
        size: Of the images, in pixels.
        balanced: Sample what is left open uniformly instead of naturally.
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
