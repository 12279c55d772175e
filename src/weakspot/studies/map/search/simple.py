"""Searches that learn nothing: every cell alike, or cells at random."""

from __future__ import annotations

from typing import Final

import numpy as np

from weakspot.core import WeakspotError
from weakspot.studies.map.search.problem import Log

#: Queries asked at once.
BATCH: Final = 256


def at_random(log: Log, rng: np.random.Generator) -> None:
    """Cells drawn uniformly."""
    while log.room:
        open_cells = np.flatnonzero(log.left() > 0)
        if not len(open_cells):
            return
        log.ask(rng.choice(open_cells, min(BATCH, log.room)))


def exhaustive(log: Log, rng: np.random.Generator) -> None:
    """Every cell equally often, in rounds; within a round in random order."""
    size = log.problem.space.size
    if log.budget < size:
        raise WeakspotError(
            f"{log.budget:,} queries do not reach each of {size:,} cells",
            fix=f"give at least {size:,}, or use another search, which learns from the cells beside",
        )
    while log.room and (log.left() > 0).any():
        row = rng.permutation(np.flatnonzero(log.left() > 0))
        for at in range(0, len(row), BATCH):
            log.ask(row[at : at + BATCH])
