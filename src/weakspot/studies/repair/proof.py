"""What a repair moved: the same cases before and after, counted in pairs. A negative difference is a success.

Whether failures were reduced is decided by McNemar's exact test on cases that are independent of each other
(each picture once per mode), adjusted over the repaired modes (Holm). What must not get worse is tested
likewise, all of it together: other modes, the inputs as they are, the rest of the landscape, and places that
have become modes. These are found on half of the pictures and confirmed on the other; draws that are
independent of each other need no halves: the place is drawn anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.modes import Mode, modes
from weakspot.concepts.space import ConceptSpace
from weakspot.stats.clustered import clustered_difference, exchanged
from weakspot.stats.contrast import mcnemar, paired_difference
from weakspot.stats.distances import wasserstein, without_location
from weakspot.stats.landscape import fit, rates, smoothness
from weakspot.stats.multiple import adjusted_holm
from weakspot.studies.repair.result import Change, Verdict

Bools = NDArray[np.bool_]
Cells = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Landscapes of more cells are compared axis by axis: the exact distance would take too long.
MOST_CELLS: Final = 4_000
#: Random exchanges of before and after, for what the distance would be by chance; on landscapes of few cells.
EXCHANGES, EXCHANGED_CELLS = 99, 700
#: Places that have become modes, of which so many are asked again at most.
MOST_NEW: Final = 3
#: What the rest of the landscape is called.
ELSEWHERE: Final = "everywhere else in the landscape"


def change(
    words: str, before: Bools, after: Bools, *, clusters: Sequence[str] | None = None, wanted: float = 0.0
) -> Change:
    """Count pairs; `clusters` says which belong together, as those of one picture do."""
    if before.shape != after.shape:
        raise ValueError(f"Pairs are needed, got {before.shape} before and {after.shape} after.")
    removed, made = int((before & ~after).sum()), int((after & ~before).sum())
    if clusters is None:
        ends, p = paired_difference(made, removed, len(before)), mcnemar(made, removed)
    else:
        places = np.unique(np.asarray(clusters), return_inverse=True)[1].astype(np.int64)
        ends = clustered_difference(before, after, places)
        net = np.bincount(places, after.astype(float) - before.astype(float))
        p = exchanged(np.rint(net).astype(np.int64))
    return Change(
        words=words,
        n=len(before),
        before=int(before.sum()),
        after=int(after.sum()),
        removed=removed,
        made=made,
        low=ends.low,
        high=ends.high,
        p=p,
        wanted=wanted,
    )


def adjusted(changes: Sequence[Change]) -> list[Change]:
    """The same with Holm's p-values."""
    corrected = adjusted_holm([c.p for c in changes]) if changes else []
    return [c.model_copy(update={"p": p}) for c, p in zip(changes, corrected, strict=True)]


def verdict(chosen: Sequence[Change], others: Sequence[Change]) -> Verdict:
    """What is to be said of a repair, from what was to go and from everything that was to stay."""
    if any(c.increased for c in chosen):
        return "worse"
    if any(c.increased for c in others):
        return "traded"
    if not any(c.reduced for c in chosen):
        return "not reduced"
    return "repaired" if all(c.halved and c.reduced for c in chosen) else "reduced"


# -- the landscape -----------------------------------------------------------------------------------


class Moved(NamedTuple):
    """Two landscapes of one space: the believed rates of all cells, and how far they are from each other.

    The distance is Wasserstein's, over the metric of the concepts; by axis (the largest) unless `exact`. `p`
    is how often one so large comes about by chance, None where that was not computed. `unplaced` is the
    distance of the sorted rates, which does not see where failures are.
    """

    before: Floats
    after: Floats
    distance: float
    exact: bool
    p: float | None
    unplaced: float


def moved(distances: Sequence[Floats], cells: Cells, before: Bools, after: Bools, *, seed: int = 0) -> Moved:
    """Compare two landscapes that were measured with the same draws of some cells."""
    first, second = believed(distances, cells, before), believed(distances, cells, after)
    exact = len(first) <= MOST_CELLS
    p: float | None = None
    if len(first) <= EXCHANGED_CELLS and exact:

        def apart(one: Bools, two: Bools) -> float:
            return _distance(_raw(distances, cells, one), _raw(distances, cells, two), distances)

        rng, larger, own = np.random.default_rng([seed, 21]), 0, apart(before, after)
        for _ in range(EXCHANGES):
            swap = rng.random(len(before)) < 0.5
            larger += apart(np.where(swap, after, before), np.where(swap, before, after)) >= own - 1e-12
        p = (larger + 1) / (EXCHANGES + 1)
    return Moved(
        first, second, _distance(first, second, distances), exact, p, without_location(first, second)
    )


