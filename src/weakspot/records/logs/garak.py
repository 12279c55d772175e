"""Reports of garak: `garak.….report.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.core.errors import WeakspotError
from weakspot.records.logs.raw import Line, Log, mapping, number, part, sequence, text
from weakspot.records.table import LeftOut

#: What a report may begin with; a table of somebody's may have a column of this name, too.
_BEGINNINGS: Final = ("start_run setup", "init", "config", "plugin_cache", "payload_init", "attempt", "eval")
#: An attempt's status once the detectors have looked at it.
_COMPLETE: Final = 2
#: A detector's score from which on the attack has succeeded, unless the report says another.
_THRESHOLD: Final = 0.5


def is_report(value: Mapping[str, Any]) -> bool:
    return value.get("entry_type") in _BEGINNINGS


def is_hitlog(value: Mapping[str, Any]) -> bool:
    return {"attempt_id", "generator", "probe", "detector", "score"} <= value.keys()


def refuse_hitlog(path: Path, _lines: Iterable[Line]) -> Log:
    raise WeakspotError(
        f"{path} is garak's hit log: it holds only the hits, so no rate can be computed from it",
        fix="give the report beside it, whose name ends in .report.jsonl",
    )


def read_lines(_path: Path, lines: Iterable[Line]) -> Log:
    attempts: dict[str, Line] = {}
    left_out = list[LeftOut]()
    setup: Mapping[str, Any] = {}
    for line in lines:
        kind = line.value.get("entry_type")
        if line.broken or not isinstance(kind, str):
            left_out.append(LeftOut(line.number, line.broken or "it has no entry_type"))
        elif kind == "start_run setup":
            setup = line.value
        elif kind == "attempt":
            # Written when it is asked, and again when it is judged.
            key = str(line.value.get("uuid", line.number))
            before = attempts.get(key)
            if before is None or line.value.get("status") == _COMPLETE:
                attempts[key] = line
    limit = number(setup.get("run.eval_threshold"))
    threshold = _THRESHOLD if limit is None else limit
    model = " ".join(
        filter(
            None,
            (
                text(setup.get(f"plugins.{a}")) or text(setup.get(f"plugins.{b}"))
                for a, b in (("target_type", "model_type"), ("target_name", "model_name"))
            ),
        )
    )
    rows, places = list[dict[str, Any]](), list[int]()
    for line in attempts.values():
        found = _rows(line.value, threshold)
        rows += [row | {"model": model or None} for row in found]
        places += [line.number] * len(found)
    pending = sum(line.value.get("status") != _COMPLETE for line in attempts.values())
    notes = [f"A row is one answer. It failed where a detector's score is {threshold:g} or more (a hit)."]
    if pending:
        notes.append(f"{pending} attempts were not judged: they have no verdict.")
    roles = {"id": "id", "text": "input", "prediction": "answer", "correct": "correct"}
    return Log("garak report", rows, places, roles, left_out, notes)


def _rows(attempt: Mapping[str, Any], threshold: float) -> list[dict[str, Any]]:
    outputs = sequence(attempt.get("outputs")) or [None]
    done = attempt.get("status") == _COMPLETE
    results = {name: sequence(scores) for name, scores in mapping(attempt.get("detector_results")).items()}
    probe = text(attempt.get("probe_classname")) or "unknown"
    notes = {
        k: v for k, v in mapping(attempt.get("notes")).items() if isinstance(v, str | int | float | bool)
    }
    rows = []
    for i, output in enumerate(outputs):
        scores = {name: number(found[i]) if i < len(found) else None for name, found in results.items()}
        row: dict[str, Any] = {
            "id": f"{probe}/{attempt.get('seq', 0)}",
            "epoch": i + 1,
            "input": _prompt(attempt),
            "answer": part(output),
            "correct": _correct(list(scores.values()), threshold) if done else None,
            "probe": probe,
            "probe family": probe.split(".")[0],
            "goal": text(attempt.get("goal")),
            "intent": text(attempt.get("intent")),
            "targets": attempt.get("targets") or None,
        }
        row |= {f"score_{name}": score for name, score in scores.items()}
        row |= {f"notes.{name}": value for name, value in notes.items()}
        rows.append(row)
    return rows


def _correct(scores: list[float | None], threshold: float) -> bool | None:
    """Any hit is a failure; without one, a detector that could not say leaves it open."""
    if any(score is not None and score >= threshold for score in scores):
        return False
    return True if scores and None not in scores else None


def _prompt(attempt: Mapping[str, Any]) -> str | None:
    """The user's words; text in older versions, a conversation in newer ones."""
    prompt = attempt.get("prompt")
    turns = sequence(mapping(prompt).get("turns"))
    asked = [turn for turn in turns if mapping(turn).get("role") == "user"]
    return text(asked or turns) if turns else text(prompt)
