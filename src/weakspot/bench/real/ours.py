"""weakspot's own search, given what the rivals are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weakspot.bench.real.methods import READ, Said, Slices
from weakspot.concepts.finite.confirm import halves
from weakspot.concepts.finite.spots import weak_spots

#: The false-discovery rate by default.
FDR = 0.05


def weakspot(slices: Slices, *, seed: int) -> list[Said]:
    """One half of the rows suggests, the other confirms, both ways: as `weakspot hunt TABLE` does."""
    rows = slices.rows.astype(np.float32)
    half = halves(len(slices.failed), seed)
    spots = weak_spots(rows, slices.failed, half, fdr=FDR, dear=plain(slices))
    return [Said(frozenset(slices.names[i] for i in spot.statement)) for spot in spots[:READ]]


def plain(slices: Slices) -> NDArray[np.float64]:
    """What each concept costs beyond the others: that something is not so is less plain."""
    return np.array([name.endswith(("=0", "=no")) for name in slices.names], float)
