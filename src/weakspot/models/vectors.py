"""Rows of length 1: what all encoders have in common, and two encoders that need no network."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, nearest
from weakspot.core.errors import explained
from weakspot.models.compute import Batches
from weakspot.models.hf.loading import sha256
from weakspot.stats.overlap import tokens
from weakspot.text.plain import normal_form


def unit(rows: NDArray[Any], *, of: str) -> NDArray[np.float32]:
    """Rows divided by their lengths; the message about one that is not finite, or zero, says which."""
    if rows.ndim != 2:
        raise WeakspotError(
            f"{of} gave the shape {rows.shape}, not one row each", fix="check that it is an encoder"
        )
    if not len(rows):
        return np.zeros(rows.shape, np.float32)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    wrong = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 1e-12)))
    if len(wrong):
        what = "nothing but zeros" if lengths[wrong[0]] == 0 else "numbers that are not finite"
        raise WeakspotError(f"row {wrong[0]} of {of} has {what}", fix="check the model and its inputs")
    return np.asarray(rows / lengths[:, None], np.float32)


def in_batches(
    items: Sequence[Any],
    embed: Callable[[list[Any]], NDArray[Any]],
    *,
    batch: int | Batches,
    width: int | None = None,
) -> NDArray[Any]:
    """Rows of all items (texts, or lists of tokens), some at a time; of the width given where there are none.

    Those of similar length are embedded together, since padding is work too.
    """
    if not len(items):
        return np.zeros((0, width or 0), np.float32)
    order = sorted(range(len(items)), key=lambda i: len(items[i]))
    together = batch if isinstance(batch, Batches) else Batches("", batch)
    rows = np.concatenate(together.run(order, lambda places: embed([items[i] for i in places])))
    out = np.empty_like(rows)
    out[order] = rows
    return out


def of_one_length(tokens: Sequence[Sequence[int]], *, batch: int) -> Iterator[list[int]]:
    """Places of items of one length, at most `batch` at a time: nothing is padded, nothing depends on it."""
    groups: dict[int, list[int]] = {}
    for i, row in enumerate(tokens):
        groups.setdefault(len(row), []).append(i)
    for _, group in sorted(groups.items()):
        yield from (group[at : at + batch] for at in range(0, len(group), batch))


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


def load_ngrams(*, size: str = "") -> Ngrams:
    """`ngrams`, `ngrams?size=256`."""
    if size and not (size.isdecimal() and 16 <= int(size[:7]) <= 65_536):
        raise WeakspotError(f"size cannot be {size[:60]!r}", fix="choose a whole number from 16 to 65536")
    return Ngrams(size=int(size) if size else SIZE)


#: What the arrays are usually called, most telling first.
VECTORS: Final = ("embeddings", "text_embeddings", "vectors", "features", "image_embeddings", "arr_0")
TEXTS: Final = ("captions", "texts", "sentences", "names", "image_ids")


class Precomputed:
    """See `weakspot.core.TextEncoder`; it can embed the texts of its matrix and no others.

    There is one row per text, of any length but zero; the `vectors` have length 1.
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
        rows = [self._rows.get(normal_form(text), -1) for text in texts]
        if -1 in rows:
            unknown = texts[rows.index(-1)]
            raise WeakspotError(
                f"{rows.count(-1):,} of {len(rows):,} texts are not in {self.name}, e.g. {unknown[:80]!r}",
                fix="use the corpus the matrix was made from, or an encoder that can embed any text",
            )
        return self.vectors[rows]


def load_precomputed(path: str, *, vectors: str = "", texts: str = "") -> Precomputed:
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
        what = f"the texts in {str(Path(texts))[:200]!r} cannot be read"
        with explained(what, OSError, UnicodeDecodeError, fix="one text a line, in UTF-8"):
            lines = Path(texts).read_text("utf-8-sig").splitlines()
        digest = hashlib.sha256("\n".join([digest, *lines]).encode()).hexdigest()
    else:
        lines = [str(word) for word in words.tolist()]
    return Precomputed(matrix, lines, name=f"npz:{path}", digest=digest)


def _read(file: Path) -> NDArray[Any] | dict[str, NDArray[Any]]:
    what = f"the matrix {str(file)[:200]!r} cannot be read"
    broken = (OSError, ValueError, EOFError, BadZipFile)
    fix = "save it with numpy.savez(file, embeddings=…, captions=…), without objects"
    with explained(what, *broken, fix=fix), file.open("rb") as opened:  # numpy leaves open what is no archive
        found = np.load(opened, allow_pickle=False)
        return found if isinstance(found, np.ndarray) else {name: found[name] for name in found}


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
