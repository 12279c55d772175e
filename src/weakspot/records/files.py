"""One file that is a table: which format it has, by its first bytes and its ending."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from weakspot.core.errors import WeakspotError
from weakspot.records.arrow import read_arrow
from weakspot.records.content import ARROW, ending, first_bytes, read_content, text_of
from weakspot.records.delimited import read_delimited
from weakspot.records.objects import read_objects
from weakspot.records.sheet import Sheet
from weakspot.records.table import LeftOut

DELIMITED: Final = (".csv", ".tsv", ".tab", ".psv")
JSON: Final = (".jsonl", ".ndjson", ".json")
BINARY: Final = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
#: Logs of other tools that have endings of their own.
LOGS: Final = (".eval",)


def is_table_file(path: Path) -> bool:
    if ending(path) in (*DELIMITED, *JSON, *BINARY, *LOGS):
        return True
    return first_bytes(path, 8).startswith((*ARROW, b'{"', b"[{"))


def read_file(path: Path) -> Sheet:
    """The rows of a file, of a packed one too."""
    if ending(path) in BINARY or first_bytes(path, 8).startswith(ARROW):
        return read_arrow([path])
    content = read_content(path)
    sheet = _sheet_of(text_of(path, content), path)
    if content.cut:
        last = int(sheet.lines[-1]) if len(sheet.lines) else 0
        sheet = replace(
            sheet,
            left_out=[*sheet.left_out, LeftOut(last + 1, content.cut)],
            notes=[*sheet.notes, f"the file is damaged: only the rows up to line {last} could be read"],
        )
    return sheet


def column_names_of(path: Path) -> list[str]:
    """The names of the columns, from the beginning of the file alone; [] where it is no table."""
    if ending(path) in BINARY:
        return list(read_arrow([path]).columns)
    start = first_bytes(path).decode("utf-8-sig", "replace")
    try:
        return list(_sheet_of(start[: start.rfind("\n") + 1] or start, path).columns)
    except WeakspotError:
        return []


def _sheet_of(text: str, path: Path) -> Sheet:
    kind = ending(path)
    if kind in JSON or (kind not in DELIMITED and text.lstrip()[:1] in ("{", "[")):
        return read_objects(text, path)
    return read_delimited(text, name=str(path))
