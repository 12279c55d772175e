"""The ledger as a file: whether it is one and whole, connections to it, errors that people understand."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from weakspot.core import WeakspotError
from weakspot.store.schema import APPLICATION_ID, TABLES, VERSION


class LedgerError(WeakspotError):
    """The ledger cannot be read or written."""


def inspect_file(path: Path) -> None:
    """Check, without touching it, that a file is a whole ledger of our schema.

    Raises:
        LedgerError: It is missing, something else, truncated, or of another schema.
    """
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
    broken = "restore it from a copy; the images in blobs/ and the settings in run.yaml are separate files"
    if len(header) < 100 or header[:16] != b"SQLite format 3\0":
        raise LedgerError(f"{path} is not a ledger, or it is damaged", fix=broken)
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
            f"{path} is truncated: {size:,} of {page_size * pages:,} bytes are there", fix=broken
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


def create_tables(db: sqlite3.Connection) -> None:
    """The tables of a new ledger, whole or not at all."""
    db.executescript(f"BEGIN; {TABLES}; PRAGMA user_version = {VERSION}; COMMIT;")


def reading_uri(path: Path) -> str:
    """The URI under which a ledger is read, also while another process writes it."""
    inspect_file(path)
    # A WAL ledger is read with a small file beside it. Where none can be made (a read-only disk, someone
    # else's folder) and no log waits to be read, the file itself is all there is and nobody writes it.
    how = "mode=ro" if log_size(path) or os.access(path.parent, os.W_OK) else "immutable=1"
    return f"{path.resolve().as_uri()}?{how}"


def tune(db: sqlite3.Connection) -> None:
    """Settings of a writer's connection: safe against `kill -9`, readers while it writes."""
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA cache_size = -16384")


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
            text, fix = "a trial is there already", "a trial is recorded once; to go on: weakspot resume"
        elif "locked" in text:
            fix = "another process writes this ledger; wait for it to end"
        elif "readonly" in text or "unable to open" in text or isinstance(error, OSError):
            fix = "check that the folder exists and may be written"
        else:
            fix = (
                "restore it from a copy; the images in blobs/ and the settings in run.yaml are separate files"
            )
        raise LedgerError(f"the ledger {path} failed: {text}", fix=fix) from error
