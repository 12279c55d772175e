"""Tables that live in Python: frames of pandas and polars, tables of Arrow, lists of dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from weakspot.core.errors import WeakspotError, explained
from weakspot.records.arrow import sheet_of_table
from weakspot.records.content import need_pyarrow
from weakspot.records.objects import sheet_of_list, sheet_of_object
from weakspot.records.sheet import Cells, Sheet, column_names


@runtime_checkable
class PandasFrame(Protocol):
    """What is asked of a frame of pandas; names of its columns may be anything, and twice the same."""

    columns: Any
    iloc: Any

    def to_dict(self) -> Any: ...


@runtime_checkable
class PolarsFrame(Protocol):
    """What is asked of a frame of polars."""

    def get_columns(self) -> Sequence[PolarsSeries]: ...

    def to_dicts(self) -> Any: ...


class PolarsSeries(Protocol):
    name: str

    def to_list(self) -> list[Any]: ...


@runtime_checkable
class ArrowStream(Protocol):
    """A table that gives itself as Arrow, such as pyarrow's."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def is_frame(given: Any) -> bool:
    if isinstance(given, list | tuple):
        return bool(given) and isinstance(given[0], Mapping)
    if isinstance(given, Mapping):
        return sheet_of_columns(given) is not None
    return isinstance(given, PandasFrame | PolarsFrame | ArrowStream)


def read_frame(given: Any) -> tuple[str, Sheet]:
    """What it is, for people, and its rows."""
    if isinstance(given, PandasFrame):
        cells: list[Cells] = [given.iloc[:, place].to_numpy() for place in range(len(given.columns))]
        return "a pandas frame", _sheet("pandas", list(given.columns), cells)
    if isinstance(given, PolarsFrame):
        series = given.get_columns()
        return "a polars frame", _sheet("polars", [s.name for s in series], [s.to_list() for s in series])
    if isinstance(given, ArrowStream):
        pyarrow = need_pyarrow("a table of Arrow")
        with explained("it cannot be read as a table", pyarrow.ArrowException, TypeError, fix="give a table"):
            return "an Arrow table", sheet_of_table(pyarrow.table(given), "Arrow")
    if isinstance(given, list | tuple):
        return "a list of dicts", sheet_of_list("Python", given)
    sheet = sheet_of_columns(given) if isinstance(given, Mapping) else None
    if sheet is None:
        raise WeakspotError(
            f"a value of type {type(given).__name__} is not a table",
            fix="give a path, a frame of pandas or polars, or a list of dicts",
        )
    return "a dict of columns", sheet


def sheet_of_columns(given: Mapping[Any, Any]) -> Sheet | None:
    """A dict of lists or arrays, all of one length."""
    lists = {
        name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in given.items()
    }
    if not all(isinstance(column, list | tuple) for column in lists.values()):
        return None
    return sheet_of_object({name: list(column) for name, column in lists.items()}, "Python")


def _sheet(form: str, given: list[Any], cells: list[Cells]) -> Sheet:
    names, notes = column_names(given)
    length = len(cells[0]) if cells else 0
    return Sheet(form, dict(zip(names, cells, strict=True)), np.arange(1, length + 1), notes=notes)
