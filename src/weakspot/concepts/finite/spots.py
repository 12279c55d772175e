"""The weak spots of a finite table: suggested by one half of its rows, confirmed by the other, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.finite.confirm import Tested, confirm
from weakspot.concepts.finite.propose import Statement, gain_of, members, propose

#: Two statements that mark so much the same rows (Jaccard) say the same.
ALIKE: Final = 0.6
#: So do two statements of different halves with something in common, if so many rows of one are the other's.
OWN: Final = 0.7
#: A broad statement is said before a narrow one where its other rows have so much of the effect.
PART: Final = 0.3
#: So many are read first: those that explain most together.
FIRST: Final = 10


class Spot(NamedTuple):
    """A confirmed statement.

    Attributes:
        tested: How it did on the rows that did not suggest it.
        side: Which half tested it: False is the first.
        both: The other half suggested it, or one that marks about the same rows, and confirmed it too.
        forms: Other statements that were confirmed and mark about the same rows.
    """

    statement: Statement
    tested: Tested
    side: bool
    both: bool
    forms: tuple[Statement, ...] = ()


def weak_spots(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    half: NDArray[np.bool_],
    *,
    fdr: float,
    groups: NDArray[np.int64] | None = None,
    longest: int = 3,
    dear: NDArray[np.float64] | None = None,
    doubts: NDArray[np.float64] | None = None,
    meanings: NDArray[np.int64] | None = None,
    suggest: Callable[[bool], Sequence[Statement]] | None = None,
) -> list[Spot]:
    """Statements under which more fails than elsewhere, the weightiest first.

    Args:
        suggest: Gives what the rows of a half suggest, where it is not `propose` alone that looks at them.
        doubts: Of each row, how likely its failure is the label's; it then counts for so much less.
        meanings: Of each concept, the number of what it means: those that mean the same are said once.
    """
    suggested = {
        side: propose(rows[half == side], failed[half == side], longest=longest, dear=dear)
        if suggest is None
        else suggest(side)
        for side in (True, False)
    }
    found = held(rows, failed, half, suggested, fdr=fdr, groups=groups)
    return joined(rows, failed, found, dear=dear, doubts=doubts, meanings=meanings)


def held(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    half: NDArray[np.bool_],
    suggested: Mapping[bool, Sequence[Statement]],
    *,
    fdr: float,
    groups: NDArray[np.int64] | None = None,
) -> list[tuple[Tested, bool]]:
    """What held of the statements that each half suggested, and which half tested it: always the other."""
    found: list[tuple[Tested, bool]] = []
    for side, said in suggested.items():
        there = half != side
        of = None if groups is None else np.unique(groups[there], return_inverse=True)[1]
        found += [
            (one, not side) for one in confirm(rows[there], failed[there], said, fdr=fdr / 2, groups=of)
        ]
    return found


def joined(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    found: list[tuple[Tested, bool]],
    *,
    dear: NDArray[np.float64] | None = None,
    doubts: NDArray[np.float64] | None = None,
    meanings: NDArray[np.int64] | None = None,
) -> list[Spot]:
    """One spot for statements that mark about the same rows, or mean the same: the one that explains most."""
    meant = [_meant(one.statement, meanings) for one, _ in found]
    usual, each = float(failed.mean()), log(max(rows.shape[1], 2))
    of = members(rows, [one.statement for one, _ in found])
    n = np.asarray(of.sum(axis=0), float).ravel()
    k = np.asarray(of.T @ failed.astype(np.float32), float).ravel()
    worth = gain_of(k, n, usual * n)
    for i, (one, _) in enumerate(found):
        worth[i] -= each * len(one.statement) + (0.0 if dear is None else dear[list(one.statement)].sum())
    doubted = np.zeros(len(found)) if doubts is None else of.T @ (doubts * failed) / np.maximum(k, 1.0)
    left = {one.statement: 1.0 - float(share) for (one, _), share in zip(found, doubted, strict=True)}
    shared = (of.T @ of).toarray()
    spots: list[Spot] = []
    leaders: list[int] = []
    for i in np.argsort(-worth, kind="stable"):
        one, side = found[i]
        alike = next(
            (
                at
                for at, j in enumerate(leaders)
                if meant[i] == meant[j] or _alike(found[i], found[j], n[i], n[j], shared[i, j])
            ),
            None,
        )
        if alike is None:
            leaders.append(int(i))
            spots.append(Spot(one.statement, one, side, both=False))
        else:
            spot = spots[alike]
            forms = (
                spot.forms if one.statement in (spot.statement, *spot.forms) else (*spot.forms, one.statement)
            )
            spots[alike] = spot._replace(both=spot.both or side != spot.side, forms=forms)
    counted = failed.astype(float) if doubts is None else failed * (1.0 - doubts)
    best = most_first(rows, counted, usual, spots)
    heavy = partial(_by_weight, rows, failed, left)
    return [*heavy(best[:FIRST]), *heavy(best[FIRST:])]


def _meant(statement: Statement, meanings: NDArray[np.int64] | None) -> frozenset[int]:
    """What a statement means, whichever words it says it in."""
    return frozenset(statement if meanings is None else meanings[list(statement)].tolist())


def _by_weight(
    rows: csc_matrix, failed: NDArray[np.bool_], left: dict[Statement, float], spots: list[Spot]
) -> list[Spot]:
    usual = float(failed.mean())
    ordered = sorted(spots, key=lambda spot: -weight(spot.tested, usual) * left[spot.statement])
    return broad_first(rows, failed, ordered)


def _alike(one: tuple[Tested, bool], other: tuple[Tested, bool], n: float, m: float, shared: float) -> bool:
    """Whether two statements say the same: by their rows, or as two halves may say one thing.

    Each half may add something of its own to what both have found; then most rows of the smaller are also
    the other's.
    """
    if shared > ALIKE * (n + m - shared):
        return True
    first, second = set(one[0].statement), set(other[0].statement)
    nested = first <= second or second <= first
    return one[1] != other[1] and bool(first & second) and not nested and shared > OWN * min(n, m)


def most_first(rows: csc_matrix, failed: NDArray[np.float64], usual: float, spots: list[Spot]) -> list[Spot]:
    """In the order in which they explain most.

    Each counts by its failures above what was told of its rows: the usual rate, or the highest rate of a
    statement before it. So a narrow statement counts beside a broad one by what fails more in it.
    """
    of = members(rows, [spot.statement for spot in spots])
    left, order = list(range(len(spots))), []
    told = np.full(len(failed), usual)
    while left:
        gains = of.T @ (failed - told)
        best = max(left, key=lambda i: float(gains[i]))
        left.remove(best)
        order.append(best)
        inside = of.indices[of.indptr[best] : of.indptr[best + 1]]
        told[inside] = np.maximum(told[inside], failed[inside].mean())
    return [spots[i] for i in order]


def broad_first(rows: csc_matrix, failed: NDArray[np.bool_], spots: list[Spot]) -> list[Spot]:
    """The same, a statement before those that say more where its other rows have a part of the effect."""
    of = members(rows, [spot.statement for spot in spots]).tocsc()
    marked = [of.indices[of.indptr[i] : of.indptr[i + 1]] for i in range(len(spots))]
    usual = float(failed.mean())
    order = list(range(len(spots)))
    for narrow in range(len(spots)):
        for broad in range(narrow + 1, len(spots)):
            if set(spots[broad].statement) < set(spots[narrow].statement):
                rest = np.setdiff1d(marked[broad], marked[narrow], assume_unique=True)
                effect = float(failed[marked[narrow]].mean()) - usual
                if len(rest) and float(failed[rest].mean()) - usual >= PART * effect:
                    order.remove(broad)
                    order.insert(order.index(narrow), broad)
    return [spots[i] for i in order]


def weight(one: Tested, usual: float) -> float:
    """How much a person should care: failures it explains, times how far above the usual it fails."""
    return one.failures * max(one.failures / max(one.n, 1) - usual, 0.0)
