"""What files say of pictures: their labels, and their captions; and pictures that come with captions.

Labels: CSV with a header (`file,label,caption`) or just two columns; JSON, an object from files to labels or
to objects, or a list of objects; JSON lines. A file is named by its path below the folder or by its own name.
Captions: one of `NAMES` with a column for the file and one for a caption or a list of them, or a COCO file.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Encoder, WeakspotError, nearest
from weakspot.core.errors import explained
from weakspot.models.vectors import unit
from weakspot.sources.folder import files_in, read_text
from weakspot.sources.pool import BATCH, Progress, Skipped, read_pool

#: What the column of the file may be called; in lower case.
FILE: Final = ("file", "path", "filename", "file_name", "image", "image_path")
CAPTION: Final = ("caption", "captions")
#: Bytes of the largest file of annotations.
LARGEST: Final = 1 << 28
#: Characters that are kept of a label, and of a caption.
_LABEL, _CAPTION = 200, 2000


class Annotation(NamedTuple):
    """What is said of one picture; "" where nothing is."""

    label: str = ""
    caption: str = ""


def by_folder(names: Iterable[str]) -> dict[str, Annotation]:
    """Labels by the folder a picture is in, as image folders have them: `cat/0001.jpg` shows a cat."""
    return {name: Annotation(name.split("/")[0]) for name in names if "/" in name}


def read_annotations(
    path: str | Path, names: Iterable[str], *, column: str = "label"
) -> dict[str, Annotation]:
    """What a file says of those of the pictures (paths below the folder) that it speaks of.

    A file without the column of the label has captions only, or else is refused.
    """
    path = Path(path)
    rows, pictures = dict(_rows(path, column)), set(names)
    found = {name: rows[name] for name in pictures & rows.keys()}
    # "images/1.jpg" is "1.jpg" where the folder is images. What may mean two pictures means none.
    ending = Counter(end for name in pictures for end in _ends(name))
    whose = {end: name for name in pictures for end in _ends(name) if ending[end] == 1}
    meant: dict[str, list[str]] = {}
    for file in rows.keys() - found.keys():
        fit = {end for end in _ends(file) if end in pictures} | ({whose[file]} if file in whose else set())
        if len(fit) == 1:
            meant.setdefault(fit.pop(), []).append(file)
    found |= {name: rows[files[0]] for name, files in meant.items() if len(files) == 1 and name not in found}
    if not found:
        some = next(iter(rows), "")
        raise WeakspotError(
            f"{path} mentions none of the pictures", fix=f"it names {some[:80]!r}" if some else "it is empty"
        )
    return found


def _ends(name: str) -> Iterator[str]:
    """A path, and what is left of it without its first folders."""
    parts = name.split("/")
    return ("/".join(parts[i:]) for i in range(len(parts)))


def _rows(path: Path, column: str) -> Iterator[tuple[str, Annotation]]:
    entries = list(_entries(path))
    keys = {str(key) for entry in entries for key in entry}
    if column not in keys and not keys & set(CAPTION):
        raise WeakspotError(
            f"{path} has no column {column!r}",
            fix=nearest(column, keys) or f"say which: column=… ({', '.join(sorted(keys))[:200]})",
        )
    for entry in entries:
        file = next((entry[key] for key in FILE if isinstance(entry.get(key), str)), None)
        if file is None:
            raise WeakspotError(
                f"an entry of {path} names no file: {str(entry)[:80]}", fix=f"call the column {FILE[0]}"
            )
        label = entry.get(column)
        caption: Any = next((entry[key] for key in CAPTION if entry.get(key)), "")
        parts = caption if isinstance(caption, list) else [caption]
        said = [_line(s).rstrip(" .") for s in parts if isinstance(s, str)]
        text = " ".join(f"{s}." for s in said if s)
        yield (
            str(PurePosixPath(file)),
            Annotation("" if label is None else _line(str(label))[:_LABEL], text[:_CAPTION]),
        )


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    broken, fix = (OSError, ValueError, RecursionError, csv.Error), "name a CSV, JSON or JSONL file in UTF-8"
    with explained(f"the labels in {str(path)[:200]!r} cannot be read", *broken, fix=fix):
        text = read_text(path, most=LARGEST)
        kind = path.suffix.lower()
        if kind in (".jsonl", ".ndjson"):
            data: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif kind == ".json":
            data = json.loads(text)
        else:
            data = _table(text, "," if kind == ".csv" else "\t")
    if isinstance(data, Mapping):
        said = {key: value if isinstance(value, Mapping) else {"label": value} for key, value in data.items()}
        data = [{**value, FILE[0]: key} for key, value in said.items()]
    for entry in data if isinstance(data, list) else [data]:
        if not isinstance(entry, Mapping):
            raise WeakspotError(
                f"an entry of {path} is not a JSON object: {str(entry)[:80]}", fix="write file and label"
            )
        yield dict(entry)


def _table(text: str, delimiter: str) -> list[dict[str, str]]:
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    header = [cell.strip() for cell in rows[0]] if rows else []
    if set(map(str.lower, header)) & set(FILE):
        header = [cell.lower() if cell.lower() in (*FILE, *CAPTION) else cell for cell in header]
        rows = rows[1:]
    else:
        header = [FILE[0], "label"]
    return [dict(zip(header, row, strict=False)) for row in rows]


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


#: Where captions are looked for, in the folder and then in the one above.
NAMES: Final = (
    *("captions.jsonl", "captions.json", "captions.csv", "captions.tsv", "metadata.jsonl", "metadata.csv"),
)
COLUMNS: Final = ("captions", "caption", "text", "sentences")
#: Characters that are kept of a caption, and captions of a picture.
LONGEST: Final = 1000
MOST: Final = 100


class Rows(NamedTuple):
    """Pictures as vectors: which of them, one row each, and what was left out."""

    places: tuple[int, ...]
    vectors: NDArray[np.float32]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Captioned:
    """Pictures with their captions, named by their path below their folder unless they are in memory."""

    names: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    folder: Path | None = None
    pictures: tuple[NDArray[np.uint8], ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, items: Iterable[tuple[NDArray[np.uint8], Sequence[str]]]) -> Captioned:
        """Pictures in memory, each with its captions."""
        kept = [(picture, clean) for picture, said in items if (clean := _clean(said))]
        _need(len(kept), "no picture has a caption")
        return cls(
            tuple(f"picture {i}" for i in range(len(kept))),
            tuple(said for _, said in kept),
            pictures=tuple(picture for picture, _ in kept),
        )

    def only(self, names: Collection[str]) -> Captioned:
        """The pictures of these names; a name without its folders will do."""
        wanted = {str(name).strip() for name in names}
        kept = [i for i, name in enumerate(self.names) if wanted & {*_ends(name)}]
        _need(
            len(kept),
            "none of the pictures is among the names",
            fix=f"the pictures have names like {self.names[0][:80]!r}",
        )
        return Captioned(
            tuple(self.names[i] for i in kept),
            tuple(self.captions[i] for i in kept),
            self.folder,
            tuple(self.pictures[i] for i in kept) if self.pictures else (),
            self.skipped,
        )

    def rows(self, encoder: Encoder, *, cache: Path | None = None, progress: Progress | None = None) -> Rows:
        """The pictures as rows of length 1, those of a folder from the cache where they are there."""
        if not hasattr(encoder, "embed_images"):
            raise WeakspotError(
                "the encoder has no image tower, so texts cannot be compared with pictures",
                fix="use an encoder of texts and pictures",
            )
        if self.folder is not None:
            pool = read_pool(self.folder, encoder, cache=cache, progress=progress)
            at = {name: i for i, name in enumerate(pool.names)}
            places = tuple(i for i, name in enumerate(self.names) if name in at)
            _need(len(places), "no picture with a caption could be read")
            own = np.asarray(pool.vectors[[at[self.names[i]] for i in places]], np.float32)
            lost = set(self.names)
            skipped = tuple(skip for skip in pool.skipped if skip.name in lost)
            return Rows(places, unit(own, of="the encoder"), skipped)
        parts = []
        for start in range(0, len(self.pictures), BATCH):
            some = list(self.pictures[start : start + BATCH])
            part = np.asarray(encoder.embed_images(some), np.float32)
            if part.ndim != 2 or len(part) != len(some):
                raise WeakspotError(
                    f"the encoder gave the shape {part.shape} for {len(some)} pictures",
                    fix="an encoder gives one row for each picture, in order",
                )
            parts.append(part)
            if progress is not None:
                progress(start + len(some), len(self.pictures))
        return Rows(tuple(range(len(self))), unit(np.concatenate(parts), of="the encoder"), ())


def captions_beside(folder: str | Path) -> Path | None:
    """The first file of `NAMES` in a folder or in the one above; None where there is none."""
    root = Path(folder)
    return next(filter(Path.is_file, (place / name for place in (root, root.parent) for name in NAMES)), None)


def read_captioned(folder: str | Path, *, captions: str | Path | None = None) -> Captioned:
    """The pictures of a folder that have captions, by default in the first of `NAMES` there or one above."""
    root = Path(folder)
    names = [name for name, _ in files_in(root)]
    if captions is None:
        captions = captions_beside(root)
    if captions is None:
        raise WeakspotError(
            f"there are no captions with the pictures in {str(root)[:200]}",
            fix=f"put {NAMES[0]} there (a line: file, captions), or name the file: --captions FILE",
        )
    path = Path(captions)
    said = _read(path)
    whose: dict[str, str | None] = {}
    for file in said.keys() - set(names):  # an ending that two entries share means neither
        for end in _ends(file):
            whose[end] = file if end not in whose else None
    found: dict[str, tuple[str, ...]] = {}
    for name in names:
        meant = name if name in said else next(filter(None, map(whose.get, _ends(name))), None)
        if meant is not None and (clean := _clean(said[meant])):
            found[name] = clean
    if not found:
        raise WeakspotError(
            f"{path} has no caption of a picture in {root}",
            fix=f"it mentions {next(iter(said))[:80]!r}" if said else "it is empty",
        )
    without = tuple(Skipped(name, "it has no caption") for name in names if name not in found)
    return Captioned(tuple(found), tuple(found.values()), root, skipped=without)


def _read(path: Path) -> dict[str, list[Any]]:
    entries = list(_entries(path))
    parts = {entry.get(FILE[0]): entry.get("label") for entry in entries}  # of one JSON object
    images, notes = parts.get("images"), parts.get("annotations")
    found: dict[str, list[Any]] = {}
    if isinstance(images, list) and isinstance(notes, list):  # as COCO has it
        files = {i.get("id"): str(i.get("file_name", "")) for i in images if isinstance(i, Mapping)}
        for note in notes:
            if isinstance(note, Mapping) and (file := files.get(note.get("image_id"))):
                found.setdefault(file, []).append(note.get("caption", ""))
        return found
    for entry in entries:
        file = next((entry[key] for key in FILE if isinstance(entry.get(key), str)), None)
        bare = (*COLUMNS, "label") if set(entry) == {FILE[0], "label"} else COLUMNS
        column = next((entry[key] for key in bare if entry.get(key)), None)
        if file is not None and column is not None:
            found.setdefault(file, []).extend(column if isinstance(column, list) else [column])
    if entries and not found:
        keys = ", ".join(sorted({str(key) for key in entries[0]}))[:200]
        raise WeakspotError(
            f"{path} has no captions; its columns are {keys}", fix="name them file and caption"
        )
    return found


def _clean(said: Iterable[object]) -> tuple[str, ...]:
    """Texts of one printable line, none twice."""
    lines = (
        _line(text[:LONGEST]) for text in ([said] if isinstance(said, str) else said) if isinstance(text, str)
    )
    return tuple(dict.fromkeys(line for line in lines if any(c.isalnum() for c in line)))[:MOST]


def _need(n: int, what: str, *, fix: str = "check the folder and the captions") -> None:
    if not n:
        raise WeakspotError(what, fix=fix)
