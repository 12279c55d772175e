"""Rows of plain values as typed columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from weakspot.records.table import Column, Kind, LeftOut, Records

#: More columns are not made: a table of so many is a mistake or an attack.
MOST_COLUMNS: Final = 2_000


def records_of(
    rows: Sequence[Mapping[str, Any]],
    lines: Sequence[int],
    origin: str,
    form: str,
    *,
    left_out: Iterable[LeftOut] = (),
    roles: Mapping[str, str] | None = None,
    folder: str = "",
    digest: str = "",
    notes: Iterable[str] = (),
) -> Records:
    """Columns in the order in which they first appear; a column without any value is left away."""
    names = dict.fromkeys(name for row in rows for name in row)
    told = list(notes)
    if len(names) > MOST_COLUMNS:
        told.append(f"Of {len(names)} columns the first {MOST_COLUMNS} were read.")
    kept = (column_of(name, [row.get(name) for row in rows]) for name in list(names)[:MOST_COLUMNS])
    columns = {column.name: column for column in kept if column.present().any()}
    used = {role: name for role, name in (roles or {}).items() if name in columns}
    return Records(
        origin, form, columns, np.array(lines, np.int64), tuple(left_out), used, folder, digest, tuple(told)
    )


def column_of(name: str, values: Sequence[Any]) -> Column:
    """A column of the narrowest kind that holds all values."""
    found = [value for value in values if value is not None]
    if found and all(isinstance(value, bool) for value in found):
        return Column(name, Kind.FLAG, np.array([np.nan if v is None else float(v) for v in values]))
    if found and all(isinstance(value, int | float) and not isinstance(value, bool) for value in found):
        return Column(name, Kind.NUMBER, np.array([_number(value) for value in values]))
    cells = np.empty(len(values), object)
    if found and all(isinstance(value, list | tuple) for value in found):
        cells[:] = [None if v is None else tuple(str(item) for item in v if item is not None) for v in values]
        return Column(name, Kind.LIST, cells)
    cells[:] = [None if value is None else _words(value) for value in values]
    return Column(name, Kind.TEXT, cells)


def _number(value: Any) -> float:
    try:
        found = math.nan if value is None else float(value)
    except OverflowError:
        return math.nan
    return found if math.isfinite(found) else math.nan


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
