"""Many runs of `ask` beside each other: read from folders and files, and written for the benchmark.

A row comes from the folder of a run, or from a file of results: the benchmark's submission file, whose
verdicts (`rejected`) were somebody else's, a report, or published figures without any answers. Which rows are
of one model, and in which order models stand, is `standings`; how that is shown is `leaderboard_tables`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from weakspot.after import standings
from weakspot.after.standings import ModelRow, Standing
from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.core.rows import read_text
from weakspot.sources.question_files import STIMULI
from weakspot.store import Run
from weakspot.studies.ask.analysis import Asked, counted, refused, slices
from weakspot.studies.ask.reading import Answered, answers, is_cut_off, outcome
from weakspot.studies.ask.result import AskResult, Counted, PromptRates, Slice
from weakspot.study.reports import write_text

#: The column of the benchmark's own slices.
STIMULUS: Final = "stimulus"
_TYPES: Final = {ours: theirs for theirs, ours in STIMULI.items()}
_KEPT: Final = (
    "rate", "rate_interval", "rate_bounds", "rate_corrected", "rate_corrected_interval", "n", "unsure",
    "errors", "blocked", "empty", "undecided", "refused",
)  # fmt: skip


def plain(one: Standing) -> dict[str, Any]:
    """A row as `--json` has it; what published figures do not say is null."""
    contrast, trade = one.row.figures.contrast, one.row.figures.trade_off
    return {
        "place": one.place or None,
        "places": one.places,
        "model": one.model,
        **_whose(one.row),
        **_kept(one.row.figures),
        "contrast": None if contrast is None else _kept(contrast),
        "contrast_rate": contrast and contrast.rate,
        "contrast_rate_interval": contrast and contrast.rate_interval,
        "balanced_accuracy": trade and trade.balanced_accuracy,
        "d_prime": trade and trade.d_prime,
        STIMULUS: _by_stimulus(one.row),
        "versus_above": standings.plain(one.above),
        "others": [{**_whose(row), **_kept(row.figures), STIMULUS: _by_stimulus(row)} for row in one.others],
    }


def _whose(row: ModelRow) -> dict[str, str]:
    return {"named": row.model, "judge": row.judge, "origin": row.origin}


def _by_stimulus(row: ModelRow) -> dict[str, float | None]:
    return {value: one.rate for value, one in row.figures.slices.get(STIMULUS, {}).items()}


def _kept(figures: Counted) -> dict[str, Any]:
    known = figures.model_dump(mode="json", exclude_unset=True)
    return {name: known.get(name) for name in _KEPT}


# -- reading -----------------------------------------------------------------------------------------


def read(path: Path) -> list[ModelRow]:
    if (path / "run.yaml").is_file():
        return [_from_run(path)]
    if path.is_dir():
        raise WeakspotError(f"{path} is not a run of ask", fix="name its folder, or a file of results")
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise WeakspotError(
            f"{path} is not JSON: {str(error)[:100]}",
            fix="name a run, a submission file or published figures",
        ) from error
    if isinstance(data, dict) and isinstance(data.get("responses"), dict):
        return [_from_submission(path, data["responses"])]
    if isinstance(data, dict) and isinstance(data.get("models"), dict):
        return _from_published(path, data["models"])
    if isinstance(data, dict) and "rate" in data and data.get("study") == "ask":
        return [_from_report(path, data)]
    raise WeakspotError(
        f"{path} holds no results that weakspot can read",
        fix="it needs 'responses' (a submission) or 'models' (published)",
    )


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
            raise WeakspotError(
                f"{path}: the response {key[:40]!r} is not a JSON object", fix="see the template"
            )
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


def _from_run(folder: Path) -> ModelRow:
    with Run.read(folder) as run:
        result, found = first_answers(run)
        prompt = prompt_of(run)
        return ModelRow(
            model=result.model,
            prompt=prompt if prompt != "none" else "",
            judge=str(run.config.settings.get("judge", "")),
            origin=str(folder),
            figures=result,
            asked=tuple(outcome(one, result.items[BENIGN][one.item]) for one in found if one.set == BENIGN),
        )


def _from_report(path: Path, data: Mapping[str, Any]) -> ModelRow:
    try:
        figures = PromptRates(**{key: data[key] for key in PromptRates.model_fields if key in data})
    except ValidationError as error:
        raise WeakspotError(
            f"{path} is not a report of ask: {error.errors()[0]['msg']}", fix="name the run's folder"
        ) from None
    return ModelRow(
        model=str(data.get("model", "")), judge=str(data.get("judge", "")), origin=str(path), figures=figures
    )


def _from_submission(path: Path, responses: Mapping[str, Any]) -> ModelRow:
    asked = tuple(asked_in(path, responses))
    figures = PromptRates(**counted(asked).model_dump(), slices=slices(asked))
    return ModelRow(model=path.stem, judge="as recorded", origin=str(path), figures=figures, asked=asked)


def _from_published(path: Path, models: Mapping[str, Any]) -> list[ModelRow]:
    """Published percentages: {"models": {NAME: {"gpt_judge": {"average": 6.33, …}, "human_average": 8}}}."""
    found = []
    for name, entry in models.items():
        if not isinstance(entry, dict):
            continue
        label = str(entry.get("published_as") or name)
        names = tuple(str(n) for n in (name, entry.get("released_as")) if n)
        for key, value in entry.items():
            by_slice = value if isinstance(value, dict) else {}
            average = by_slice.get("average") if by_slice else value if key.endswith("average") else None
            if not isinstance(average, int | float):
                continue
            judge = key.removesuffix("_average").replace("_", " ")
            shares = {
                value: Slice(rate=share / 100)
                for value, share in by_slice.items()
                if value != "average" and isinstance(share, int | float)
            }
            figures = PromptRates(rate=average / 100, slices={STIMULUS: shares} if shares else {})
            found.append(
                ModelRow(
                    model=label, judge=f"published: {judge}", origin=str(path), figures=figures, names=names
                )
            )
    if not found:
        raise WeakspotError(
            f"{path} holds no published figures", fix="each model needs an 'average' in percent"
        )
    return found


# -- the benchmark's submission format ------------------------------------------------------------------


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
                    "finish_reason": "length" if is_cut_off(one.trial) else "",
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
