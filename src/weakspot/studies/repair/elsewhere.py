"""What a repair did where it had no business: the rest of the landscape, and places that have become modes.

A place that has become a mode is found on some pairs and confirmed on others. Pictures are therefore cut in
two halves: one is looked through for such places, the other one decides. Draws that are independent of each
other need no halves: the place is drawn anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.modes import Mode, modes
from weakspot.concepts.space import ConceptSpace
from weakspot.studies.repair.proof import Bools, Change, Floats, believed, change

#: Places that have become modes, of which so many are asked again at most.
MOST: Final = 3
#: What the rest of the landscape is called.
WORDS: Final = "everywhere else in the landscape"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Pairs over a landscape: the cell of each, and whether it failed before and after.

    `clusters` names what pairs belong together; None if all are independent.
    """

    cells: NDArray[np.int64]
    before: Bools
    after: Bools
    clusters: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.cells)

    def only(self, chosen: Bools) -> Drawn:
        """Some of them."""
        names = None
        if self.clusters is not None:
            names = tuple(name for name, yes in zip(self.clusters, chosen, strict=True) if yes)
        return Drawn(self.cells[chosen], self.before[chosen], self.after[chosen], names)


def rest(drawn: Drawn, chosen: Iterable[int], *, wanted: float = 0.0) -> Change | None:
    """Failures outside the cells that were to be repaired; None where nothing was drawn there."""
    some = drawn.only(~np.isin(drawn.cells, np.array(sorted(chosen), np.int64)))
    if not len(some):
        return None
    return change(WORDS, some.before, some.after, clusters=some.clusters, wanted=wanted)


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
    return [mode for mode in modes(space, second, above=now) if there.isdisjoint(mode.cells)][:MOST]


def confirmed(
    found: Sequence[Mode],
    ask: Callable[[Mode], tuple[Bools, Bools, tuple[str, ...] | None]],
    *,
    wanted: float = 0.0,
) -> list[Change]:
    """Failures in places that have become modes, on pairs that did not help to find them.

    `ask` gives new pairs of a place, each picture once: failures before, after, and the names of their
    clusters.
    """
    rows = []
    for mode in found:
        before, after, names = ask(mode)
        if names is not None:
            other = np.array([not looks(name) for name in names], bool)
            before, after = before[other], after[other]
        rows.append(change(mode.words, before, after, wanted=wanted))
    return rows
