"""A run as a table, for `weakspot export`: its trials, or what else a study says its rows are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weakspot.core import Stage, Trial, case_seed
from weakspot.store import Run

#: Rows by column; what is not there is null.
Rows = Callable[[Run], Iterable[Mapping[str, Any]]]


@dataclass(frozen=True, kw_only=True)
class Csv:
    """A table of its own form beside the others; it is the usual one of a study that has it.

    Attributes:
        name: Of the file.
        about: What is in it.
        columns: What each holds.
        text: The rows as a file has them.
    """

    name: str
    about: str
    columns: Mapping[str, str]
    rows: Rows
    text: Callable[[Iterable[Mapping[str, Any]]], str]


@dataclass(frozen=True, kw_only=True)
class Export:
    """What a study exports.

    Attributes:
        title: Of the data card; {model} is filled in.
        about: What a row is.
        limits: What must not be concluded from the rows.
        columns: What each holds: string, bool, int64 or float64.
    """

    title: str
    about: str
    limits: str
    columns: Mapping[str, str]
    rows: Rows
    csv: Csv | None = None

    @property
    def forms(self) -> tuple[str, ...]:
        """How it can be written, the usual way first."""
        return (*(("csv",) if self.csv is not None else ()), "jsonl", "parquet", "hf")


def trials(run: Run) -> Iterator[dict[str, Any]]:
    """Every trial with what was said and judged."""
    settings = run.config.settings
    seed = int(settings.get("seed", 0))
    confirmed = {f.hypothesis.id for f in run.findings if f.confirmed}
    for hypothesis in run.ledger.hypotheses():
        for trial in run.ledger.trials(hypothesis):
            yield answered(trial) | {
                "hypothesis": hypothesis.text,
                "concepts": json.dumps(dict(hypothesis.concepts), ensure_ascii=False),
                "input": trial.caption,
                "seed": case_seed(seed, hypothesis, trial.index),
                "baseline": hypothesis.origin == "baseline",
                "fresh": Stage.of(trial.index) is Stage.CONFIRM,
                "confirmed": hypothesis.id in confirmed,
                "picture": trial.blob or "",
                "model": str(settings.get("target") or settings.get("encoder") or ""),
            }


def answered(trial: Trial) -> dict[str, Any]:
    """What was expected, said and judged."""
    return {
        "expected": trial.expected,
        "answer": trial.answer,
        "status": trial.status.value,
        "failed": trial.failed,
        "score": trial.score,
        "reason": trial.detail,
    }


TRIALS = Export(
    title="Trials of {model}",
    about="One row per trial: what was drawn, what the model answered, and whether that was a failure. "
    "`failed` is empty where `status` is an error. `picture` is the SHA-256 of an input that the run kept in "
    "its folder `blobs`.",
    limits="A search draws where it expects failures: count rates over rows with `fresh`, which it never "
    "saw; rows with `baseline` are drawn as usual.",
    columns={
        "hypothesis": "string", "concepts": "string", "input": "string", "seed": "int64",
        "expected": "string", "answer": "string", "status": "string", "failed": "bool", "score": "float64",
        "baseline": "bool", "fresh": "bool", "confirmed": "bool", "reason": "string", "picture": "string",
        "model": "string",
    },
    rows=trials,
)  # fmt: skip
