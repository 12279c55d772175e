"""Which trials are wanted, in which order, and where a page of them begins: what addresses of pages say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

from weakspot.core import Stage

VERDICTS: Final[Mapping[str, str]] = {
    "failed": "failed = 1 AND status <> 'invalid'",
    "passed": "failed = 0 AND status <> 'invalid'",
    "undecided": "failed IS NULL AND status NOT IN ('error', 'invalid')",
    "invalid": "status = 'invalid'",
    "error": "status = 'error'",
}
ORDERS: Final[Mapping[str, str]] = {
    "verdict": "failures first",
    "drawn": "as drawn",
    "rate": "worst hypothesis first",
    "answer": "by answer",
}
_FAR: Final = 10**17
#: Characters of an answer and of a search.
LONGEST, SEARCHED = 1_000, 200


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial as the grid shows it."""

    hypothesis: str
    index: int
    status: str
    failed: bool | None
    score: float | None
    expected: str
    answer: str | None
    caption: str
    blob: str | None
    place: str = ""  # in the order that is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which trials, in which order. Empty texts let everything through."""

    hypothesis: str = ""  # id
    verdict: str = ""  # one of `VERDICTS`
    answer: str = ""  # what the target said
    search: str = ""  # words that all occur in the input, the caption, what was expected, or the answer
    slice: str = ""  # "name=value" of the hypothesis' concepts, or a slice of the study
    stage: str = ""  # "explore" or "confirm"
    kept: bool = False  # only those whose input was kept
    order: str = "verdict"  # one of `ORDERS`

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Wanted:
        """From a query; what is not known is left out."""
        return cls(
            hypothesis=given.get("hypothesis", "")[:64],
            verdict=_known(given.get("verdict", ""), VERDICTS),
            answer=one_newline(given.get("answer", ""))[:LONGEST],
            search=" ".join(given.get("search", "").split())[:SEARCHED],
            slice=given.get("slice", "")[:400],
            stage=_known(given.get("stage", ""), [stage.name.lower() for stage in Stage]),
            kept=given.get("kept", "") == "1",
            order=_known(given.get("order", ""), ORDERS) or "verdict",
        )

    def query(self) -> dict[str, str]:
        """As a query; `of` is its inverse."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return given | ({"kept": "1"} if self.kept else {})


class Page(NamedTuple):
    """Some trials."""

    rows: list[TrialRow]  # at most `PAGE`
    after: str  # the key to go on from; "" at the end
    before: str  # the key to go back from; "" at the beginning
    searched: int  # rows that were looked at
    # all that was asked for was looked at; otherwise there may be more beyond `after` (or `before`)
    whole: bool


class PageMark(NamedTuple):
    """Where a page begins or ends: a key within a group."""

    group: int
    key: int
    idx: int

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def of(cls, text: str) -> PageMark | None:
        """From a query; None if it is nothing of ours."""
        parts = re.fullmatch(r"(\d{1,4})\.(\d{1,18})\.(-1|\d{1,18})", text, re.ASCII)
        return cls(*map(int, parts.groups())) if parts else None


class Stretch(NamedTuple):
    """A part of the order: the rows of a group (a verdict, an answer) and, where given, of one hypothesis."""

    group: int
    key: int | None
    hit: str  # the condition, in SQL, of the rows that are wanted
    values: tuple[Any, ...]  # of its question marks

    def begin(self, *, back: bool) -> PageMark:
        """Just before its first row, or just after its last."""
        if back:
            return PageMark(self.group, _FAR if self.key is None else self.key, _FAR)
        return PageMark(self.group, 0 if self.key is None else self.key, -1)


def one_newline(text: str) -> str:
    """Text with one kind of newline: forms send another than they were given."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _known(value: str, known: Mapping[str, str] | Sequence[str]) -> str:
    return value if value in known else ""
