"""`world:scenes`: what a text of the world means, as a vector; an encoder that errs in nothing.

Texts that allow the same scenes have the same vector; those of other texts are the farther apart the more
attributes they disagree in, and always clearly apart. It is the reference for `weakspot mine` on the world,
and an oracle for tests: a method that finds a weak spot in it is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.world.grammar import parse
from weakspot.world.scene import ATTRIBUTES, SceneSet

#: Numbers of a vector that say which meaning it is, beside those that say what the meaning is.
WIDTH: Final = 64
#: Share of the vector's squared length that these have: no two meanings are more alike than the rest allows.
OWN: Final = 0.35


class SceneEncoder:
    """See `weakspot.core.TextEncoder`. A text that is not of the world's English is a meaning of its own."""

    name: Final = "world:scenes"
    digest: Final = hashlib.sha256(f"world:scenes 1 {WIDTH} {OWN} {ATTRIBUTES}".encode()).hexdigest()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`."""
        if not texts:
            return np.zeros((0, WIDTH + sum(map(len, ATTRIBUTES.values()))), np.float32)
        return np.stack([_vector(text) for text in texts])


def _vector(text: str) -> NDArray[np.float32]:
    try:
        meaning = parse(text)
        said, own = _attributes(meaning), repr(meaning.allowed)
    except WeakspotError:
        said, own = _attributes(SceneSet()), " ".join(text.split())
    seed = int.from_bytes(hashlib.blake2b(own.encode("utf-8", "backslashreplace"), digest_size=8).digest())
    label = np.random.default_rng(seed).standard_normal(WIDTH)
    label /= np.linalg.norm(label)
    return np.concatenate([np.sqrt(1 - OWN) * said, np.sqrt(OWN) * label]).astype(np.float32)


def _attributes(meaning: SceneSet) -> NDArray[np.float64]:
    """The values left for each attribute, every attribute with the same weight."""
    blocks = []
    for name, values in ATTRIBUTES.items():
        left = meaning[name]
        block = np.array([value in left for value in values], np.float64)
        blocks.append(block / np.linalg.norm(block))
    return np.asarray(np.concatenate(blocks) / np.sqrt(len(blocks)))


def load() -> SceneEncoder:
    """`world:scenes`."""
    return SceneEncoder()
