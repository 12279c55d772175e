from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weakspot.core import Finding, Hypothesis, Rate, Stage, Status, Tally, Trial, Usage, WeakspotError
from weakspot.store import Ledger, LedgerError, count, inspect_file
from weakspot.store.database import LONGEST

FLY = Hypothesis("a fly.")
BEE = Hypothesis("a bee.", (("rotate", "10"),), origin="caption", parent=FLY.id)


def trial(index: int, failed: bool | None = True, *, of: Hypothesis = FLY, **changes: Any) -> Trial:
    values: dict[str, Any] = {"status": Status.OK, "score": 0.5, "expected": "fly", "answer": "bee"} | changes
    return Trial(of.id, index, failed=failed, **values)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.create(tmp_path / "ledger.db")
    made.add_hypotheses([FLY, BEE])
    yield made
    made.close()


def recount(book: Ledger) -> dict[tuple[str, Stage], Tally]:
    """The tallies, from the trials alone."""
    found: dict[tuple[str, Stage], Tally] = {}
    for words in book.hypotheses():
        for one in book.trials(words):
            key = (words.id, Stage.of(one.index))
            found[key] = found.get(key, Tally()).plus(count(one.failed, one.status))
    return found


def kept(book: Ledger) -> dict[tuple[str, Stage], Tally]:
    """The tallies as they are maintained."""
    both = {(h.id, stage): book.tally(h, stage) for h in book.hypotheses() for stage in Stage}
    return {key: tally for key, tally in both.items() if tally.drawn}


def test_what_is_recorded_comes_back(book: Ledger) -> None:
    first = trial(
        0,
        answer="bee",
        top=(("bee", 0.75), ("fly", 0.25)),
        caption="it is small.",
        detail="why",
        blob="ab" * 32,
        usage=Usage(7, 0.5),
    )
    others = [trial(1, None, status=Status.REFUSED, score=None, answer=None), trial(0, False, of=BEE)]
    book.record([first, *others], {"images": 3, "tokens": 7})
    assert book.trials(FLY) == [first, others[0]]
    assert book.trial(BEE, 0) == others[1]
    assert book.trial(BEE, 1) is None
    assert book.hypotheses() == [FLY, BEE]
    assert book.hypotheses()[1].origin == "caption"
    assert book.hypotheses()[1].parent == FLY.id
    assert book.spend() == {"images": 3, "tokens": 7}
    book.record([trial(2)], {"images": 1})
    assert book.spend() == {"images": 4, "tokens": 7}


def test_trials_are_selected(book: Ledger) -> None:
    fresh = Stage.CONFIRM.start
    book.record([trial(i, i % 2 == 0, blob="ab" * 32 if i < 2 else None) for i in range(6)], {})
    book.record(
        [trial(fresh, answer="crab"), trial(fresh + 1, answer="bee"), trial(fresh + 2, answer="bee")], {}
    )

    def indices(**how: Any) -> list[int]:
        return [t.index for t in book.trials(FLY, **how)]

    assert indices(stage=Stage.CONFIRM) == [fresh, fresh + 1, fresh + 2]
    assert indices(stage=Stage.EXPLORE, failed=True) == [0, 2, 4]
    assert indices(failed=False) == [1, 3, 5]
    assert indices(kept=True) == [0, 1]
    assert indices(limit=2) == [0, 1]
    assert book.answers(FLY, Stage.CONFIRM, failed=True) == {"bee": 2, "crab": 1}
    assert book.count(FLY, Stage.EXPLORE) == 6
    assert book.count(Hypothesis("never added"), Stage.EXPLORE) == 0
    assert [o.failed for o in book.outcomes(FLY, 1, 4)] == [False, True, False]


def test_numbers_of_numpy_are_numbers(book: Ledger) -> None:
    odd = trial(
        0,
        np.True_,  # type: ignore[arg-type]
        score=np.float32(0.25),
        top=(("bee", np.float32(0.5)),),
        usage=Usage(np.int64(3), np.float32(0.5)),  # type: ignore[arg-type]
    )
    book.record([odd], {})
    assert book.trial(FLY, 0) == trial(0, True, score=0.25, top=(("bee", 0.5),), usage=Usage(3, 0.5))


