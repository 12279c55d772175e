"""Results of promptfoo: `--output results.json` or `.jsonl`, and what `promptfoo export` writes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.core.errors import WeakspotError
from weakspot.records.logs.raw import Line, Log, flat, mapping, text
from weakspot.records.table import LeftOut

#: Versions of the results; 4 says it of the file, whose results are of version 3.
VERSIONS: Final = (1, 2, 3, 4)
#: In `failureReason`: the answer could not be had or judged.
_ERROR: Final = 2


def is_document(value: Mapping[str, Any]) -> bool:
    inner = mapping(value.get("results"))
    return isinstance(inner.get("results"), list) or ("evalId" in value and "results" in value)


def is_result(value: Mapping[str, Any]) -> bool:
    return "success" in value and "vars" in value and "prompt" in value and "provider" in value


def read_document(path: Path, value: Mapping[str, Any]) -> Log:
    inner = mapping(value.get("results"))
    found = [one["version"] for one in (value, inner) if "version" in one]
    if unknown := [one for one in found if one not in VERSIONS]:
        raise WeakspotError(
            f"{path} is of version {str(unknown[0])[:20]} of promptfoo's results; versions 1 to 4 are read",
            fix="try a newer weakspot, or write it with --output results.jsonl",
        )
    if not isinstance(inner.get("results"), list):
        raise WeakspotError(
            f"{path} names an evaluation of promptfoo and has no list of results",
            fix="write it with: promptfoo eval --output results.json",
        )
    values = enumerate(inner["results"], 1)
    return read_lines(
        path, (Line(i, mapping(one), "" if mapping(one) else "not an object") for i, one in values)
    )


def read_lines(_path: Path, lines: Iterable[Line]) -> Log:
    kept, left_out = list[Line](), list[LeftOut]()
    for line in lines:
        if line.broken or "success" not in line.value:
            left_out.append(LeftOut(line.number, line.broken or "no result: it has no success"))
        else:
            kept.append(line)
    several = [len({one(line.value) for line in kept}) > 1 for one in (_prompt, _model)]
    epochs: dict[str, int] = {}
    rows = []
    for line in kept:
        case = [
            line.value.get("vars"),
            *(one(line.value) for one, many in zip((_prompt, _model), several, strict=True) if many),
        ]
        row = _row(line.value, _key(case if line.value.get("vars") else [*case, _asked(line.value)]))
        epochs[row["id"]] = row["epoch"] = epochs.get(row["id"], 0) + 1
        rows.append(row)
    unchecked = sum(_unchecked(line.value) for line in kept)
    notes = ["A row is right where all its assertions passed; one with an error has no verdict."]
    if unchecked:
        notes.append(
            f"{unchecked} rows have no assertion, so no verdict, although promptfoo calls them passed."
        )
    roles = {"id": "id", "text": "input", "prediction": "answer", "correct": "correct"}
    return Log("promptfoo results", rows, [line.number for line in kept], roles, left_out, notes)


def _key(case: list[Any]) -> str:
    """The same for the same test in every file, wherever it stands there."""
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode()).hexdigest()[:12]


def _asked(result: Mapping[str, Any]) -> str | None:
    prompt = result.get("prompt")
    return text(mapping(prompt).get("raw")) if isinstance(prompt, dict) else text(prompt)


def _prompt(result: Mapping[str, Any]) -> str | None:
    """The prompt before the variables were put in, which has one label for all tests."""
    return text(mapping(result.get("prompt")).get("label"))


def _model(result: Mapping[str, Any]) -> str | None:
    provider = result.get("provider")
    return text(mapping(provider).get("label") or mapping(provider).get("id")) or text(provider)


def _unchecked(result: Mapping[str, Any]) -> bool:
    """Whether nothing was asserted: promptfoo then says that it passed."""
    graded = mapping(result.get("gradingResult"))
    return (
        result.get("success") is True
        and not graded.get("componentResults")
        and (not graded or graded.get("reason") == "No assertions")
    )


def _correct(result: Mapping[str, Any]) -> bool | None:
    reason, error = result.get("failureReason"), result.get("error")
    # Before there was a reason, an error without a grade was one of the call.
    failed = reason == _ERROR if reason is not None else bool(error) and not result.get("gradingResult")
    success = result.get("success")
    return None if failed or _unchecked(result) or not isinstance(success, bool) else success


def _row(result: Mapping[str, Any], key: str) -> dict[str, Any]:
    response, test = mapping(result.get("response")), mapping(result.get("testCase"))
    graded = mapping(result.get("gradingResult"))
    correct = _correct(result)
    latency = result.get("latencyMs")
    row: dict[str, Any] = {
        "id": key,
        "epoch": 1,
        "test": result.get("testIdx"),
        "input": _asked(result),
        "answer": text(response.get("output")),
        "correct": correct,
        "score_total": result.get("score"),
    }
    for name, value in mapping(result.get("namedScores")).items():
        row |= flat(f"score_{name}", value)
    row |= {"score_reason": text(graded.get("reason")), "error": text(result.get("error"))}
    row |= flat("vars", mapping(result.get("vars")))
    row |= flat("metadata", {k: v for k, v in mapping(test.get("metadata")).items() if not k.startswith("_")})
    row |= {
        "description": text(test.get("description")),
        "prompt": _prompt(result),
        "model": _model(result),
        "tokens": mapping(response.get("tokenUsage")).get("total"),
        "seconds": latency / 1000 if isinstance(latency, int | float) else None,
    }
    return row
