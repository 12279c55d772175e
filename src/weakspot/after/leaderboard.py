"""Many runs of `ask` in one table; recorded results read, and results written as the benchmark wants them.

A row comes from the folder of a run, or from a file of results: the benchmark's submission file, whose
verdicts (`rejected`) were somebody else's, or published figures without any answers. Rows from answers are
compared item by item with the row above; published figures can only stand beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.core.rows import read_text
from weakspot.sources.mossbench import STIMULI
from weakspot.stats import adjusted_holm
from weakspot.store import Run, write_whole
from weakspot.studies.ask.analysis import slices
from weakspot.studies.ask.comparison import compared
from weakspot.studies.ask.outcomes import Asked, counted, refused
from weakspot.studies.ask.reading import Answered, answers, outcome
from weakspot.studies.ask.result import AskResult, Compared, PromptRates, Slice

_TYPES: Final = {ours: theirs for theirs, ours in STIMULI.items()}
#: Columns of slices that a table has room for.
COLUMN: Final = "stimulus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        model: Whose answers.
        judge: Who judged them.
        origin: The folder or file.
        figures: Of benign questions, and of harmful ones where they were asked.
        asked: Outcomes by item, for paired comparisons; empty for published figures.
    """

    model: str
    judge: str
    origin: str
    figures: PromptRates
    asked: tuple[Asked, ...] = ()


def read(path: Path) -> list[Row]:
    """The rows of a run's folder or of a file of results.

    Raises:
        WeakspotError: It is neither.
    """
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
        f"{path} holds no results that are known",
        fix="it needs 'responses' (a submission) or 'models' (published)",
    )


