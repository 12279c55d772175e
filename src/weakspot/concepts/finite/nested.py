"""Which statements stand under which, and what each explains of all failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.finite.propose import Statement, members

#: A statement is a narrower form of another if so many of its rows are the other's, and these are fewer.
WITHIN: Final = 0.95
FEWER: Final = 0.8


class Explained(NamedTuple):
    """What a statement explains, in the order in which statements are read.

    Attributes:
        under: The number of the broadest statement that it narrows, whose rows fail less often; None of none.
        failures: Among its rows.
    """

    under: int | None
    failures: int


def explained(
    rows: csc_matrix, failed: NDArray[np.bool_], statements: Sequence[Statement]
) -> list[Explained]:
    """The place of each statement among all of them."""
    if not statements:
        return []
    of = members(rows, statements)
    marked = [of.indices[of.indptr[i] : of.indptr[i + 1]] for i in range(len(statements))]
    size = np.array([len(one) for one in marked], float)
    bad = np.array([float(failed[one].sum()) for one in marked])
    rate = bad / np.maximum(size, 1.0)
    nearest: list[int | None] = []
    for i, own in enumerate(marked):
        broader = [
            j
            for j in range(len(marked))
            if size[i] <= FEWER * size[j]
            and rate[i] > rate[j]
            and len(np.intersect1d(own, marked[j], assume_unique=True)) >= WITHIN * size[i]
        ]
        nearest.append(min(broader, key=lambda j: (size[j], j), default=None))
    return [Explained(_top(i, nearest), int(bad[i])) for i in range(len(statements))]


def _top(i: int, nearest: Sequence[int | None]) -> int | None:
    """The broadest statement above one: sizes grow on the way, so there is an end."""
    above = nearest[i]
    while above is not None and (next_one := nearest[above]) is not None:
        above = next_one
    return above
