"""The ledger's tables, and the path from an older schema to this one.

`MIGRATIONS[i]` brings a ledger from version i to i + 1; a new ledger walks all of them. Never change an
entry that was released: add one.
"""

from __future__ import annotations

from typing import Final

#: "WSPT": marks a SQLite file as ours.
APPLICATION_ID: Final = 0x57535054

MIGRATIONS: Final[tuple[str, ...]] = (
    """
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
    """,
    """
    ALTER TABLE tallies ADD COLUMN invalid INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE tallies ADD COLUMN doubted INTEGER NOT NULL DEFAULT 0;
    """,
)

VERSION: Final = len(MIGRATIONS)
