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
from pathlib import Path
from typing import Any, Final

from weakspot.core import Status, WeakspotError
from weakspot.sources.mossbench import STIMULI
from weakspot.sources.question import BENIGN
from weakspot.sources.question_files import read_text
from weakspot.stats import adjusted_holm, wilson
from weakspot.store import Run, write_whole
from weakspot.studies.ask.comparison import compared
from weakspot.studies.ask.counts import Asked, measured
from weakspot.studies.ask.reading import answers

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
        figures: As `--json` of a run has them: rate, rate_interval, n, errors, slices …; rates may be None.
        asked: Outcomes by item, for paired comparisons; empty for published figures.
    """

    model: str
    judge: str
    origin: str
    figures: Mapping[str, Any]
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
        return [
            Row(
                model=str(data.get("model", "")),
                judge=str(data.get("judge", "")),
                origin=str(path),
                figures=data,
            )
        ]
    raise WeakspotError(
        f"{path} holds no results that are known",
        fix="it needs 'responses' (a submission) or 'models' (published)",
    )


def board(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The table, least oversensitive first; `versus_above` compares a row with the one above, item by item.

    Their p-values are adjusted for all of the table's comparisons together (Holm).
    """
    order = sorted(rows, key=lambda r: (r.figures.get("rate") is None, r.figures.get("rate") or 0.0, r.model))
    table: list[dict[str, Any]] = []
    for i, row in enumerate(order):
        versus = compared(row.asked, order[i - 1].asked) if i and row.asked and order[i - 1].asked else None
        kept = {k: row.figures.get(k) for k in _KEPT}
        contrast, trade = row.figures.get("contrast"), row.figures.get("trade_off")
        table.append(
            {
                "place": i + 1,
                "model": row.model,
                "judge": row.judge,
                "origin": row.origin,
                **kept,
                "contrast": {k: contrast.get(k) for k in _KEPT} if contrast else None,
                "contrast_rate": contrast and contrast.get("rate"),
                "contrast_rate_interval": contrast and contrast.get("rate_interval"),
                "balanced_accuracy": trade and trade.get("balanced_accuracy"),
                "d_prime": trade and trade.get("d_prime"),
                COLUMN: {
                    v: s.get("rate") for v, s in (row.figures.get("slices") or {}).get(COLUMN, {}).items()
                },
                "versus_above": versus,
            }
        )
    tested: list[dict[str, Any]] = [line["versus_above"] for line in table if line["versus_above"]]
    for versus, p in zip(tested, adjusted_holm([v["p"] for v in tested]) if tested else [], strict=True):
        versus["p_adjusted"] = p
    return table


_KEPT: Final = (
    "rate", "rate_interval", "rate_corrected", "rate_corrected_interval", "n", "errors", "blocked", "empty",
    "undecided", "refused",
)  # fmt: skip


def _from_run(folder: Path) -> Row:
    with Run.read(folder) as run:
        if run.config.study != "ask":
            raise WeakspotError(f"{folder} is a run of {run.config.study}, not of ask", fix="leave it out")
        figures = run.ledger.fact("analysis")
        if figures is None:
            raise WeakspotError(f"{folder} has not been analysed", fix=f"weakspot resume {folder}")
        first = next(iter(run.ledger.fact("systems", {"none": ""})))
        items = run.ledger.fact("items", {})
        asked = [
            Asked(
                key,
                concepts["set"],
                trial.status,
                _refused(trial.status, trial.failed),
                slices={
                    c: tuple(v)
                    for c, v in items.get(concepts["set"], {}).get(key, {}).get("slices", {}).items()
                },
            )
            for concepts, key, repeat, trial in answers(run)
            if not repeat and not concepts.get("stage") and concepts["system"] == first
        ]
        model = str(figures.get("model") or run.config.settings.get("target", ""))
        if first != "none":
            model = f"{model} ({first})"
        benign = tuple(one for one in asked if one.set == BENIGN)
        judge = str(run.config.settings.get("judge", ""))
        return Row(model=model, judge=judge, origin=str(folder), figures=figures, asked=benign)


def _refused(status: Status, failed: bool | None) -> bool | None:
    if failed is None or status not in (Status.OK, Status.REFUSED):
        return None
    return status is Status.REFUSED


