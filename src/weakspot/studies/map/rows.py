"""A run of `map` as a table of its queries, and its rates: of inputs as they are, findings and cells."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from weakspot.core import Hypothesis
from weakspot.study.rates import Rates
from weakspot.study.rows import Rows


class MapRows(Rows):
    columns: ClassVar[Mapping[str, str]] = {
        "cell": "string", "concepts": "string", "policy": "string", "input": "string", "seed": "int64",
        "expected": "string", "answer": "string", "status": "string", "failed": "bool",
        "discrepancy": "float64", "baseline": "bool", "fresh": "bool", "confirmed": "bool",
        "reason": "string", "picture": "string", "model": "string",
    }  # fmt: skip
    title = "Queries of {model}, by concepts"
    about = (
        "One row per query: the cell of the concept space in words and as values, which input was changed, "
        "what was expected, what the model answered, and how far that was off (`discrepancy`). `failed` says "
        "that it was too far; it is empty where `status` is an error. `picture` is the SHA-256 of a picture "
        "that the run kept in its folder `blobs`."
    )
    limits = (
        "The search asked where it expected failures. Compute rates only from rows with `fresh`, "
        "which it never saw, or cell by cell. Rows with `baseline` are the inputs as they are."
    )

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in super().__iter__():
            concepts = json.loads(row["concepts"])
            yield row | {
                "cell": row["hypothesis"],
                "policy": str(concepts.pop("policy", "") or ""),
                "concepts": json.dumps(concepts, ensure_ascii=False),
                "discrepancy": row["score"],
                "picture": row["kept"],
            }


class MapRates(Rates):
    part = "cell"

    def is_part(self, hypothesis: Hypothesis) -> bool:
        """A policy chose its inputs because they fail, and a region that is no finding is not a cell."""
        return "policy" not in dict(hypothesis.concepts) and hypothesis.origin != "mode"
