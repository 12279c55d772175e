"""Runs as tables: the pairs of `mine`, the questions and answers of `ask`, the queries of `map`.

A folder with test.jsonl, data/*.parquet or pairs.csv, a data card and provenance.json; whole or not at all.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.after.rowcard import card
from weakspot.core import Stage, Trial, WeakspotError, case_seed, nearest
from weakspot.report.dataset import SPLIT, front_of, need_pyarrow, schema_of
from weakspot.store import Run
from weakspot.studies.ask.reading import answers
from weakspot.studies.ask.result import AskResult
from weakspot.studies.mine.export import PUBLISHED, all_pairs, mined_pairs, published

#: By study, the usual one first.
FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "mine": ("csv", "jsonl", "parquet", "hf"),
    "ask": ("jsonl", "parquet", "hf"),
    "map": ("jsonl", "parquet", "hf"),
}

#: Columns and what they hold, by study.
COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "mine": {
        "first": "string", "second": "string", "origin": "string", "category": "string",
        "similarity": "float64", "reference": "float64", "failed": "bool", "change": "string",
        "fresh": "bool", "confirmed": "bool", "reason": "string", "detail": "string",
    },
    "ask": {
        "item": "string", "set": "string", "question": "string", "system": "string", "stage": "string",
        "repeat": "int64", "expected": "string", "answer": "string", "status": "string", "failed": "bool",
        "score": "float64", "reason": "string", "slices": "string", "model": "string",
    },
    "map": {
        "cell": "string", "concepts": "string", "policy": "string", "input": "string", "seed": "int64",
        "expected": "string", "answer": "string", "status": "string", "failed": "bool",
        "discrepancy": "float64", "baseline": "bool", "fresh": "bool", "confirmed": "bool",
        "reason": "string", "picture": "string", "model": "string",
    },
}  # fmt: skip


class Written(NamedTuple):
    """A data set that was written."""

    folder: Path
    rows: int


def export_rows(run: Run, *, form: str = "", out: Path | None = None, licence: str = "not stated") -> Written:
    """Write the rows of a run.

    Args:
        run: Of `mine`, `ask` or `map`, open for reading.
        form: "jsonl", "parquet", "hf", or of mine "csv", which has the mined pairs alone; by default the
            first that `FORMATS` has of the study.
        out: A folder that does not exist; by default one in the run's folder.
        licence: Of the texts; only the user knows it.

    Raises:
        WeakspotError: There is nothing to write, the folder exists, or a library is missing.
    """
    study = run.config.study
    known = FORMATS[study]
    form = form or known[0]
    if form not in known:
        fix = nearest(form, known) or f"choose from: {', '.join(known)}"
        raise WeakspotError(f"a run of {study} cannot be written as {form[:80]!r}", fix=fix)
    if run.config.settings.get("scenarios") is not None:
        raise WeakspotError(
            f"{run.folder} is a run over scenarios, which are kept in its report",
            fix=f"see {run.folder / 'report.json'}; runs over a benchmark can be exported",
        )
    if form in ("parquet", "hf"):
        need_pyarrow()
    folder = run.folder / f"export-{form}" if out is None else out
    if os.path.lexists(folder):
        raise WeakspotError(f"{folder} is there already", fix="remove it, or choose another --out")
    columns, every = (PUBLISHED, mined_pairs) if form == "csv" else (COLUMNS[study], _ROWS[study])
    rows = [{name: row.get(name) for name in columns} for row in every(run)]
    if not rows:
        raise WeakspotError(f"{run.folder} has nothing to export yet", fix=f"weakspot resume {run.folder}")
    part = folder.parent / f".{folder.name}.part-{os.getpid()}"
    try:
        part.mkdir(parents=True)
        try:
            _write(part, rows, columns, form, run, licence)
            part.rename(folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise WeakspotError(
            f"the data set cannot be written to {folder}: {error.strerror or error}",
            fix="free some space, or choose another --out",
        ) from error
    return Written(folder, len(rows))


def _write(
    part: Path, rows: list[dict[str, Any]], columns: Mapping[str, str], form: str, run: Run, licence: str
) -> None:
    front: dict[str, Any] = {}
    if form == "csv":
        text = published(rows).encode("utf-8", "backslashreplace")
        (part / "pairs.csv").write_bytes(text)  # its lines end as the csv module ends them
    elif form == "jsonl":
        lines = "".join(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n" for row in rows)
        (part / f"{SPLIT}.jsonl").write_text(lines, encoding="utf-8", errors="backslashreplace")
    else:
        pa, pq = need_pyarrow()
        path = part / "data" / f"{SPLIT}-00000-of-00001.parquet"
        path.parent.mkdir()
        pq.write_table(pa.Table.from_pylist(rows, schema=schema_of(columns)), path)
        front = front_of(columns, len(rows), path.stat().st_size) if form == "hf" else {}
    (part / "README.md").write_text(
        card(run.config, columns, len(rows), form=form, licence=licence, front=front), encoding="utf-8"
    )
    told = {"format": 1, "run": run.config.model_dump(), "licence": licence, "rows": len(rows)}
    (part / "provenance.json").write_text(f"{json.dumps(told, indent=2)}\n", encoding="utf-8")


def _asked(run: Run) -> Iterator[dict[str, Any]]:
    result = AskResult.of(run)
    if result is None:
        return
    for one in answers(run, result.order):
        yield {
            "item": one.item,
            "set": one.set,
            "system": one.system,
            "stage": one.stage,
            "repeat": one.repeat,
            "slices": json.dumps(result.items[one.set][one.item].slices, ensure_ascii=False),
            "model": str(run.config.settings.get("target", "")),
            **_answered(one.trial),
        }


def _answered(trial: Trial) -> dict[str, Any]:
    return {
        "question": trial.caption,
        "expected": trial.expected,
        "answer": trial.answer,
        "status": trial.status.value,
        "failed": trial.failed,
        "score": trial.score,
        "reason": trial.detail,
    }


def _mapped(run: Run) -> Iterator[dict[str, Any]]:
    model, seed = (str(run.config.settings.get("target", "")), int(run.config.settings.get("seed", 0)))
    base = run.ledger.fact("base")
    confirmed = {f.hypothesis.id for f in run.findings if f.confirmed}
    for hypothesis in run.ledger.hypotheses():
        concepts: dict[str, Any] = dict(hypothesis.concepts)
        policy = str(concepts.pop("policy", "") or "")
        for trial in run.ledger.trials(hypothesis):
            yield {
                "cell": hypothesis.text,
                "concepts": json.dumps(concepts, ensure_ascii=False),
                "policy": policy,
                "input": trial.caption,
                "seed": case_seed(seed, hypothesis, trial.index),
                "discrepancy": trial.score,
                "baseline": hypothesis.id == base,
                "fresh": Stage.of(trial.index) is Stage.CONFIRM,
                "confirmed": hypothesis.id in confirmed,
                "picture": trial.blob or "",
                "model": model,
                **_answered(trial),
            }


_ROWS: Final[Mapping[str, Callable[[Run], Iterator[dict[str, Any]]]]] = {
    "mine": all_pairs,
    "ask": _asked,
    "map": _mapped,
}
