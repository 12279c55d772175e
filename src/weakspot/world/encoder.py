"""`world:encoder`: puts pictures of the world and texts about them into one space (`training/encoder.py`)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.onnx.graph import Graph, OfGraphs
from weakspot.models.pictures import planes
from weakspot.world import shipped
from weakspot.world.words import Words

#: Height and width of the pictures; pictures of another size are resized.
SIZE: Final = (64, 64)
#: Tokens of the longest text, its beginning and end included; what goes beyond is not read.
LENGTH: Final = 112
FILES: Final = ("encoder-image.onnx", "encoder-text.onnx", "words.json")


class WorldEncoder(OfGraphs):
    """Texts and pictures as vectors of length 1; their product says how well they go together.

    On the CPU with the same numbers everywhere. `text` is another text tower of the same shape, as repair
    writes it; None is the world's own.
    """

    def __init__(self, *, device: str = "cpu", text: Path | None = None) -> None:
        image, own, words = map(shipped.file, FILES)
        self.text_file = own if text is None else text
        if not self.text_file.is_file():
            raise WeakspotError(f"there is no text tower {self.text_file}", fix="name the file of a repair")
        self._image, self._text = Graph(image, device=device), Graph(self.text_file, device=device)
        self._image.expect({"image": (None, 3, *SIZE)}, {"vector": (None, None)}, fix=shipped.FIX)
        # The two must agree, or products of vectors would mean nothing.
        width = next(t.shape[-1] for t in self._image.outputs if t.name == "vector")
        self._text.expect({"tokens": (None, None)}, {"vector": (None, width)}, fix=shipped.FIX)
        self._words = Words.load(words)
        self.digest = shipped.joint_digest(*FILES)
        if text is not None:
            self.digest = hashlib.sha256(f"{self.digest} {self._text.digest}".encode()).hexdigest()
        self._made_of("world:encoder", self._image, self._text)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`. Of a text that is too long the beginning is read."""
        # Texts of one length at a time: without padding no vector can depend on its neighbours.
        groups: dict[int, list[int]] = defaultdict(list)
        for i, text in enumerate(texts):
            groups[min(len(self._words.encode(text)), LENGTH - 2)].append(i)
        if not groups:
            return self._vectors(self._text, "tokens", self._words.batch([], LENGTH))
        rows: dict[int, NDArray[np.float32]] = {}
        for _, group in sorted(groups.items()):
            tokens = self._words.batch([texts[i] for i in group], LENGTH)
            rows |= zip(group, self._vectors(self._text, "tokens", tokens), strict=True)
        return np.stack([rows[i] for i in range(len(texts))])

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        parts = planes(images, SIZE, batch=self._image.batch)
        return np.concatenate([self._vectors(self._image, "image", part) for part in parts])

    def tokens(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return self._words.batch(texts, LENGTH)

    @staticmethod
    def name_with(text_file: Path) -> str:
        return f"world:encoder?{urlencode({'text': str(text_file)}, safe='/')}"

    @staticmethod
    def _vectors(graph: Graph, name: str, values: NDArray[Any]) -> NDArray[np.float32]:
        [vectors] = graph.run({name: values}, ["vector"])
        if not np.isfinite(vectors).all():
            raise WeakspotError("the encoder gave numbers that are not finite", fix=shipped.FIX)
        return vectors


def load(*, device: str = "cpu", text: str = "") -> WorldEncoder:
    """`world:encoder`, or with a text tower that was repaired: `world:encoder?text=FILE.onnx`."""
    return WorldEncoder(device=device, text=Path(text) if text else None)
