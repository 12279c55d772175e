"""A table of results in place of a model: whether one is meant, and its rows with their verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.core import MODELS, WeakspotError
from weakspot.records import Judged
from weakspot.records.read import is_table, read_records
from weakspot.records.verdicts import read_judged
from weakspot.studies.map.settings import MapSettings


def table_of(settings: MapSettings, given: Any) -> Judged | None:
    """The table that the target names, or is; None where it is a model.

    Columns are named for a table and for nothing else: one without the other is an error.
    """
    meant = settings.target if given is None else given
    if settings.concepts:
        return read_table(settings, given)
    if isinstance(meant, Judged) or is_table(meant):
        records = meant.records if isinstance(meant, Judged) else read_records(meant)
        raise WeakspotError(
            f"{settings.target[:200]} is a table of results, but no column of it is named to map over",
            fix=f"add --concepts with some of: {', '.join(records.columns)[:400]}",
        )
    return None


def read_table(settings: MapSettings, given: Any) -> Judged:
    """The rows that have a verdict."""
    if isinstance(given, Judged):
        return given
    meant = settings.target if given is None else given
    if not is_table(meant):
        if isinstance(meant, str) and not MODELS.knows(meant) and not Path(meant).exists():
            raise WeakspotError(
                f"there is no {meant[:200]!r} here", fix="name a file, from the current folder"
            )
        raise WeakspotError(
            f"{settings.target[:200]} is not a table of results, so it has no columns to map over",
            fix="name a table (.csv, .jsonl, .parquet), or leave the concepts out",
        )
    return read_judged(meant, named=settings.table_roles, failed=settings.failed)
