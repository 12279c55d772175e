"""Trials that gave no verdict, by what went wrong: what a person needs to mend it."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from weakspot.store.run import Run

#: What names one input among many: which it was tells nothing of the cause.
_NAMES: Final = (
    (re.compile(r"(leaves nothing of) (?!the ).+"), r"\1 the input"),
    (re.compile(r"[^\s'\"]+\.(?:png|jpe?g|webp|bmp|gif|tiff?|txt|npz)\b", re.IGNORECASE), "…"),
    (re.compile(r"0x[0-9a-f]{4,}|\d{5,}", re.IGNORECASE), "…"),
)


class Unjudged(NamedTuple):
    """Trials without a verdict that have a cause in common."""

    status: str
    reason: str
    times: int

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return self._asdict()

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}" if self.reason else self.status


def unjudged(run: Run) -> list[Unjudged]:
    """Why trials of a run have no verdict, most frequent cause first; the names of inputs are left out."""
    found: dict[tuple[str, str], int] = {}
    for status, detail, times in run.ledger.unjudged():
        key = (status, plain_reason(detail))
        found[key] = found.get(key, 0) + times
    rows = (Unjudged(status, reason, times) for (status, reason), times in found.items())
    return sorted(rows, key=lambda row: (-row.times, row.status, row.reason))


def plain_reason(detail: str) -> str:
    """What was said of a trial, without what names its input."""
    for pattern, new in _NAMES:
        detail = pattern.sub(new, detail)
    return " ".join(detail.split())
