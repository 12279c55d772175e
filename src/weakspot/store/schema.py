"""The ledger's tables. A change of them is a new version, and ledgers of another version are refused."""

from __future__ import annotations

from typing import Final

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
