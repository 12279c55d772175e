"""Samples of lm-evaluation-harness and of lmms-eval, which has grown out of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core.errors import WeakspotError
from weakspot.records.logs.raw import Line, Log, document, flat, mapping, number, sequence, text
from weakspot.records.table import LeftOut

LM_EVAL, LMMS_EVAL = "lm-evaluation-harness samples", "lmms-eval samples"
#: What a sample holds that is no metric.
_KNOWN: Final = (
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
    "prompt_hash", "target_hash", "input", "input_media", "token_counts",
)  # fmt: skip
#: Fields of a document that are the question itself: the prompt may hold examples, too.
_QUESTIONS: Final = ("question", "query", "problem", "input", "prompt", "text", "sentence", "goal", "ctx")
_FILE: Final = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.\-:]+)\.jsonl?")
_LMMS_FILE: Final = re.compile(r"(?P<date>\w+)_samples_(?P<task>.+)\.jsonl?")


class Sample(NamedTuple):
    """A document as one filter of the answers saw it."""

    line: int
    value: Mapping[str, Any]


def is_sample(value: Mapping[str, Any]) -> bool:
    return "doc_id" in value and "target" in value and ("filtered_resps" in value or "resps" in value)


def is_document(value: Mapping[str, Any]) -> bool:
    """lmms-eval's older JSON: all samples under "logs"."""
    logs = sequence(value.get("logs"))
    return bool(logs) and is_sample(mapping(logs[0]))


def read_document(path: Path, value: Mapping[str, Any]) -> Log:
    log = read_list(path, sequence(value.get("logs")))
    model = text(mapping(value.get("args")).get("model"))
    for row in log.rows:
        row["model"] = row.get("model") or model
    return Log(LMMS_EVAL, log.rows, log.lines, log.roles, log.left_out, log.notes)


def read_list(path: Path, values: list[Any]) -> Log:
    """The first versions wrote one JSON list."""
    return read_lines(
        path, (Line(i, mapping(one), "" if mapping(one) else "no object") for i, one in enumerate(values, 1))
    )


def read_lines(path: Path, lines: Iterable[Line]) -> Log:
    left_out, cases = list[LeftOut](), dict[tuple[str, int], dict[str, Sample]]()
    repeats: dict[tuple[str, str], int] = {}
    form = ""
    for line in lines:
        if line.broken or not is_sample(line.value):
            left_out.append(LeftOut(line.number, line.broken or "no sample: it has no doc_id and target"))
            continue
        form = form or (LM_EVAL if "arguments" in line.value and "input" not in line.value else LMMS_EVAL)
        document_id, chosen = str(line.value["doc_id"]), str(line.value.get("filter", "none"))
        # The same document again by the same filter is a repeat; by another filter it is the same answer.
        epoch = repeats[document_id, chosen] = repeats.get((document_id, chosen), 0) + 1
        cases.setdefault((document_id, epoch), {})[chosen] = Sample(line.number, line.value)
    filters = list(dict.fromkeys(name for seen in cases.values() for name in seen))
    metric, notes = _judging(list(cases.values()), filters)
    task, model = _beside(path)
    rows = []
    for (document_id, epoch), seen in cases.items():
        row = {"id": document_id, "epoch": epoch} | _row(seen, filters, metric)
        rows.append(row | {"task": task, "model": model})
    roles = {"id": "id", "text": _question(rows), "label": "target", "prediction": "answer"}
    if metric:
        roles["correct"] = "correct"
    first = [next(iter(seen.values())).line for seen in cases.values()]
    return Log(form or LM_EVAL, rows, first, roles, left_out, notes)


def _question(rows: list[dict[str, Any]]) -> str:
    for name in _QUESTIONS:
        if rows and all(isinstance(row.get(f"doc.{name}"), str) for row in rows):
            return f"doc.{name}"
    return "input"


