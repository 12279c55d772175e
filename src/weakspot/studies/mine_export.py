"""The pairs of a run of `mine` as a file: csv as the published script writes it, or everything as JSON lines.

pairs.csv     `Sample 1`, `Sample 2`, then the encoder's similarity, the reference's, and their difference;
              like the original's, the header names the two texts only. The mined pairs, the most alike first.
pairs.jsonl   the mined pairs, then every new pair that was measured, with category, change and verdict
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weakspot.core import Stage, WeakspotError
from weakspot.report.dataset import neutral
from weakspot.report.mine_facts import pair_of
from weakspot.store import Run
from weakspot.store.blobs import write_whole

FORMATS = ("csv", "jsonl")


def export_pairs(run: Run, *, form: str, out: Path | None = None) -> tuple[Path, int]:
    """Write the pairs of a run.

    Args:
        run: Of `mine`; it may still be running.
        form: "csv" or "jsonl".
        out: A file that does not exist; by default pairs.csv or pairs.jsonl in the run's folder, which is
            written anew.

    Returns:
        The file, and how many pairs it has.
    """
    if form not in FORMATS:
        raise WeakspotError(f"pairs are not written as {form[:80]!r}", fix="choose --format csv, jsonl or hf")
    if out is not None and out.exists():
        raise WeakspotError(f"{out} exists", fix="choose another --out")
    mined = run.ledger.fact("mined")
    if mined is None:
        raise WeakspotError(f"{run.folder} has no pairs yet", fix=f"weakspot resume {run.folder}")
    rows = list(mined["pairs"]) if form == "csv" else list(all_pairs(run))
    path = out or run.folder / f"pairs.{form}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (_csv(rows) if form == "csv" else _lines(rows)).encode("utf-8", "backslashreplace"))
    return path, len(rows)


def all_pairs(run: Run) -> Iterator[dict[str, Any]]:
    """The mined pairs, then every new pair that was measured."""
    mined = run.ledger.fact("mined")
    if mined is not None:
        yield from _mined(mined["pairs"])
        yield from _new(run)


def _csv(rows: list[dict[str, Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["Sample 1", "Sample 2"])
    for row in rows:
        tested, reference = row["tested"], row["reference"]
        numbers = (tested, reference, round(tested - reference, 6))
        writer.writerow([neutral(row["first"]), neutral(row["second"]), *numbers])
    return file.getvalue()


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _mined(pairs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        yield {
            "first": pair["first"],
            "second": pair["second"],
            "origin": "mined",
            "category": pair["category"],
            "similarity": pair["tested"],
            "reference": pair["reference"],
            "reason": pair["reason"],
        }


def _new(run: Run) -> Iterator[dict[str, Any]]:
    confirmed = {f.hypothesis.id for f in run.findings if f.confirmed}
    for hypothesis in run.ledger.hypotheses():
        concepts = dict(hypothesis.concepts)
        for trial in run.ledger.trials(hypothesis):
            first, second, change = pair_of(trial)
            yield {
                "first": first,
                "second": second,
                "origin": concepts.get("pairs", ""),
                "category": concepts.get("name", hypothesis.text),
                "similarity": trial.score,
                "failed": trial.failed,
                "change": change,
                "fresh": Stage.of(trial.index) is Stage.CONFIRM,
                "confirmed": hypothesis.id in confirmed,
                "detail": trial.detail,
            }
