"""Read a table or a log, whatever its format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core import TABLES, WeakspotError
from weakspot.records.content import check_file, digest_of, ending
from weakspot.records.files import BINARY, DELIMITED, is_table_file, read_file
from weakspot.records.folders import is_table_folder, read_folder
from weakspot.records.frames import is_frame, read_frame
from weakspot.records.judged import Given, Roles
from weakspot.records.kinds import columns_of
from weakspot.records.logs import is_log, read_log
from weakspot.records.roles import answers_in, says
from weakspot.records.sheet import Cells, Sheet, free_name
from weakspot.records.table import Column, Records


def is_table(given: Given) -> bool:
    """Whether this names or is a table of results, by its name and its first bytes; nothing is read whole."""
    if isinstance(given, Records):
        return True
    if not isinstance(given, str | Path):
        return is_frame(given)
    if TABLES.has(str(given)):
        return True
    try:
        path = Path(given)
        if path.is_dir():
            return is_table_folder(path) or is_log(path)
        return path.is_file() and (is_table_file(path) or is_log(path))
    except (OSError, ValueError):
        return False


def called_table(given: Given) -> bool:
    """Whether a name ends like a table's, though no such file may be there."""
    if not isinstance(given, str | Path) or "?" in str(given):
        return False
    return ending(Path(given)) in (*DELIMITED, *BINARY, ".jsonl", ".ndjson", ".eval")


def read_records(given: Given, *, named: Roles | None = None) -> Records:
    """All rows of a table or a log; rows that cannot be read are left out and listed.

    Args:
        named: Columns that a person named: in those of answers, yes and no stay words.
    """
    if isinstance(given, Records):
        return given
    if not isinstance(given, str | Path):
        origin, sheet = read_frame(given)
        return _records(sheet, origin, named or Roles())
    if TABLES.has(str(given)):
        return replace(read_records(TABLES.load(str(given)), named=named), origin=str(given))
    path = Path(given)
    if path.is_dir() and not is_log(path):
        sheet, files = read_folder(path)
        return _records(sheet, str(path), named or Roles(), folder=str(path), digest=digest_of(files))
    if not path.is_dir():
        check_file(path)
    if path.is_dir() or ending(path) not in (*DELIMITED, *BINARY):
        log = read_log(path)
        if log is not None:
            return log
    sheet = read_file(path)
    return _records(sheet, str(path), named or Roles(), folder=str(path.parent), digest=digest_of([path]))


def _records(sheet: Sheet, origin: str, named: Roles, *, folder: str = "", digest: str = "") -> Records:
    if not len(sheet.lines):
        if sheet.left_out:
            first = sheet.left_out[0]
            raise WeakspotError(
                f"no row of {origin} can be read: line {first.line}: {first.reason}",
                fix="mend the file, or write it again as CSV in UTF-8",
            )
        raise WeakspotError(f"{origin} has no rows", fix="give a table with a row for each input")
    label, prediction = answers_in(sheet.columns, label=named.label, prediction=named.prediction)
    answers = {label, prediction, named.relabelled}
    inside = {answer.partition(".")[0] for answer in answers}
    classes = dict(sheet.classes)
    of_answers = next((classes[name] for name in (label, prediction) if name in classes), None)
    if of_answers:
        classes = {**dict.fromkeys(answers & sheet.columns.keys(), of_answers), **classes}
    columns: dict[str, Column] = {}
    for name, cells in sheet.columns.items():
        cells = _with_names(cells, classes[name]) if name in classes else cells
        flag = says(name, "correct", "failed")
        for column in columns_of(name, cells, words=name in answers | inside, flag=flag):
            free = free_name(column.name, columns)
            columns[free] = column if free == column.name else Column(free, column.kind, column.values)
    return Records(origin, sheet.form, columns, sheet.lines, sheet.left_out, {}, folder, digest, sheet.notes)


def _with_names(cells: Cells, names: Sequence[str]) -> list[Any]:
    """The names that whole numbers stand for; a number without a name, such as -1, is a missing value."""

    def named(value: Any) -> Any:
        if isinstance(value, list | tuple | np.ndarray):
            return [named(one) for one in value]
        if isinstance(value, int | float | np.number) and not isinstance(value, bool):
            whole = value == value and float(value).is_integer()
            return names[int(value)] if whole and 0 <= value < len(names) else None
        return value

    return [named(value) for value in cells]