def _metrics(sample: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """(name, plain value); lmms-eval's metrics are objects, of which score or correct counts."""
    for name, value in sample.items():
        if name not in _KNOWN:
            yield from flat(name, value)


def _judging(cases: list[dict[str, Sample]], filters: list[str]) -> tuple[str, list[str]]:
    """The first metric that is 1 or 0 in every sample of the first filter, and what is to be said of it."""
    if not cases:
        return "", []
    notes = []
    if len(filters) > 1:
        rest = ", ".join(filters[1:])
        notes.append(f"Verdicts are those of the filter {filters[0]}; metrics of {rest} are columns too.")
    samples = [seen[filters[0]].value for seen in cases if filters[0] in seen]
    values: dict[str, list[Any]] = {}
    for sample in samples:
        for name, value in _metrics(sample):
            values.setdefault(name, []).append(value)
    for name, found in values.items():
        known = [value for value in found if value is not None]
        if (
            _verdict_like(name)
            and known
            and all(number(v) in (0, 1) and not isinstance(v, str) for v in known)
        ):
            return name, [*notes, f"A row is right where score_{name} is 1."]
    told = ", ".join(list(values)[:8]) or "none"
    return "", [
        *notes,
        f"No metric is 1 or 0 in every sample (there are: {told}): say what a failure is with --failed.",
    ]


def _verdict_like(name: str) -> bool:
    """Within an object, only what is called a score or correct is one; the rest describes the sample."""
    return "." not in name or name.rsplit(".", 1)[1] in ("score", "correct", "acc", "accuracy", "exact_match")


def _row(seen: Mapping[str, Sample], filters: list[str], metric: str) -> dict[str, Any]:
    sample = next(iter(seen.values())).value
    contexts, endings = _requests(sample.get("arguments"))
    answer, target = _answer(sample, endings), text(sample.get("target"))
    if len(endings) > 1 and target is not None and target.isdecimal() and int(target) < len(endings):
        target = endings[int(target)]
    verdicts = dict(_metrics(seen[filters[0]].value)) if filters[0] in seen else {}
    verdict = number(verdicts.get(metric))
    row: dict[str, Any] = {
        "input": contexts[0] if contexts else text(sample.get("input")),
        "choices": endings if len(endings) > 1 else None,
        "target": target,
        "answer": answer,
        "correct": None if verdict is None else verdict == 1,
    }
    row |= flat("doc", sample.get("doc") if isinstance(sample.get("doc"), dict) else None)
    row.pop("doc", None)
    for name in filters:
        for key, value in _metrics(seen[name].value) if name in seen else ():
            row[f"score_{key}" if len(filters) == 1 else f"score_{key}.{name}"] = value
    return row


def _requests(arguments: Any) -> tuple[list[str], list[str]]:
    """The contexts and the endings that were asked: lists in older versions, objects in newer ones."""
    found = [
        list(one.values()) if isinstance(one, dict) else sequence(one)
        for one in (arguments.values() if isinstance(arguments, dict) else sequence(arguments))
    ]
    contexts = [one[0] for one in found if one and isinstance(one[0], str)]
    endings = [one[1].strip() for one in found if len(one) > 1 and isinstance(one[1], str)]
    return contexts, endings


def _answer(sample: Mapping[str, Any], endings: list[str]) -> str | None:
    """What was answered: of several endings the likeliest, otherwise the text that the filter left."""
    found = sample.get("filtered_resps", sample.get("resps"))
    if len(endings) > 1:
        likely = [number(sequence(one)[0]) if sequence(one) else None for one in sequence(found)]
        if len(likely) == len(endings) and None not in likely:
            return endings[max(range(len(likely)), key=lambda i: likely[i] or 0.0)]
        return None
    while isinstance(found, list) and len(found) == 1:
        found = found[0]
    return text(found)


def _beside(path: Path) -> tuple[str | None, str | None]:
    """The task, which the name of the file says, and the model, which the file of results beside it says."""
    named = _FILE.fullmatch(path.name) or _LMMS_FILE.fullmatch(path.name)
    if named is None:
        return None, None
    for name in (f"results_{named['date']}.json", f"{named['date']}_results.json"):
        try:
            results = mapping(document(path.parent / name))
        except WeakspotError:
            continue
        return named["task"], text(results.get("model_name") or mapping(results.get("config")).get("model"))
    return named["task"], None
