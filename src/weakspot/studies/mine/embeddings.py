"""Texts as rows of length 1, computed once: kept on disk by what the encoder and the texts are.

An encoder that does not say its `digest` is not trusted to be the same tomorrow, and is not cached.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import TextEncoder, WeakspotError
from weakspot.core.ports import digest_of
from weakspot.models.vectors import Precomputed, unit
from weakspot.sources.pool import Progress, write_table

#: Texts given to an encoder at once; it makes its own batches of them, by length where that helps.
CHUNK: Final = 2048


def cache_folder(option: str | None) -> Path | None:
    """Where embeddings are kept: a folder, None for "no", by default in the user's cache."""
    if option:
        return None if option == "no" else Path(option)
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(home) / "weakspot" / "embeddings"


def embed_texts(
    encoder: TextEncoder,
    texts: Sequence[str],
    *,
    digest: str = "",
    cache: Path | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """One row of length 1 per text, all of them finite or it is an error; from the cache if they are there.

    A cache that cannot be written is not used. `digest` is that of the texts, where it is known.
    """
    file = cache_file(encoder, texts, digest=digest, cache=cache)
    found = _load(file, len(texts))
    if found is None:
        found = _embed(encoder, texts, progress)
        if file is not None and len(texts) and write_table(file, found):
            mapped = _load(file, len(texts))
            found = found if mapped is None else mapped
    elif progress is not None:
        progress(len(texts), len(texts))
    return found


def _embed(encoder: TextEncoder, texts: Sequence[str], progress: Progress | None) -> NDArray[np.float32]:
    matrix = np.zeros((0, 0), np.float32)
    for at in range(0, len(texts), CHUNK):
        rows = _rows(encoder, list(texts[at : at + CHUNK]), first=at)
        if not at:
            matrix = np.empty((len(texts), rows.shape[1]), np.float32)
        if rows.shape[1] != matrix.shape[1]:
            raise WeakspotError(
                f"the encoder gave rows of {rows.shape[1]} numbers, and of {matrix.shape[1]} before",
                fix="check the encoder",
            )
        matrix[at : at + len(rows)] = rows
        if progress is not None:
            progress(at + len(rows), len(texts))
    return matrix


def cache_file(
    encoder: TextEncoder, texts: Sequence[str], *, digest: str = "", cache: Path | None
) -> Path | None:
    """Where the rows of an encoder for some texts are kept; None if nowhere."""
    model = digest_of(encoder)
    if cache is None or not model:
        return None
    if not digest:
        hashed = hashlib.sha256()
        for text in texts:
            hashed.update(text.encode("utf-8", "backslashreplace") + b"\n")
        digest = hashed.hexdigest()
    return cache / f"{hashlib.sha256(f'{model} {digest}'.encode()).hexdigest()[:32]}.npy"


def _rows(encoder: TextEncoder, texts: list[str], *, first: int) -> NDArray[np.float32]:
    name = encoder.name if isinstance(encoder, Precomputed) else type(encoder).__name__
    rows = np.asarray(encoder.embed_texts(texts))
    if rows.ndim != 2 or len(rows) != len(texts):
        raise WeakspotError(
            f"{name[:200]} gave the shape {rows.shape} for {len(texts)} texts",
            fix="an encoder gives one row for each text, in order",
        )
    wrong = np.flatnonzero(~(np.isfinite(rows).all(1) & rows.any(1)))
    if len(wrong):
        what = "only zeros" if np.isfinite(rows[wrong[0]]).all() else "numbers that are not finite"
        raise WeakspotError(
            f"{name[:200]} gave {what} for text {first + int(wrong[0]):,}: {texts[wrong[0]][:80]!r}",
            fix="check the encoder, or leave that text out",
        )
    return unit(rows, of=name)


def _load(file: Path | None, rows: int) -> NDArray[np.float32] | None:
    """The rows of a file of the cache; None if there are none that can be used."""
    if file is None:
        return None
    try:
        found: NDArray[np.float32] = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    right = isinstance(found, np.ndarray) and found.ndim == 2 and found.dtype == np.float32
    if not right or len(found) != rows or not found.shape[1]:
        return None
    lengths = (np.linalg.norm(found[at : at + (1 << 14)], axis=1) for at in range(0, rows, 1 << 14))
    return found if all((np.abs(some - 1) < 1e-4).all() for some in lengths) else None
