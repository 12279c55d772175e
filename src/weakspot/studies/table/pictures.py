"""The pictures of rows, where the table names files that are there: kept as evidence, and looked at."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.tags import column_of, directions_of, tagged, unit_rows
from weakspot.core import Encoder, WeakspotError
from weakspot.engine import Watch
from weakspot.records import Judged
from weakspot.records.sheet import free_name
from weakspot.sources.folder import Unusable, decode, read
from weakspot.store.blobs import Blobs, write_whole

#: Larger files are left where they are.
BYTES: Final = 30_000_000
#: Pixels of the longer side, of pictures that are kept and of those that an encoder sees.
SIDE: Final = 512
#: So many pictures are read, then embedded.
BATCH: Final = 64
#: So many vectors are a file in the run's folder, which a resumed run reads.
PART: Final = 2_048
#: Files that are read at once.
READERS: Final = 4


class Shown(NamedTuple):
    """A table with what an encoder saw in its pictures, in the column of this name."""

    judged: Judged
    column: str


def kept(blobs: Blobs, judged: Judged, row: int) -> str:
    """The digest of the picture of a row, made smaller; "" where there is none that can be read."""
    from PIL import Image

    pixels = pixels_of(judged, row)
    if pixels is None:
        return ""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=4)
    return blobs.put(file.getvalue())


def pixels_of(judged: Judged, row: int) -> NDArray[np.uint8] | None:
    """The picture of a row: RGB, its longer side at most `SIDE`; None where none can be read."""
    name = judged.roles.image
    said = judged.records.column(name).values[row] if name else None
    if not isinstance(said, str) or not said:
        return None
    path = Path(judged.records.folder, said)
    try:
        if not path.is_file() or path.stat().st_size > BYTES:
            return None
        return decode(read(path), longest=SIDE)
    except (Unusable, OSError, ValueError):  # a name may be no path at all
        return None


def shown(judged: Judged, encoder: Encoder, tags: tuple[str, ...], *, folder: Path, watch: Watch) -> Shown:
    """The table with a column that lists what each picture shows.

    Args:
        folder: Where vectors of pictures are kept, so that a resumed run need not make them again.
    """
    rows, vectors = _vectors(judged, encoder, folder, watch)
    if not len(rows):
        raise WeakspotError(
            f"none of the pictures that {judged.roles.image!r} names can be read",
            fix="let paths start at the folder of the table, or leave the encoder out",
        )
    found = tagged(vectors, directions_of(encoder, tags), tags)
    records = judged.records
    name = free_name("picture", records.columns)
    notes = [f"{len(found):,} of {len(tags):,} tags divide the pictures into those with and those without"]
    if lost := len(judged) - len(rows):
        notes.append(f"{lost:,} of {len(judged):,} pictures cannot be read and have no tags")
    column = column_of(name, found, rows, len(judged))
    more = replace(records, columns={**records.columns, name: column}, notes=(*records.notes, *notes))
    return Shown(replace(judged, records=more), name)


def _vectors(
    judged: Judged, encoder: Encoder, folder: Path, watch: Watch
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows whose pictures can be read, and a vector of length 1 for each."""
    folder.mkdir(exist_ok=True)
    rows, vectors, n = [], [], len(judged)
    with ThreadPoolExecutor(READERS) as readers:
        for start in range(0, n, PART):
            file = folder / f"{start}.npz"
            if not file.is_file():
                _look(judged, encoder, range(start, min(start + PART, n)), file, readers, watch)
            with np.load(file, allow_pickle=False) as part:
                if len(part["rows"]):
                    rows.append(part["rows"])
                    vectors.append(unit_rows(part["vectors"], len(part["rows"])))
    watch.progress("looking at pictures", n, n)
    if not rows:
        return np.zeros(0, np.int64), np.zeros((0, 1), np.float32)
    return np.concatenate(rows), np.concatenate(vectors)


def _look(
    judged: Judged, encoder: Encoder, part: range, file: Path, readers: ThreadPoolExecutor, watch: Watch
) -> None:
    """Embed the pictures of some rows, and keep the vectors."""
    rows: list[int] = []
    vectors: list[NDArray[np.float32]] = []
    for start in range(part.start, part.stop, BATCH):
        watch.progress("looking at pictures", start, len(judged))
        some = range(start, min(start + BATCH, part.stop))
        pictures = readers.map(lambda row: pixels_of(judged, row), some)
        seen = {row: pixels for row, pixels in zip(some, pictures, strict=True) if pixels is not None}
        if seen:
            rows += seen
            vectors.append(unit_rows(encoder.embed_images(list(seen.values())), len(seen)))
    content = io.BytesIO()
    every = np.concatenate(vectors) if vectors else np.zeros((0, 1))
    np.savez(content, rows=np.array(rows, np.int64), vectors=every.astype(np.float16))
    write_whole(file, content.getvalue())
