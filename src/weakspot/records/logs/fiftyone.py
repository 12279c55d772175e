"""A FiftyOne data set as JSON: samples.json of a `FiftyOneDataset` export, or `write_json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.records.logs.raw import Log, flat, mapping, number, sequence
from weakspot.records.table import LeftOut

_TRUTH: Final = ("ground_truth", "groundtruth", "gt", "truth", "label", "target")
_SAID: Final = ("prediction", "predictions", "predicted", "pred", "model")


def is_document(value: Mapping[str, Any]) -> bool:
    samples = sequence(value.get("samples"))
    return bool(samples) and "filepath" in mapping(samples[0])


def read_document(path: Path, value: Mapping[str, Any]) -> Log:
    samples = [(i, mapping(one)) for i, one in enumerate(sequence(value.get("samples")), 1)]
    kept = [(i, one) for i, one in samples if isinstance(one.get("filepath"), str)]
    left_out = [LeftOut(i, "no sample: it has no filepath") for i, one in samples if (i, one) not in kept]
    classified = dict.fromkeys(
        name
        for _, one in kept
        for name, field in one.items()
        if mapping(field).get("_cls") == "Classification"
    )
    truth = next((name for name in _TRUTH if name in classified), "")
    others = [name for name in classified if name != truth]
    said = next((name for name in _SAID if name in others), others[0] if others else "")
    notes = []
    if truth and said:
        notes.append(
            f"A row is right where {said} has the label of {truth}; without either it has no verdict."
        )
        if others := [name for name in others if name != said]:
            notes.append(f"There are predictions in {', '.join(others)}, too: choose with --prediction.")
    else:
        found = ", ".join(classified) or "none"
        notes.append(f"Two fields of class Classification are needed for a verdict; there are: {found}.")
    rows = [_row(one, truth, said) for _, one in kept]
    roles = {"id": "filepath", "image": "filepath"}
    if truth and said:
        roles |= {"label": truth, "prediction": said, "score": f"{said}.confidence", "correct": "correct"}
    return Log("FiftyOne data set", rows, [i for i, _ in kept], roles, left_out, notes, str(path.parent))


def _row(sample: Mapping[str, Any], truth: str, said: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, field in sample.items():
        if not name.startswith("_"):
            row |= _cells(name, field)
    label, answer = row.get(truth), row.get(said)
    if truth and said:
        row["correct"] = None if label is None or answer is None else label == answer
    return row


def _cells(name: str, field: Any) -> Iterator[tuple[str, Any]]:
    """The columns of a field: of labels what they say, of a date its moment, of an object its parts."""
    inner = mapping(field)
    kind = inner.get("_cls")
    if kind == "Classification":
        yield name, inner.get("label")
        yield f"{name}.confidence", inner.get("confidence")
        yield from _cells(f"{name}.tags", inner.get("tags") or None)
    elif isinstance(kind, str) and any(
        isinstance(inner.get(key), list) for key in ("classifications", "detections")
    ):
        found = [mapping(one) for one in sequence(inner.get("classifications") or inner.get("detections"))]
        yield name, [str(one["label"]) for one in found if one.get("label") is not None]
        yield f"{name}.count", len(found)
    elif "$date" in inner:
        yield name, _moment(inner["$date"])
    elif not any(key.startswith("$") for key in inner):
        yield from flat(name, {k: v for k, v in inner.items() if k != "_cls"} if inner else field)


def _moment(value: Any) -> Any:
    """A date as the text that it is, or from milliseconds."""
    from datetime import UTC, datetime

    milliseconds = number(mapping(value).get("$numberLong", value))
    try:
        return value if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return None