def _distance(first: Floats, second: Floats, distances: Sequence[Floats]) -> float:
    if len(first) <= MOST_CELLS:
        return wasserstein(first, second, distances)
    shape = tuple(len(d) for d in distances)
    found = 0.0
    for axis, far in enumerate(distances):
        rest = tuple(a for a in range(len(shape)) if a != axis)
        one, two = (rate.reshape(shape).mean(axis=rest) for rate in (first, second))
        found = max(found, wasserstein(one, two, [far]))
    return found


def _counts(distances: Sequence[Floats], cells: Cells, failed: Bools) -> tuple[Floats, Floats]:
    size = int(np.prod([len(d) for d in distances]))
    failures = np.bincount(cells, failed.astype(float), size)
    return np.asarray(failures, float), np.bincount(cells, minlength=size).astype(float)


def believed(distances: Sequence[Floats], cells: Cells, failed: Bools) -> Floats:
    """The rates of all cells, smoothed."""
    failures, n = _counts(distances, cells, failed)
    return rates(fit(smoothness(distances), np.arange(len(n)), failures, n), np.arange(len(n))).rate


def _raw(distances: Sequence[Floats], cells: Cells, failed: Bools) -> Floats:
    failures, n = _counts(distances, cells, failed)
    return np.asarray((failures + 0.1) / (n + 1))


# -- elsewhere: the rest of the landscape, and places that have become modes -------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs over a landscape: the cell of each, and whether it failed before and after.

    `clusters` names what pairs belong together; None if all are independent.
    """

    cells: Cells
    before: Bools
    after: Bools
    clusters: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.cells)

    def only(self, chosen: Bools) -> Drawn:
        names = None if self.clusters is None else tuple(compress(self.clusters, chosen))
        return Drawn(self.cells[chosen], self.before[chosen], self.after[chosen], names)


def rest(drawn: Drawn, chosen: Iterable[int], *, wanted: float = 0.0) -> Change | None:
    """Failures outside the cells that were to be repaired; None where nothing was drawn there."""
    some = drawn.only(~np.isin(drawn.cells, np.array(sorted(chosen), np.int64)))
    if not len(some):
        return None
    return change(ELSEWHERE, some.before, some.after, clusters=some.clusters, wanted=wanted)


def halfway(rates: Floats) -> float:
    """Where a mode begins: half-way from the mean to the worst cell."""
    return (float(rates.mean()) + float(rates.max())) / 2


def looks(name: str) -> bool:
    """Whether a picture is of the half that places are looked for in; the other half confirms them."""
    return hashlib.blake2b(f"half {name}".encode(), digest_size=1).digest()[0] % 2 == 0


def become(space: ConceptSpace, drawn: Drawn, known: Iterable[int]) -> list[Mode]:
    """Modes that overlap none of those before, nor a known cell; the worst of them.

    What counts as a mode is less where the whole landscape has come down, so that the worst that is left is
    looked at. Of clusters only the half that is looked through counts.
    """
    if drawn.clusters is not None:
        drawn = drawn.only(np.array([looks(name) for name in drawn.clusters], bool))
    if not len(drawn):
        return []
    far = space.distances()
    first, second = (believed(far, drawn.cells, failed) for failed in (drawn.before, drawn.after))
    then, now = halfway(first), min(halfway(first), halfway(second))
    there = {cell for mode in modes(space, first, above=then) for cell in mode.cells} | set(known)
    return [mode for mode in modes(space, second, above=now) if there.isdisjoint(mode.cells)][:MOST_NEW]


def confirmed(
    mode: Mode, before: Bools, after: Bools, clusters: Sequence[str] | None, *, wanted: float = 0.0
) -> Change:
    """Failures in a place that has become a mode, on pairs that did not help to find it."""
    if clusters is not None:
        other = np.array([not looks(name) for name in clusters], bool)
        before, after = before[other], after[other]
    return change(mode.words, before, after, wanted=wanted)
