"""A table as it was read: columns of cells whose kind nobody has looked at yet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError
from weakspot.records.table import LeftOut

#: A column as it was read: Python values, or an array where the format knows the type.
Cells = Sequence[Any] | NDArray[Any]

#: More columns than this are no table of results, but keys that differ from row to row.
MOST_COLUMNS: Final = 5_000

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


@dataclass(frozen=True, eq=False)
class Sheet:
    """The cells of a table, column by column.

    Attributes:
        form: The format, for people.
        lines: Where each row stands in its file, from 1.
        classes: Names of the classes that the whole numbers in a column stand for.
    """

    form: str
    columns: Mapping[str, Cells]
    lines: NDArray[np.int64]
    left_out: Sequence[LeftOut] = ()
    notes: Sequence[str] = ()
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)


def sheet_of_rows(
    form: str, rows: Sequence[Mapping[Any, Any]], lines: Sequence[int], left_out: Sequence[LeftOut]
) -> Sheet:
    """A sheet from one mapping for each row; a key that a row lacks is a missing value."""
    keys: dict[Any, None] = {}
    for row in rows:
        keys.update(dict.fromkeys(row))
        if len(keys) > MOST_COLUMNS:
            break
    names, notes = column_names(list(keys))
    columns = {name: [row.get(key) for row in rows] for name, key in zip(names, keys, strict=True)}
    return Sheet(form, columns, np.asarray(lines, np.int64), left_out, notes)


def column_names(given: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Names that can be printed and that differ, and what a reader should know of those that changed."""
    if len(given) > MOST_COLUMNS:
        raise WeakspotError(
            f"the table has more than {MOST_COLUMNS:,} columns",
            fix="give one object or line for each row, with the same names in all of them",
        )
    names: list[str] = []
    notes = []
    for number, raw in enumerate(given, start=1):
        plain = clean_name(raw) or ("index" if number == 1 else f"column {number}")
        name = free_name(plain, names)
        if name != plain:
            notes.append(f"the name {plain!r} is used by several columns: one of them is called {name!r}")
        names.append(name)
    return names, notes


def clean_name(raw: Any) -> str:
    return " ".join(_CONTROL.sub(" ", str(raw)).split())[:200]


def free_name(name: str, taken: Iterable[str]) -> str:
    """The name, or with the first number that makes it one of a kind."""
    known, free, number = set(taken), name, 1
    while free in known:
        number += 1
        free = f"{name} ({number})"
    return free
