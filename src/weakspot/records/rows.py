"""A table as rows, for those who read it one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from weakspot.core.rows import Row, read_rows
from weakspot.records.read import is_table, read_records
from weakspot.records.table import Column, Kind

#: Plain text, of which a broken line is an error and not left out.
TEXT: Final = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")


def rows_of(path: Path) -> list[Row]:
    """The rows of a table in any format, columns in lower case; a value that is missing is left out."""
    if path.suffix.lower() in TEXT or not is_table(path):  # what is no table is refused there
        rows = read_rows(path)
    else:
        records = read_records(path)
        columns = [(name, _values(column)) for name, column in records.columns.items()]
        rows = [
            Row(int(line), {name: values[i] for name, values in columns if values[i] is not None})
            for i, line in enumerate(records.lines)
        ]
    return [
        Row(row.line, {name.strip().lower(): value for name, value in row.values.items()}) for row in rows
    ]


def _values(column: Column) -> list[Any]:
    if column.kind is Kind.LIST:
        return [None if value is None else list(value) for value in column.values]
    return list(column.texts())
