"""What is true of the statements that a method makes of a table with planted failures.

A statement is *about* a planted weak spot when its rows fail more often than usual, owe most of their
failures to rows of the weak spot, and have it more often than other rows do. A weak spot is *found* when a
statement about it also covers half of its failures. It is *named exactly* when the first statement about
it, in the order in which a person reads them, says its notions, no more and no fewer; a concept that marks
the same rows (Jaccard index of 0.95 or more) is the same notion. A statement is a *false discovery* when its
rows do not fail more often than usual. All of this is by the true chance of failing, on the rows that judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from weakspot.bench.planted import Score
from weakspot.bench.real.methods import READ, Flags, Said, having
from weakspot.bench.real.plantings import Notions, Planting, columns_of
from weakspot.bench.real.tables import Marks, RealTable

#: Concepts whose rows agree so far are one notion.
SAME: Final = 0.95


class _Judged(NamedTuple):
    """A statement on the rows that judge."""

    names: frozenset[str]
    rows: Flags
    rate: float  # NaN where it has no rows, or names what is no concept


def score(
    planting: Planting, table: RealTable, method: str, statements: Sequence[Said], *, seconds: float
) -> Score:
    """What a method said of a planting, against the truth; `images` are the rows that it saw."""
    chance = planting.chance[planting.truth]
    usual = float(chance.mean())
    marks = Marks(table.marks.names, table.marks.rows[planting.truth])
    notions = table.notions.rows[planting.truth]
    judged = [_on(marks, chance, one.names) for one in statements[:READ]]
    true = [one for one in judged if one.rate > usual * (1 + 1e-9)]
    found = exact = named = 0
    for spot in planting.spots:
        planted = having(notions, columns_of(table.notions, spot))
        about = [
            one
            for one in true
            if chance[one.rows & planted].sum() > 0.5 * chance[one.rows].sum()
            and planted[one.rows].mean() > planted.mean()
        ]
        found += any(chance[one.rows & planted].sum() >= 0.5 * chance[planted].sum() for one in about)
        right = [says(one.names, spot, table) for one in about]
        exact += bool(right) and right[0]
        named += any(right)
    return Score(
        method=method,
        notable=len(planting.spots),
        found=found,
        exact=exact,
        named=named,
        reported=len(judged),
        false=len(judged) - len(true),
        images=len(planting.seen),
        seconds=seconds,
        texts=tuple(
            (" and ".join(sorted(one.names)), None if np.isnan(one.rate) else one.rate) for one in judged
        ),
    )


def _on(marks: Marks, chance: np.ndarray[tuple[int], np.dtype[np.float64]], names: frozenset[str]) -> _Judged:
    if not names <= set(marks.names):
        return _Judged(names, np.zeros(len(chance), np.bool_), float("nan"))
    rows = having(marks.rows, columns_of(marks, names))
    return _Judged(names, rows, float(chance[rows].mean()) if rows.any() else float("nan"))


def says(names: frozenset[str], spot: Notions, table: RealTable) -> bool:
    """Whether a statement names exactly these notions, or what marks the same rows."""
    meant: set[str] = set()
    for name in names:
        if name in spot:
            meant.add(name)
            continue
        same = [notion for notion in sorted(spot) if _jaccard(table, name, notion) >= SAME]
        if not same:
            return False
        meant.add(same[0])
    return meant == set(spot)


def _jaccard(table: RealTable, name: str, notion: str) -> float:
    a = having(table.marks.rows, columns_of(table.marks, frozenset({name})))
    b = having(table.notions.rows, columns_of(table.notions, frozenset({notion})))
    return float((a & b).sum() / max((a | b).sum(), 1))
