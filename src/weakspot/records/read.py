"""Read a table or a log, whatever its format."""

from __future__ import annotations

from weakspot.records.judged import Given
from weakspot.records.table import Records


def is_table(given: Given) -> bool:
    """Whether this names or is a table of results, by its name and its first bytes; nothing is read whole."""
    raise NotImplementedError


def read_records(given: Given) -> Records:
    """All rows of a table or a log; rows that cannot be read are left out and listed."""
    raise NotImplementedError
