"""A table that does not fit into memory: its files in pieces, and the rows of a piece in sheets, one by one.

A piece is some row groups of a Parquet file, or another file as a whole. It can be read by any process that
sees the file.
"""

from __future__ import annotations

import glob
import hashlib
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core.errors import WeakspotError, disk_errors, first_line
from weakspot.records.arrow import sheet_of_table, table_of, worth_reading
from weakspot.records.content import (
    ARROW,
    DAMAGED,
    PARQUET,
    Lines,
    ending,
    first_bytes,
    is_packed,
    need_pyarrow,
    unpacked,
)
from weakspot.records.delimited import delimited_sheets
from weakspot.records.files import BINARY, DELIMITED
from weakspot.records.folders import class_names_in, files_by_split
from weakspot.records.logs import is_log, is_log_of_lines
from weakspot.records.objects import line_sheets
from weakspot.records.sheet import Cells, Sheet, column_names
from weakspot.records.table import LeftOut

LINES: Final = (".jsonl", ".ndjson")
#: Rows in a sheet.
SIZE: Final = 65_536
#: Rows in a piece of Parquet, about.
PIECE: Final = 250_000
#: Bytes from which the number of lines of a text file is estimated.
_START: Final = 1 << 20
#: A unique number for each row: the place of its file, then that in its file.
_PLACES: Final = np.uint64(40)

Mask = NDArray[np.bool_]
#: Which rows to keep, by their numbers and, where it must know more, their cells.
Keep = Callable[[NDArray[np.uint64], Callable[[str], Sheet]], Mask]


@dataclass(frozen=True)
class Piece:
    """A part of a table.

    Attributes:
        number: Of its file among those of the table.
        groups: The row groups of a Parquet file; of other files nothing.
        start: Rows of the table before it, where that is known.
        split: The part of a data set that it belongs to.
    """

    path: Path
    number: int
    groups: tuple[int, ...] = ()
    start: int = 0
    split: str = ""


