"""The queries of a run of `map` as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from weakspot.store import Run
from weakspot.study.export import Export, trials


def rows(run: Run) -> Iterator[dict[str, Any]]:
    """One row per query."""
    for row in trials(run):
        concepts = json.loads(row["concepts"])
        policy = str(concepts.pop("policy", "") or "")
        yield row | {
            "cell": row["hypothesis"],
            "concepts": json.dumps(concepts, ensure_ascii=False),
            "policy": policy,
            "discrepancy": row["score"],
        }


EXPORT = Export(
    title="Queries of {model}, by concepts",
    about="One row per query: the cell of the concept space in words and as values, which input was changed, "
    "what was expected, what the model answered, and how far that was off (`discrepancy`). `failed` says "
    "that it was too far; it is empty where `status` is an error. `picture` is the SHA-256 of a picture "
    "that the run kept in its folder `blobs`.",
    limits="A search asked where it expected failures: count rates over rows with `fresh`, which it never "
    "saw, or cell by cell; rows with `baseline` are the inputs as they are.",
    columns={
        "cell": "string", "concepts": "string", "policy": "string", "input": "string", "seed": "int64",
        "expected": "string", "answer": "string", "status": "string", "failed": "bool",
        "discrepancy": "float64", "baseline": "bool", "fresh": "bool", "confirmed": "bool",
        "reason": "string", "picture": "string", "model": "string",
    },
    rows=rows,
)  # fmt: skip
