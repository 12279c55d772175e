"""Tables of Arrow: Parquet, Arrow and Feather files, and frames that give themselves as Arrow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core.errors import WeakspotError, first_line
from weakspot.records.content import (
    ARROW_FILE,
    OLD_FEATHER,
    PARQUET,
    first_bytes,
    need_pyarrow,
    packing,
    read_content,
)
from weakspot.records.kinds import SHORTEST_VECTOR
from weakspot.records.sheet import Cells, Sheet, column_names

#: What a picture inside a table is, as Hugging Face datasets writes it.
_PICTURE = {"bytes", "path"}


def read_arrow(paths: Sequence[Path]) -> Sheet:
    """The rows of one file, or of the files that a table was divided into."""
    tables = [table_of(path) for path in paths]
    pyarrow = need_pyarrow("a Parquet file")
    try:
        whole = tables[0] if len(tables) == 1 else pyarrow.concat_tables(tables, promote_options="default")
    except pyarrow.ArrowException as error:
        raise WeakspotError(
            f"the files in {paths[0].parent} do not have the same columns: {first_line(error)}",
            fix="name one of them",
        ) from error
    return sheet_of_table(whole, "Parquet" if first_bytes(paths[0], 4) == PARQUET else "Arrow")


def sheet_of_table(table: Any, form: str) -> Sheet:
    """A pyarrow.Table as a sheet, without pictures and other bytes."""
    pyarrow = need_pyarrow(form)
    names, notes = column_names(table.column_names)
    columns: dict[str, Cells] = {}
    for name, column in zip(names, table.columns, strict=True):
        cells = _cells(pyarrow, column)
        if cells is None:
            notes.append(f"column {name!r} holds bytes and is not read")
        else:
            columns[name] = cells
    try:
        features = json.loads((table.schema.metadata or {}).get(b"huggingface", b"{}"))
    except (ValueError, RecursionError):
        features = {}
    return Sheet(form, columns, np.arange(1, table.num_rows + 1), (), notes, class_names(features))


def class_names(said: object) -> dict[str, Sequence[str]]:
    """Names of the classes of columns, from what Hugging Face datasets writes about its features."""
    info = said.get("info", said) if isinstance(said, Mapping) else {}
    features = info.get("features") if isinstance(info, Mapping) else None
    found: dict[str, Sequence[str]] = {}
    for name, feature in features.items() if isinstance(features, Mapping) else ():
        inner = feature.get("feature", feature) if isinstance(feature, Mapping) else feature
        inner = inner[0] if isinstance(inner, list) and inner else inner
        names = inner.get("names") if isinstance(inner, Mapping) else None
        if isinstance(names, list) and all(isinstance(entry, str) for entry in names):
            found[str(name)] = names
    return found


def table_of(path: Path) -> Any:
    """The table of a file, every value checked: a damaged one could make pyarrow read beyond its memory."""
    pyarrow = need_pyarrow("a Parquet file")
    try:
        with path.open("rb") as file:
            packed = packing(file.read(8))
        if packed:
            source = pyarrow.BufferReader(read_content(path).data)
        else:
            source = pyarrow.memory_map(str(path))
        table = _read(pyarrow, source, first_bytes(path, 6))
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise WeakspotError(
            f"{path} cannot be read as a table: {first_line(error)}", fix="write or fetch the file again"
        ) from error
    return table


def _read(pyarrow: Any, source: Any, magic: bytes) -> Any:
    if magic.startswith(PARQUET):
        from pyarrow import parquet

        file = parquet.ParquetFile(source)
        return file.read(columns=[path for _, path in worth_reading(file.schema_arrow)])
    if magic.startswith(OLD_FEATHER):
        from pyarrow import feather

        return feather.read_table(source)
    ipc = pyarrow.ipc
    return (ipc.open_file if magic.startswith(ARROW_FILE) else ipc.open_stream)(source).read_all()


def worth_reading(schema: Any) -> list[tuple[str, str]]:
    """The columns without the bytes of pictures, which can be gigabytes, and what is read of each."""
    pyarrow = need_pyarrow("a Parquet file")
    return [
        (field.name, f"{field.name}.path" if _is_picture(pyarrow, field.type) else field.name)
        for field in schema
        if not _is_bytes(pyarrow, field.type)
    ]


def _is_bytes(pyarrow: Any, kind: Any) -> bool:
    types = pyarrow.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _is_picture(pyarrow: Any, kind: Any) -> bool:
    return pyarrow.types.is_struct(kind) and {field.name for field in kind} in (_PICTURE, {"path"})


def _cells(pyarrow: Any, column: Any) -> Cells | None:
    """The values of a column: an array where there is a fast way to one; None for bytes."""
    types, kind = pyarrow.types, column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if _is_bytes(pyarrow, kind):
        return None
    if _is_picture(pyarrow, kind):
        return [None if value is None else value["path"] for value in column.to_pylist()]
    if types.is_floating(kind) or (types.is_integer(kind) and not column.null_count):
        array: Cells = column.to_numpy()
        return array
    if types.is_date(kind) or types.is_timestamp(kind):
        return np.asarray(column.to_numpy(), "datetime64[s]")
    if types.is_list(kind) or types.is_fixed_size_list(kind) or types.is_large_list(kind):
        vectors = _vectors(pyarrow, column)
        if vectors is not None:
            return vectors
    values: list[Any] = column.to_pylist()
    return values


def _vectors(pyarrow: Any, column: Any) -> Cells | None:
    """Lists of numbers, all of one length, as rows of an array."""
    kind = column.type.value_type
    if column.null_count or not len(column):
        return None
    if not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
        return None
    whole = pyarrow.concat_arrays(column.chunks)
    length = len(whole[0])
    flat = whole.flatten()
    lengths = np.unique(np.asarray(_lengths(whole)))
    if length < SHORTEST_VECTOR or len(lengths) > 1 or flat.null_count:
        return None
    rows: Cells = flat.to_numpy(zero_copy_only=False).reshape(len(column), length)
    return rows


def _lengths(lists: Any) -> Any:
    from pyarrow import compute

    return compute.list_value_length(lists)
