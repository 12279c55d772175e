"""A folder of pictures as vectors: each picture is embedded once, and never again while its bytes stay.

The vectors lie in one file of the user's cache, named by the folder and the encoder's digest. A row is found
by a picture's name, size and time of change, or else by the SHA-256 of its bytes; so a folder that grew costs
only what was added. The file is read through a memory map and replaced as a whole.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.core.ports import ImageEncoder, digest_of
from weakspot.sources.folder import LONGEST, Unusable, decode, files_in, read

#: Pictures that are embedded together.
BATCH: Final = 32
#: After so many new pictures what was done is kept, in case the process is killed.
KEEP_EVERY: Final = 1024

#: Told how many files are done, and of how many.
Progress = Callable[[int, int], None]


class Skipped(NamedTuple):
    name: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The usable pictures of a folder, in the order of their names, none twice."""

    names: tuple[str, ...]
    paths: tuple[Path, ...]
    #: SHA-256 of each, in hexadecimal digits.
    digests: tuple[str, ...]
    #: One row of length 1 per picture; mapped from the cache where there is one.
    vectors: NDArray[np.float32]
    skipped: tuple[Skipped, ...]
    #: Of all pictures and the encoder.
    digest: str

    def picture(self, i: int, *, longest: int = LONGEST) -> NDArray[np.uint8]:
        content = read(self.paths[i])
        if hashlib.sha256(content).hexdigest() != self.digests[i]:
            raise Unusable(f"{self.names[i]} was changed since the folder was read", fix="begin a new run")
        return decode(content, longest=longest)


def read_pool(
    folder: str | Path,
    encoder: ImageEncoder,
    *,
    cache: Path | None = None,
    longest: int = LONGEST,
    progress: Progress | None = None,
) -> Pool:
    """Read a folder, embedding what is not in the cache, at most `longest` pixels wide and high.

    Without an encoder's `digest` nobody knows whether it is still the same, and nothing is cached. A cache
    that cannot be written is not used.
    """
    digest = digest_of(encoder)
    file = None
    if cache is not None and digest:
        place = hashlib.sha256(f"{Path(folder).resolve()}\0{digest}\0{longest}".encode(errors="replace"))
        file = cache / f"{place.hexdigest()[:32]}.npy"
    reader = _Reader(encoder, file, longest)
    files = files_in(folder)
    try:
        for done, (name, path) in enumerate(files, 1):
            reader.look_at(name, path)
            if progress is not None:
                progress(done, len(files))
        reader.embed()
    except BaseException:  # Ctrl-C too: what was embedded is paid for
        reader.keep()
        raise
    return reader.pool(folder, digest)


class _Row(NamedTuple):
    name: str
    path: Path
    key: bytes
    digest: bytes


