"""Which rows of a table failed."""

from __future__ import annotations

from weakspot.records.judged import Given, Judged, Roles


def read_judged(given: Given, *, named: Roles | None = None, failed: str = "") -> Judged:
    """Read a table and say which rows failed.

    Args:
        named: Columns that a person named; the other roles are recognised by usual names.
        failed: An expression over columns that says what a failure is; by default the prediction differs
            from the label (and from the relabelled answers).
    """
    raise NotImplementedError
