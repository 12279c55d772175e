"""`world:2000`: so many natural pictures of the drawn world, labelled by their subjects."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Hypothesis, WeakspotError
from weakspot.sources.labelled import LabelledImages
from weakspot.world.grammar import base_sentence
from weakspot.world.renderer import Renderer
from weakspot.world.scene import SUBJECTS


def load(count: str = "2000") -> LabelledImages:
    """The first so many of an endless row; the subjects take turns."""
    if not count.isdecimal() or not 0 < int(count) <= 100_000:
        raise WeakspotError(f"the world cannot draw {count[:40]!r} pictures", fix="write world:2000")
    source, n = Renderer(), int(count)

    def draw(i: int) -> NDArray[np.uint8]:
        label = SUBJECTS[i % len(SUBJECTS)]
        (case,) = source.draw(Hypothesis(base_sentence(label)), [i], seed=2406)
        return np.asarray(case.input)

    return LabelledImages(
        tuple(f"world {i}" for i in range(n)),
        tuple(SUBJECTS[i % len(SUBJECTS)] for i in range(n)),
        tuple(hashlib.sha256(f"world {i}".encode()).hexdigest() for i in range(n)),
        draw,
    )
