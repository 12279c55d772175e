"""A run as a table, for a data set: by default a row per trial."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weakspot.core import Stage, Trial, case_seed
from weakspot.store import Run
from weakspot.study.study import find_study

#: What most tables have of a trial, and what the columns hold.
TRIAL: Mapping[str, str] = {
    "expected": "string", "answer": "string", "status": "string", "failed": "bool", "score": "float64",
    "reason": "string",
}  # fmt: skip


class Rows:
    """The rows of a run; a study whose rows are others subclasses this and names it in `Study.rows`.

    Attributes:
        forms: How they can be written, the usual one first: jsonl, parquet, hf, csv.
        title: Of the data card; {model} is filled in.
        limits: What the rows do not say.
    """

    forms: ClassVar[tuple[str, ...]] = ("jsonl", "parquet", "hf")
    columns: ClassVar[Mapping[str, str]] = {
        "hypothesis": "string", "concepts": "string", "input": "string", "seed": "int64", **TRIAL,
        "baseline": "bool", "fresh": "bool", "confirmed": "bool", "kept": "string", "model": "string",
    }  # fmt: skip
    title = "Trials of {model}"
    about = (
        "One row per trial: the hypothesis, what the source knows of the input, what was expected and what "
        "the model answered. `failed` is empty where `status` is an error; `kept` is the SHA-256 of an input "
        "that the run kept in its folder `blobs`."
    )
    limits = (
        "The search asked where it expected failures. Compute rates only from `fresh` or `baseline` rows."
    )

    def __init__(self, run: Run) -> None:
        self.run = run
        self.model = str(run.config.settings.get("target", ""))

    def why_none(self) -> str:
        """Why a run of this kind has no rows, in a sentence; "" if it can have some."""
        return ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, by column; what is missing is empty."""
        run, seed = self.run, int(self.run.config.settings.get("seed", 0))
        bases = {base.id for base in run.baselines}
        confirmed = {f.hypothesis.id for f in run.findings if f.confirmed}
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis):
                yield {
                    "hypothesis": hypothesis.text,
                    "concepts": json.dumps(dict(hypothesis.concepts), ensure_ascii=False),
                    "input": trial.caption,
                    "seed": case_seed(seed, hypothesis, trial.index),
                    "baseline": hypothesis.id in bases,
                    "fresh": Stage.of(trial.index) is Stage.CONFIRM,
                    "confirmed": hypothesis.id in confirmed,
                    "kept": trial.blob or "",
                    "model": self.model,
                    **answered(trial),
                }

    def as_csv(self) -> tuple[Mapping[str, str], str, int]:
        """Columns, the file and how many rows it has, where "csv" is among the forms."""
        raise NotImplementedError


def rows_of(run: Run) -> Rows:
    found: Rows = find_study(run.config.study).find("rows")(run)
    return found


def answered(trial: Trial) -> dict[str, Any]:
    """What most tables have of a trial."""
    return {
        "expected": trial.expected,
        "answer": trial.answer,
        "status": trial.status.value,
        "failed": trial.failed,
        "score": trial.score,
        "reason": trial.detail,
    }