class _Reader:
    def __init__(self, encoder: ImageEncoder, file: Path | None, longest: int) -> None:
        self.encoder, self.file, self.longest = encoder, file, longest
        self.old = _load(file)
        self.by_key = {row.tobytes(): i for i, row in enumerate(self.old["key"])}
        self.by_digest = {row.tobytes(): i for i, row in enumerate(self.old["digest"])}
        self.width = self.old["vector"].shape[1]
        self.rows: dict[bytes, _Row] = {}  # by digest
        self.fresh: dict[bytes, NDArray[np.float32]] = {}
        self.waiting: list[tuple[_Row, NDArray[np.uint8]]] = []
        self.skipped: list[Skipped] = []

    def look_at(self, name: str, path: Path) -> None:
        """Find a file's vector, or put it on the list of those to embed."""
        try:
            stat = path.stat()
            told = f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()
            key = hashlib.blake2b(told, digest_size=16).digest()
            content = b""
            if key in self.by_key:
                digest = self.old["digest"][self.by_key[key]].tobytes()
            else:
                content = read(path)
                digest = hashlib.sha256(content).digest()
            if digest in self.rows:
                raise Unusable(f"it is the same as {self.rows[digest].name}")
            row = _Row(name, path, key, digest)
            if digest not in self.by_digest:
                self.waiting.append((row, decode(content, longest=self.longest)))
            self.rows[digest] = row
        except (Unusable, OSError) as error:
            what = error.what if isinstance(error, Unusable) else f"it cannot be read: {error.strerror}"
            self.skipped.append(Skipped(name, what))
        if len(self.waiting) >= BATCH:
            self.embed()

    def embed(self) -> None:
        """Embed those that wait; one by one if it fails, to find those at fault."""
        waiting, self.waiting = self.waiting, []
        if not waiting:
            return
        before = len(self.fresh)
        try:
            self._embed(waiting)
        except Exception:  # the encoder may raise anything
            for one in waiting:
                try:
                    self._embed([one])
                except Exception as error:
                    del self.rows[one[0].digest]
                    why = f"it cannot be embedded: {str(error)[:200] or type(error).__name__}"
                    self.skipped.append(Skipped(one[0].name, why))
        if before // KEEP_EVERY != len(self.fresh) // KEEP_EVERY:
            self.keep()

    def _embed(self, waiting: Sequence[tuple[_Row, NDArray[np.uint8]]]) -> None:
        vectors = np.asarray(self.encoder.embed_images([pixels for _, pixels in waiting]), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(waiting) or not np.isfinite(vectors).all():
            raise WeakspotError("the encoder gave no vector of finite numbers")
        self.width = self.width or vectors.shape[1]
        if vectors.shape[1] != self.width:
            raise WeakspotError(f"the encoder gave {vectors.shape[1]} numbers, and {self.width} before")
        self.fresh |= {row.digest: vector for (row, _), vector in zip(waiting, vectors, strict=True)}

    def found(self) -> list[_Row]:
        return [r for r in self.rows.values() if r.digest in self.fresh or r.digest in self.by_digest]

    def table(self) -> NDArray[Any]:
        rows = self.found()
        table = np.zeros(len(rows), _layout(self.width))
        for i, row in enumerate(rows):
            vector = self.fresh.get(row.digest)
            if vector is None:
                vector = self.old["vector"][self.by_digest[row.digest]]
            table[i] = (np.frombuffer(row.key, np.uint8), np.frombuffer(row.digest, np.uint8), vector)
        return table

    def keep(self) -> None:
        """Write what there is, and what else the cache had, for next time."""
        if self.file is None or not self.fresh:
            return
        table, others = self.table(), [i for digest, i in self.by_digest.items() if digest not in self.rows]
        write_table(self.file, np.concatenate([table, self.old[others]]) if others else table)

    def pool(self, folder: str | Path, digest: str) -> Pool:
        """What was found; the cache then holds exactly this."""
        rows = self.found()
        if not rows:
            reasons = "; ".join(f"{s.name}: {s.reason}" for s in self.skipped[:3])[:400]
            raise WeakspotError(
                f"no picture in {str(folder)[:200]!r} can be used: {reasons}",
                fix="put pictures there that can be opened, and check the encoder",
            )
        table = self.table()
        same = np.array_equal(self.old["key"], table["key"])
        if self.file is not None and (same or write_table(self.file, table)):
            mapped = _load(self.file)
            table = mapped if len(mapped) == len(table) else table
        told = hashlib.sha256(digest.encode())
        for row in rows:
            told.update(row.name.encode() + b"\0" + row.digest)
        return Pool(
            names=tuple(row.name for row in rows),
            paths=tuple(row.path for row in rows),
            digests=tuple(row.digest.hex() for row in rows),
            vectors=table["vector"],
            skipped=tuple(self.skipped),
            digest=told.hexdigest(),
        )


def _layout(width: int) -> np.dtype[Any]:
    return np.dtype([("key", "u1", (16,)), ("digest", "u1", (32,)), ("vector", "<f4", (width,))])


def _load(file: Path | None) -> NDArray[Any]:
    nothing = np.zeros(0, _layout(0))
    try:
        found = nothing if file is None else np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return nothing
    fields = found.dtype.fields or {}
    right = found.ndim == 1 and "vector" in fields and found.dtype == _layout(fields["vector"][0].shape[0])
    return found if right and np.isfinite(found["vector"].sum(dtype=np.float64)) else nothing


def write_table(file: Path, table: NDArray[Any]) -> bool:
    """Replace the cache's file; False if that cannot be done, which costs time and nothing else."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".part-", suffix=".npy")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as opened:
            np.save(opened, table, allow_pickle=False)
        os.replace(name, file)  # noqa: PTH105
    except OSError:
        return False
    finally:
        Path(name).unlink(missing_ok=True)
    return True