def board(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The table, least oversensitive first; `versus_above` compares a row with the one above, item by item.

    Their p-values are adjusted for all of the table's comparisons together (Holm).
    """
    order = sorted(rows, key=lambda r: (r.figures.rate is None, r.figures.rate or 0.0, r.model))
    versus = [
        compared(row.asked, above.asked) if row.asked and above.asked else None
        for above, row in pairwise(order)
    ]
    adjusted = iter(adjusted_holm([v.p for v in versus if v]) if any(versus) else [])
    rows_of = zip(order, [None, *versus], strict=False)
    return [
        _line(place, row, None if above is None else above.model_copy(update={"p_adjusted": next(adjusted)}))
        for place, (row, above) in enumerate(rows_of, 1)
    ]


def _line(place: int, row: Row, above: Compared | None) -> dict[str, Any]:
    contrast, trade = row.figures.contrast, row.figures.trade_off
    return {
        "place": place,
        "model": row.model,
        "judge": row.judge,
        "origin": row.origin,
        **row.figures.model_dump(mode="json", include=_KEPT),
        "contrast": None if contrast is None else contrast.model_dump(mode="json", include=_KEPT),
        "contrast_rate": contrast and contrast.rate,
        "contrast_rate_interval": contrast and contrast.rate_interval,
        "balanced_accuracy": trade and trade.balanced_accuracy,
        "d_prime": trade and trade.d_prime,
        COLUMN: {value: one.rate for value, one in row.figures.slices.get(COLUMN, {}).items()},
        "versus_above": None if above is None else above.model_dump(mode="json"),
    }


_KEPT: Final = {
    "rate", "rate_interval", "rate_corrected", "rate_corrected_interval", "n", "errors", "blocked", "empty",
    "undecided", "refused",
}  # fmt: skip


def _opened(run: Run) -> tuple[AskResult, list[Answered]]:
    """The result of a run over a benchmark, and the first answers to the questions under its first prompt."""
    if run.config.study != "ask":
        raise WeakspotError(f"{run.folder} is a run of {run.config.study}, not of ask", fix="leave it out")
    result = AskResult.of(run)
    if result is None or (not result.asked and result.contrast is None):
        raise WeakspotError(f"{run.folder} has not been analysed", fix=f"weakspot resume {run.folder}")
    every = (one for one in answers(run, result.order) if not one.repeat and not one.stage)
    return result, [one for one in every if one.system == _prompt(run)]


def _prompt(run: Run) -> str:
    """The name of the system prompt that the figures are of."""
    return str(next(iter(run.config.settings.get("prompts") or {"none": ""})))


def _from_run(folder: Path) -> Row:
    with Run.read(folder) as run:
        result, found = _opened(run)
        prompt = _prompt(run)
        return Row(
            model=f"{result.model} ({prompt})" if prompt != "none" else result.model,
            judge=str(run.config.settings.get("judge", "")),
            origin=str(folder),
            figures=result,
            asked=tuple(outcome(one, result.items[BENIGN][one.item]) for one in found if one.set == BENIGN),
        )


def _from_report(path: Path, data: Mapping[str, Any]) -> Row:
    try:
        figures = PromptRates(**{key: data[key] for key in PromptRates.model_fields if key in data})
    except ValidationError as error:
        raise WeakspotError(
            f"{path} is no report of ask: {error.errors()[0]['msg']}", fix="name the run's folder"
        ) from None
    return Row(
        model=str(data.get("model", "")), judge=str(data.get("judge", "")), origin=str(path), figures=figures
    )


def _from_submission(path: Path, responses: Mapping[str, Any]) -> Row:
    """The benchmark's own file: its `rejected` are the verdicts, but a null answer is an error."""
    asked = []
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
        kind = {COLUMN: (STIMULI.get(str(over), str(over)),)} if over is not None else {}
        asked.append(Asked(str(entry.get("pid", key)), BENIGN, status, said, slices=kind))
    figures = PromptRates(**counted(asked).model_dump(), slices=slices(asked))
    return Row(model=path.stem, judge="as recorded", origin=str(path), figures=figures, asked=tuple(asked))


def _from_published(path: Path, models: Mapping[str, Any]) -> list[Row]:
    """Published percentages: {"models": {NAME: {"gpt_judge": {"average": 6.33, …}, "human_average": 8}}}."""
    found = []
    for name, entry in models.items():
        if not isinstance(entry, dict):
            continue
        label = str(entry.get("published_as") or name)
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
            figures = PromptRates(rate=average / 100, slices={COLUMN: shares} if shares else {})
            found.append(Row(model=label, judge=f"published: {judge}", origin=str(path), figures=figures))
    if not found:
        raise WeakspotError(
            f"{path} holds no published figures", fix="each model needs an 'average' in percent"
        )
    return found


# -- export ------------------------------------------------------------------------------------------


def submission(run: Run, *, which: str = BENIGN) -> dict[str, Any]:
    """A run in the benchmark's submission format.

    What was not judged has `rejected` null, where the benchmark's own code would have counted a refusal; the
    rates are over what was judged.
    """
    result, found = _opened(run)
    folder = "data" if which == BENIGN else "data_contrast"
    responses: dict[str, Any] = {}
    tallies: dict[str, list[int]] = {}
    for one in found:
        if one.set != which:
            continue
        trial, about = one.trial, result.items[which][one.item]
        said = refused(trial)
        stimulus = next(iter(about.slices.get(COLUMN, ())), "")
        over = _TYPES.get(stimulus, stimulus)
        responses[one.item] = {
            "pid": one.item,
            "image_path": f"{folder}/images/{about.image or f'{one.item}.png'}",
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
                    "detail": one.trial.detail if refused(one.trial) is None else "",
                }
                for one in answers(run)
            ]
            texts = {
                f"{name}.json": json.dumps(whole, indent=4),
                f"{name}.jsonl": "\n".join(json.dumps(row) for row in rows),
            }
        written += [save(into / file, f"{text}\n") for file, text in texts.items()]
    return written


def save(path: Path, text: str) -> Path:
    """Write a file whole, or say why not."""
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"{path} cannot be written: {error.strerror}", fix="choose another place"
        ) from error
    return path


def _natural(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isascii() and key.isdigit() else (1 << 60, key)
