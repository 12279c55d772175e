"""Logs of inspect_ai: `.eval` (a zip) and `.json`. Neither needs inspect_ai to be installed."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.core.errors import WeakspotError
from weakspot.records.logs.archive import MOST_TOTAL, UNREADABLE, Archive, Full
from weakspot.records.logs.raw import (
    Log,
    flat,
    joined,
    mapping,
    number,
    part,
    sequence,
    text,
    why,
)
from weakspot.records.table import LeftOut

#: Versions of the log's schema; 1 had a single score for each sample.
VERSIONS: Final = (1, 2)
#: A sample in one member, and one in many (large samples of newer versions).
_SAMPLE: Final = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
_ATTACHMENTS: Final = re.compile(r"(samples/.+_epoch_\d+/)attachments/\d+\.json", re.DOTALL)
_GRADES: Final = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_ATTACHMENT: Final = "attachment://"


def is_archive(head: bytes) -> bool:
    """Whether a zip that begins so is a log: its first member says it."""
    return head.startswith(b"PK\x03\x04") and head[30:].startswith(
        (b"_journal/", b"header.json", b"samples/")
    )


def is_document(value: Mapping[str, Any]) -> bool:
    spec = mapping(value.get("eval"))
    return "version" in value and "task" in spec and "model" in spec


def read_document(path: Path, value: Mapping[str, Any]) -> Log:
    samples = ((i, mapping(one), "") for i, one in enumerate(sequence(value.get("samples")), 1))
    return _log(path, value, samples)


def read_archive(path: Path) -> Log:
    try:
        with zipfile.ZipFile(path) as file:
            archive = Archive(file)
            return _log(path, _header(path, archive), _samples(archive))
    except zipfile.BadZipFile as error:
        raise WeakspotError(
            f"{path} is a log of inspect_ai that is not complete: {error}",
            fix="was the evaluation or the copy cut off? try: inspect log recover, or copy it again",
        ) from error


def _header(path: Path, archive: Archive) -> Mapping[str, Any]:
    """What the log says of the evaluation; the journal's beginning where it never came to an end."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive:
            try:
                return mapping(json.loads(archive.read(name)))
            except UNREADABLE as error:
                raise WeakspotError(
                    f"{path} is damaged: {name} cannot be read: {why(error)}", fix="copy the log again"
                ) from error
    raise WeakspotError(f"{path} has no header.json", fix="copy the log again: it is not complete")


def _samples(archive: Archive) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    """(place, sample, why it cannot be read) of each."""
    names = archive.names
    attachments: dict[str, list[str]] = {}
    for name in names:
        if found := _ATTACHMENTS.fullmatch(name):
            attachments.setdefault(found[1], []).append(name)
    for place, name in enumerate(filter(_SAMPLE.fullmatch, names), 1):
        try:
            sample = dict(mapping(json.loads(archive.read(name))))
            if name.endswith("/sample.json"):
                prefix = name.removesuffix("sample.json")
                sample |= _in_parts(archive, prefix, attachments.get(prefix, []))
        except UNREADABLE as error:
            yield place, {}, f"{name[:100]}: {why(error)}"
        except Full:
            yield place, {}, f"the log holds more than {MOST_TOTAL >> 30} GiB; nothing after it was read"
            return
        else:
            yield place, sample, ""


def _in_parts(archive: Archive, prefix: str, attachments: Iterable[str]) -> dict[str, Any]:
    """Metadata and attachments of a sample that is stored in many members; attachments by their index."""
    found: dict[str, Any] = {}
    if (name := f"{prefix}metadata.json") in archive:
        found["metadata"] = json.loads(archive.read(name))
    texts: dict[str, Any] = {}
    for name in attachments:
        start = int(name.rsplit("/", 1)[1].removesuffix(".json"))
        items = sequence(json.loads(archive.read(name)))
        texts |= {str(start + i): item for i, item in enumerate(items)}
    return found | {"attachments": texts}


def _log(path: Path, header: Mapping[str, Any], samples: Iterator[tuple[int, Mapping[str, Any], str]]) -> Log:
    version = header.get("version")
    if version not in VERSIONS:
        raise WeakspotError(
            f"{path} is an inspect_ai log of version {str(version)[:20]}; versions 1 and 2 are read",
            fix="try a newer weakspot, or export the samples as a table: inspect_ai.analysis.samples_df",
        )
    spec = mapping(header.get("eval"))
    found, left_out = list[tuple[int, Mapping[str, Any], dict[str, Any]]](), list[LeftOut]()
    for place, sample, reason in samples:
        if reason or "id" not in sample:
            left_out.append(LeftOut(place, reason or "a sample without an id"))
        else:
            found.append((place, sample, _scores(sample)))
    names = [str(mapping(one).get("name")) for one in sequence(spec.get("scorers"))]
    ordered = dict.fromkeys([*names, *(name for _, _, scores in found for name in scores)])
    scorer, notes = _judging(list(ordered), [scores for _, _, scores in found])
    order = {str(one): i for i, one in enumerate(sequence(mapping(spec.get("dataset")).get("sample_ids")))}
    # Samples are written as they end: the order of the data set is the same in every log.
    found.sort(
        key=lambda one: (number(one[1].get("epoch")) or 1, order.get(str(one[1]["id"]), len(order)), one[0])
    )
    rows = [_row(sample, scores, scorer, spec) for _, sample, scores in found]
    images = [row["image"] for row in rows if row["image"]]
    roles = {"id": "id", "text": "input", "label": "target", "prediction": "answer"}
    if scorer:
        roles["correct"] = "correct"
    if images and not any("://" in image for image in images):
        roles["image"] = "image"
    return Log(
        "inspect_ai log",
        rows,
        [place for place, *_ in found],
        roles,
        left_out,
        [*notes, *_unfinished(header, spec, len(rows))],
    )


