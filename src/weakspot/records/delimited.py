"""CSV and its kin: values between commas, semicolons, tabs or bars."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

import numpy as np

from weakspot.core.errors import WeakspotError
from weakspot.records.content import why_broken
from weakspot.records.kinds import number_in
from weakspot.records.sheet import Cells, Sheet, column_names
from weakspot.records.table import LeftOut

_DELIMITERS: Final = ",;\t|"
#: So many lines may be read again after bad rows, and ten for each that was read.
AGAIN: Final = 10_000
#: Characters in the longest cell.
_LONGEST: Final = 1 << 20


def read_delimited(text: str, *, name: str) -> Sheet:
    """A table whose first line names the columns."""
    return next(delimited_sheets(io.StringIO(text, newline=""), name=name))


def delimited_sheets(lines: Iterable[str], *, name: str, size: int | None = None) -> Iterator[Sheet]:
    """The same in sheets of so many rows; at least one, even if it is empty."""
    feed = _Feed(lines)
    delimiter = _delimiter(feed.ahead(200))
    with _long_cells():
        header, start = _header(feed, delimiter, name)
    names, notes = column_names(header)
    form = {",": "CSV", "\t": "TSV"}.get(delimiter, f"CSV with {delimiter!r}")
    records = _records(feed, start, delimiter, len(header))
    first = True
    while True:
        rows: list[list[str]] = []
        numbers: list[int] = []
        left_out: list[LeftOut] = []
        with _long_cells():
            for number, row, why in records:
                if why:
                    left_out.append(LeftOut(number, why))
                else:
                    rows.append(row)
                    numbers.append(number)
                if size is not None and len(rows) + len(left_out) >= size:
                    break
        if not (first or rows or left_out):
            return
        cells: list[Cells] = list(zip(*rows, strict=True)) or [[] for _ in names]
        columns = dict(zip(names, cells, strict=True))
        for column, given in zip(names, header, strict=True):
            if not given.strip() and not any(columns[column]):
                del columns[column]  # lines that end with a delimiter
        yield Sheet(form, columns, np.asarray(numbers, np.int64), left_out, notes)
        first = False


class _Feed:
    """Lines one after the other, of which the last can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._next: deque[str] = deque()
        #: Those since it was last emptied.
        self.taken: list[str] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._next.popleft() if self._next else next(self._lines)
        self.taken.append(line)
        return line

    def ahead(self, most: int) -> list[str]:
        """The next lines, which stay."""
        self._next.extend(islice(self._lines, max(most - len(self._next), 0)))
        return list(islice(self._next, most))

    def again(self, lines: Sequence[str]) -> None:
        self._next.extendleft(reversed(lines))


def _header(feed: _Feed, delimiter: str, name: str) -> tuple[list[str], int]:
    """The names of the columns, and the number of lines down to them."""
    header: list[str] = []
    reader = csv.reader(feed, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        while not any(cell.strip() for cell in header):
            header = next(reader)
    except StopIteration:
        raise WeakspotError(f"{name} has no line with the names of columns", fix="put one first") from None
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
    return header, reader.line_num


def _records(feed: _Feed, start: int, delimiter: str, width: int) -> Iterator[tuple[int, list[str], str]]:
    """The line that each row begins on, its cells, and why it is left out.

    A quotation mark that is never closed swallows the lines after it. Therefore a bad row of several lines
    costs its first line only, and the others are read again, until too much was read twice.
    """
    spare = AGAIN
    while True:
        reader = csv.reader(feed, delimiter=delimiter, skipinitialspace=True, strict=True)
        while True:
            feed.taken.clear()
            why = ""
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                cells, why = [], _plain(error)
            taken = feed.taken
            number, start = start + 1, start + len(taken)
            spare += 10 * len(taken)
            if not why and not any(cells) and not taken[0].strip():
                continue
            if not why and len(cells) != width:
                why = f"it has {len(cells)} cell{'s' * (len(cells) != 1)}, the header {width}"
            if not why and not all(line.isascii() and "\0" not in line for line in taken):
                why = why_broken("".join(cells))
            yield number, cells, why
            if why and len(taken) > 1 and spare > 0:
                spare -= 11 * len(taken)
                start = number
                feed.again(taken[1:])
                break


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