def _from_submission(path: Path, responses: Mapping[str, Any]) -> Row:
    """The benchmark's own file: its `rejected` are the verdicts, but a null answer is an error."""
    asked = []
    for key, entry in responses.items():
        if not isinstance(entry, dict):
            raise WeakspotError(f"{path}: the response {key[:40]!r} is no object", fix="see the template")
        text, verdict = entry.get("response"), entry.get("rejected")
        metadata = entry.get("metadata")
        over = metadata.get("over") if isinstance(metadata, dict) else None
        status, refused = Status.OK, None
        if entry.get("status") in (
            Status.ERROR,
            Status.BLOCKED,
            Status.EMPTY,
        ):  # ours; the benchmark has none
            status = Status(entry["status"])
        elif text is None and not (entry.get("status") == Status.REFUSED and verdict):
            status = Status.ERROR
        elif text is not None and not str(text).strip():
            status = Status.EMPTY
        elif verdict in (0, 1, True, False):
            refused = bool(verdict)
            status = Status.REFUSED if refused else Status.OK
        slices = {COLUMN: (STIMULI.get(str(over), str(over)),)} if over is not None else {}
        asked.append(Asked(str(entry.get("pid", key)), BENIGN, status, refused, slices=slices))
    figures = measured(asked)
    values = sorted({v for one in asked for v in one.slices.get(COLUMN, ())})
    figures["slices"] = {
        COLUMN: {v: measured(one for one in asked if v in one.slices.get(COLUMN, ())) for v in values}
    }
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
            slices = {
                v: {"rate": share / 100}
                for v, share in by_slice.items()
                if v != "average" and isinstance(share, int | float)
            }
            figures = {"rate": average / 100, "slices": {COLUMN: slices} if slices else {}}
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
    first = next(iter(run.ledger.fact("systems", {"none": ""})))
    items: Mapping[str, Any] = run.ledger.fact("items", {}).get(which, {})
    folder = "data" if which == BENIGN else "data_contrast"
    responses: dict[str, Any] = {}
    tallies: dict[str, list[int]] = {}
    for concepts, key, repeat, trial in answers(run):
        if repeat or concepts.get("stage") or concepts["system"] != first or concepts["set"] != which:
            continue
        refused = _refused(trial.status, trial.failed)
        stimulus = next(iter(items.get(key, {}).get("slices", {}).get(COLUMN, [])), "")
        over = _TYPES.get(stimulus, stimulus)
        image = items.get(key, {}).get("image") or f"{key}.png"
        responses[key] = {
            "pid": key,
            "image_path": f"{folder}/images/{image}",
            "question": trial.caption,
            "response": trial.answer if trial.status is not Status.ERROR else None,
            "rejected": None if refused is None else int(refused),
            "reject_reasoning": trial.detail,
            "metadata": {"over": over},
            "status": trial.status.value,
        }
        for name in ("Total", over.title()):
            counted = tallies.setdefault(name, [0, 0])
            counted[0] += refused is True
            counted[1] += refused is not None
    rates = {name: refused / n for name, (refused, n) in sorted(tallies.items()) if name and n}
    return {
        "responses": {key: responses[key] for key in sorted(responses, key=_natural)},
        "reject Rate": {"Total": rates.pop("Total", None), **rates},
    }


def export(folders: Iterable[Path], into: Path) -> list[Path]:
    """Write each run as a submission file, and its answers as JSON lines that `replay:` reads; the paths."""
    written = []
    for folder in folders:
        with Run.read(folder) as run:
            if run.config.study != "ask":
                raise WeakspotError(
                    f"{folder} is a run of {run.config.study}, not of ask", fix="leave it out"
                )
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", run.folder.resolve().name).strip("-.") or "run"
            rows = [
                {
                    "id": key,
                    "set": concepts["set"],
                    "arm": concepts["system"],
                    "stage": concepts.get("stage", ""),
                    "repeat": repeat,
                    "status": trial.status.value,
                    "response": trial.answer,
                    "detail": trial.detail if trial.status not in (Status.OK, Status.REFUSED) else "",
                }
                for concepts, key, repeat, trial in answers(run)
            ]
            texts = {
                f"{name}.json": json.dumps(submission(run), indent=4),
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


def interval_of(line: Mapping[str, Any]) -> Sequence[float] | None:
    """The interval of a line's rate; of imported verdicts, Wilson's."""
    if line.get("rate_interval"):
        return list(line["rate_interval"])
    rate, n = line.get("rate"), line.get("n")
    return list(wilson(round(rate * n), n)) if rate is not None and n else None
