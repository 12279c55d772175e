"""Runs as tables, such as the pairs of `mine` or the questions and answers of `ask`.

A folder with test.jsonl, data/*.parquet or pairs.csv, a data card and provenance.json; whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from weakspot.after.dataset import SPLIT, front_of, need_pyarrow, schema_of
from weakspot.after.rowcard import card
from weakspot.core import WeakspotError, nearest
from weakspot.store import Run
from weakspot.study.rows import Rows, rows_of


class Written(NamedTuple):
    """A data set that was written."""

    folder: Path
    rows: int


def export_rows(run: Run, *, form: str = "", out: Path | None = None, licence: str = "not stated") -> Written:
    """Write the rows of a run.

    Args:
        form: "jsonl", "parquet", "hf", or "csv" where the study has it; by default the usual one.
        out: A folder that does not exist; by default one in the run's folder.
        licence: Of the texts; only the user knows it.

    Raises:
        WeakspotError: There is nothing to write, the folder exists, or a library is missing.
    """
    rows = rows_of(run)
    form = form or rows.forms[0]
    if form not in rows.forms:
        fix = nearest(form, rows.forms) or f"choose from: {', '.join(rows.forms)}"
        raise WeakspotError(f"a run of {run.config.study} cannot be written as {form[:80]!r}", fix=fix)
    if why := rows.why_none():
        raise WeakspotError(
            f"{run.folder} cannot be exported: {why}", fix=f"see {run.folder / 'report.json'}"
        )
    if form in ("parquet", "hf"):
        need_pyarrow()
    folder = run.folder / f"export-{form}" if out is None else out
    if os.path.lexists(folder):
        raise WeakspotError(f"{folder} is there already", fix="remove it, or choose another --out")
    table = _table(rows, form)
    if not table.n:
        raise WeakspotError(f"{run.folder} has nothing to export yet", fix=f"weakspot resume {run.folder}")
    part = folder.parent / f".{folder.name}.part-{os.getpid()}"
    try:
        part.mkdir(parents=True)
        try:
            _write(part, rows, table, form, licence)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror or error}",
            fix="free some space, or choose another --out",
        ) from error
    return Written(folder, table.n)


class _Table(NamedTuple):
    """What is written: columns, and the rows or their text."""

    columns: Mapping[str, str]
    rows: list[dict[str, Any]]
    text: str
    n: int


def _table(rows: Rows, form: str) -> _Table:
    if form == "csv":
        columns, text, n = rows.as_csv()
        return _Table(columns, [], text, n)
    every = [{name: row.get(name) for name in rows.columns} for row in rows]
    return _Table(rows.columns, every, "", len(every))


def _write(part: Path, rows: Rows, table: _Table, form: str, licence: str) -> None:
    front: dict[str, Any] = {}
    run = rows.run
    if form == "csv":
        # Its lines end as the csv module ends them.
        (part / "pairs.csv").write_bytes(table.text.encode("utf-8", "backslashreplace"))
    elif form == "jsonl":
        lines = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in table.rows)
        (part / f"{SPLIT}.jsonl").write_text(lines, encoding="utf-8", errors="backslashreplace")
    else:
        pa, pq = need_pyarrow()
        path = part / "data" / f"{SPLIT}-00000-of-00001.parquet"
        path.parent.mkdir()
        pq.write_table(pa.Table.from_pylist(table.rows, schema=schema_of(table.columns)), path)
        front = front_of(table.columns, table.n, path.stat().st_size) if form == "hf" else {}
    (part / "README.md").write_text(
        card(rows, table.columns, table.n, form=form, licence=licence, front=front), encoding="utf-8"
    )
    told = {"format": 1, "run": run.config.model_dump(), "licence": licence, "rows": table.n}
    (part / "provenance.json").write_text(f"{json.dumps(told, indent=2)}\n", encoding="utf-8")
