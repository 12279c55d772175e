"""CSV and its kin: values between commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final

import numpy as np

from weakspot.core.errors import WeakspotError
from weakspot.records.content import BROKEN, why_broken
from weakspot.records.kinds import number_in
from weakspot.records.sheet import Cells, Sheet, column_names
from weakspot.records.table import LeftOut

_DELIMITERS: Final = ",;\t|"
#: Characters in the longest cell.
_LONGEST: Final = 1 << 20


def read_delimited(text: str, *, name: str) -> Sheet:
    """A table whose first line names the columns."""
    lines = list(io.StringIO(text, newline=""))
    with _long_cells():
        delimiter = _delimiter(lines)
        reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
        header: list[str] = []
        try:
            while not any(cell.strip() for cell in header):
                header = next(reader)
        except csv.Error as error:
            raise WeakspotError(f"the first line of {name} cannot be read: {error}", fix="mend it") from error
        why = why_broken("".join(header))
        if why:
            raise WeakspotError(f"the first line of {name} cannot be read: {why}", fix="save it as UTF-8")
        if all(number_in(cell.strip()) is not None for cell in header):
            raise WeakspotError(
                f"the first line of {name} has numbers, not the names of columns",
                fix="put a line with names first",
            )
        rows, numbers, left_out = _rows(lines, reader.line_num, delimiter, len(header))
    names, notes = column_names(header)
    cells: list[Cells] = list(zip(*rows, strict=True)) or [[] for _ in names]
    columns = dict(zip(names, cells, strict=True))
    for column, given in zip(names, header, strict=True):
        if not given.strip() and not any(columns[column]):
            del columns[column]  # lines that end with a delimiter
    form = {",": "CSV", "\t": "TSV"}.get(delimiter, f"CSV with {delimiter!r}")
    return Sheet(form, columns, np.asarray(numbers, np.int64), left_out, notes)


def _rows(
    lines: list[str], start: int, delimiter: str, width: int
) -> tuple[list[list[str]], list[int], list[LeftOut]]:
    """The cells of the rows, the lines they begin on, and the lines that were left out.

    A quotation mark that is never closed swallows the lines after it. Therefore a bad row of several lines
    costs its first line only, and the others are read again, until too much was read twice.
    """
    rows: list[list[str]] = []
    numbers: list[int] = []
    left_out: list[LeftOut] = []
    suspicious = any(BROKEN.search(line) for line in lines)
    spare = 10 * len(lines) + 10_000
    while start < len(lines):
        from_here = (lines[i] for i in range(start, len(lines)))
        reader = csv.reader(from_here, delimiter=delimiter, skipinitialspace=True, strict=True)
        base = start
        start = len(lines)
        while True:
            first = base + reader.line_num
            why = ""
            try:
                cells = next(reader)
            except StopIteration:
                break
            except csv.Error as error:
                cells, why = [], _plain(error)
            if not why and not any(cells) and not lines[first].strip():
                continue
            if not why and len(cells) != width:
                why = f"it has {len(cells)} cell{'s' * (len(cells) != 1)}, the header {width}"
            if suspicious and not why:
                why = why_broken("".join(cells))
            if not why:
                rows.append(cells)
                numbers.append(first + 1)
                continue
            left_out.append(LeftOut(first + 1, why))
            more = base + reader.line_num - first
            if more > 1 and spare > 0:
                spare -= more
                start = first + 1
                break
    return rows, numbers, left_out


def _plain(error: csv.Error) -> str:
    said = str(error)
    if "limit" in said:
        return f"a cell has more than {_LONGEST:,} characters"
    if "unexpected end" in said:
        return "a quotation mark is never closed"
    return f"its quotation marks are wrong: {said[:100]}"


def _delimiter(lines: list[str]) -> str:
    """The character that divides the most of the first lines into as many cells as the header has."""

    def fit(delimiter: str) -> tuple[bool, float, int]:
        widths = []
        try:
            for cells in islice(csv.reader(lines[:200], delimiter=delimiter, skipinitialspace=True), 50):
                widths.extend([len(cells)] if cells else [])
        except csv.Error:
            pass
        width = widths[0] if widths else 0
        return width > 1, round(widths.count(width) / max(len(widths), 1), 1), width

    return max(_DELIMITERS, key=fit)


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(_LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)
