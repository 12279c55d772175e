"""Vectors that somebody has already computed: `npz:clip.npz?vectors=embeddings&texts=captions`.

An .npz file with a matrix and its texts, or an .npy matrix with `?texts=captions.txt`, one text a line. A
text is found whatever its case, white space and punctuation, as corpora tell texts apart. Never a pickle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, nearest
from weakspot.models.diffusers.folder import sha256
from weakspot.models.vectors import unit
from weakspot.text.plain import normal_form

#: What the arrays are usually called, most telling first.
VECTORS: Final = ("embeddings", "text_embeddings", "vectors", "features", "image_embeddings", "arr_0")
TEXTS: Final = ("captions", "texts", "sentences", "names", "image_ids")


class Precomputed:
    """See `weakspot.core.TextEncoder`; it can embed the texts of its matrix and no others.

    Args:
        vectors: One row per text, of any length but zero.
        texts: The texts, or names of pictures.

    Attributes:
        vectors: Rows of length 1.
    """

    def __init__(self, vectors: NDArray[Any], texts: Sequence[str], *, name: str, digest: str) -> None:
        if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
            raise WeakspotError(
                f"{name} holds {vectors.dtype} of the shape {vectors.shape}, not one row of numbers per text",
                fix="name the right array: ?vectors=…",
            )
        if len(vectors) != len(texts):
            raise WeakspotError(
                f"{name} has {len(vectors):,} rows and {len(texts):,} texts", fix="give one text for each row"
            )
        self.name, self.digest = name, digest
        self.vectors, self.texts = unit(vectors, of=name), tuple(texts)
        self._rows: dict[str, int] = {}
        for row, text in enumerate(texts):
            self._rows.setdefault(normal_form(text), row)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `TextEncoder`.

        Raises:
            WeakspotError: A text is not in the matrix.
        """
        rows = [self._rows.get(normal_form(text), -1) for text in texts]
        if -1 in rows:
            unknown = texts[rows.index(-1)]
            raise WeakspotError(
                f"{rows.count(-1):,} of {len(rows):,} texts are not in {self.name}, e.g. {unknown[:80]!r}",
                fix="use the corpus the matrix was made from, or an encoder that can embed any text",
            )
        return self.vectors[rows]


def load(path: str, *, vectors: str = "", texts: str = "") -> Precomputed:
    """`npz:clip.npz?vectors=embeddings&texts=captions`, `npz:clip.npy?texts=captions.txt`."""
    file = Path(path)
    found, words = _read(file), None
    digest = sha256(file)
    if isinstance(found, np.ndarray):
        matrix = found
        if not texts:
            raise WeakspotError(f"npz:{path[:200]} has no texts", fix="add ?texts=captions.txt, one a line")
    else:
        matrix = _array(found, vectors, VECTORS, f"npz:{path}", "vectors")
        if not (texts and Path(texts).is_file()):
            words = _array(found, texts, TEXTS, f"npz:{path}", "texts")
    if words is None:
        lines = _lines(Path(texts))
        digest = hashlib.sha256("\n".join([digest, *lines]).encode()).hexdigest()
    else:
        lines = [str(word) for word in words.tolist()]
    return Precomputed(matrix, lines, name=f"npz:{path}", digest=digest)


def _read(file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    try:
        with file.open("rb") as opened:  # numpy leaves a file open that is no archive
            found = np.load(opened, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            return {name: found[name] for name in found}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise WeakspotError(
            f"the matrix {str(file)[:200]!r} cannot be read: {error}",
            fix="save it with numpy.savez(file, embeddings=…, captions=…), without objects",
        ) from error


def _array(
    found: Mapping[str, NDArray[Any]], name: str, usual: Sequence[str], of: str, what: str
) -> NDArray[Any]:
    chosen = name or next((one for one in usual if one in found), "")
    if chosen not in found:
        names = ", ".join(found)
        raise WeakspotError(
            f"{of[:200]} has no array {chosen[:80] or 'of ' + what!r}",
            fix=nearest(chosen, found) or f"say which: ?{what}=… ({names[:200]})",
        )
    return found[chosen]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(
            f"the texts in {str(path)[:200]!r} cannot be read: {error}", fix="one text a line, in UTF-8"
        ) from error
