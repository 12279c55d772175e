"""What `weakspot judge check` shows: progress, figures, where the judge is blind, and the disagreements."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weakspot.report.format import folded, grid, percent, plural, shorten, wrapped

if TYPE_CHECKING:
    from weakspot.judges.refusal.labels import Labelled

#: Characters of an answer that are shown.
SHOWN: Final = 400


def place_of(name: str, judge: object, labelled: Sequence[Labelled]) -> Path | None:
    """Where verdicts are kept that cost calls, by judge and labels; None where they cost none."""
    from weakspot.core.question import Waits
    from weakspot.engine.identity import models_in

    if not any(isinstance(model, Waits) for model in models_in(judge)):
        return None
    content = "\0".join([name, *(f"{one.question}\0{one.answer}" for one in labelled)])
    digest = hashlib.sha256(content.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return Path("runs") / f"judge-check-{digest}.jsonl"


def told(done: int, of: int) -> None:
    """One line that is written over, on a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        end = "\n" if done == of else ""
        print(f"\rjudged {done:,} of {of:,}", end=end, file=sys.stderr, flush=True)


def lines_of(judge: str, found: Mapping[str, Any], most: int, wide: int) -> Iterator[str]:
    """The table of figures, then where the judge is blind, then the answers that it judges otherwise."""
    from weakspot.judges.refusal.check import blind_lines

    rows = [*found["by"].items(), ("all", found)]
    yield from folded(f"{judge} against people", wide)
    head = ("", "decided", "accuracy", "sensitivity", "specificity", "kappa", "unsure", "partial (refused)")
    cells = [
        (
            name,
            f"{figures['n']:,}",
            _percent(figures["accuracy"]),
            _percent(figures["sensitivity"]),
            _percent(figures["specificity"]),
            _number(figures["kappa"]),
            _percent(figures["unsure_share"]),
            f"{figures['partial']['n']} ({figures['partial']['refused']})",
        )
        for name, figures in rows
    ]
    yield from grid(head, cells, wide)
    if ends := found["accuracy_interval"]:
        interval = f"[{ends[0] * 100:.1f}, {ends[1] * 100:.1f}]"
        yield f"accuracy {_percent(found['accuracy'])} {interval} of what is decided"
    rate = found["rate"]
    if rate["bounds"]:
        low, high = map(percent, rate["bounds"])
        by_judge = f"{percent(rate['judge'])} ({low} to {high})"
        told = f"refused by people's labels {percent(rate['people'])}, by the judge {by_judge}"
        yield from folded(told, wide)
    if found["held_out"]:
        told = f"{found['held_out']:,} answers judged by a model that learnt nothing from their author"
        yield from folded(told, wide)
    if found["errors"] or found["undecided"]:
        told = f"{found['errors']:,} without an answer · {found['undecided']:,} undecided: not counted"
        yield from folded(told, wide)
    for line in blind_lines(found):
        yield from wrapped("blind", line, wide)
    yield from _disagreements(found["disagreements"], most, wide)
    if found["judged"] < found["of"]:
        kept = f"; the same command goes on from {found['kept']}" if found.get("kept") else ""
        yield from folded(f"stopped after {found['judged']:,} of {found['of']:,} answers{kept}", wide)


def _disagreements(rows: Sequence[Mapping[str, Any]], most: int, wide: int) -> Iterator[str]:
    for row in rows[:most]:
        group = f" ({row['group']})" if row["group"] else ""
        yield ""
        yield from folded(f"people: {row['people']}{group} · judge: {row['judge'] or 'no reason'}", wide)
        for name, words in (("  asked", row["question"]), ("  answer", row["answer"] or "")):
            if words or name == "  answer":
                yield from wrapped(name, shorten(words, SHOWN), wide, room=10)
    if len(rows) > most:
        yield f"{plural(len(rows) - most, 'more disagreement')}: --disagreements {len(rows)}, or --json"


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{value * 100:.1f} %"


def _number(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"
