"""Read a table or a log, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core import TABLES, WeakspotError
from weakspot.records.batches import joined, matching, pieces_of, sheets
from weakspot.records.content import check_file, digest_of, ending
from weakspot.records.files import BINARY, DELIMITED, is_table_file, read_file
from weakspot.records.folders import is_table_folder, read_folder
from weakspot.records.frames import is_frame, read_frame
from weakspot.records.judged import Given, Roles
from weakspot.records.kinds import columns_of
from weakspot.records.like import columns_like, missing_column
from weakspot.records.logs import is_log, read_log
from weakspot.records.roles import answers_in, says
from weakspot.records.sheet import Cells, Sheet, free_name
from weakspot.records.table import Column, Kind, Records


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
        if files := matching(given):
            return all(map(is_table_file, files))
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
        return records_of(sheet, origin, named or Roles())
    if TABLES.has(str(given)):
        return replace(read_records(TABLES.load(str(given)), named=named), origin=str(given))
    if shards := matching(given):
        return _of_pattern(str(given), shards, named or Roles())
    path = Path(given)
    if path.is_dir() and not is_log(path):
        sheet, files = read_folder(path)
        return records_of(sheet, str(path), named or Roles(), folder=str(path), digest=digest_of(files))
    if not path.is_dir():
        check_file(path)
    if path.is_dir() or ending(path) not in (*DELIMITED, *BINARY):
        log = read_log(path)
        if log is not None:
            return log
    sheet = read_file(path)
    return records_of(sheet, str(path), named or Roles(), folder=str(path.parent), digest=digest_of([path]))


def _of_pattern(given: str, files: Sequence[Path], named: Roles) -> Records:
    found = pieces_of(given)
    if found is None:
        raise WeakspotError(
            f"not all of the {len(files):,} files that {given[:200]} names are tables",
            fix="name files of Parquet, CSV or JSON lines",
        )
    sheet = joined([sheet for piece in found.pieces for _, sheet in sheets(piece)])
    return records_of(sheet, given, named, folder=found.folder, digest=digest_of(files))


def records_of(sheet: Sheet, origin: str, named: Roles, *, folder: str = "", digest: str = "") -> Records:
    """The rows of a sheet, every column of the kind that its cells are."""
    if not len(sheet.lines):
        if sheet.left_out:
            first = sheet.left_out[0]
            raise WeakspotError(
                f"no row of {origin} can be read: line {first.line}: {first.reason}",
                fix="correct the file, or write it again as CSV in UTF-8",
            )
        raise WeakspotError(f"{origin} has no rows", fix="give a table with a row for each input")
    label, prediction = answers_in(sheet.columns, label=named.label, prediction=named.prediction)
    answers = {label, prediction, named.relabelled}
    inside = {answer.partition(".")[0] for answer in answers}
    columns: dict[str, Column] = {}
    for name, cells in _named(sheet, (label, prediction, named.relabelled)):
        flag = says(name, "correct", "failed")
        for column in columns_of(name, cells, words=name in answers | inside, flag=flag):
            free = free_name(column.name, columns)
            columns[free] = column if free == column.name else Column(free, column.kind, column.values)
    return Records(origin, sheet.form, columns, sheet.lines, sheet.left_out, {}, folder, digest, sheet.notes)


def records_like(sheet: Sheet, kinds: Mapping[str, Kind], answers: Sequence[str]) -> Records:
    """Further rows of a table whose columns are known; of other columns nothing is kept.

    Args:
        answers: The columns of the right answers, of the model's, and of others that are right.
    """
    columns = {
        column.name: column
        for name, cells in _named(sheet, answers)
        for column in columns_like(name, cells, kinds)
    }
    for name, kind in kinds.items():
        if name not in columns:
            columns[name] = missing_column(name, kind, len(sheet.lines))
    return Records("", sheet.form, columns, sheet.lines)


def _named(sheet: Sheet, answers: Sequence[str]) -> Iterator[tuple[str, Cells]]:
    """The cells of each column, with the names of classes in place of their numbers."""
    classes = dict(sheet.classes)
    of_answers = next((classes[name] for name in answers[:2] if name in classes), None)
    if of_answers:
        classes = {**dict.fromkeys(sheet.columns.keys() & set(answers), of_answers), **classes}
    for name, cells in sheet.columns.items():
        yield name, _with_names(cells, classes[name]) if name in classes else cells


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
