"""How good a judge of refusals is, against answers that people labelled.

Labels are tables (JSON lines, JSON, CSV) with an answer and a label per row, and the question where there is
one. Partial refusals are neither right nor wrong in the binary figures: they are counted beside them. An
answer that the judge has learnt from is judged, where it can do so, as if it had not (`unseen`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import yaml

from weakspot.core import Case, Hypothesis, Judge, Output, Question, Status, Verdict, WeakspotError, nearest
from weakspot.core.rows import Row, read_rows
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.judge import RefusalJudge
from weakspot.judges.refusal.panel import Panel, agreement
from weakspot.stats import corrected_rate, wilson
from weakspot.stats.judged import Confusion, confusion

#: What a column may be called; the first that is there counts.
ANSWER: Final = ("completion", "response", "answer", "output", "model_answer")
LABEL: Final = ("final_label", "label", "human", "refused", "refusal", "annotation")
QUESTION: Final = ("prompt", "question", "query", "text")
GROUP: Final = ("model", "author", "target")
_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv")
_UNANSWERED: Final = (Status.ERROR, Status.EMPTY, Status.BLOCKED)
_WORDS: Final = yaml.safe_load(Path(__file__).with_name("label_words.yaml").read_bytes())
_GRADES: Final = {word: Grade(grade) for grade, words in _WORDS.items() for word in words}


class Labelled(NamedTuple):
    """An answer (None where the model gave none), what people said of it, and the group it counts in."""

    question: str | None
    answer: str | None
    label: Grade
    group: str = ""


def read_labels(paths: Sequence[Path], *, by: str = "") -> list[Labelled]:
    """Labelled answers of files, or of all tables in folders and below them, grouped by a column.

    Without one the group is the answer's author where a column says so, or else the file's name.
    """
    files = [file for path in paths for file in _files(path)]
    return [_labelled(file, row, by, alone=len(files) == 1) for file in files for row in read_rows(file)]


def check(judge: Judge, labelled: Sequence[Labelled]) -> dict[str, Any]:
    """All figures of a judge, together and by group: plain values, ready to be JSON."""
    said = [_verdict(judge, one) for one in labelled]
    found = _summed(labelled, said)
    if isinstance(judge, Panel):
        answered = [one for one in labelled if one.answer is not None]
        opinions = judge.opinions([_case(one) for one in answered], [Output(one.answer) for one in answered])
        found["agreement"] = agreement(opinions).plain()
    return found


def leave_one_out(labelled: Sequence[Labelled]) -> dict[str, Any]:
    """The figures of the embedded judge's method: each group judged by what was learnt from the others."""
    groups = sorted({one.group for one in labelled})
    if len(groups) < 2:
        raise WeakspotError(
            "leaving one group out needs two groups",
            fix="give labels of several models, or name a column with --by",
        )
    usable = [one for one in labelled if one.answer and one.label is not Grade.PARTIAL]
    rows = matrix([one.answer or "" for one in usable], [one.question for one in usable])
    refused = np.array([one.label is Grade.REFUSES for one in usable], np.bool_)
    judges: dict[str, RefusalJudge] = {}
    for group in groups:
        others = np.array([one.group != group for one in usable], np.bool_)
        if len(set(refused[others].tolist())) < 2:
            raise WeakspotError(
                f"without {group[:80]!r} there are no refusals, or nothing else",
                fix="give labels of more models",
            )
        authors = [one.group for one, other in zip(usable, others, strict=True) if other]
        judges[group] = RefusalJudge(model=fit(rows[others], refused[others], authors))
    said = [_verdict(judges[one.group], one, as_is=True) for one in labelled]
    return _summed(labelled, said)


# -- judging -----------------------------------------------------------------------------------------


class _Said(NamedTuple):
    verdict: Verdict
    held_out: bool


def _case(one: Labelled) -> Case:
    asked = None if one.question is None else Question(one.question)
    return Case(Hypothesis("labelled answers"), 0, 0, asked, "answer")


def _verdict(judge: Judge, one: Labelled, *, as_is: bool = False) -> _Said:
    chosen: Judge = judge
    if not as_is and one.answer is not None and hasattr(judge, "unseen"):
        unseen: Callable[[str | None, str], Judge] = judge.unseen
        chosen = unseen(one.question, one.answer)
    status = Status.OK if one.answer is not None else Status.ERROR
    [verdict] = chosen.judge([_case(one)], [Output(one.answer, status=status)])
    return _Said(verdict, as_is or chosen is not judge)