@pytest.mark.parametrize(
    "text", ["", "ünïcode 🐝", "a\x00b", "lone \ud800 surrogate", "'; DROP TABLE trials; --", "x" * LONGEST]
)
def test_any_text_can_be_kept(book: Ledger, text: str) -> None:
    words = Hypothesis(text)
    book.add_hypotheses([words])
    book.record([trial(0, of=words, answer=text, caption=text, detail=text, expected=text)], {})
    back = book.trials(words)[0]
    clean = text.encode("utf-8", "backslashreplace").decode()
    assert (back.answer, back.caption, back.detail, back.expected) == (clean,) * 4
    assert words in book.hypotheses()


def test_endless_text_is_cut_and_says_so(book: Ledger) -> None:
    book.record([trial(0, answer="x" * 10**6)], {})
    kept = book.trials(FLY)[0].answer or ""
    assert kept.startswith("x" * LONGEST)
    assert kept.endswith("… (cut: 1,000,000 characters)")


def test_duplicates_are_refused_whole(book: Ledger) -> None:
    book.record([trial(0), trial(1, False)], {"images": 2})
    for again in ([trial(2), trial(1), trial(3)], [trial(5), trial(5)]):
        with pytest.raises(LedgerError, match="already recorded"):
            book.record(again, {"images": len(again)})
    assert [t.index for t in book.trials(FLY)] == [0, 1]
    assert book.tally(FLY, Stage.EXPLORE) == Tally(2, 1)
    assert book.spend() == {"images": 2}


def test_unknown_hypotheses_are_refused(book: Ledger) -> None:
    with pytest.raises(LedgerError, match="does not know") as caught:
        book.record([trial(0, of=Hypothesis("never added"))], {})
    assert caught.value.fix == "add it first"
    with pytest.raises(LedgerError, match="does not know 'never added'"):
        book.trials(Hypothesis("never added"))


def test_hypotheses_are_entered_once(book: Ledger) -> None:
    book.add_hypotheses([Hypothesis(FLY.text, origin="later"), Hypothesis("new"), Hypothesis("new")])
    assert [h.text for h in book.hypotheses()] == ["a fly.", "a bee.", "new"]
    assert book.hypotheses()[0].origin == ""


def test_findings_facts_and_errors(book: Ledger) -> None:
    rate = Rate(0.5, 0.4, 0.6, 100, 50)
    one, two = (Finding(h, h.text, rate, rate, 5.0, True) for h in (FLY, BEE))
    book.set_findings([one, two])
    book.set_findings([two, one])
    assert book.findings() == [two, one]
    assert book.fact("state") is None
    book.set_fact("state", "running")
    book.set_fact("state", {"a": [1, None]})
    assert book.fact("state") == {"a": [1, None]}
    wrong: dict[str, Any] = {"status": Status.ERROR, "answer": None}
    book.record([trial(i, None, detail="late" if i else "odd", **wrong) for i in range(3)], {})
    assert book.errors() == [("late", 2), ("odd", 1)]


def test_forgetting_errors_keeps_the_first_indices(book: Ledger) -> None:
    """What is left of a stage is always its first indices, as a replay needs it."""
    bad: dict[str, Any] = {"status": Status.ERROR}
    fresh = Stage.CONFIRM.start
    book.record([trial(0), trial(1), trial(2, None, **bad), trial(3), trial(4, None, **bad)], {})
    book.record([trial(fresh), trial(fresh + 1, False)], {})
    book.record([trial(0, None, of=BEE, **bad)], {})
    assert book.forget_errors() == 4
    assert [t.index for t in book.trials(FLY)] == [0, 1, fresh, fresh + 1]
    assert book.trials(BEE) == []
    assert kept(book) == recount(book)
    assert book.forget_errors() == 0


