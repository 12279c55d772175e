"""Rows of tables that people give: JSON lines, JSON, CSV. Every complaint names the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core.errors import WeakspotError

#: Bytes of the largest table that is read.
LARGEST: Final = 1 << 28
#: What the column that says which item a row is of may be called; the first that is there counts.
ID: Final = ("id", "pid", "item", "question_id", "qid")


class Row(NamedTuple):
    """A row of a table with the line it stands on."""

    line: int
    values: dict[str, Any]

    def first(self, names: Iterable[str]) -> Any:
        """The value of the first of these columns that is there and not None."""
        return next((self.values[n] for n in names if self.values.get(n) is not None), None)


def read_text(path: Path) -> str:
    """A text file; bytes that are not UTF-8 are refused."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise WeakspotError(
            f"{path} cannot be read: {error.strerror or error}", fix="check the name and the permissions"
        ) from error
    if len(content) > LARGEST:
        raise WeakspotError(f"{path} has more than {LARGEST >> 20} MiB", fix="split it")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise WeakspotError(f"{path}: line {line} is not UTF-8", fix="save the file as UTF-8") from error


def read_rows(path: Path) -> list[Row]:
    """The rows of a .jsonl, .json, .csv or .tsv file; an error names all broken lines."""
    text, kind = read_text(path), path.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        rows = _lines(path, text)
    elif kind == ".json":
        rows = _objects(path, text)
    elif kind in (".csv", ".tsv"):
        rows = _columns(path, text, "\t" if kind == ".tsv" else ",")
    else:
        raise WeakspotError(
            f"{path} is not a kind of file that weakspot reads",
            fix="it must end in .jsonl, .json, .csv or .tsv",
        )
    if not rows:
        raise WeakspotError(f"{path} has no rows", fix="put one question into each")
    return rows


def _lines(path: Path, text: str) -> list[Row]:
    rows, broken = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            if not isinstance(values, dict):
                raise ValueError("it is not an object")
            rows.append(Row(number, {str(k): v for k, v in values.items()}))
        except (ValueError, RecursionError) as error:
            broken.append((number, getattr(error, "msg", str(error))[:100]))
    if broken:
        others = ", ".join(str(number) for number, _ in broken[1:11]) + (" …" if len(broken) > 11 else "")
        also = f"; also line{'s' if len(broken) > 2 else ''} {others}" if others else ""
        raise WeakspotError(
            f"{path}: line {broken[0][0]} is not a JSON object: {broken[0][1]}{also}",
            fix="correct or remove these lines",
        )
    return rows


def _objects(path: Path, text: str) -> list[Row]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise WeakspotError(
            f"{path}: {where}{getattr(error, 'msg', 'it is not JSON')[:100]}", fix="mend it"
        ) from error
    if isinstance(data, dict):
        data = [{"id": key, **value} for key, value in data.items() if isinstance(value, dict)]
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise WeakspotError(
            f"{path} is not a list of objects", fix="write [{…}, {…}] or one object a line (.jsonl)"
        )
    return [Row(number, entry) for number, entry in enumerate(data, start=1)]


def _columns(path: Path, text: str, delimiter: str) -> list[Row]:
    before = csv.field_size_limit(1 << 27)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = []
        for values in reader:
            if None in values:
                raise WeakspotError(
                    f"{path}: line {reader.line_num} has more fields than the header",
                    fix="put texts with commas into quotation marks",
                )
            rows.append(Row(reader.line_num, {k: v for k, v in values.items() if v is not None}))
        return rows
    except csv.Error as error:
        raise WeakspotError(f"{path}: line {reader.line_num}: {error}", fix="mend it") from error
    finally:
        csv.field_size_limit(before)
