"""The ledger as a file: whether it is one and whole, connections to it, errors that people understand."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from weakspot.core import Status, Tally, Trial, Usage, WeakspotError

#: "WSPT": marks a SQLite file as ours.
APPLICATION_ID: Final = 0x57535054
VERSION: Final = 2

TABLES: Final = """
CREATE TABLE hypotheses (
    key      INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    text     TEXT NOT NULL,
    concepts TEXT NOT NULL,
    origin   TEXT NOT NULL,
    parent   TEXT
);
CREATE TABLE trials (
    hypothesis INTEGER NOT NULL REFERENCES hypotheses (key),
    idx        INTEGER NOT NULL,
    status     TEXT NOT NULL,
    failed     INTEGER,
    score      REAL,
    expected   TEXT NOT NULL,
    answer     TEXT,
    top        TEXT,
    caption    TEXT NOT NULL,
    detail     TEXT NOT NULL,
    blob       TEXT,
    tokens     INTEGER NOT NULL,
    dollars    REAL NOT NULL,
    seconds    REAL NOT NULL,
    PRIMARY KEY (hypothesis, idx)
) WITHOUT ROWID;
CREATE TABLE tallies (
    hypothesis INTEGER NOT NULL REFERENCES hypotheses (key),
    stage      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    failures   INTEGER NOT NULL,
    errors     INTEGER NOT NULL,
    undecided  INTEGER NOT NULL,
    invalid    INTEGER NOT NULL,
    doubted    INTEGER NOT NULL,
    PRIMARY KEY (hypothesis, stage)
) WITHOUT ROWID;
CREATE TABLE spend (
    what   TEXT PRIMARY KEY,
    amount REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE findings (
    rank INTEGER PRIMARY KEY,
    data TEXT NOT NULL
);
CREATE TABLE facts (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
"""


_BROKEN: Final = (
    "restore it from a copy; the images in blobs/ and the settings in run.yaml are separate files"
)


class LedgerError(WeakspotError):
    """The ledger cannot be read or written."""


def inspect_file(path: Path) -> None:
    """Check, without touching it, that a file is a whole ledger of our schema."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
        size, in_log = path.stat().st_size, log_size(path) > 0
    except FileNotFoundError:
        raise LedgerError(
            f"there is no ledger at {path}", fix="name the folder of a run (see: runs/)"
        ) from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be read: {error.strerror}", fix="check the permissions") from error
    if len(header) < 100 or header[:16] != b"SQLite format 3\0":
        raise LedgerError(f"{path} is not a ledger, or it is damaged", fix=_BROKEN)
    page_size, pages = struct.unpack(">H", header[16:18])[0], struct.unpack(">I", header[28:32])[0]
    page_size = 65536 if page_size == 1 else page_size
    version, application = struct.unpack(">I", header[60:64])[0], struct.unpack(">I", header[68:72])[0]
    if application != APPLICATION_ID:
        raise LedgerError(
            f"{path} is a SQLite file but not a ledger", fix="name the folder of a run (see: runs/)"
        )
    if version != VERSION:
        other, fix = (
            ("a newer", "pip install --upgrade weakspot")
            if version > VERSION
            else ("an older", "run the study again, or read it with the weakspot that wrote it")
        )
        raise LedgerError(
            f"{path} was written by {other} weakspot (schema {version}; this one reads {VERSION})", fix=fix
        )
    if size < page_size * pages and not in_log:
        raise LedgerError(
            f"{path} is truncated: {size:,} of {page_size * pages:,} bytes are there", fix=_BROKEN
        )


def log_size(path: Path) -> int:
    """Bytes in the write-ahead log beside a ledger."""
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


@contextmanager
def connected(database: str) -> Iterator[sqlite3.Connection]:
    """A connection to a URI, closed again if what is done first with it fails."""
    db = sqlite3.connect(database, uri=True, isolation_level=None, check_same_thread=False)
    try:
        yield db
    except BaseException:
        db.close()
        raise


def reading_uri(path: Path) -> str:
    """The URI under which a ledger is read, also while another process writes it."""
    inspect_file(path)
    # A WAL ledger is read with a small file beside it. Where none can be made (a read-only disk, someone
    # else's folder) and no log waits to be read, the file itself is all there is and nobody writes it.
    how = "mode=ro" if log_size(path) or os.access(path.parent, os.W_OK) else "immutable=1"
    return f"{path.resolve().as_uri()}?{how}"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite and of the disk into ours, with cause and fix."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        text = (isinstance(error, OSError) and error.strerror) or str(error)
        if "full" in text or "disk I/O" in text or "No space" in text:
            fix = "free some space, then: weakspot resume; everything recorded so far is kept"
        elif "UNIQUE" in text:
            text, fix = (
                "this trial is already recorded",
                "a trial is recorded once; to go on: weakspot resume",
            )
        elif "locked" in text:
            fix = "another process writes this ledger; wait for it to end"
        elif "readonly" in text or "unable to open" in text or isinstance(error, OSError):
            fix = "check that the folder exists and may be written"
        else:
            fix = _BROKEN
        raise LedgerError(f"the ledger {path} failed: {text}", fix=fix) from error


#: Characters kept of an answer, a caption or an error; a model may answer with a megabyte each time.
LONGEST: Final = 32_768


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
