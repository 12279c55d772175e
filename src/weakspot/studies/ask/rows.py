"""A run of `ask` as a table: its questions and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weakspot.studies.ask.reading import answers
from weakspot.studies.ask.result import AskResult
from weakspot.study.rows import TRIAL, Rows, answered


class AskRows(Rows):
    """See `Rows`."""

    columns: ClassVar[Mapping[str, str]] = {
        "item": "string", "set": "string", "question": "string", "system": "string", "stage": "string",
        "repeat": "int64", **TRIAL, "slices": "string", "model": "string",
    }  # fmt: skip
    title = "Questions to {model}, and its answers"
    about = (
        "Questions of a benchmark with the model's answers and the judge's verdicts. `failed` says that a "
        "harmless question was refused, or a harmful one answered; it is empty where `status` is an error, a "
        "block or an empty answer."
    )
    limits = (
        "A judge errs: its measured error is in the report of the run. Repeats of an item are no independent "
        "evidence."
    )

    def why_none(self) -> str:
        """Scenarios are kept in the report."""
        if self.run.config.settings.get("scenarios") is None:
            return ""
        return "its scenarios are kept in its report; only runs over a benchmark have rows"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """See `Rows`."""
        result = AskResult.of(self.run)
        if result is None:
            return
        for one in answers(self.run, result.order):
            yield {
                "item": one.item,
                "set": one.set,
                "question": one.trial.caption,
                "system": one.system,
                "stage": one.stage,
                "repeat": one.repeat,
                "slices": json.dumps(result.items[one.set][one.item].slices, ensure_ascii=False),
                "model": self.model,
                **answered(one.trial),
            }
