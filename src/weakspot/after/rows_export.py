"""Runs as tables: a folder with test.jsonl, data/*.parquet or a csv, a data card and provenance.json.

What the rows are is said by the study. The folder is written whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from weakspot.after.rowcard import card
from weakspot.core import WeakspotError, nearest
from weakspot.report.dataset import SPLIT, front_of, need_pyarrow, schema_of
from weakspot.store import Run
from weakspot.study.export import Export
from weakspot.study.registry import find_study


class Written(NamedTuple):
    """A data set that was written."""

    folder: Path
    rows: int


def export_rows(run: Run, *, form: str = "", out: Path | None = None, licence: str = "not stated") -> Written:
    """Write the rows of a run.

    Args:
        run: Open for reading.
        form: "jsonl", "parquet", "hf", or "csv" where the study has one; by default its usual one.
        out: A folder that does not exist; by default one in the run's folder.
        licence: Of the texts; only the user knows it.

    Raises:
        WeakspotError: There is nothing to write, the folder exists, or a library is missing.
    """
    study = find_study(run.config.study)
    export: Export = study.find("rows")
    form = form or export.forms[0]
    if form not in export.forms:
        fix = nearest(form, export.forms) or f"choose from: {', '.join(export.forms)}"
        raise WeakspotError(f"a run of {study.name} cannot be written as {form[:80]!r}", fix=fix)
    if form in ("parquet", "hf"):
        need_pyarrow()
    folder = run.folder / f"export-{form}" if out is None else out
    if os.path.lexists(folder):
        raise WeakspotError(f"{folder} is there already", fix="remove it, or choose another --out")
    table = export.csv if export.csv is not None and form == "csv" else export
    rows = [{name: row.get(name) for name in table.columns} for row in table.rows(run)]
    if not rows:
        raise WeakspotError(f"{run.folder} has nothing to export yet", fix=f"weakspot resume {run.folder}")
    part = folder.parent / f".{folder.name}.part-{os.getpid()}"
    try:
        part.mkdir(parents=True)
        try:
            _write(part, rows, export, form, run, licence)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror or error}",
            fix="free some space, or choose another --out",
        ) from error
    return Written(folder, len(rows))


def _write(part: Path, rows: list[dict[str, Any]], export: Export, form: str, run: Run, licence: str) -> None:
    front: dict[str, Any] = {}
    columns, about = export.columns, export.about
    if export.csv is not None and form == "csv":
        columns, about = export.csv.columns, export.csv.about
        content = export.csv.text(rows).encode("utf-8", "backslashreplace")
        (part / export.csv.name).write_bytes(content)  # its lines end as the csv module ends them
    elif form == "jsonl":
        lines = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows)
        (part / f"{SPLIT}.jsonl").write_text(lines, encoding="utf-8", errors="backslashreplace")
    else:
        pa, pq = need_pyarrow()
        path = part / "data" / f"{SPLIT}-00000-of-00001.parquet"
        path.parent.mkdir()
        pq.write_table(pa.Table.from_pylist(rows, schema=schema_of(columns)), path)
        front = front_of(columns, len(rows), path.stat().st_size) if form == "hf" else {}
    text = card(
        run.config, export, list(columns), len(rows), about=about, form=form, licence=licence, front=front
    )
    (part / "README.md").write_text(text, encoding="utf-8")
    provenance = {"format": 1, "run": run.config.model_dump(), "licence": licence, "rows": len(rows)}
    (part / "provenance.json").write_text(f"{json.dumps(provenance, indent=2)}\n", encoding="utf-8")
