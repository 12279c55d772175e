"""`ngrams`: texts as vectors without any weights, from the letters and words that they are made of.

Each word, and each row of three letters in it, is hashed to a place of the vector; rarer things weigh as much
as frequent ones do only by the root of their count. Texts with the same words lie near, synonyms do not.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.stats.overlap import tokens

SIZE: Final = 512
_COMMON: Final = (
    "a an the of to in on at by for from with and or but as is are was were be been it its this that these "
    "those he she they his her their we you i not no so if than then into over after before about"
)
#: Words that say little, so that two texts are not alike for having them.
COMMON: Final = frozenset(_COMMON.split())


class Ngrams:
    """See `weakspot.core.TextEncoder`."""

    def __init__(self, *, size: int = SIZE) -> None:
        self.size, self.digest = size, f"ngrams-1-{size}"

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row of length 1 per text; a text without words points along the first axis."""
        rows = np.zeros((len(texts), self.size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature, times in Counter(_features(text)).items():
                code = zlib.crc32(feature.encode("utf-8", "backslashreplace"))
                row[code % self.size] += (1.0 if code >> 31 else -1.0) * math.sqrt(times)
            length = float(np.linalg.norm(row))
            if length > 0:
                row /= length
            else:
                row[0] = 1.0
        return rows


def _features(text: str) -> list[str]:
    found = []
    for word in tokens(text):
        if word not in COMMON:
            found.append(word)
            found += [f"{word[i : i + 3]}~" for i in range(len(word) - 2)]
    return found


def load(*, size: str = "") -> Ngrams:
    """`ngrams`, `ngrams?size=256`."""
    if size and not (size.isdecimal() and 16 <= int(size[:7]) <= 65_536):
        raise WeakspotError(f"size cannot be {size[:60]!r}", fix="choose a whole number from 16 to 65536")
    return Ngrams(size=int(size) if size else SIZE)
