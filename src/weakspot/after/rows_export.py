"""Runs as tables, such as the pairs of `mine` or the questions and answers of `ask`.

A folder with test.jsonl, data/*.parquet or pairs.csv, a data card and provenance.json; whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from weakspot.after.data_card import table_card
from weakspot.after.dataset import SPLIT, front_of, need_pyarrow, write_table
from weakspot.core import WeakspotError, nearest
from weakspot.store import Run
from weakspot.study.rows import rows_of


def export_rows(
    run: Run, *, form: str = "", out: Path | None = None, licence: str = "not stated"
) -> tuple[Path, int]:
    """Write the rows of a run into a folder that does not exist, by default one in the run's folder.

    The form is "jsonl", "parquet", "hf", or "csv" where the study has it; by default the usual one. Of the
    licence only the user knows. Gives the folder and the number of rows.
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
        raise WeakspotError(f"{folder} already exists", fix="remove it, or choose another --out")
    if form == "csv":
        columns, text, n = rows.as_csv()
        table: list[dict[str, Any]] = []
    else:
        columns, text = rows.columns, ""
        table = [{name: row.get(name) for name in columns} for row in rows]
        n = len(table)
    if not n:
        raise WeakspotError(f"{run.folder} has nothing to export yet", fix=f"weakspot resume {run.folder}")
    part = folder.parent / f".{folder.name}.part-{os.getpid()}"
    try:
        part.mkdir(parents=True)
        try:
            files = _write(part, form, columns, table, text)
            card = table_card(rows, columns, n, form=form, licence=licence, files=files)
            (part / "README.md").write_text(card, encoding="utf-8")
            known = {"format": 1, "run": run.config.model_dump(), "licence": licence, "rows": n}
            (part / "provenance.json").write_text(f"{json.dumps(known, indent=2)}\n", encoding="utf-8")
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror or error}",
            fix="free some space, or choose another --out",
        ) from error
    return folder, n


def _write(
    part: Path, form: str, columns: Mapping[str, str], table: list[dict[str, Any]], text: str
) -> Mapping[str, Any]:
    """Write the rows, or the text of a CSV file; what a hub is to know of the files."""
    if form == "csv":  # its lines end as the csv module ends them
        (part / "pairs.csv").write_bytes(text.encode("utf-8", "backslashreplace"))
    elif form == "jsonl":
        lines = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in table)
        (part / f"{SPLIT}.jsonl").write_text(lines, encoding="utf-8", errors="backslashreplace")
    else:
        path = write_table(part, columns, [table])
        if form == "hf":
            return front_of(columns, len(table), path.stat().st_size)
    return {}
