"""Modes: where on a landscape failures are, in words; and the fewest concepts that are enough for them.

A mode is a connected region of cells above a rate, with one peak: regions that touch are one mode unless the
way between their peaks dips, or one box of values is grown around both. Its words are those of the box. A
minimal failing set fixes as few axes as possible: with any one of them set free, the rate is no longer above.

A rate that is nan is of a cell that does not count, such as one without a row in a table.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.stats.landscape import mean_over

Floats = NDArray[np.float64]
#: Two peaks are two modes if the way between them dips by this much below the lower one.
DIP: Final = 0.03
#: Axes that a minimal set fixes at most.
MOST_AXES: Final = 3
#: Of so many cells above the rate the worst are looked at.
MOST_CELLS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Mode:
    """A place where failures are: a peak, its cells (worst first), and a box around it, all of it above."""

    peak: int
    rate: float
    cells: tuple[int, ...]
    region: Region
    words: str


def modes(space: ConceptSpace, rate: Floats, *, above: float) -> list[Mode]:
    """The modes of a landscape, given by the rates of all cells; worst first."""
    order = np.argsort(-rate, kind="stable")
    order = order[rate[order] >= above][:MOST_CELLS]
    owner: dict[int, int] = {}  # cell → its mode's peak
    joined: dict[int, int] = {}  # a peak → the higher peak it was found to belong to

    def root(peak: int) -> int:
        while peak in joined:
            peak = joined[peak]
        return peak

    falling = order.tolist()
    for cell in falling:  # a cell that touches no mode is a new peak; one that touches two is a pass
        touched = sorted({root(owner[b]) for b in space.beside(cell) if b in owner}, key=lambda p: -rate[p])
        if not touched:
            owner[cell] = cell
            continue
        owner[cell] = touched[0]
        for lower in touched[1:]:
            if rate[lower] - rate[cell] < DIP:
                joined[lower] = touched[0]
    members: dict[int, list[int]] = {}
    for cell in falling:
        members.setdefault(root(owner[cell]), []).append(cell)
    boxes: dict[Region, list[int]] = {}  # peaks that share a box, highest first, are one mode
    for peak in sorted(members, key=lambda p: -rate[p]):
        boxes.setdefault(grow(space, rate, peak, above=above), []).append(peak)
    found = []
    for box, peaks in boxes.items():
        cells = sorted((c for p in peaks for c in members[p]), key=lambda c: -rate[c])
        found.append(Mode(peaks[0], float(rate[peaks[0]]), tuple(cells), box, space.words(box)))
    return sorted(found, key=lambda mode: -mode.rate)


def grow(space: ConceptSpace, rate: Floats, peak: int, *, above: float) -> Region:
    """A box of values around a cell, grown as long as what is added is above, best first."""
    box = [[i] for i in space.cell(peak)]
    while True:
        best: tuple[float, int, int] | None = None
        for at, axis in enumerate(space.axes):
            near = sorted({b for i in box[at] for b in axis.beside(i)} - set(box[at]))
            for value in near:
                slab = tuple(tuple(box[a]) if a != at else (value,) for a in range(len(box)))
                rates = rate[space.cells(slab)]
                least = float(np.min(rates[~np.isnan(rates)], initial=np.inf))
                if above <= least < np.inf and (best is None or least > best[0]):
                    best = (least, at, value)
        if best is None:
            return tuple(tuple(sorted(values)) for values in box)
        box[best[1]].append(best[2])


@dataclass(frozen=True, slots=True)
class FailingSet:
    """Values of few axes that are enough for failures, whatever the others are; their cells' mean rate."""

    region: Region
    rate: float
    words: str


def minimal_sets(space: ConceptSpace, rate: Floats, *, above: float, most: int = 8) -> list[FailingSet]:
    """The minimal failing sets, those with few axes first, then the worst.

    A set's rate is the mean over all cells that have its values. It fails if that is at least `above`; it is
    minimal if no axis can be dropped: without any one of them the rate is below.
    """
    grid = rate.reshape(space.shape)
    dimensions = range(len(space.shape))
    means = {
        chosen: mean_over(grid, tuple(a for a in dimensions if a not in chosen), keepdims=True)
        for size in range(min(MOST_AXES, len(space.shape)) + 1)
        for chosen in itertools.combinations(dimensions, size)
    }
    everywhere = float(means[()].ravel()[0])
    if everywhere >= above:
        return [FailingSet(space.whole, everywhere, space.words(space.whole))]
    found: list[tuple[int, FailingSet]] = []
    for chosen, mean in means.items():
        failing = mean >= above
        for dropped in range(len(chosen)):
            failing &= means[chosen[:dropped] + chosen[dropped + 1 :]] < above
        for place in np.argwhere(failing):
            region = tuple((int(place[a]),) if a in chosen else space.whole[a] for a in dimensions)
            one = FailingSet(region, float(mean[tuple(place)]), space.words(region))
            found.append((len(chosen), one))
    return [one for _, one in sorted(found, key=lambda row: (row[0], -row[1].rate))[:most]]
