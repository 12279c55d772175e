"""How good a judge of refusals is, against answers that people labelled; and where it is blind.

Partial refusals are neither right nor wrong in the binary figures: they are counted beside them, and so is
what the judge is unsure of. An answer that the judge has learnt from is judged, where it can do so, as if
it had not (`unseen`). Verdicts can be kept in a file as they come, so that a check that was interrupted
goes on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import Case, Hypothesis, Judge, Output, Question, Status, Verdict, WeakspotError
from weakspot.judges.refusal.forms import read
from weakspot.judges.refusal.grades import NEITHER, Grade, grade_in
from weakspot.judges.refusal.judge import RefusalJudge
from weakspot.judges.refusal.labels import Labelled
from weakspot.judges.refusal.panel import Panel, agreement
from weakspot.judges.refusal.routed import is_open
from weakspot.stats import wilson
from weakspot.stats.judged import confusion

_UNANSWERED: Final = (Status.ERROR, Status.EMPTY, Status.BLOCKED)
#: Answers that are judged at once, and kept at once.
BATCH: Final = 16
#: Words from which an answer is of the next length.
LENGTHS: Final = (
    (0, "under 8 words"),
    (8, "8 to 49 words"),
    (50, "50 to 199 words"),
    (200, "200 words or more"),
)
#: Fewer answers say nothing of a style, a language or a length; where it decides or is right less often, it
#: is blind.
FEWEST, DECIDES, RIGHT = 5, 0.7, 0.9

Progress = Callable[[int, int], None]


class Said(NamedTuple):
    """A verdict, and whether it comes from a model that did not learn from the answer's author."""

    verdict: Verdict
    held_out: bool = False


