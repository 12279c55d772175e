"""JSON lines and JSON: a list of objects, or an object of columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from weakspot.core.errors import WeakspotError
from weakspot.records.content import ending, why_broken
from weakspot.records.sheet import Sheet, column_names, sheet_of_rows
from weakspot.records.table import LeftOut

#: Characters in the longest line.
_LONGEST: Final = 1 << 24
_WORD: Final = re.compile(r"\S")
_BETWEEN: Final = re.compile(r"[\s,]*")


def read_objects(text: str, path: Path) -> Sheet:
    """JSON lines or JSON, whichever it is: endings are often wrong."""
    if text.lstrip().startswith("["):
        return _list(text, path)
    if ending(path) in (".jsonl", ".ndjson") or _begins_with_object_lines(text):
        return read_lines(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = read_lines(text)
        if len(lines.lines):
            return lines
        raise WeakspotError(f"{path} is not JSON: {_why(error)}", fix="mend it") from error
    sheet = sheet_of_object(value) if isinstance(value, dict) else None
    if sheet is None:
        raise WeakspotError(
            f"{path} holds no table", fix="write a list of objects, [{…}, {…}], or one object a line"
        )
    return sheet


def read_lines(text: str) -> Sheet:
    """One object on each line."""
    return next(line_sheets(text.split("\n")))


def line_sheets(lines: Iterable[str], *, size: int | None = None) -> Iterator[Sheet]:
    """The same in sheets of so many rows; at least one, even if it is empty."""
    numbered = enumerate(lines, start=1)
    first = True
    while True:
        rows, numbers, left_out = [], [], []
        for number, line in numbered:
            if not line.strip():
                continue
            value, why = _object_in(line)
            if why:
                left_out.append(LeftOut(number, why))
            else:
                rows.append(value)
                numbers.append(number)
            if size is not None and len(rows) + len(left_out) >= size:
                break
        if not (first or rows or left_out):
            return
        yield sheet_of_rows("JSON lines", rows, numbers, left_out)
        first = False


def _object_in(line: str) -> tuple[dict[str, Any], str]:
    """The object on a line, or why there is none."""
    if len(line) > _LONGEST:
        return {}, f"it has more than {_LONGEST:,} characters"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {}, f"it is not JSON: {_why(error).replace('line 1, ', '')}"
    return (value, why_broken(line)) if isinstance(value, dict) else ({}, "it is not a JSON object")


def sheet_of_list(form: str, values: Sequence[Any], broken: Sequence[LeftOut] = ()) -> Sheet:
    """One mapping for each row."""
    numbers = [number for number, value in enumerate(values, start=1) if isinstance(value, Mapping)]
    left_out = [
        LeftOut(number, "it is not an object with names")
        for number, value in enumerate(values, start=1)
        if not isinstance(value, Mapping)
    ]
    return sheet_of_rows(form, [values[number - 1] for number in numbers], numbers, [*left_out, *broken])


def sheet_of_object(value: Mapping[Any, Any], form: str = "JSON") -> Sheet | None:
    """Columns by name: lists of one length, or objects with the same keys. Or an object around a list."""
    columns = list(value.values())
    if columns and all(isinstance(column, list) for column in columns) and len(set(map(len, columns))) == 1:
        cells = columns
        if len(columns) == 1 and any(isinstance(entry, dict) for entry in columns[0]):
            return sheet_of_list(form, columns[0])
    elif columns and all(isinstance(column, dict) for column in columns):
        if any(column.keys() != columns[0].keys() for column in columns):
            return None
        cells = [list(column.values()) for column in columns]
    else:
        lists = [c for c in columns if isinstance(c, list) and c and isinstance(c[0], dict)]
        return sheet_of_list(form, lists[0]) if len(lists) == 1 else None
    names, notes = column_names(list(value))
    return Sheet(form, dict(zip(names, cells, strict=True)), np.arange(1, len(cells[0]) + 1), notes=notes)


def _list(text: str, path: Path) -> Sheet:
    """A list of objects; of a broken one, the objects before the break."""
    try:
        return sheet_of_list("JSON", json.loads(text))
    except (ValueError, RecursionError) as error:
        values, why = [], _why(error)
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    try:
        while True:
            value, at = decoder.raw_decode(text, cast("re.Match[str]", _BETWEEN.match(text, at)).end())
            values.append(value)
    except (ValueError, RecursionError):
        if not values:
            raise WeakspotError(f"{path} is not JSON: {why}", fix="mend it") from None
    return sheet_of_list(
        "JSON", values, [LeftOut(len(values) + 1, f"the file is broken from here on: {why}")]
    )


def _begins_with_object_lines(text: str) -> bool:
    """Whether the first line is an object by itself, and not the last."""
    start = len(text) - len(text.lstrip())
    end = text.find("\n", start)
    if end < 0 or end - start > _LONGEST or not _WORD.search(text, end):
        return False
    try:
        return isinstance(json.loads(text[start:end]), dict)
    except (ValueError, RecursionError):
        return False


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, character {error.colno}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:100]
