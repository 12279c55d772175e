"""The ledger: every trial of a run in one SQLite file.

WAL mode: one writer (held by a lock that the kernel frees even after `kill -9`), any number of readers
while it runs. Trials, their tallies and what they cost are written in one transaction, so they never
disagree. Rows are keyed by (hypothesis, index).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally, Trial, Usage
from weakspot.stats import confidence_sequence, wilson
from weakspot.store.blobs import write_whole
from weakspot.store.database import (
    APPLICATION_ID,
    TABLES,
    VERSION,
    LedgerError,
    connected,
    count,
    explained,
    inspect_file,
    reading_uri,
    row_of,
    trial_of,
)

#: Of a writer's connection: safe against `kill -9`, readers while it writes.
_SETTINGS: Final = ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON", "cache_size = -16384")


class Outcome(NamedTuple):
    """What a replay needs of a trial."""

    failed: bool | None
    status: Status
    usage: Usage
    detail: str
    answer: str | None
    score: float | None = None


class Ledger:
    """An open ledger. Use `Ledger.create`, `Ledger.open` or `Ledger.read`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self.path = path
        self._keys: dict[str, int] = dict(self._db.execute("SELECT id, key FROM hypotheses"))

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new, empty ledger; the file must not exist."""
        if path.exists():
            raise LedgerError(
                f"there is already a ledger: {path}", fix="resume that run, or choose another folder"
            )
        # Made in memory and put in place by rename: whenever we are killed, a ledger is there whole or not
        # at all, and one that is empty or half there was damaged by something else.
        with explained(path), connected(":memory:") as db:
            db.execute("PRAGMA page_size = 8192")
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.executescript(f"BEGIN; {TABLES}; PRAGMA user_version = {VERSION}; COMMIT;")
            content = bytearray(db.serialize())
            db.close()
        # WAL from the first byte (two bytes of SQLite's file header): to switch later takes a journal, and
        # one left by a kill could not be read past.
        content[18:20] = b"\x02\x02"
        with explained(path):
            write_whole(path, bytes(content))
        return cls.open(path)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open for writing."""
        inspect_file(path)
        with explained(path), connected(f"{path.resolve().as_uri()}?mode=rw") as db:
            for setting in _SETTINGS:
                db.execute(f"PRAGMA {setting}")
            return cls(db, path)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Open for reading only, also while another process writes."""
        with explained(path), connected(reading_uri(path)) as db:
            return cls(db, path)

    def close(self) -> None:
        """Close the file; a writer's last close folds the write-ahead log into it."""
        self._db.close()

    # -- writing ---------------------------------------------------------------------------------

    def add_hypotheses(self, hypotheses: Iterable[Hypothesis]) -> None:
        """Enter hypotheses; those already there are left as they are."""
        new = {h.id: h for h in hypotheses if h.id not in self._keys}
        if not new:
            return
        keys: dict[str, int] = {}
        with explained(self.path), self._transaction():
            for h in new.values():
                cursor = self._db.execute(
                    "INSERT INTO hypotheses (id, text, concepts, origin, parent) VALUES (?, ?, ?, ?, ?)",
                    (h.id, h.text, json.dumps(h.concepts), h.origin, h.parent),
                )
                keys[h.id] = int(cursor.lastrowid or 0)
        self._keys |= keys

    def record(self, trials: Sequence[Trial], spend: Mapping[str, float]) -> None:
        """Write trials, their tallies and what they cost: all of it or nothing.

        The hypotheses must be there, the trials not yet. `spend` ("images", "calls", …) is added to what was
        spent before.
        """
        rows = [row_of(t, self._known(t.hypothesis)) for t in trials]
        counts: dict[tuple[int, int], list[int]] = {}
        for row, trial in zip(rows, trials, strict=True):
            counted = counts.setdefault((row[0], trial.index >> 32), [0] * len(Tally._fields))
            for i, amount in enumerate(count(trial.failed, trial.status)):
                counted[i] += amount
        with explained(self.path), self._transaction():
            self._db.executemany("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
            self._db.executemany(
                """INSERT INTO tallies VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                   n = n + excluded.n, failures = failures + excluded.failures,
                   errors = errors + excluded.errors, undecided = undecided + excluded.undecided,
                   invalid = invalid + excluded.invalid, doubted = doubted + excluded.doubted""",
                [(*key, *tally) for key, tally in counts.items()],
            )
            self._db.executemany(
                "INSERT INTO spend VALUES (?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount",
                list(spend.items()),
            )

    def forget_errors(self, *, gaps: bool = False) -> int:
        """Remove trials that ended in an error, so that they are drawn again; how many were removed.

        Args:
            gaps: Remove these alone. By default all that follows them in their stage goes too, so that what
                is left is its first indices: decisions that were made on the way are then made again.
        """
        later = "" if gaps else "OR e.idx < trials.idx"
        with explained(self.path), self._transaction():
            removed = self._db.execute(
                f"""DELETE FROM trials WHERE EXISTS (
                       SELECT 1 FROM trials AS e WHERE e.hypothesis = trials.hypothesis AND e.status = 'error'
                       AND e.idx >> 32 = trials.idx >> 32 AND (e.idx = trials.idx {later}))"""  # noqa: S608
            ).rowcount
            if removed:
                self._db.execute("DELETE FROM tallies")
                self._db.execute(
                    """INSERT INTO tallies SELECT hypothesis, idx >> 32,
                       SUM(failed IS NOT NULL AND status <> 'invalid'),
                       SUM(failed IS 1 AND status <> 'invalid'),
                       SUM(status = 'error'), SUM(failed IS NULL AND status NOT IN ('error', 'invalid')),
                       SUM(status = 'invalid'), SUM(failed IS 1 AND status = 'invalid')
                       FROM trials GROUP BY hypothesis, idx >> 32"""
                )
        return removed

    def forget(self, hypothesis: Hypothesis, stage: Stage) -> None:
        """Remove the trials of a stage that were copied there, so that they can be copied anew."""
        if hypothesis.id not in self._keys:
            return
        key, ends = self._key(hypothesis), (stage.start, stage.start + (1 << 32))
        with explained(self.path), self._transaction():
            self._db.execute("DELETE FROM trials WHERE hypothesis = ? AND idx >= ? AND idx < ?", (key, *ends))
            self._db.execute("DELETE FROM tallies WHERE hypothesis = ? AND stage = ?", (key, int(stage)))

    def set_findings(self, findings: Sequence[Finding]) -> None:
        """Replace the list of findings, best first."""
        with explained(self.path), self._transaction():
            self._db.execute("DELETE FROM findings")
            self._db.executemany(
                "INSERT INTO findings VALUES (?, ?)",
                [(rank, json.dumps(f.to_json())) for rank, f in enumerate(findings, start=1)],
            )

    def set_fact(self, key: str, value: Any) -> None:
        """Keep a small JSON value under a name."""
        with explained(self.path), self._transaction():
            self._db.execute(
                "INSERT INTO facts VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                (key, json.dumps(value)),
            )

    # -- reading ---------------------------------------------------------------------------------

    def hypotheses(self) -> list[Hypothesis]:
        """All hypotheses, oldest first."""
        rows = self._query("SELECT text, concepts, origin, parent FROM hypotheses ORDER BY key")
        return [
            Hypothesis(text, tuple((k, v) for k, v in json.loads(concepts)), origin=origin, parent=parent)
            for text, concepts, origin, parent in rows
        ]

    def trials(
        self,
        hypothesis: Hypothesis,
        *,
        stage: Stage | None = None,
        failed: bool | None = None,
        kept: bool = False,
        limit: int | None = None,
    ) -> list[Trial]:
        """Trials of a hypothesis in the order of their indices.

        Args:
            failed: Only failures (True) or only passes (False), of valid cases.
            kept: Only those whose input was kept as evidence.
        """
        where, values = ["hypothesis = ?"], [self._key(hypothesis)]
        if stage is not None:
            where.append("idx >= ? AND idx < ?")
            values += [stage.start, stage.start + (1 << 32)]
        if failed is not None:
            where.append("failed = ? AND status <> 'invalid'")
            values.append(int(failed))
        if kept:
            where.append("blob IS NOT NULL")
        sql = f"SELECT * FROM trials WHERE {' AND '.join(where)} ORDER BY idx LIMIT ?"  # noqa: S608
        rows = self._query(sql, (*values, -1 if limit is None else limit))
        return [trial_of(hypothesis.id, row) for row in rows]

    def trial(self, hypothesis: Hypothesis, index: int) -> Trial | None:
        rows = self._query(
            "SELECT * FROM trials WHERE hypothesis = ? AND idx = ?", (self._key(hypothesis), index)
        )
        return trial_of(hypothesis.id, rows[0]) if rows else None

    def count(self, hypothesis: Hypothesis, stage: Stage) -> int:
        """How many trials a stage has: its first indices, but for the gaps that errors leave (`gaps`)."""
        if hypothesis.id not in self._keys:
            return 0
        return self.tally(hypothesis, stage).drawn

    def tally(self, hypothesis: Hypothesis, stage: Stage) -> Tally:
        """The maintained counts of one stage."""
        rows = self._query(
            f"SELECT {', '.join(Tally._fields)} FROM tallies WHERE hypothesis = ? AND stage = ?",  # noqa: S608
            (self._key(hypothesis), int(stage)),
        )
        return Tally(*rows[0]) if rows else Tally()

    def tallies(self) -> dict[str, Tally]:
        """Maintained counts by hypothesis id, all stages together."""
        rows = self._query(
            f"""SELECT id, {", ".join(f"SUM({count})" for count in Tally._fields)}
                FROM tallies JOIN hypotheses ON key = hypothesis GROUP BY key ORDER BY key"""  # noqa: S608
        )
        return {row[0]: Tally(*row[1:]) for row in rows}

    def outcomes(self, hypothesis: Hypothesis, start: int, stop: int) -> list[Outcome]:
        """The trials with indices in [start, stop), in order, as far as they are there."""
        rows = self._query(
            """SELECT failed, status, detail, answer, score, tokens, dollars, seconds FROM trials
               WHERE hypothesis = ? AND idx >= ? AND idx < ? ORDER BY idx""",
            (self._key(hypothesis), start, stop),
        )
        return [
            Outcome(
                None if failed is None else bool(failed), Status(status), Usage(*usage), detail, answer, score
            )
            for failed, status, detail, answer, score, *usage in rows
        ]

    def indices(self, hypothesis: Hypothesis, start: int, stop: int) -> set[int]:
        """The indices in [start, stop) that have a trial."""
        rows = self._query(
            "SELECT idx FROM trials WHERE hypothesis = ? AND idx >= ? AND idx < ?",
            (self._key(hypothesis), start, stop),
        )
        return {row[0] for row in rows}

    def answers(self, hypothesis: Hypothesis, stage: Stage, *, failed: bool) -> dict[str, int]:
        """How often each answer was given among the failures (or the passes), most frequent first."""
        rows = self._query(
            """SELECT COALESCE(answer, ''), COUNT(*) AS times FROM trials
               WHERE hypothesis = ? AND idx >= ? AND idx < ? AND failed = ? AND status <> 'invalid'
               GROUP BY 1 ORDER BY times DESC, 1""",
            (self._key(hypothesis), stage.start, stage.start + (1 << 32), int(failed)),
        )
        return dict(rows)

    def findings(self) -> list[Finding]:
        """The findings, best first."""
        return [
            Finding.from_json(json.loads(row[0]))
            for row in self._query("SELECT data FROM findings ORDER BY rank")
        ]

    def spend(self) -> dict[str, float]:
        """What the run cost so far, by kind."""
        return dict(self._query("SELECT what, amount FROM spend"))

    def errors(self) -> list[tuple[str, int]]:
        """What went wrong, and how often, most frequent first."""
        return [(detail, times) for status, detail, times in self.unjudged() if status == "error"]

    def unjudged(self) -> list[tuple[str, str, int]]:
        """Status and detail of trials without a verdict, and how often, most frequent first."""
        return self._query(
            """SELECT status, detail, COUNT(*) AS times FROM trials
               WHERE failed IS NULL GROUP BY 1, 2 ORDER BY times DESC, 2"""
        )

    def fact(self, key: str, default: Any = None) -> Any:
        rows = self._query("SELECT value FROM facts WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else default

    # -- inside ----------------------------------------------------------------------------------

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.path):
            return self._db.execute(sql, values).fetchall()

    def _key(self, hypothesis: Hypothesis) -> int:
        if hypothesis.id not in self._keys:
            self._keys.update(self._query("SELECT id, key FROM hypotheses"))
        return self._known(hypothesis.id, repr(hypothesis.text[:80]))

    def _known(self, id: str, name: str = "") -> int:
        if id not in self._keys:
            raise LedgerError(f"the ledger does not know {name or f'hypothesis {id}'}", fix="add it first")
        return self._keys[id]

    @contextmanager
    def _transaction(self) -> Any:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")  # this too can fail, on a full disk
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise


def rate(tally: Tally, *, fixed: bool = False) -> Rate:
    """Failures per trial with a 95 % interval: anytime-valid, or Wilson's where the number was planned."""
    low, high = (wilson if fixed else confidence_sequence)(tally.failures, tally.n)
    return Rate(tally.failures / tally.n if tally.n else 0.0, low, high, tally.n, tally.failures)
