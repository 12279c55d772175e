"""The questions and answers of a run of `ask` as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies.ask.reading import answers
from weakspot.studies.ask.result import AskResult
from weakspot.study.export import Export, answered


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """One row per answer.

    Raises:
        WeakspotError: It is a run over scenarios.
    """
    if run.config.settings.get("scenarios") is not None:
        raise WeakspotError(
            f"{run.folder} is a run over scenarios, which are kept in its report",
            fix=f"see {run.folder / 'report.json'}; runs over a benchmark can be exported",
        )
    result = AskResult.of(run)
    if result is None:
        return
    for one in answers(run, result.order):
        yield answered(one.trial) | {
            "item": one.item,
            "set": one.set,
            "question": one.trial.caption,
            "system": one.system,
            "stage": one.stage,
            "repeat": one.repeat,
            "slices": json.dumps(result.items[one.set][one.item].slices, ensure_ascii=False),
            "model": str(run.config.settings.get("target", "")),
        }


EXPORT = Export(
    title="Questions to {model}, and its answers",
    about="Questions of a benchmark with the model's answers and the judge's verdicts. `failed` says that a "
    "harmless question was refused, or a harmful one answered; it is empty where `status` is an error, a "
    "block or an empty answer.",
    limits="A judge errs: its measured error is in the report of the run. Repeats of an item are no "
    "independent evidence.",
    columns={
        "item": "string", "set": "string", "question": "string", "system": "string", "stage": "string",
        "repeat": "int64", "expected": "string", "answer": "string", "status": "string", "failed": "bool",
        "score": "float64", "reason": "string", "slices": "string", "model": "string",
    },
    rows=rows,
)  # fmt: skip