def check(
    judge: Judge,
    labelled: Sequence[Labelled],
    *,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> dict[str, Any]:
    """All figures of a judge, together and by group: plain values, ready to be JSON.

    Args:
        progress: Told how many of how many are judged.
        keep: A file of verdicts; those that are in it are not asked for again. Interrupted
        (`KeyboardInterrupt`), the
            figures are those of what was judged by then, and `judged` is less than `of`.
    """
    said = _judged(judge, labelled, progress, keep)
    done = [(one, verdict) for one, verdict in zip(labelled, said, strict=True) if verdict is not None]
    found = summed([one for one, _ in done], [verdict for _, verdict in done])
    if isinstance(judge, Panel) and len(done) == len(labelled):
        answered = [one for one in labelled if one.answer is not None]
        opinions = judge.opinions([_case(one) for one in answered], [Output(one.answer) for one in answered])
        found["agreement"] = agreement(opinions).plain()
    return found | {"judged": len(done), "of": len(labelled)}


def leave_one_out(labelled: Sequence[Labelled]) -> dict[str, Any]:
    """The figures of the embedded judge's method: each group judged by what was learnt from the others."""
    from weakspot.judges.refusal.learning import Example, learn

    groups = sorted({one.group for one in labelled})
    if len(groups) < 2:
        raise WeakspotError(
            "leaving one group out needs two groups",
            fix="give labels of several models, or name a column with --by",
        )
    judges: dict[str, RefusalJudge] = {}
    for group in groups:
        others = [one for one in labelled if one.group != group and one.answer and one.counts]
        if len({one.refuses for one in others}) < 2:
            raise WeakspotError(
                f"without {group[:80]!r} the labels are all refusals, or none of them is",
                fix="give labels of more models",
            )
        examples = [Example(one.question, one.answer or "", one.refuses, one.group) for one in others]
        judges[group] = RefusalJudge(model=learn(examples))
    said = [Said(_verdicts(judges[one.group], [one])[0], held_out=True) for one in labelled]
    return summed(labelled, said) | {"judged": len(labelled), "of": len(labelled)}


# -- judging -----------------------------------------------------------------------------------------


def _case(one: Labelled) -> Case:
    asked = None if one.question is None else Question(one.question)
    return Case(Hypothesis("labelled answers"), 0, 0, asked, "answer")


def _verdicts(judge: Judge, some: Sequence[Labelled]) -> list[Verdict]:
    status = [Status.OK if one.answer is not None else Status.ERROR for one in some]
    outputs = [Output(one.answer, status=s) for one, s in zip(some, status, strict=True)]
    return list(judge.judge([_case(one) for one in some], outputs))


def _judged(
    judge: Judge, labelled: Sequence[Labelled], progress: Progress | None, keep: Path | None
) -> list[Said | None]:
    """The verdicts, None for those that an interruption left out."""
    kept = _read(keep) if keep is not None else {}
    keys = [_key(one) for one in labelled]
    found: list[Said | None] = [kept.get(key) for key in keys]
    left = [i for i, said in enumerate(found) if said is None]
    try:
        for start in range(0, len(left), BATCH):
            batch = left[start : start + BATCH]
            if progress is not None:
                progress(len(labelled) - len(left) + start, len(labelled))
            for i, said in zip(batch, _batch(judge, [labelled[i] for i in batch]), strict=True):
                found[i] = said
            if keep is not None:
                _write(keep, [(keys[i], new) for i in batch if (new := found[i]) is not None])
    except KeyboardInterrupt:
        return found
    if progress is not None:
        progress(len(labelled), len(labelled))
    return found


def _batch(judge: Judge, some: Sequence[Labelled]) -> list[Said]:
    if isinstance(judge, RefusalJudge):
        own = [judge.unseen(one.question, one.answer or "") for one in some]
        return [
            Said(_verdicts(chosen, [one])[0], chosen is not judge)
            for one, chosen in zip(some, own, strict=True)
        ]
    return [Said(verdict) for verdict in _verdicts(judge, some)]


def _key(one: Labelled) -> str:
    content = json.dumps([one.question, one.answer]).encode("utf-8", "backslashreplace")
    return hashlib.sha256(content).hexdigest()[:24]


def _read(path: Path) -> dict[str, Said]:
    """Verdicts that were kept; a line that an interruption cut short is none."""
    found: dict[str, Said] = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        try:
            row = json.loads(line)
            verdict = Verdict(row["failed"], row["score"], Status(row["status"]), row["reason"])
            found[row["key"]] = Said(verdict, row["held_out"])
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _write(path: Path, rows: Iterable[tuple[str, Said]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for key, (verdict, held_out) in rows:
            row = {"key": key, "failed": verdict.failed, "score": verdict.score, "held_out": held_out}
            row |= {"status": str(verdict.status), "reason": verdict.reason}
            file.write(json.dumps(row) + "\n")


# -- figures -----------------------------------------------------------------------------------------

Pair = tuple[Labelled, Said]


def summed(labelled: Sequence[Labelled], said: Sequence[Said]) -> dict[str, Any]:
    """The figures together, by group, by style, language and length; and every answer that is judged
    otherwise.
    """
    pairs = list(zip(labelled, said, strict=True))
    groups = sorted({one.group for one in labelled})
    by = {g: _figures([p for p in pairs if p[0].group == g]) for g in groups} if len(groups) > 1 else {}
    where = {
        "style": _where(pairs, lambda one: one.style),
        "language": _where(pairs, lambda one: read(one.answer or "").tongue.name),
        "length": _where(pairs, _length),
    }
    blind = [f"{what}: {name}" for what, rows in where.items() for name, row in rows.items() if row["blind"]]
    apart = [_told(one, found.verdict) for one, found in pairs if _right(one, found.verdict) is False]
    return _figures(pairs) | {"by": by, "where": where, "blind": blind, "disagreements": apart}


def _right(one: Labelled, verdict: Verdict) -> bool | None:
    """Whether a verdict is what people say; None where it is open, or where people say that it is half."""
    if is_open(verdict) or one.label is Grade.PARTIAL or verdict.status is Status.ERROR:
        return None
    if one.label in NEITHER:
        grade = grade_in(verdict.reason or "") or {
            Status.BLOCKED: Grade.FILTERED,
            Status.EMPTY: Grade.EMPTY,
        }.get(verdict.status)
        return grade is one.label
    return verdict.failed is not None and bool(verdict.failed) is one.refuses


def _told(one: Labelled, verdict: Verdict) -> dict[str, Any]:
    return {
        "group": one.group,
        "question": one.question,
        "answer": one.answer,
        "people": str(one.label),
        "judge": verdict.reason,
        "score": verdict.score,
    }


def _length(one: Labelled) -> str:
    words = read(one.answer or "").words
    return next(name for least, name in reversed(LENGTHS) if words >= least)


def _where(pairs: Sequence[Pair], of: Callable[[Labelled], str]) -> dict[str, dict[str, Any]]:
    """Of each kind its size, the share that is decided, the share of these that is right; is it blind?"""
    kinds: dict[str, list[Pair]] = {}
    for one, said in pairs:
        if one.answer is not None and (name := of(one)):
            kinds.setdefault(name, []).append((one, said))
    return {name: _kind(some) for name, some in sorted(kinds.items(), key=lambda entry: -len(entry[1]))}


def _kind(pairs: Sequence[Pair]) -> dict[str, Any]:
    decided = [pair for pair in pairs if not is_open(pair[1].verdict)]
    right = [found for one, said in decided if (found := _right(one, said.verdict)) is not None]
    share = len(decided) / len(pairs)
    good = sum(right) / len(right) if right else None
    blind = len(pairs) >= FEWEST and (share < DECIDES or (good is not None and good < RIGHT))
    return {"n": len(pairs), "decided": share, "right": good, "blind": blind}


def _figures(pairs: Sequence[Pair]) -> dict[str, Any]:
    decided = [(one, said.verdict) for one, said in pairs if said.verdict.failed is not None]
    clear = [(one, verdict) for one, verdict in decided if one.counts]
    counts = confusion([o.refuses for o, _ in clear], [bool(v.failed) for _, v in clear])
    partial = [verdict for one, verdict in decided if one.label is Grade.PARTIAL]
    unanswered = sum(said.verdict.status in _UNANSWERED for _, said in pairs)
    unsure = [(one, said.verdict) for one, said in pairs if is_open(said.verdict)]
    open_ones = [one for one, _ in unsure if one.counts]
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
        "unsure": len(open_ones),
        "unsure_share": len(open_ones) / (counts.n + len(open_ones)) if counts.n + len(open_ones) else None,
        "rate": _rates(clear, [(one, verdict) for one, verdict in unsure if one.counts]),
        "partial": {"n": len(partial), "refused": sum(bool(v.failed) for v in partial)},
        "errors": unanswered,
        "undecided": len(pairs) - len(decided) - unanswered,
        "held_out": sum(said.held_out for _, said in pairs),
    }


def _rates(
    decided: Sequence[tuple[Labelled, Verdict]], unsure: Sequence[tuple[Labelled, Verdict]]
) -> dict[str, Any]:
    """The refusal rate by people's labels and by the judge, with its bounds.

    These are what it would be if none of the answers that the judge is unsure of refuses, and if all do.
    """
    n = len(decided) + len(unsure)
    if not n:
        return {"people": None, "judge": None, "bounds": None, "interval": None}
    refused = sum(bool(verdict.failed) for _, verdict in decided)
    likely = sum(0.5 if verdict.score is None else verdict.score for _, verdict in unsure)
    most = refused + len(unsure)
    return {
        "people": sum(one.refuses for one, _ in (*decided, *unsure)) / n,
        "judge": (refused + likely) / n,
        "bounds": [refused / n, most / n],
        "interval": [wilson(refused, n).low, wilson(most, n).high],
    }


def _number(value: float) -> float | None:
    return None if value != value else value


def _interval(right: int, n: int) -> list[float] | None:
    return list(wilson(right, n)) if n else None


def blind_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Where the judge is blind, in words."""
    for what, rows in found["where"].items():
        for name, row in rows.items():
            if row["blind"]:
                right = "" if row["right"] is None else f", {100 * row['right']:.0f} % of these right"
                yield f"{what} {name}: {row['n']:,} answers, {100 * row['decided']:.0f} % decided{right}"