def test_errors_alone_can_be_forgotten(book: Ledger) -> None:
    bad: dict[str, Any] = {"status": Status.ERROR}
    fresh = Stage.CONFIRM.start
    book.record([trial(0), trial(1, None, **bad), trial(2), trial(3, None, **bad), trial(fresh)], {})
    assert book.forget_errors(gaps=True) == 2
    assert [t.index for t in book.trials(FLY)] == [0, 2, fresh]
    assert book.indices(FLY, 0, 4) == {0, 2}
    assert kept(book) == recount(book)
    assert book.forget_errors(gaps=True) == 0


outcomes = st.tuples(
    st.sampled_from([FLY, BEE]),
    st.sampled_from(list(Stage)),
    st.integers(0, 12),
    st.sampled_from([True, False, None]),
    st.sampled_from(list(Status)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(outcomes, max_size=6) | st.just("forget"), max_size=10))
def test_tallies_always_equal_a_recount(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger.create(Path(folder) / "ledger.db")
        book.add_hypotheses([FLY, BEE])
        there: set[tuple[str, int]] = set()
        for step in steps:
            before = recount(book)
            if step == "forget":
                book.forget_errors()
                there = {(h.id, t.index) for h in (FLY, BEE) for t in book.trials(h)}
                assert book.errors() == []
            else:
                trials = [trial(s.start + i, f, of=h, status=status) for h, s, i, f, status in step]
                keys = [(t.hypothesis, t.index) for t in trials]
                if len(set(keys)) < len(keys) or there & set(keys):
                    with pytest.raises(LedgerError):
                        book.record(trials, {"images": len(trials)})
                    assert recount(book) == before
                else:
                    book.record(trials, {"images": len(trials)})
                    there |= set(keys)
            assert kept(book) == recount(book)
            whole: dict[str, Tally] = {}
            for (words, _), tally in kept(book).items():
                whole[words] = whole.get(words, Tally()).plus(tally)
            assert book.tallies() == whole
        book.close()


# -- one writer, many readers --------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from weakspot.core import Hypothesis, Status, Trial
from weakspot.store import Ledger
book, fly = Ledger.open(Path(sys.argv[1])), Hypothesis("a fly.")
for start in range(0, 10**7, 16):
    rows = [Trial(fly.id, i, Status.OK, i % 3 == 0, None, "fly", "bee") for i in range(start, start + 16)]
    book.record(rows, {"images": 16})
    print(start + 16, flush=True)
"""


def test_it_is_read_while_another_process_writes_and_after_it_was_killed(book: Ledger) -> None:
    with sqlite3.connect(book.path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    book.close()
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(book.path)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    try:
        writer.stdout.readline()
        reader, seen = Ledger.read(book.path), []
        db = sqlite3.connect(book.path)
        for _ in range(100):
            row = db.execute(
                """SELECT (SELECT SUM(n) FROM tallies), (SELECT SUM(failures) FROM tallies),
                   (SELECT COUNT(*) FROM trials), (SELECT SUM(failed) FROM trials),
                   (SELECT amount FROM spend WHERE what = 'images')"""
            ).fetchone()
            assert row[0] == row[2] == row[4]
            assert row[1] == row[3]
            seen.append(reader.tallies()[FLY.id].n)
            time.sleep(0.002)
        with pytest.raises(LedgerError, match="readonly"):
            reader.set_fact("state", "mine now")
        reader.close()
        db.close()
        assert seen == sorted(seen)
        assert seen[-1] > seen[0]
    finally:
        writer.send_signal(signal.SIGKILL)
        said = writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
    after = Ledger.read(book.path)
    assert after.tally(FLY, Stage.EXPLORE).n >= int(said[-1])  # what it said was recorded is there
    assert after.tally(FLY, Stage.EXPLORE).n % 16 == 0  # and no part of a batch
    assert kept(after) == recount(after)
    after.close()


# -- files that are no ledger, and other schemas -------------------------------------------------


def snapshot(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def _other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE x (y)")
    db.close()


def _set_version(path: Path, version: int) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {version}")
    db.execute("PRAGMA journal_mode = DELETE")
    db.close()


SPOILED: dict[str, Any] = {
    "is not a ledger": lambda path: path.write_text("just some words, and quite a lot of them. " * 9),
    "damaged": lambda path: path.write_bytes(b""),
    "or it is damaged": lambda path: path.write_bytes(path.read_bytes()[:50]),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-5000]),
    "truncated: 100": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "newer weakspot": lambda path: _set_version(path, 99),
    "a SQLite file but not": _other_database,
    "there is no ledger": lambda path: path.unlink(),
    "cannot be read: Is a directory": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("message", SPOILED)
@pytest.mark.parametrize("how", [Ledger.open, Ledger.read, inspect_file])
def test_what_is_no_ledger_is_explained_and_left_alone(book: Ledger, message: str, how: Any) -> None:
    book.record([trial(i) for i in range(300)], {})
    book.close()
    SPOILED[message](book.path)
    before = snapshot(book.path.parent)
    with pytest.raises(LedgerError, match=message) as caught:
        how(book.path)
    assert caught.value.fix
    assert str(book.path) in caught.value.what
    assert snapshot(book.path.parent) == before


def test_a_damaged_page_is_explained(book: Ledger) -> None:
    book.record([trial(i, caption="some words " * 20) for i in range(2000)], {})
    book.close()
    content = bytearray(book.path.read_bytes())
    content[8192 * 3 : -8192] = os.urandom(len(content) - 8192 * 4)
    book.path.write_bytes(content)
    with pytest.raises(LedgerError, match="failed"):  # noqa: PT012
        again = Ledger.open(book.path)
        try:
            again.trials(FLY)
        finally:
            again.close()


def test_a_ledger_is_never_made_over_another(book: Ledger) -> None:
    with pytest.raises(LedgerError, match="already a ledger"):
        Ledger.create(book.path)


def test_a_ledger_of_an_older_schema_is_refused(book: Ledger) -> None:
    book.close()
    with sqlite3.connect(book.path, isolation_level=None) as db:
        db.execute("PRAGMA user_version = 1")
    db.close()
    for way in (Ledger.open, Ledger.read):
        with pytest.raises(LedgerError, match="older weakspot") as caught:
            way(book.path)
        assert "again" in caught.value.fix


# -- trouble with the disk -----------------------------------------------------------------------


def test_a_full_ledger_keeps_what_it_has_and_goes_on_when_there_is_room(book: Ledger) -> None:
    book.record([trial(i) for i in range(100)], {"images": 100})
    pages = book._db.execute("PRAGMA page_count").fetchone()[0]
    book._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    more = [trial(100 + i, caption="many words " * 100) for i in range(100)]
    with pytest.raises(LedgerError, match="full") as caught:
        book.record(more, {"images": 100})
    assert "free some space" in caught.value.fix
    with pytest.raises(LedgerError, match="full"):
        book.add_hypotheses([new := Hypothesis("new " * 10000)])
    assert book.count(FLY, Stage.EXPLORE) == 100
    assert kept(book) == recount(book)
    assert book.spend() == {"images": 100}
    book._db.execute("PRAGMA max_page_count = 100000")
    book.record(more, {"images": 100})
    book.add_hypotheses([new])
    book.record([trial(0, of=new)], {"images": 1})
    assert kept(book) == recount(book)
    assert book.spend() == {"images": 201}


class FailsToCommit:
    """A connection whose next COMMIT finds the disk full."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db, self.full = db, True

    def execute(self, sql: str, *values: Any) -> Any:
        if sql == "COMMIT" and self.full:
            self.full = False
            raise sqlite3.OperationalError("database or disk is full")
        return self.db.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.db, name)


def test_a_commit_that_fails_is_undone(book: Ledger) -> None:
    book._db = FailsToCommit(book._db)  # type: ignore[assignment]
    with pytest.raises(LedgerError, match="full"):
        book.record([trial(0)], {"images": 1})
    assert book.count(FLY, Stage.EXPLORE) == 0
    book.record([trial(0)], {"images": 1})
    assert book.count(FLY, Stage.EXPLORE) == 1


def test_a_ledger_below_a_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WeakspotError, match=r"failed: (Not a directory|File exists)"):
        Ledger.create(tmp_path / "file" / "ledger.db")
