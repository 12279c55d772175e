"""The rows of an evaluation that somebody has run already: the one form of every table and every log.

Columns are NumPy arrays, all of one length. What a column holds is its `Kind`; a value that is missing is NaN
in a column of numbers and None in any other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import check_known

T = TypeVar("T", bound=Hashable)


class Kind(StrEnum):
    """What the values of a column are."""

    NUMBER = "number"  #: float64; NaN is missing
    FLAG = "flag"  #: float64: 1 yes, 0 no, NaN missing
    DATE = "date"  #: datetime64[s]; NaT is missing
    TEXT = "text"  #: str or None: a category or free text
    LIST = "list"  #: a tuple of str, or None
    VECTOR = "vector"  #: float32, one row per row of the table


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column; two dimensions for vectors, one for everything else."""

    name: str
    kind: Kind
    values: NDArray[Any]

    def present(self) -> NDArray[np.bool_]:
        """Where there is a value."""
        found: NDArray[np.bool_]
        if self.kind in (Kind.NUMBER, Kind.FLAG):
            found = ~np.isnan(self.values)
        elif self.kind is Kind.DATE:
            found = ~np.isnat(self.values)
        elif self.kind is Kind.VECTOR:
            found = np.isfinite(self.values).all(axis=1)
        else:
            found = np.array([value is not None for value in self.values], bool)
        return found

    def texts(self) -> list[str | None]:
        """Every value as text; whole numbers without a point."""
        return [
            None if not there else _text(value)
            for value, there in zip(self.values, self.present(), strict=True)
        ]

    def rows(self, chosen: NDArray[Any]) -> Column:
        """The same column with these rows only."""
        return Column(self.name, self.kind, self.values[chosen])


class LeftOut(NamedTuple):
    """A row that could not be used: where it stands in its file (from 1), and why."""

    line: int
    reason: str


@dataclass(frozen=True, eq=False)
class Records:
    """A table, or a log read as one.

    Attributes:
        origin: Where it comes from, for people: a path, or "a pandas frame".
        form: What it is, for people: "CSV", "Parquet", "inspect_ai log", …
        columns: By name, in the order of the file.
        lines: Where each row stands in its file, from 1.
        left_out: Rows that could not be read.
        roles: Columns whose role the format itself says, such as a log's: role → name of the column.
        folder: What relative paths of pictures start from; "" where there are none.
        digest: SHA-256 of the content; "" where it was not read from files.
        notes: What a reader should know of how it was read.
    """

    origin: str
    form: str
    columns: Mapping[str, Column]
    lines: NDArray[np.int64]
    left_out: Sequence[LeftOut] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    digest: str = ""
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> Column:
        """A column by name; a wrong name is an error that says the nearest right one."""
        check_known(name, self.columns, f"{self.origin} has no column {name[:80]!r}", most=400)
        return self.columns[name]

    def rows(self, chosen: NDArray[Any], *, left_out: Iterable[LeftOut] = ()) -> Records:
        """The same table with these rows only; `left_out` says why others are gone."""
        return Records(
            self.origin,
            self.form,
            {name: column.rows(chosen) for name, column in self.columns.items()},
            self.lines[chosen],
            (*self.left_out, *left_out),
            self.roles,
            self.folder,
            self.digest,
            self.notes,
        )


def coded(values: Sequence[T]) -> tuple[NDArray[np.int64], list[T]]:
    """The number of each value among the different ones, which are in the order in which they come."""
    distinct = list(dict.fromkeys(values))
    place = {value: i for i, value in enumerate(distinct)}
    return np.fromiter(map(place.__getitem__, values), np.int64, len(values)), distinct


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
