"""Trials as the ledger's rows, and what they count for."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from weakspot.core import Status, Tally, Trial, Usage

#: Characters kept of an answer, a caption or an error; a model may answer with a megabyte each time.
LONGEST: Final = 32_768


def tally_of(trial: Trial) -> Tally:
    """The counts one trial adds."""
    return count(trial.failed, trial.status)


def count(failed: bool | None, status: Status) -> Tally:
    """The counts one outcome adds; errors, open verdicts, invalid cases stay outside the denominator."""
    if status is Status.ERROR:
        return Tally(errors=1)
    if status is Status.INVALID:
        return Tally(invalid=1, doubted=int(bool(failed)))
    if failed is None:
        return Tally(undecided=1)
    return Tally(n=1, failures=int(failed))


def row_of(t: Trial, key: int) -> tuple[Any, ...]:
    """A trial as a row, under the key of its hypothesis."""
    # Numbers are converted because SQLite takes numpy's for bytes.
    return (
        key,
        t.index,
        t.status.value,
        None if t.failed is None else int(t.failed),
        None if t.score is None else float(t.score),
        _storable(t.expected),
        None if t.answer is None else _storable(t.answer),
        _top_json(t.top) if t.top else None,
        _storable(t.caption),
        _storable(t.detail),
        t.blob,
        int(t.usage.tokens),
        float(t.usage.dollars),
        float(t.usage.seconds),
    )


_quoted = lru_cache(maxsize=4096)(json.dumps)


def _top_json(top: Sequence[tuple[str, float]]) -> str:
    """As `json.dumps` would write it, in a quarter of the time; it is most of the cost of a row."""
    numbers = (f"{p:.5g}" if math.isfinite(p) else json.dumps(float(p)) for _, p in top)
    return f"[{','.join(f'[{_quoted(label)},{p}]' for (label, _), p in zip(top, numbers, strict=True))}]"


def _storable(text: str) -> str:
    """Text as the ledger takes it: of bounded length, a lone surrogate (no Unicode text) as its escape."""
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… (cut: {len(text):,} characters)"
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def trial_of(hypothesis: str, row: Sequence[Any]) -> Trial:
    """A trial from its row."""
    _, index, status, failed, score, expected, answer, top, caption, detail, blob, *usage = row
    return Trial(
        hypothesis=hypothesis,
        index=index,
        status=Status(status),
        failed=None if failed is None else bool(failed),
        score=score,
        expected=expected,
        answer=answer,
        top=tuple((label, p) for label, p in json.loads(top)) if top else (),
        caption=caption,
        detail=detail,
        blob=blob,
        usage=Usage(*usage),
    )
