"""Trials page by page, by key: the millionth page costs what the first one does.

Trials lie in the ledger in the order of (hypothesis, index). A page is what follows a key in one or more
stretches of that order: all trials, or one stretch per hypothesis, or each of them once per verdict or
answer. Where a filter lets few trials through, a page looks at a bounded number of rows, says how far it got,
and is gone on with. Nothing is written and no transaction outlives a page, so a run that is being written is
not disturbed.
"""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import Hypothesis, Stage, Tally
from weakspot.store.database import connected, explained, reading_uri

#: Trials on a page.
PAGE: Final = 60
#: Rows looked at in one go, and how long (seconds) a page goes on looking.
CHUNK, PATIENCE = 20_000, 0.15
#: Stretches looked at for one page.
STRETCHES: Final = 500
#: Rows that the list of answers is counted from, and answers in it.
FACET_ROWS, FACETS = 20_000, 60

VERDICTS: Final[Mapping[str, str]] = {
    "failed": "failed = 1 AND status <> 'invalid'",
    "passed": "failed = 0 AND status <> 'invalid'",
    "undecided": "failed IS NULL AND status NOT IN ('error', 'invalid')",
    "invalid": "status = 'invalid'",
    "error": "status = 'error'",
}
ORDERS: Final[Mapping[str, str]] = {
    "drawn": "as drawn",
    "verdict": "failures first",
    "rate": "worst hypothesis first",
    "answer": "by answer",
}
#: Runs whose hypotheses are remembered.
REMEMBERED: Final = 4
_read_before: dict[tuple[str, int], dict[int, Hypothesis]] = {}
_FAR: Final = 10**17
_COLUMNS: Final = "id, idx, status, failed, score, expected, answer, caption, blob"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which trials, in which order. Empty texts let everything through."""

    hypothesis: str = ""  # id
    verdict: str = ""  # one of `VERDICTS`
    answer: str = ""  # what the target said
    slice: str = ""  # "name=value" of the hypothesis' concepts
    stage: str = ""  # "explore" or "confirm"
    kept: bool = False  # only those whose input was kept
    order: str = "drawn"  # one of `ORDERS`

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Wanted:
        """From a query; what is not known is left out."""
        return cls(
            hypothesis=given.get("hypothesis", "")[:64],
            verdict=_known(given.get("verdict", ""), VERDICTS),
            answer=given.get("answer", "")[:1000],
            slice=given.get("slice", "")[:400],
            stage=_known(given.get("stage", ""), [stage.name.lower() for stage in Stage]),
            kept=given.get("kept", "") == "1",
            order=_known(given.get("order", ""), ORDERS) or "drawn",
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


class Trials:
    """An open ledger, for pages of trials. See `reading`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db, self.path = connection, path
        config = path.with_name("run.yaml")  # written once, when the run was created
        self._mark = (str(path.resolve()), config.stat().st_mtime_ns if config.exists() else 0)

    def hypotheses(self) -> dict[int, Hypothesis]:
        """All, by key; not to be changed. They are only added to, so those read before are not read again."""
        known = _read_before.get(self._mark, {})
        rows = self._all(
            "SELECT key, text, concepts, origin, parent FROM hypotheses WHERE key > ? ORDER BY key",
            (max(known, default=0),),
        )
        if rows:
            new = {
                key: Hypothesis(text, _concepts(concepts), origin=origin, parent=parent)
                for key, text, concepts, origin, parent in rows
            }
            known = known | new
            _read_before.pop(self._mark, None)
            _read_before[self._mark] = known
            for old in list(_read_before)[:-REMEMBERED]:
                _read_before.pop(old, None)
        return known

    def total(self) -> Tally:
        sums = ", ".join(f"COALESCE(SUM({count}), 0)" for count in Tally._fields)
        return Tally(*self._all(f"SELECT {sums} FROM tallies")[0])  # noqa: S608

    def count(self) -> int:
        return int(self._all("SELECT COUNT(*) FROM hypotheses")[0][0])

    def tallies(self, stage: str = "") -> dict[int, Tally]:
        """The maintained counts by key, of one stage or of all."""
        where = f"WHERE stage = {int(Stage[stage.upper()])}" if stage else ""
        sums = ", ".join(f"SUM({count})" for count in Tally._fields)
        rows = self._all(f"SELECT hypothesis, {sums} FROM tallies {where} GROUP BY hypothesis")  # noqa: S608
        return {row[0]: Tally(*row[1:]) for row in rows}

    def page(self, wanted: Wanted, *, after: str = "", before: str = "", most: int = PAGE) -> Page:
        """The trials that follow a key, or come before it; the first without one."""
        back = bool(before) and not after
        start = PageMark.of(before if back else after)
        stretches = self._stretches(wanted)
        if back:
            stretches.reverse()
        if start is not None:
            stretches = stretches[_place(stretches, start) :]
        hits: list[PageMark] = []
        searched, stopped, until = 0, None, time.monotonic() + PATIENCE
        for number, stretch in enumerate(stretches):
            at: PageMark | None = start if start is not None and number == 0 else stretch.begin(back=back)
            if number and (number >= STRETCHES or time.monotonic() > until):
                stopped = at
                break
            while at is not None and len(hits) <= most:
                found, at, looked = self._look(
                    stretch, at, most + 1 - len(hits), back=back, stage=wanted.stage
                )
                hits, searched = hits + found, searched + looked
                if at is not None and time.monotonic() > until:
                    stopped = at
                    break
            if stopped is not None or len(hits) > most:
                break
        full = len(hits) > most
        hits = hits[:most]
        far = str(hits[-1]) if full else str(stopped) if stopped is not None else ""
        near = str(hits[0] if hits else start._replace(idx=start.idx + (-1 if back else 1))) if start else ""
        rows = self._rows(hits)
        whole = full or stopped is None
        return (
            Page(rows[::-1], near, far, searched, whole) if back else Page(rows, far, near, searched, whole)
        )

    def verdicts(self, key: int, most: int) -> dict[int, bool]:
        """Whether the first trials of a hypothesis failed, by index; those with a verdict."""
        rows = self._all(
            """SELECT idx, failed FROM trials WHERE hypothesis = ? AND failed IS NOT NULL
               AND status <> 'invalid' ORDER BY idx LIMIT ?""",
            (key, most),
        )
        return {index: bool(failed) for index, failed in rows}

    def facets(self, wanted: Wanted) -> list[tuple[str, int]]:
        """Short answers and how often they were given among the first trials of each hypothesis."""
        keys = self._keys(wanted) or list(self.hypotheses())
        each = max(50, FACET_ROWS // max(1, len(keys)))
        counts: dict[str, int] = {}
        for key in keys[: FACET_ROWS // each]:
            rows = self._all(
                """SELECT answer, COUNT(*) FROM (SELECT answer FROM trials WHERE hypothesis = ? LIMIT ?)
                   WHERE length(answer) <= 60 GROUP BY 1""",
                (key, each),
            )
            for answer, times in rows:
                counts[answer] = counts.get(answer, 0) + times
        if len(counts) > 10 * FACETS:  # numbers or sentences: nothing to choose from
            return []
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FACETS]

    # -- inside ------------------------------------------------------------------------------------

    def _keys(self, wanted: Wanted) -> list[int] | None:
        """The hypotheses that are asked for, in their order; None for all as they were drawn."""
        if not (wanted.hypothesis or wanted.slice or wanted.order == "rate"):
            return None
        name, _, value = wanted.slice.partition("=")
        keys = [
            key
            for key, h in self.hypotheses().items()
            if wanted.hypothesis in ("", h.id) and (not wanted.slice or (name, value) in h.concepts)
        ]
        if wanted.order == "rate":
            tallies = self.tallies(wanted.stage)
            rates = {key: t.rate if (t := tallies.get(key, Tally())).n else -1.0 for key in keys}
            keys.sort(key=lambda key: (-rates[key], key))
        return keys

    def _stretches(self, wanted: Wanted) -> list[Stretch]:
        hit, values = ["1"], list[Any]()
        if wanted.verdict:
            hit.append(VERDICTS[wanted.verdict])
        if wanted.answer:
            hit.append("answer = ?")
            values.append(wanted.answer)
        if wanted.kept:
            hit.append("blob IS NOT NULL")
        groups: list[tuple[str, tuple[Any, ...]]] = [("1", ())]
        if wanted.order == "verdict" and not wanted.verdict:
            groups = [(condition, ()) for condition in VERDICTS.values()]
        elif wanted.order == "answer" and not wanted.answer:
            known = sorted(answer for answer, _ in self.facets(wanted))
            marks = ", ".join("?" * len(known))
            rest = (f"(answer IS NULL OR answer NOT IN ({marks}))", tuple(known))
            groups = [*(("answer = ?", (answer,)) for answer in known), rest]
        keys = self._keys(wanted)
        return [
            Stretch(number, key, " AND ".join([*hit, condition]), (*values, *more))
            for number, (condition, more) in enumerate(groups)
            for key in (keys if keys is not None else [None])
        ]

    def _look(
        self, stretch: Stretch, at: PageMark, most: int, *, back: bool, stage: str
    ) -> tuple[list[PageMark], PageMark | None, int]:
        """Wanted rows among the next `CHUNK`; where to go on, None at the end; rows looked at."""
        than, way = ("<", "DESC") if back else (">", "ASC")
        where, values = f"(hypothesis, idx) {than} (?, ?)", [at.key, at.idx]
        if stretch.key is not None:
            where, values = f"hypothesis = ? AND idx {than} ?", [stretch.key, at.idx]
        if stage:
            begin = Stage[stage.upper()].start
            where, values = f"{where} AND idx >= ? AND idx < ?", [*values, begin, begin + (1 << 32)]
        order = f"ORDER BY hypothesis {way}, idx {way}"
        hits = self._all(
            f"""SELECT hypothesis, idx FROM (
                   SELECT hypothesis, idx, ({stretch.hit}) AS hit FROM trials
                   WHERE {where} {order} LIMIT {CHUNK}
                ) WHERE hit LIMIT ?""",  # noqa: S608
            (*stretch.values, *values, most),
        )
        places = [PageMark(stretch.group, *row) for row in hits]
        if len(hits) == most:
            return places, places[-1], 0
        last = self._all(
            f"SELECT hypothesis, idx FROM trials WHERE {where} {order} LIMIT 1 OFFSET {CHUNK - 1}",  # noqa: S608
            values,
        )
        return places, PageMark(stretch.group, *last[0]) if last else None, CHUNK if last else 0

    def _rows(self, places: Sequence[PageMark]) -> list[TrialRow]:
        rows = []
        for place in places:
            found = self._all(
                f"SELECT {_COLUMNS} FROM trials JOIN hypotheses ON key = hypothesis "  # noqa: S608
                "WHERE hypothesis = ? AND idx = ?",
                (place.key, place.idx),
            )
            for name, index, status, failed, *more in found:
                rows.append(TrialRow(name, index, status, None if failed is None else bool(failed), *more))
        return rows

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.path):
            return self._db.execute(sql, values).fetchall()


@contextmanager
def reading(folder: Path) -> Iterator[Trials]:
    """The ledger of a run, for reading; the run may be written meanwhile."""
    path = folder / "ledger.db"
    with explained(path), connected(reading_uri(path)) as db:
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA cache_size = -8192")
    try:
        yield Trials(db, path)
    finally:
        db.close()


def _place(stretches: Sequence[Stretch], at: PageMark) -> int:
    """The stretch that a place is in."""
    for number, stretch in enumerate(stretches):
        if stretch.group == at.group and stretch.key in (None, at.key):
            return number
    return len(stretches)


def _concepts(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in json.loads(text)) if text != "[]" else ()


def _known(value: str, known: Mapping[str, str] | Sequence[str]) -> str:
    return value if value in known else ""
