"""Runs of `ask` in the benchmark's submission format, and back: `weakspot leaderboard --export`.

The benchmark knows answers and, as `rejected`, verdicts. What was not judged has `rejected` null, where the
benchmark's own code would have counted a refusal; the rates are over what was judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.sources.question_files import STIMULI
from weakspot.store import Run
from weakspot.studies.ask.analysis import Asked, refused
from weakspot.studies.ask.reading import Answered, answers
from weakspot.studies.ask.result import AskResult
from weakspot.study.reports import write_text

#: The column of the benchmark's own slices.
STIMULUS: Final = "stimulus"
_TYPES: Final = {ours: theirs for theirs, ours in STIMULI.items()}


def first_answers(run: Run) -> tuple[AskResult, list[Answered]]:
    """The result of a run, and the first answers to the questions under its first system prompt."""
    if run.config.study != "ask":
        raise WeakspotError(f"{run.folder} is a run of {run.config.study}, not of ask", fix="leave it out")
    result = AskResult.of(run)
    if result is None or (not result.asked and result.contrast is None):
        raise WeakspotError(f"{run.folder} has not been analysed", fix=f"weakspot resume {run.folder}")
    every = (one for one in answers(run, result.order) if not one.repeat and not one.stage)
    return result, [one for one in every if one.system == prompt_of(run)]


def prompt_of(run: Run) -> str:
    """The name of the system prompt that the figures of a run are of."""
    return str(next(iter(run.config.settings.get("prompts") or {"none": ""})))


def asked_in(path: Path, responses: Mapping[str, Any]) -> Iterator[Asked]:
    """The outcomes in a submission; a null answer is an error, whatever its verdict."""
    for key, entry in responses.items():
        if not isinstance(entry, dict):
            raise WeakspotError(f"{path}: the response {key[:40]!r} is no object", fix="see the template")
        text, verdict = entry.get("response"), entry.get("rejected")
        metadata = entry.get("metadata")
        over = metadata.get("over") if isinstance(metadata, dict) else None
        status, said = Status.OK, None
        if entry.get("status") in (Status.ERROR, Status.BLOCKED, Status.EMPTY):  # ours alone
            status = Status(entry["status"])
        elif text is None and not (entry.get("status") == Status.REFUSED and verdict):
            status = Status.ERROR
        elif text is not None and not str(text).strip():
            status = Status.EMPTY
        elif verdict in (0, 1, True, False):
            said = bool(verdict)
            status = Status.REFUSED if said else Status.OK
        kind = {STIMULUS: (STIMULI.get(str(over), str(over)),)} if over is not None else {}
        yield Asked(str(entry.get("pid", key)), BENIGN, status, said, slices=kind)


def submission(run: Run) -> dict[str, Any]:
    """The benign questions of a run in the benchmark's format.

    What was not judged has `rejected` null, where the benchmark's own code would have counted a refusal; the
    rates are over what was judged.
    """
    result, found = first_answers(run)
    responses: dict[str, Any] = {}
    tallies: dict[str, list[int]] = {}
    for one in found:
        if one.set != BENIGN:
            continue
        trial, about = one.trial, result.items[BENIGN][one.item]
        said = refused(trial)
        stimulus = next(iter(about.slices.get(STIMULUS, ())), "")
        over = _TYPES.get(stimulus, stimulus)
        responses[one.item] = {
            "pid": one.item,
            "image_path": f"data/images/{about.image or f'{one.item}.png'}",
            "question": trial.caption,
            "response": trial.answer if trial.status is not Status.ERROR else None,
            "rejected": None if said is None else int(said),
            "reject_reasoning": trial.detail,
            "metadata": {"over": over},
            "status": trial.status.value,
        }
        for name in ("Total", over.title()):
            counts = tallies.setdefault(name, [0, 0])
            counts[0] += said is True
            counts[1] += said is not None
    rates = {name: k / n for name, (k, n) in sorted(tallies.items()) if name and n}
    return {
        "responses": {key: responses[key] for key in sorted(responses, key=_natural)},
        "reject Rate": {"Total": rates.pop("Total", None), **rates},
    }


def export(folders: Iterable[Path], into: Path) -> list[Path]:
    """Write each run as a submission file, and its answers as JSON lines that `replay:` reads; the paths."""
    written = []
    for folder in folders:
        with Run.read(folder) as run:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", run.folder.resolve().name).strip("-.") or "run"
            whole = submission(run)
            rows = [
                {
                    "id": one.item,
                    "set": one.set,
                    "arm": one.system,
                    "stage": one.stage,
                    "repeat": one.repeat,
                    "status": one.trial.status.value,
                    "response": one.trial.answer,
                    "detail": "" if one.trial.status in (Status.OK, Status.REFUSED) else one.trial.detail,
                }
                for one in answers(run)
            ]
            texts = {
                f"{name}.json": json.dumps(whole, indent=4),
                f"{name}.jsonl": "\n".join(json.dumps(row) for row in rows),
            }
        for file, text in texts.items():
            write_text(into / file, f"{text}\n")
            written.append(into / file)
    return written


def _natural(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isascii() and key.isdigit() else (1 << 60, key)
