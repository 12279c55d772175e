"""Texts and pictures as rows of length 1, computed once: kept on disk by what the encoder and the texts are.

A file of the cache is a plain .npy matrix, named by the digests of the encoder and of the texts in their
order, written beside and put in place as a whole, and read through a memory map. An encoder that does not
say its `digest` is not trusted to be the same tomorrow, and is not cached.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import TextEncoder, WeakspotError
from weakspot.models.vectors import unit
from weakspot.sources.pool import Pool

#: Texts given to an encoder at once; it makes its own batches of them, by length where that helps.
CHUNK: Final = 2048

#: Told how many texts are done, and of how many.
Progress = Callable[[int, int], None]


def cache_folder(option: str = "") -> Path | None:
    """Where embeddings are kept: a folder, None for "no", by default in the user's cache."""
    if option:
        return None if option == "no" else Path(option)
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(home) / "weakspot" / "embeddings"


def unit_rows(rows: NDArray[Any], *, of: str = "the matrix") -> NDArray[np.float32]:
    """Rows divided by their lengths; an error names the first that is zero or not finite."""
    return unit(rows, of=of)


def embed_texts(
    encoder: TextEncoder,
    texts: Sequence[str],
    *,
    digest: str = "",
    cache: Path | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """One row of length 1 per text; from the cache if they are there.

    Args:
        encoder: Whose rows are wanted.
        texts: In the order of the rows.
        digest: Of the texts, where it is known (`Corpus.digest`).
        cache: A folder; None for no cache. One that cannot be written is not used.
        progress: Told after each chunk.

    Raises:
        WeakspotError: The encoder gave something else than one finite row per text.
    """
    file = cache_file(encoder, texts, digest=digest, cache=cache)
    found = _load(file, len(texts))
    if found is not None:
        if progress is not None:
            progress(len(texts), len(texts))
        return found
    with _Writer(file, len(texts)) as writer:
        for at in range(0, len(texts), CHUNK):
            chunk = list(texts[at : at + CHUNK])
            writer.put(at, _rows(encoder, chunk, first=at))
            if progress is not None:
                progress(min(at + CHUNK, len(texts)), len(texts))
        return writer.done()


def cache_file(
    encoder: TextEncoder, texts: Sequence[str], *, digest: str = "", cache: Path | None
) -> Path | None:
    """Where the rows of an encoder for some texts are kept; None if nowhere."""
    model = str(getattr(encoder, "digest", None) or "")
    if cache is None or not model:
        return None
    if not digest:
        told = hashlib.sha256()
        for text in texts:
            told.update(text.encode("utf-8", "backslashreplace") + b"\n")
        digest = told.hexdigest()
    return cache / f"{hashlib.sha256(f'{model} {digest}'.encode()).hexdigest()[:32]}.npy"


def _rows(encoder: TextEncoder, texts: list[str], *, first: int) -> NDArray[np.float32]:
    name = str(getattr(encoder, "name", None) or type(encoder).__name__)
    rows = np.asarray(encoder.embed_texts(texts))
    if rows.ndim != 2 or len(rows) != len(texts):
        raise WeakspotError(
            f"{name[:200]} gave the shape {rows.shape} for {len(texts)} texts",
            fix="an encoder gives one row for each text, in order",
        )
    wrong = np.flatnonzero(~(np.isfinite(rows).all(1) & rows.any(1)))
    if len(wrong):
        what = "zeros alone" if np.isfinite(rows[wrong[0]]).all() else "numbers that are not finite"
        raise WeakspotError(
            f"{name[:200]} gave {what} for text {first + int(wrong[0]):,}: {texts[wrong[0]][:80]!r}",
            fix="check the encoder, or leave that text out",
        )
    return unit(rows, of=name)


class _Writer:
    """A matrix that grows: in a file that is put in place when it is whole, or in memory."""

    def __init__(self, file: Path | None, rows: int) -> None:
        self.file, self.rows = file, rows
        self.matrix: NDArray[np.float32] | None = None
        self.part: Path | None = None

    def __enter__(self) -> _Writer:
        return self

    def put(self, at: int, rows: NDArray[np.float32]) -> None:
        if self.matrix is None:
            self.matrix = self._open(rows.shape[1])
        if rows.shape[1] != self.matrix.shape[1]:
            raise WeakspotError(
                f"the encoder gave rows of {rows.shape[1]} numbers, and of {self.matrix.shape[1]} before",
                fix="check the encoder",
            )
        self.matrix[at : at + len(rows)] = rows

    def _open(self, width: int) -> NDArray[np.float32]:
        if self.file is not None:
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                handle, name = tempfile.mkstemp(dir=self.file.parent, prefix=".part-", suffix=".npy")
                os.close(handle)
                self.part = Path(name)
                made: NDArray[np.float32] = np.lib.format.open_memmap(
                    self.part, mode="w+", dtype=np.float32, shape=(self.rows, width)
                )
                return made
            except OSError:  # a cache that cannot be written costs time and nothing else
                self.file = None
        return np.empty((self.rows, width), np.float32)

    def done(self) -> NDArray[np.float32]:
        if self.matrix is None:
            return np.zeros((0, 0), np.float32)
        if self.file is None or self.part is None:
            return self.matrix
        try:
            self.matrix.flush()  # type: ignore[attr-defined]
            self.part.replace(self.file)
        except OSError:
            return self.matrix.copy()
        found = _load(self.file, self.rows)
        return self.matrix if found is None else found

    def __exit__(self, *_: object) -> None:
        if self.part is not None:
            self.part.unlink(missing_ok=True)


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


class SharedRows(NamedTuple):
    """Pictures that two pools have in common: names, and a row of each pool for each."""

    names: tuple[str, ...]
    one: NDArray[np.float32]
    other: NDArray[np.float32]


def shared_rows(one: Pool, other: Pool) -> SharedRows:
    """The pictures that both encoders could embed, so that pairs of pictures can be searched like texts.

    Args:
        one: A folder of pictures by the tested encoder (`weakspot.sources.pool.read_pool`).
        other: The same folder by the reference.
    """
    places = {digest: i for i, digest in enumerate(other.digests)}
    common = [(i, places[digest]) for i, digest in enumerate(one.digests) if digest in places]
    if len(common) < 2:
        raise WeakspotError(
            "the two encoders have fewer than two pictures in common", fix="give both the same folder"
        )
    mine, theirs = (list(rows) for rows in zip(*common, strict=True))
    return SharedRows(
        tuple(one.names[i] for i in mine),
        unit(np.asarray(one.vectors[mine], np.float32), of="the tested encoder"),
        unit(np.asarray(other.vectors[theirs], np.float32), of="the reference"),
    )
