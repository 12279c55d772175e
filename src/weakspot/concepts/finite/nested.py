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
        under: The number of the broader statement that it narrows, whose rows fail less often; None of none.
        failures: Among its rows.
        own: Those that no statement before it speaks of.
    """

    under: int | None
    failures: int
    own: int


def explained(
    rows: csc_matrix, failed: NDArray[np.bool_], statements: Sequence[Statement]
) -> list[Explained]:
    """The place of each statement among all of them."""
    of = members(rows, statements)
    marked = [of.indices[of.indptr[i] : of.indptr[i + 1]] for i in range(len(statements))]
    size = np.array([len(one) for one in marked], float)
    bad = np.array([float(failed[one].sum()) for one in marked])
    rate = bad / np.maximum(size, 1.0)
    spoken = np.zeros(rows.shape[0], bool)
    found: list[Explained] = []
    for i, own in enumerate(marked):
        broader = [
            j
            for j in range(len(marked))
            if size[i] <= FEWER * size[j]
            and rate[i] > rate[j]
            and len(np.intersect1d(own, marked[j], assume_unique=True)) >= WITHIN * size[i]
        ]
        under = min(broader, key=lambda j: (size[j], j), default=None)
        new = int((failed[own] & ~spoken[own]).sum())
        spoken[own] = True
        found.append(Explained(under, int(bad[i]), new))
    return found