def _judging(names: list[str], scores: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """The first scorer whose scores say right or wrong, and what is to be said of it."""
    for name in names:
        values = [one[name].get("value") for one in scores if name in one]
        points = [_points(value) for value in values]
        known = [point for point in points if point is not None]
        if known and all(0 <= point <= 1 for point in known):
            told = f"A row is right where the score {name} is correct (C) or at least 0.5"
            if "P" in values:
                told += "; partly correct (P) counts as right"
            if "N" in values:
                told += "; no answer (N) counts as wrong, as inspect_ai counts it"
            return name, [f"{told}. Rows with an error or without this score have no verdict."]
    if any(scores):
        return "", ["No score says right or wrong (C or I, or 0 to 1): say what a failure is with --failed."]
    return "", ["The log has no scores."]


def _scores(sample: Mapping[str, Any]) -> dict[str, Any]:
    scores = mapping(sample.get("scores")) or {"score": sample.get("score")}
    return {name: score for name, score in scores.items() if isinstance(score, dict)}


def _points(value: Any) -> float | None:
    """A score as inspect_ai counts it; None where it is none (NaN: unscored)."""
    if isinstance(value, str):
        return _GRADES.get(value, _GRADES.get(value.lower(), number(value)))
    return number(value) if isinstance(value, int | float) else None


def _row(
    sample: Mapping[str, Any], scores: Mapping[str, Any], scorer: str, spec: Mapping[str, Any]
) -> dict[str, Any]:
    attachments = mapping(sample.get("attachments"))
    judged = mapping(scores.get(scorer))
    error = mapping(sample.get("error")).get("message")
    void = error is not None or sample.get("invalidation") is not None
    points = None if void else _points(judged.get("value"))
    usage = [mapping(one).get("total_tokens") for one in mapping(sample.get("model_usage")).values()]
    answer = judged.get("answer") or mapping(sample.get("output")).get("completion")
    row: dict[str, Any] = {
        "id": str(sample["id"]),
        "epoch": sample.get("epoch", 1),
        "input": _resolved(_asked(sample.get("input")), attachments),
        "image": next(_images(sample.get("input")), None),
        "choices": sample.get("choices"),
        "target": joined(map(text, _several(sample.get("target"))), " | "),
        "answer": None if void else _resolved(text(answer), attachments),
        "correct": None if points is None else points >= 0.5,
    }
    for name, score in scores.items():
        row |= flat(f"score_{name}", score.get("value"))
    row |= flat("metadata", _resolved_all(sample.get("metadata"), attachments))
    row["error"] = error if error is not None or not void else "invalidated"
    row["limit"] = mapping(sample.get("limit")).get("type")
    row["tokens"] = sum(one for one in usage if isinstance(one, int)) if usage else None
    row["seconds"] = sample.get("total_time")
    row["model"] = text(spec.get("model"))
    row["task"] = text(spec.get("task"))
    return row


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _asked(value: Any) -> str | None:
    """What the user said: the system's part is the same in all samples."""
    if not isinstance(value, list):
        return text(value)
    asked = [one for one in value if mapping(one).get("role") == "user"]
    return joined(map(part, asked or value), "\n")


def _images(value: Any) -> Iterator[str]:
    """Paths or addresses of pictures in the input; pictures within the log have neither."""
    for message in sequence(value):
        for content in sequence(mapping(message).get("content")):
            image = mapping(content).get("image")
            if isinstance(image, str) and not image.startswith(("data:", _ATTACHMENT)):
                yield image


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Long texts are stored once, beside the sample; of many references in a text a few are followed."""
    if not isinstance(value, str) or _ATTACHMENT not in value:
        return value
    whole = attachments.get(value.removeprefix(_ATTACHMENT))
    if whole is not None:
        return whole
    return re.sub(_ATTACHMENT + r"(\w+)", lambda found: text(attachments.get(found[1])) or "", value, count=8)


def _resolved_all(value: Any, attachments: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _resolved(one, attachments) for key, one in mapping(value).items()}


def _unfinished(header: Mapping[str, Any], spec: Mapping[str, Any], rows: int) -> Iterator[str]:
    status = header.get("status", "unfinished")
    if status != "success":
        yield f"The evaluation did not end well (its status is {str(status)[:30]})."
    config, data = mapping(spec.get("config")), mapping(spec.get("dataset"))
    ids = sequence(data.get("sample_ids"))
    planned = len(ids) or (data.get("samples") if not config.get("limit") else None)
    epochs = config.get("epochs") or 1
    if isinstance(planned, int) and isinstance(epochs, int) and rows < planned * epochs:
        yield f"{planned * epochs - rows} of {planned * epochs} planned samples are not in the log."