@dataclass(frozen=True)
class Pieces:
    """A table in files.

    Attributes:
        rows: How many it has; of text files an estimate.
        size: Bytes of what would be read, unpacked, about.
        classes: Names of classes that a data set has beside its files.
    """

    origin: str
    folder: str
    pieces: Sequence[Piece]
    rows: int
    size: int
    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of the names, sizes and ends of the files: to read them whole would take as long as the hunt."""
        digest = hashlib.sha256()
        for path in dict.fromkeys(piece.path for piece in self.pieces):
            with disk_errors(f"{path} cannot be read", "check the permissions"), path.open("rb") as file:
                end = file.seek(0, 2)
                digest.update(f"{path.name} {end} ".encode())
                for start in (0, max(end - (1 << 16), 0)):
                    file.seek(start)
                    digest.update(file.read(1 << 16))
        return digest.hexdigest()


def pieces_of(given: Any) -> Pieces | None:
    """The pieces of a table in files that can be read bit by bit; None for any other."""
    if not isinstance(given, str | Path):
        return None
    path, classes = Path(given), dict[str, Sequence[str]]()
    splits: Mapping[str, Sequence[Path]]
    if matching(given):
        splits = {"": matching(given)}
        folder = splits[""][0].parent
    elif path.is_dir() and not is_log(path):
        splits, folder = files_by_split(path), path
        classes = class_names_in(path)
    else:
        splits, folder = {"": [path] if path.is_file() else []}, path.parent
    pieces: list[Piece] = []
    rows, size, number = 0, 0, 0
    for split, paths in splits.items():
        for one in paths:
            if (found := _pieces(one, number, rows, split if len(splits) > 1 else "")) is None:
                return None
            pieces += found[0]
            rows, size, number = rows + found[1], size + found[2], number + 1
    return Pieces(str(given), str(folder), pieces, rows, size, classes) if pieces else None


def matching(given: str | Path) -> list[Path]:
    """The files that a pattern such as shards/*.csv names; [] where it is none."""
    text = str(given)
    if not glob.has_magic(text) or Path(text).exists():
        return []
    return sorted(path for path in map(Path, glob.glob(text)) if path.is_file())  # noqa: PTH207


def sheets(
    piece: Piece,
    *,
    columns: Collection[str] | None = None,
    keep: Keep | None = None,
    classes: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[tuple[NDArray[np.uint64], Sheet]]:
    """The rows of a piece in sheets, each with the numbers of its rows in the table.

    Args:
        columns: Those that are needed, by the names that they have in a table; None for all.
        keep: Says which rows are.
        classes: As `Pieces` has them.
    """
    if ending(piece.path) in BINARY or first_bytes(piece.path, 8).startswith(ARROW):
        found = _of_arrow(piece, columns, keep)
    else:
        found = _of_text(piece, keep)
    for numbers, sheet in found:
        added: dict[str, Cells] = {}
        if piece.split and "split" not in sheet.columns:
            added["split"] = [piece.split] * len(sheet.lines)
        yield (
            numbers,
            replace(sheet, columns={**sheet.columns, **added}, classes={**(classes or {}), **sheet.classes}),
        )


def joined(sheets: Sequence[Sheet]) -> Sheet:
    """One sheet of several."""
    first = sheets[0]
    names = dict.fromkeys(name for sheet in sheets for name in sheet.columns)
    columns = {
        name: _one_after_the_other([sheet.columns.get(name, [None] * len(sheet.lines)) for sheet in sheets])
        for name in names
    }
    lines = np.concatenate([sheet.lines for sheet in sheets])
    return replace(first, columns=columns, lines=lines, left_out=[o for s in sheets for o in s.left_out])


def _one_after_the_other(cells: Sequence[Cells]) -> Cells:
    arrays = [one for one in cells if isinstance(one, np.ndarray)]
    if len(arrays) == len(cells) and len({(one.dtype, one.shape[1:]) for one in arrays}) == 1:
        return np.concatenate(arrays)
    return [value for one in cells for value in (one.tolist() if isinstance(one, np.ndarray) else one)]


def _pieces(path: Path, number: int, start: int, split: str) -> tuple[list[Piece], int, int] | None:
    """The pieces of a file, its rows, and its bytes; None if it cannot be read bit by bit."""
    kind = ending(path)
    magic = first_bytes(path, 8)
    if kind in BINARY or magic.startswith(ARROW):
        if is_packed(path):
            return None
        if magic.startswith(PARQUET):
            return _pieces_of_parquet(path, number, start, split)
        table = table_of(path)
        return [Piece(path, number, (), start, split)], table.num_rows, table.nbytes
    if kind in DELIMITED or (kind in LINES and not is_log_of_lines(path)):
        rows, size = _estimated(path)
        return [Piece(path, number, (), 0, split)], rows, size
    return None


def _pieces_of_parquet(path: Path, number: int, start: int, split: str) -> tuple[list[Piece], int, int]:
    file = _parquet(path)
    wanted = {name for name, _ in worth_reading(file.schema_arrow)}
    pieces: list[Piece] = []
    groups: list[int] = []
    size = first = rows = 0
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        parts = (group.column(j) for j in range(group.num_columns))
        size += sum(p.total_uncompressed_size for p in parts if p.path_in_schema.split(".")[0] in wanted)
        groups.append(i)
        rows += group.num_rows
        if rows - first >= PIECE or i == file.metadata.num_row_groups - 1:
            pieces.append(Piece(path, number, tuple(groups), start + first, split))
            groups, first = [], rows
    return pieces, rows, size


def _parquet(path: Path) -> Any:
    pyarrow = need_pyarrow("a Parquet file")
    from pyarrow import parquet

    try:
        return parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise WeakspotError(
            f"{path} cannot be read as a table: {first_line(error)}", fix="write or fetch the file again"
        ) from error


def _estimated(path: Path) -> tuple[int, int]:
    """About how many lines a text file has, and how many bytes unpacked, from its beginning."""
    with disk_errors(f"{path} cannot be read", "check the permissions"), path.open("rb") as raw:
        start, whole = raw.read(_START), path.stat().st_size
    size = lines = 0
    try:
        with unpacked(io.BytesIO(start)) as file:
            while size < 64 * _START and (chunk := file.read(1 << 16)):
                size, lines = size + len(chunk), lines + chunk.count(b"\n")
    except DAMAGED:
        pass  # it ends in the middle of a block
    share = whole / max(len(start), 1)
    return round(max(lines, 1) * share), round(size * share)


def _of_arrow(
    piece: Piece, columns: Collection[str] | None, keep: Keep | None
) -> Iterator[tuple[NDArray[np.uint64], Sheet]]:
    pyarrow = need_pyarrow("a Parquet file")
    parquet = first_bytes(piece.path, 8).startswith(PARQUET)
    source = _parquet(piece.path) if parquet else table_of(piece.path)
    schema = source.schema_arrow if parquet else source.schema
    clean = dict(zip(schema.names, column_names(schema.names)[0], strict=True))
    worth = [
        (name, path) for name, path in worth_reading(schema) if columns is None or _in(clean[name], columns)
    ]
    if parquet:
        batches = source.iter_batches(
            SIZE, row_groups=list(piece.groups), columns=[path for _, path in worth]
        )
    else:
        batches = source.select([name for name, _ in worth]).to_batches(max_chunksize=SIZE)
    start = piece.start
    try:
        for batch in batches:
            table = pyarrow.Table.from_batches([batch])
            table.validate(full=True)
            table = table.rename_columns([clean[name] for name in table.column_names])
            table = table.replace_schema_metadata(schema.metadata)  # which batches have lost
            lines = np.arange(start + 1, start + 1 + table.num_rows)
            start += table.num_rows
            if keep is not None:
                mask = keep(lines.astype(np.uint64), _some_of(table))
                table, lines = table.filter(pyarrow.array(mask)), lines[mask]
            yield (
                lines.astype(np.uint64),
                replace(sheet_of_table(table, "Parquet" if parquet else "Arrow"), lines=lines),
            )
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise WeakspotError(
            f"{piece.path} is damaged: {first_line(error)}", fix="write or fetch the file again"
        ) from error


def _some_of(table: Any) -> Callable[[str], Sheet]:
    def some(name: str) -> Sheet:
        return sheet_of_table(table.select([own for own in table.column_names if _in(own, {name})]), "")

    return some


def _in(own: str, wanted: Collection[str]) -> bool:
    """Whether a column holds one that is wanted, or an object of which one is a part."""
    return any(name == own or name.startswith(f"{own}.") for name in wanted)


def _of_text(piece: Piece, keep: Keep | None) -> Iterator[tuple[NDArray[np.uint64], Sheet]]:
    if ending(piece.path) in LINES:
        lines = Lines(piece.path, "\n")
        found = line_sheets(lines, size=SIZE)
    else:
        lines = Lines(piece.path, "")
        found = delimited_sheets(lines, name=str(piece.path), size=SIZE)
    last = 0
    for sheet in found:
        numbers = (np.uint64(piece.number) << _PLACES) + sheet.lines.astype(np.uint64)
        last = int(sheet.lines[-1]) if len(sheet.lines) else last
        if keep is not None:
            rows = np.flatnonzero(keep(numbers, partial(_itself, sheet)))
            numbers, sheet = numbers[rows], _rows(sheet, rows)
        yield numbers, sheet
    if lines.cut:
        nothing = Sheet("", {}, np.zeros(0, np.int64), [LeftOut(last + 1, lines.cut)])
        yield np.zeros(0, np.uint64), nothing


def _itself(sheet: Sheet, _: str) -> Sheet:
    return sheet


def _rows(sheet: Sheet, rows: NDArray[np.int64]) -> Sheet:
    columns: dict[str, Cells] = {
        name: cells[rows] if isinstance(cells, np.ndarray) else [cells[row] for row in rows]
        for name, cells in sheet.columns.items()
    }
    return replace(sheet, columns=columns, lines=sheet.lines[rows])
