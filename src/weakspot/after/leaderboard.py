"""Many runs of `ask` in one table, and as one page with the trade-off of all models.

A row comes from the folder of a run, or from a file of results: the benchmark's submission file, whose
verdicts (`rejected`) were somebody else's, a report, or published figures without any answers. Rows from
answers are compared item by item with the row above; published figures can only stand beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from weakspot._version import __version__
from weakspot.core import Status, WeakspotError
from weakspot.core.question import BENIGN
from weakspot.core.rows import read_text
from weakspot.report import format as show
from weakspot.report.document import Table
from weakspot.report.html import page, rendered
from weakspot.report.plots import Figure
from weakspot.sources.question_files import STIMULI
from weakspot.stats import adjusted_holm
from weakspot.store import Run
from weakspot.studies.ask.analysis import Asked, compared, counted, refused, slices
from weakspot.studies.ask.document import rate
from weakspot.studies.ask.figures import points, trade_off
from weakspot.studies.ask.reading import Answered, answers, is_cut_off, outcome
from weakspot.studies.ask.result import AskResult, Compared, Counted, PromptRates, Slice
from weakspot.study.reports import write_text

#: The column of the benchmark's own slices.
STIMULUS: Final = "stimulus"
_TYPES: Final = {ours: theirs for theirs, ours in STIMULI.items()}
_KEPT: Final = (
    "rate", "rate_interval", "rate_corrected", "rate_corrected_interval", "n", "errors", "blocked", "empty",
    "undecided", "refused",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """What one model did."""

    model: str  # whose answers
    judge: str  # who judged them
    origin: str  # the folder or file
    figures: PromptRates  # of benign questions, and of harmful ones where they were asked
    asked: tuple[Asked, ...] = ()  # outcomes by item, for paired comparisons; empty for published figures


class Ranked(NamedTuple):
    """A row of the table, with its comparison with the one above; None where that cannot be made."""

    place: int
    row: ModelRow
    above: Compared | None

    def plain(self) -> dict[str, Any]:
        """As `--json` has it; what published figures do not say is null."""
        row = self.row
        contrast, trade = row.figures.contrast, row.figures.trade_off
        return {
            "place": self.place,
            "model": row.model,
            "judge": row.judge,
            "origin": row.origin,
            **_kept(row.figures),
            "contrast": None if contrast is None else _kept(contrast),
            "contrast_rate": contrast and contrast.rate,
            "contrast_rate_interval": contrast and contrast.rate_interval,
            "balanced_accuracy": trade and trade.balanced_accuracy,
            "d_prime": trade and trade.d_prime,
            STIMULUS: {value: one.rate for value, one in row.figures.slices.get(STIMULUS, {}).items()},
            "versus_above": None if self.above is None else self.above.plain(),
        }


def _kept(figures: Counted) -> dict[str, Any]:
    known = figures.model_dump(mode="json", exclude_unset=True)
    return {name: known.get(name) for name in _KEPT}


def board(rows: Sequence[ModelRow]) -> list[Ranked]:
    """The table, least oversensitive first; its comparisons are adjusted all together (Holm)."""
    order = sorted(rows, key=lambda r: (r.figures.rate is None, r.figures.rate or 0.0, r.model))
    versus = [
        compared(row.asked, above.asked) if row.asked and above.asked else None
        for above, row in pairwise(order)
    ]
    tested = [one.p for one in versus if one]
    adjusted = iter(adjusted_holm(tested) if tested else [])
    versus = [one and one.model_copy(update={"p_adjusted": next(adjusted)}) for one in versus]
    return [
        Ranked(i, row, above) for i, (row, above) in enumerate(zip(order, [None, *versus], strict=False), 1)
    ]


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
        f"{path} holds no results that are known",
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


def _from_run(folder: Path) -> ModelRow:
    with Run.read(folder) as run:
        result, found = first_answers(run)
        prompt = prompt_of(run)
        return ModelRow(
            model=f"{result.model} ({prompt})" if prompt != "none" else result.model,
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
            f"{path} is no report of ask: {error.errors()[0]['msg']}", fix="name the run's folder"
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
                ModelRow(model=label, judge=f"published: {judge}", origin=str(path), figures=figures)
            )
    if not found:
        raise WeakspotError(
            f"{path} holds no published figures", fix="each model needs an 'average' in percent"
        )
    return found


# -- showing -----------------------------------------------------------------------------------------


def table(lines: Sequence[Ranked]) -> Table:
    values = list(dict.fromkeys(v for line in lines for v in line.row.figures.slices.get(STIMULUS, {})))
    head = ("model", "judge", "refused", "corrected", "of", "errors", *values, "harmful", "d′", "p to above")
    rows = [_texts(line, values) for line in lines]
    return Table("Leaderboard", "Benign questions refused, least first.", head, rows)


def _texts(line: Ranked, values: Sequence[str]) -> tuple[str, ...]:
    row, figures = line.row, line.row.figures
    by_value = figures.slices.get(STIMULUS, {})
    rates = [by_value[value].rate if value in by_value else None for value in values]
    contrast, trade = figures.contrast, figures.trade_off
    return (
        f"{line.place:>2} {row.model}",
        row.judge,
        rate(figures) if figures.rate_interval else _percent(figures.rate),
        rate(figures, corrected=True),
        show.count(figures.n) if figures.n else "",
        show.count(figures.errors) if figures.errors else "",
        *map(_percent, rates),
        _percent(contrast.rate if contrast else None),
        f"{trade.d_prime:.1f}" if trade else "",
        f"{line.above.p_adjusted:.2g}" if line.above else "",
    )


def _percent(share: float | None) -> str:
    return "" if share is None else show.percent(share)


def html(lines: Sequence[Ranked]) -> str:
    title = f"Oversensitivity: {show.plural(len(lines), 'row')}"
    blocks = trade_off(points((f"{one.row.model} ({one.row.judge})", one.row.figures) for one in lines))
    body = rendered(
        "weakspot.after:leaderboard.html.j2",
        conclusion=_conclusion([line.row for line in lines if line.row.figures.rate is not None]),
        figures=[block for block in blocks if isinstance(block, Figure)],
        tables=[*(block for block in blocks if isinstance(block, Table)), table(lines)],
    )
    return page(body, title=title, study="leaderboard", version=__version__)


def _conclusion(rated: Sequence[ModelRow]) -> str:
    if not rated:
        return "No row has a rate."
    first, last = rated[0], rated[-1]
    least, most = (show.percent(row.figures.rate or 0.0) for row in (first, last))
    if len(rated) == 1:
        return f"{first.model} refuses {least} of benign questions."
    return (
        f"From {least} ({first.model}, {first.judge}) to {most} ({last.model}, {last.judge}) of benign "
        "questions are refused."
    )


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
