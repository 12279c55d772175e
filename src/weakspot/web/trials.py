"""Trials page by page, by key: the millionth page costs what the first one does.

Trials lie in the ledger in the order of (hypothesis, index). A page is what follows a key in one or more
stretches of that order: all trials, or one stretch per hypothesis, or each of them once per verdict or
answer. Where a filter lets few trials through, a page looks at a bounded number of rows, says how far it got,
and is gone on with. Nothing is written and no transaction outlives a page, so a run that is being written is
not disturbed.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from weakspot.core import Hypothesis, Stage, Tally, WeakspotError
from weakspot.store import Blobs
from weakspot.store.database import connected, explained, reading_uri
from weakspot.study.views import Places
from weakspot.web.wanted import LONGEST, VERDICTS, Page, PageMark, Stretch, TrialRow, Wanted, one_newline

#: Trials on a page.
PAGE: Final = 60
#: Rows looked at in one go, and how long (seconds) a page goes on looking.
CHUNK, PATIENCE = 20_000, 0.15
#: Stretches looked at for one page.
STRETCHES: Final = 500
#: Rows that the list of answers is counted from, and answers in it.
FACET_ROWS, FACETS = 20_000, 60
#: Characters of an answer that is a label rather than a sentence.
SHORT: Final = 60
#: Rows looked at in one go where kept texts are searched, and characters of each.
SEARCHED, SEARCHED_TEXT = 500, 200_000
#: Runs whose hypotheses are remembered.
REMEMBERED: Final = 4
_read_before: dict[tuple[str, int], dict[int, Hypothesis]] = {}
#: How kept pictures begin.
_PICTURES: Final = (b"\x89PNG", b"\xff\xd8", b"RIFF")
#: An answer as `one_newline` has it.
_LINES: Final = "replace(replace(answer, char(13, 10), char(10)), char(13), char(10))"
_COLUMNS: Final = "id, idx, status, failed, score, expected, answer, caption, blob"


class Trials:
    """An open ledger, for pages of trials. See `reading`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        slices: Mapping[str, Mapping[str, Places]] | None = None,
        texts: Blobs | None = None,
    ) -> None:
        """Slices of the study, by name and hypothesis; kept texts are searched where they are given."""
        self._db, self.path, self.slices, self._texts = connection, path, slices or {}, texts
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

    def place(self, wanted: Wanted, hypothesis: str, index: int) -> PageMark | None:
        """Where a trial stands among those that are wanted; None if it is none of them."""
        key = next((key for key, h in self.hypotheses().items() if h.id == hypothesis), None)
        if key is None or (wanted.stage and Stage.of(index).name.lower() != wanted.stage):
            return None
        for stretch in self._stretches(wanted):
            if stretch.key in (None, key) and self._all(
                f"SELECT 1 FROM trials WHERE hypothesis = ? AND idx = ? AND ({stretch.hit})",  # noqa: S608
                (key, index, *stretch.values),
            ):
                return PageMark(stretch.group, key, index)
        return None

    def verdicts(self, key: int, most: int) -> dict[int, bool]:
        """Whether the first trials of a hypothesis failed, by index; those with a verdict."""
        rows = self._all(
            """SELECT idx, failed FROM trials WHERE hypothesis = ? AND failed IS NOT NULL
               AND status <> 'invalid' ORDER BY idx LIMIT ?""",
            (key, most),
        )
        return {index: bool(failed) for index, failed in rows}

    def facets(self, wanted: Wanted) -> list[tuple[str, int]]:
        """Answers and how often they were given among the first trials of each hypothesis.

        Where too many differ to choose from, only short ones.
        """
        keys = self._keys(wanted) or list(self.hypotheses())
        each = max(50, FACET_ROWS // max(1, len(keys)))
        counts: dict[str, int] = {}
        for key in keys[: FACET_ROWS // each]:
            rows = self._all(
                """SELECT answer, COUNT(*) FROM (SELECT answer FROM trials WHERE hypothesis = ? LIMIT ?)
                   WHERE length(answer) <= ? GROUP BY 1""",
                (key, each, LONGEST),
            )
            for answer, times in rows:
                lines = one_newline(answer)
                counts[lines] = counts.get(lines, 0) + times
        if len(counts) > 10 * FACETS:
            counts = {answer: times for answer, times in counts.items() if len(answer) <= SHORT}
        if len(counts) > 10 * FACETS:  # numbers or sentences: nothing to choose from
            return []
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:FACETS]

    # -- inside ------------------------------------------------------------------------------------

    def _keys(self, wanted: Wanted) -> list[int] | None:
        """The hypotheses that are asked for, in their order; None for all as they were drawn."""
        if not (wanted.hypothesis or wanted.slice or wanted.order == "rate"):
            return None
        name, _, value = wanted.slice.partition("=")
        own = self.slices.get(wanted.slice)
        keys = [
            key
            for key, h in self.hypotheses().items()
            if wanted.hypothesis in ("", h.id)
            and (not wanted.slice or (h.id in own if own is not None else (name, value) in h.concepts))
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
            hit.append(f"{_LINES if chr(10) in wanted.answer else 'answer'} = ?")
            values.append(wanted.answer)
        if wanted.kept:
            hit.append("blob IS NOT NULL")
        if wanted.search:
            hit.append("holds(?, answer, caption, expected, blob)")
            values.append(wanted.search)
        groups: list[tuple[str, tuple[Any, ...]]] = [("1", ())]
        if wanted.order == "verdict" and not wanted.verdict:
            groups = [(condition, ()) for condition in VERDICTS.values()]
        elif wanted.order == "answer" and not wanted.answer:
            known = sorted(answer for answer, _ in self.facets(wanted))
            marks = ", ".join("?" * len(known))
            rest = (f"(answer IS NULL OR answer NOT IN ({marks}))", tuple(known))
            groups = [*(("answer = ?", (answer,)) for answer in known), rest]
        keys = self._keys(wanted)
        own, ids = self.slices.get(wanted.slice, {}), self.hypotheses() if wanted.slice else {}
        found = []
        for number, (condition, more) in enumerate(groups):
            for key in keys if keys is not None else [None]:
                places = own.get(ids[key].id) if key is not None and own else None
                at = [places.condition] if places is not None else []
                # The search comes last: it is what costs most.
                found.append(Stretch(number, key, " AND ".join([condition, *at, *hit]), (*more, *values)))
        return found

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
        chunk = SEARCHED if self._texts is not None and "holds(" in stretch.hit else CHUNK
        hits = self._all(
            f"""SELECT hypothesis, idx FROM (
                   SELECT hypothesis, idx, ({stretch.hit}) AS hit FROM trials
                   WHERE {where} {order} LIMIT {chunk}
                ) WHERE hit LIMIT ?""",  # noqa: S608
            (*stretch.values, *values, most),
        )
        places = [PageMark(stretch.group, *row) for row in hits]
        if len(hits) == most:
            return places, places[-1], 0
        last = self._all(
            f"SELECT hypothesis, idx FROM trials WHERE {where} {order} LIMIT 1 OFFSET {chunk - 1}",  # noqa: S608
            values,
        )
        return places, PageMark(stretch.group, *last[0]) if last else None, chunk if last else 0

    def _rows(self, places: Sequence[PageMark]) -> list[TrialRow]:
        rows = []
        for place in places:
            found = self._all(
                f"SELECT {_COLUMNS} FROM trials JOIN hypotheses ON key = hypothesis "  # noqa: S608
                "WHERE hypothesis = ? AND idx = ?",
                (place.key, place.idx),
            )
            for name, index, status, failed, *more in found:
                verdict = None if failed is None else bool(failed)
                rows.append(TrialRow(name, index, status, verdict, *(*more, str(place))))
        return rows

    def holds(self, words: str, *texts: str | None) -> bool:
        """Whether every word occurs in one of the texts, or in the text that was kept, in any case."""
        *told, blob = texts
        seen = "\n".join(filter(None, told)).casefold()
        left = [word for word in words.casefold().split() if word not in seen]
        if not left or not blob or self._texts is None:
            return not left
        try:
            kept = self._texts.head(blob, SEARCHED_TEXT)
            text = "" if kept.startswith(_PICTURES) else kept.decode(errors="ignore").casefold()
        except (WeakspotError, OSError):
            return False
        return all(word in text for word in left)

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.path):
            return self._db.execute(sql, values).fetchall()


@contextmanager
def reading(
    folder: Path,
    *,
    slices: Mapping[str, Mapping[str, Places]] | None = None,
    texts: Blobs | None = None,
) -> Iterator[Trials]:
    """The ledger of a run, for reading; the run may be written meanwhile. See `Trials`."""
    path = folder / "ledger.db"
    with explained(path), connected(reading_uri(path)) as db:
        db.execute("PRAGMA query_only = ON")
        db.execute("PRAGMA cache_size = -8192")
    trials = Trials(db, path, slices=slices, texts=texts)
    db.create_function("holds", 5, trials.holds)
    try:
        yield trials
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
