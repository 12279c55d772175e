"""Files that say what labels mean: a name, its parent and its WordNet id, as far as they are known.

CSV and TSV with columns in that order or with a header; JSON and JSON lines with objects, or an object from
names to parents, or ImageNet's usual `{"0": ["n01440764", "tench"]}`; any other file has one label a line, or
ImageNet's "n01440764 tench, Tinca tinca".
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError

#: What the columns of a header, or the keys of an object, may be called; in lower case.
FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "label", "class"),
    "parent": ("parent", "superclass", "hypernym"),
    "wordnet": ("wordnet", "wnid", "wordnet_id", "wordnet id", "synset", "id"),
}
#: No list of labels is larger. (ImageNet's 21,841 with all their names are 1 MB.)
LARGEST: Final = 1 << 26
_ID: Final = re.compile(r"n\d{8}", re.ASCII)
_LISTED: Final = re.compile(r"(n[0-9]{8})[ \t]+(\S.*)")


class LabelRow(NamedTuple):
    """One label of a file; what it does not say is ""."""

    name: str
    parent: str = ""
    wordnet: str = ""


def read_label_file(path: str | Path) -> list[LabelRow]:
    """The rows of a labels file, in order."""
    path = Path(path)
    text = _text(path)
    kind = path.suffix.lower()
    try:
        if kind == ".json":
            entries = list(_json_entries(json.loads(text)))
        elif kind in (".jsonl", ".ndjson"):
            entries = [json.loads(line) for line in text.splitlines() if line.strip()]
        elif kind in (".csv", ".tsv", ".tab") or "\t" in text:
            entries = list(_columns(csv.reader(text.splitlines(), delimiter="," if kind == ".csv" else "\t")))
        else:
            entries = _lines([line.strip() for line in text.splitlines() if line.strip()])
    except (ValueError, RecursionError, csv.Error) as error:
        raise WeakspotError(
            f"the labels file {path} cannot be read: {error}",
            fix="write name, parent and WordNet id in columns, or one label a line in a .txt",
        ) from error
    if not entries:
        raise WeakspotError(f"the labels file {path} has no labels", fix="one label a line will do")
    return [
        _row(entry, f"entry {number} of the labels file {path}") for number, entry in enumerate(entries, 1)
    ]


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise OSError(f"it has more than {LARGEST >> 20} MiB")
        return content.decode("utf-8-sig")
    except (OSError, ValueError) as error:  # a path with a NUL, and bytes that are not UTF-8, are ValueErrors
        raise WeakspotError(
            f"the labels file {str(path)[:200]!r} cannot be read: {error}", fix="name a file in UTF-8"
        ) from error


def _lines(lines: list[str]) -> list[Any]:
    """One label a line; where all begin with an id, as ImageNet's synset lists do, id and name."""
    parts = [part.groups() for line in lines if (part := _LISTED.fullmatch(line))]
    return [list(part) for part in parts] if len(parts) == len(lines) else list(lines)


def _json_entries(data: Any) -> Iterator[Any]:
    """The entries of any of the forms that JSON files of labels have."""
    if isinstance(data, list):
        yield from data
    elif isinstance(data, dict):
        numbered = all(key.isdecimal() for key in data)
        for key, value in data.items():
            if isinstance(value, list):  # ["n01440764", "tench"]
                yield value
            elif isinstance(value, dict):
                yield value if numbered else {"name": key, **value}
            else:
                yield value if numbered else {"name": key, "parent": value}
    else:
        raise ValueError("it holds neither a list nor an object")


def _columns(rows: Iterable[list[str]]) -> Iterator[Any]:
    """Rows as lists, or as objects if the first is a header. Blank rows are passed over."""
    header: list[str] | None = None
    for number, row in enumerate(row for row in rows if any(cell.strip() for cell in row)):
        lowered = [cell.strip().lower() for cell in row]
        if number == 0 and any(cell in FIELDS["name"] for cell in lowered):
            header = lowered
        elif header is not None:
            yield dict(zip(header, row, strict=False))
        else:
            yield row


def _row(entry: Any, where: str) -> LabelRow:
    """An entry as a row: a name, a list of cells, or an object."""
    if isinstance(entry, str):
        entry = [entry]
    if isinstance(entry, list):
        # The id may stand first, where ImageNet's lists have it.
        ids = [cell for cell in entry if isinstance(cell, str) and _ID.fullmatch(cell.strip())]
        rest = [cell for cell in entry if cell not in ids] or ids
        if len(rest) > 2:
            raise WeakspotError(f"{where} has {len(entry)} columns", fix="write name, parent, WordNet id")
        entry = dict(zip(("name", "parent"), rest, strict=False)) | ({"wordnet": ids[0]} if ids else {})
    if not isinstance(entry, dict):
        raise WeakspotError(f"{where} is no label: {str(entry)[:80]!r}", fix="write a name or an object")
    keys = {str(key).strip().lower(): value for key, value in entry.items()}
    values = {}
    for field, names in FIELDS.items():
        value = next((keys[name] for name in names if name in keys and keys[name] is not None), "")
        if not isinstance(value, str):
            raise WeakspotError(f"{where} has the {field} {str(value)[:80]!r}", fix="write it as text")
        values[field] = value.strip()
    if not values["name"]:
        raise WeakspotError(f"{where} has no name", fix=f"give it one, as {' or '.join(FIELDS['name'])}")
    if values["wordnet"] and not _ID.fullmatch(values["wordnet"]):
        raise WeakspotError(
            f"{where} has the WordNet id {values['wordnet'][:80]!r}",
            fix="write n and eight digits: n02123394",
        )
    return LabelRow(**values)
