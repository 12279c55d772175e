"""Texts of the world by what they mean exactly: a judge of differences, an encoder and a corpus.

They are references for `weakspot mine` on the world, and oracles for tests: a method that finds a weak spot
in the encoder is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.core.registry import read_whole
from weakspot.judges.differs.judge import TextPair
from weakspot.sources.corpus import Text
from weakspot.world.grammar import caption, parse
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import ATTRIBUTES, SceneSet

#: Numbers of a vector that say which meaning it is, beside those that say what the meaning is.
WIDTH: Final = 64
#: Share of the vector's squared length that these have: no two meanings are more alike than the rest allows.
OWN: Final = 0.35
TEXTS: Final = 5000
#: Scenes that are looked at for one of which a text is true and another is not.
TRIES: Final = 20


def meaning(text: str) -> SceneSet | None:
    """The scenes that a text allows; None where it is not of the world's English."""
    try:
        return parse(text)
    except WeakspotError:
        return None


class SceneJudge:
    """`world`, a judge of differences: two texts differ when they allow other scenes."""

    def differ(self, pairs: Sequence[TextPair]) -> list[bool | None]:
        """See `DiffersJudge`. None where a text is not of the world's English."""
        meant = [(meaning(a), meaning(b)) for a, b in pairs]
        return [None if a is None or b is None else a != b for a, b in meant]

    def understands(self, text: str) -> bool:
        """Whether a text is of the world's English."""
        return meaning(text) is not None


class SceneEncoder:
    """`world:scenes`: what a text means, as a vector; an encoder that errs in nothing.

    Texts that allow the same scenes have the same vector; those of other texts are the farther apart the more
    attributes they disagree in, and always clearly apart. A text that is not of the world's English is a
    meaning of its own.
    """

    name: Final = "world:scenes"
    digest: Final = hashlib.sha256(f"world:scenes 1 {WIDTH} {OWN} {ATTRIBUTES}".encode()).hexdigest()

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, WIDTH + sum(map(len, ATTRIBUTES.values()))), np.float32)
        return np.stack([_vector(text) for text in texts])


def _vector(text: str) -> NDArray[np.float32]:
    meant = meaning(text)
    own = " ".join(text.split()) if meant is None else repr(meant.allowed)
    seed = int.from_bytes(hashlib.blake2b(own.encode("utf-8", "backslashreplace"), digest_size=8).digest())
    label = np.random.default_rng(seed).standard_normal(WIDTH)
    label /= np.linalg.norm(label)
    said = _attributes(meant or SceneSet())
    return np.concatenate([np.sqrt(1 - OWN) * said, np.sqrt(OWN) * label]).astype(np.float32)


def _attributes(meant: SceneSet) -> NDArray[np.float64]:
    """The values left for each attribute, every attribute with the same weight."""
    blocks = [
        np.array([value in meant[name] for value in ATTRIBUTES[name]], np.float64) for name in ATTRIBUTES
    ]
    lengths = [block / np.linalg.norm(block) for block in blocks]
    return np.asarray(np.concatenate(lengths) / np.sqrt(len(blocks)))


class WorldCorpus:
    """`world?texts=5000&seed=0`: captions of scenes, made when they are read; see `Renewable`."""

    def __init__(self, count: int, seed: str) -> None:
        self._count, self._seed = count, seed

    def __iter__(self) -> Iterator[Text]:
        return self.more(f"corpus:{self._seed}", self._count)

    def more(self, seed: str, count: int) -> Iterator[Text]:
        """Captions of natural scenes, each with the number of its scene."""
        rng = Random(seed)  # noqa: S311
        for number in range(count):
            yield Text(caption(sample(SceneSet(), rng), rng), f"scene {number}")

    def same(self, one: str, other: str) -> bool:
        """Whether two texts allow the same scenes."""
        return (known := meaning(one)) is not None and known == meaning(other)

    def picture(self, text: str, against: Sequence[str], *, seed: int) -> Any:
        """A scene of the text that the other texts do not allow."""
        rng, own = Random(seed), parse(text)  # noqa: S311
        denied = [parse(other) for other in against]
        for _ in range(TRIES):
            scene = sample(own, rng)
            if not any(other.matches(scene) for other in denied):
                return render(scene, seed, 64)
        return None


def corpus(*, texts: str = "", seed: str = "0") -> WorldCorpus:
    return WorldCorpus(read_whole("texts", texts, most=10_000_000) or TEXTS, seed)
