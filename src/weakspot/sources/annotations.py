"""What a file says of the pictures in a folder: their labels, and their captions where there are any.

CSV with a header (`file,label,caption`) or just two columns; JSON, an object from files to labels or to
objects, or a list of objects; JSON lines. A file is named by its path below the folder, or by its own name.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, nearest

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
    """What a file says of those of the pictures it speaks of.

    Args:
        path: A .csv, .tsv, .json or .jsonl file.
        names: The pictures, by their paths below the folder.
        column: Of the label. A file without it has captions only, or else is refused.
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
            f"{path} speaks of none of the pictures", fix=f"it names {some[:80]!r}" if some else "it is empty"
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
        said = [
            _line(s).rstrip(" .")
            for s in (caption if isinstance(caption, list) else [caption])
            if isinstance(s, str)
        ]
        text = " ".join(f"{s}." for s in said if s)
        yield (
            str(PurePosixPath(file)),
            Annotation("" if label is None else _line(str(label))[:_LABEL], text[:_CAPTION]),
        )


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The entries, each an object with a file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        text = content.decode("utf-8-sig")
        kind = path.suffix.lower()
        if kind in (".jsonl", ".ndjson"):
            data: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif kind == ".json":
            data = json.loads(text)
        else:
            data = list(_table(text, "," if kind == ".csv" else "\t"))
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise WeakspotError(
            f"the labels in {str(path)[:200]!r} cannot be read: {error}",
            fix="name a CSV, JSON or JSONL file in UTF-8",
        ) from error
    if isinstance(data, Mapping):
        data = [
            {**(value if isinstance(value, Mapping) else {"label": value}), FILE[0]: key}
            for key, value in data.items()
        ]
    for entry in data if isinstance(data, list) else [data]:
        if not isinstance(entry, Mapping):
            raise WeakspotError(
                f"an entry of {path} is no object: {str(entry)[:80]}", fix="write file and label"
            )
        yield dict(entry)


def _table(text: str, delimiter: str) -> Iterator[dict[str, str]]:
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    header = [cell.strip() for cell in rows[0]] if rows else []
    if not set(map(str.lower, header)) & set(FILE):
        header = [FILE[0], "label"]
    else:
        header = [cell.lower() if cell.lower() in (*FILE, *CAPTION) else cell for cell in header]
        rows = rows[1:]
    for row in rows:
        yield dict(zip(header, row, strict=False))


def _line(text: str) -> str:
    """One printable line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
