"""What a run measured that is no trial: numbers and tables of its report, and of its transfer to others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.after.transfer_matrix import cells_of, rate_of
from weakspot.report import format as show
from weakspot.report.document import Allowance, Document, Table, Tile

#: Tables that are shown, rows of each, and bytes of a transfer that are read.
TABLES, ROWS, LARGEST = 6, 60, 8 * 1024 * 1024


class Measured(NamedTuple):
    """Numbers that stand out, and tables."""

    tiles: tuple[Tile, ...]
    tables: tuple[Table, ...]


NOTHING: Final = Measured((), ())


def measured(document: Document, *, tables: bool) -> Measured:
    """What the report of a run shows first, as far as it is numbers and, if they are asked for, tables."""
    if not tables:
        return Measured(tuple(document.tiles()), ())
    found = (
        block._replace(title=block.title or section.title, rows=block.rows[:ROWS])
        for section in document.sections(Allowance(0))
        for block in section.blocks
        if isinstance(block, Table) and block.rows
    )
    return Measured(tuple(document.tiles()), tuple(islice(found, TABLES)))


def transferred(folder: Path) -> list[Table]:
    """What `weakspot transfer` left beside a hunt: how often other models fail on its findings."""
    path = folder / "transfer.json"
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return []
        return _tables(json.loads(path.read_bytes()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # none, or written by hand
        return []


def _tables(data: Mapping[str, Any]) -> list[Table]:
    targets = [show.shorten(str(name), 60) for name in data["targets"]]
    found = []
    for source in data["sources"]:
        rows = []
        for number, row in enumerate(data["rows"][:ROWS]):
            rates = [rate_of(cell) for cell in cells_of(data, source, number)]
            words = "baseline" if row["baseline"] else str(row["phrase"])
            rows.append((show.shorten(words, 160), *(show.rate(rate) for rate in rates)))
        title = f"On other models, pictures of {show.shorten(str(source), 80)}"
        note = f"The same {show.count(data['n'])} pictures of each for every model; the first was hunted."
        found.append(Table(title, note, ("words", *targets), rows))
    return found