def _summed(labelled: Sequence[Labelled], said: Sequence[_Said]) -> dict[str, Any]:
    pairs = list(zip(labelled, said, strict=True))
    groups = sorted({one.group for one in labelled})
    by = {g: _figures([p for p in pairs if p[0].group == g]) for g in groups} if len(groups) > 1 else {}
    return _figures(pairs) | {"by": by}


def _figures(pairs: Sequence[tuple[Labelled, _Said]]) -> dict[str, Any]:
    decided = [(one, said.verdict) for one, said in pairs if said.verdict.failed is not None]
    clear = [(one, verdict) for one, verdict in decided if one.label is not Grade.PARTIAL]
    counts = confusion([o.label is Grade.REFUSES for o, _ in clear], [bool(v.failed) for _, v in clear])
    partial = [verdict for one, verdict in decided if one.label is Grade.PARTIAL]
    unanswered = sum(said.verdict.status in _UNANSWERED for _, said in pairs)
    return {
        "accuracy": _number(counts.accuracy),
        "accuracy_interval": _interval(counts.true_positives + counts.true_negatives, counts.n),
        "sensitivity": _number(counts.sensitivity),
        "sensitivity_interval": _interval(counts.true_positives, counts.positives),
        "specificity": _number(counts.specificity),
        "specificity_interval": _interval(counts.true_negatives, counts.negatives),
        "kappa": _number(counts.kappa),
        "n": counts.n,
        "confusion": counts._asdict(),
        "rate": _rates(counts),
        "partial": {"n": len(partial), "refused": sum(bool(v.failed) for v in partial)},
        "errors": unanswered,
        "undecided": len(pairs) - len(decided) - unanswered,
        "held_out": sum(said.held_out for _, said in pairs),
    }


def _rates(counts: Confusion) -> dict[str, Any]:
    """The refusal rate as people see it, as the judge sees it, and the judge's corrected for its error."""
    if not counts.n:
        return {"people": None, "judge": None, "corrected": None}
    seen = counts.true_positives + counts.negatives - counts.true_negatives
    corrected = None
    if counts.positives and counts.negatives and counts.sensitivity + counts.specificity > 1:
        corrected = list(corrected_rate(seen, counts.n, **counts._asdict()))
    return {"people": counts.positives / counts.n, "judge": seen / counts.n, "corrected": corrected}


def _number(value: float) -> float | None:
    return None if value != value else value


def _interval(right: int, n: int) -> list[float] | None:
    return list(wilson(right, n)) if n else None


# -- reading -----------------------------------------------------------------------------------------


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise WeakspotError(
            f"there is no {str(path)[:200]}", fix="name a file of labels, or a folder of them"
        )
    if path.is_file():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.suffix.lower() in _KINDS and p.is_file())
    if not found:
        raise WeakspotError(f"no table is in {str(path)[:200]}", fix=f"labels end in {', '.join(_KINDS)}")
    return found


def _labelled(file: Path, row: Row, by: str, *, alone: bool) -> Labelled:
    where = f"{file}: line {row.line}"
    answer, question, label = row.first(ANSWER), row.first(QUESTION), row.first(LABEL)
    if answer is not None and not isinstance(answer, str):
        raise WeakspotError(f"{where}: the answer is no text", fix="put it into quotation marks")
    if answer is None and not set(ANSWER) & set(row.values):
        raise WeakspotError(f"{where} has no answer", fix=f"call the column {' or '.join(ANSWER)}")
    if label is None:
        raise WeakspotError(f"{where} has no label", fix=f"call the column {' or '.join(LABEL)}")
    grade = _GRADES.get(str(label).strip().lower())
    if grade is None:
        hint = nearest(str(label)[:40], _GRADES)
        raise WeakspotError(
            f"{where}: {str(label)[:80]!r} is no label", fix=hint or "write refuses, partial or complies"
        )
    return Labelled(
        question if isinstance(question, str) else None, answer or None, grade, _group(file, row, by, alone)
    )


def _group(file: Path, row: Row, by: str, alone: bool) -> str:
    if not by:
        named = row.first(GROUP)
        return str(named)[:200] if named is not None else "" if alone else file.stem
    if by not in row.values:
        hint = nearest(by, row.values)
        raise WeakspotError(
            f"{file}: line {row.line} has no column {by[:80]!r}",
            fix=hint or f"its columns are: {', '.join(map(str, row.values))[:200]}",
        )
    return str(row.values[by])[:200]
