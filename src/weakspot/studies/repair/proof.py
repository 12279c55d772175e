"""What a repair moved: the same cases before and after, counted in pairs.

A negative difference is a success. Whether failures were reduced is decided by McNemar's exact test on
cases that are independent of each other (each picture once per mode), adjusted over the modes that were to
be repaired (Holm). What must not get worse is tested likewise, all of it together: the other modes, the
inputs as they are, the rest of the landscape and places that have become modes (`elsewhere`).
If any of it did, failures were traded for others, and that is what is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.stats.clustered import clustered_difference, exchanged
from weakspot.stats.contrast import mcnemar, paired_difference
from weakspot.stats.distances import wasserstein, without_location
from weakspot.stats.landscape import fit, rates, smoothness
from weakspot.stats.multiple import adjusted_holm

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Verdict = Literal["repaired", "reduced", "traded", "not reduced", "worse"]
#: Error rate of the tests.
ALPHA: Final = 0.05
#: Landscapes of more cells are compared axis by axis: the exact distance would take too long.
MOST_CELLS: Final = 4_000
#: Random exchanges of before and after, for what the distance would be by chance; on landscapes of few cells.
EXCHANGES, EXCHANGED_CELLS = 99, 700


class Change(NamedTuple):
    """Failures before and after on the same n cases: `removed` failed only before, `made` only after.

    The interval (95 %) is for the difference of the rates, after minus before, and p is McNemar's of "no
    change", adjusted where several are tested together. The wanted rate is 0, or the share of an attribute
    that is to be shown now and then.
    """

    words: str
    n: int
    before: int
    after: int
    removed: int
    made: int
    low: float
    high: float
    p: float
    wanted: float = 0.0

    @property
    def difference(self) -> float:
        return (self.after - self.before) / self.n if self.n else 0.0

    @property
    def reduced(self) -> bool:
        """Fewer failures (or a share that is nearer to the wanted one), beyond chance."""
        return self._moved and self._far(self.after) < self._far(self.before)

    @property
    def increased(self) -> bool:
        """More failures (or a share that is farther from the wanted one), beyond chance."""
        return self._moved and self._far(self.after) > self._far(self.before)

    @property
    def halved(self) -> bool:
        """At most half as many failures as before, or half as far from the wanted share."""
        return 2 * self._far(self.after) <= self._far(self.before) and self._far(self.before) > 0

    @property
    def _moved(self) -> bool:
        return self.p <= ALPHA and not self.low <= 0 <= self.high

    def _far(self, failures: int) -> float:
        return abs(failures - self.wanted * self.n)

    def to_json(self) -> dict[str, Any]:
        told = {"difference": self.difference, "reduced": self.reduced, "increased": self.increased}
        return self._asdict() | told | {"halved": self.halved}


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
    failed = int(before.sum()), int(after.sum())
    return Change(words, len(before), *failed, removed, made, ends.low, ends.high, p, wanted)


def adjusted(changes: Sequence[Change]) -> list[Change]:
    """The same with Holm's p-values."""
    return (
        [c._replace(p=p) for c, p in zip(changes, adjusted_holm([c.p for c in changes]), strict=True)]
        if changes
        else []
    )


def verdict(chosen: Sequence[Change], others: Sequence[Change]) -> Verdict:
    """What is to be said of a repair, from what was to go and from everything that was to stay."""
    if any(c.increased for c in chosen):
        return "worse"
    if not any(c.reduced for c in chosen):
        return "traded" if any(c.increased for c in others) else "not reduced"
    if any(c.increased for c in others):
        return "traded"
    return "repaired" if all(c.halved and c.reduced for c in chosen) else "reduced"


class Moved(NamedTuple):
    """Two landscapes of one space: the believed rates of all cells, and how far they are from each other.

    The distance is Wasserstein's, over the metric of the concepts; by axis (the largest) unless `exact`. `p`
    is how often one so large comes about by chance, None where that was not computed. `unplaced` is the
    distance of the sorted rates, which does not see where failures are.
    """

    before: Floats
    after: Floats
    n: int
    removed: int
    made: int
    distance: float
    exact: bool
    p: float | None
    unplaced: float


def moved(
    distances: Sequence[Floats], cells: NDArray[np.int64], before: Bools, after: Bools, *, seed: int = 0
) -> Moved:
    """Compare two landscapes that were measured with the same draws of some cells."""
    first, second = believed(distances, cells, before), believed(distances, cells, after)
    exact = len(first) <= MOST_CELLS
    far = _distance(first, second, distances)
    p: float | None = None
    if len(first) <= EXCHANGED_CELLS and exact:
        rng, larger = np.random.default_rng([seed, 21]), 0
        own = _distance(_raw(distances, cells, before), _raw(distances, cells, after), distances)
        for _ in range(EXCHANGES):
            swap = rng.random(len(before)) < 0.5
            one, two = np.where(swap, after, before), np.where(swap, before, after)
            larger += (
                _distance(_raw(distances, cells, one), _raw(distances, cells, two), distances) >= own - 1e-12
            )
        p = (larger + 1) / (EXCHANGES + 1)
    removed, made = int((before & ~after).sum()), int((after & ~before).sum())
    return Moved(first, second, len(before), removed, made, far, exact, p, without_location(first, second))


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


def _counts(distances: Sequence[Floats], cells: NDArray[np.int64], failed: Bools) -> tuple[Floats, Floats]:
    size = int(np.prod([len(d) for d in distances]))
    failures = np.bincount(cells, failed.astype(float), size)
    return np.asarray(failures, float), np.bincount(cells, minlength=size).astype(float)


def believed(distances: Sequence[Floats], cells: NDArray[np.int64], failed: Bools) -> Floats:
    """The rates of all cells, smoothed."""
    failures, n = _counts(distances, cells, failed)
    return rates(fit(smoothness(distances), np.arange(len(n)), failures, n), np.arange(len(n))).rate


def _raw(distances: Sequence[Floats], cells: NDArray[np.int64], failed: Bools) -> Floats:
    failures, n = _counts(distances, cells, failed)
    return np.asarray((failures + 0.1) / (n + 1))
