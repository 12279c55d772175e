"""Rows read as other rows of their table were: a column is of the kind that it had there.

What a column holds is seen from its cells, so a part of a table may look otherwise than the whole. A value
that does not fit the kind counts as missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.records.kinds import FLAGS, as_text, cleaned, date_in, nested_in, number_in, plain
from weakspot.records.sheet import Cells, clean_name
from weakspot.records.table import Column, Kind, coded


def columns_like(name: str, cells: Cells, kinds: Mapping[str, Kind]) -> Iterator[Column]:
    """The columns of these cells whose kinds are known: several if the cells are objects."""
    if name in kinds:
        yield _column(name, cells, kinds[name])
    if any(known.startswith(f"{name}.") for known in kinds) and not isinstance(cells, np.ndarray):
        objects = [_object(cell) for cell in cells]
        for key in dict.fromkeys(key for one in objects for key in one):
            yield from columns_like(f"{name}.{clean_name(key)}", [one.get(key) for one in objects], kinds)


def missing_column(name: str, kind: Kind, n: int) -> Column:
    """A column of which these rows have nothing."""
    return _column(name, [None] * n, kind)


def _vectors(cells: Cells) -> NDArray[np.float32]:
    """A row of numbers for each cell; of a cell that has none, or not as many as most, what is missing."""
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return cells.astype(np.float32)
    lists = [_listed(cell) for cell in cells]
    widths = Counter(len(one) for one in lists if one)
    wide = widths.most_common(1)[0][0] if widths else 1
    found = np.full((len(lists), wide), np.nan, np.float32)
    for row, one in enumerate(lists):
        if one and len(one) == wide and set(map(type, one)) <= {int, float}:
            with suppress(OverflowError):
                found[row] = one
    return found


def _listed(cell: Any) -> list[Any] | None:
    value = nested_in(cell.strip()) if isinstance(cell, str) and cell.strip() else plain(cell)
    return value if isinstance(value, list) else None


def _object(cell: Any) -> Mapping[str, Any]:
    value = nested_in(cell.strip()) if isinstance(cell, str) and cell.strip() else cell
    return value if isinstance(value, dict) else {}


def _column(name: str, cells: Cells, kind: Kind) -> Column:
    if isinstance(cells, np.ndarray) and cells.ndim == 1:
        if kind in (Kind.NUMBER, Kind.FLAG) and cells.dtype.kind in "iufb":
            numbers = cells.astype(np.float64)
            if kind is Kind.FLAG:
                numbers[(numbers != 0) & (numbers != 1)] = np.nan
            return Column(name, kind, numbers)
        if kind is Kind.DATE and cells.dtype.kind == "M":
            return Column(name, kind, cells.astype("datetime64[s]"))
    values = cells.tolist() if isinstance(cells, np.ndarray) else cells
    if kind is Kind.VECTOR:
        return Column(name, kind, _vectors(cells))
    read, kept = _READ[kind]
    if set(map(type, values)) <= {str, type(None)}:
        # Every different text is looked at once.
        codes, distinct = coded(values)
        found = np.empty(len(distinct), object)
        found[:] = [read(value) for value in distinct]
        return Column(name, kind, found[codes].astype(kept))
    found = np.empty(len(values), object)
    found[:] = [read(plain(value)) for value in values]
    return Column(name, kind, found.astype(kept))


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        return number_in(cleaned(value) or "")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: Any) -> float | None:
    if isinstance(value, str):
        text = cleaned(value) or ""
        value = FLAGS.get(text.lower(), number_in(text))
    return float(value) if isinstance(value, int | float) and value in (0, 1) else None


def _date(value: Any) -> Any:
    return date_in(cleaned(as_text(value)) or "")


def _text(value: Any) -> str | None:
    return cleaned(as_text(value))


def _list(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = nested_in(cleaned(value) or " ")
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    return tuple(text for one in value if (text := cleaned(as_text(one))) is not None)


#: How a value of each kind is read, and the array that holds such values.
_READ: Final[Mapping[Kind, tuple[Callable[[Any], Any], str]]] = {
    Kind.NUMBER: (_number, "float64"),
    Kind.FLAG: (_flag, "float64"),
    Kind.DATE: (_date, "datetime64[s]"),
    Kind.TEXT: (_text, "object"),
    Kind.LIST: (_list, "object"),
}
