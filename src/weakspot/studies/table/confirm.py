"""What held on rows that took no part in suggesting it.

The rows are cut in two halves. What one half suggests is tested on the other, in both directions, so that all
rows serve both ends and none serves both for the same statement. In each direction the false-discovery rate
is held at half of what is allowed, so that it is held for the two lists together. A statement must fail more
than the rows it does not speak of, and more than those that are alike in everything that was confirmed before
it: what only goes with a finding is none of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.stats import hypergeom, norm

from weakspot.stats import adjusted_bh
from weakspot.studies.table.propose import Statement, members

#: A statement whose rate is neither so many times the usual nor so far above it is no weak spot.
LIFT, ABOVE = 1.5, 0.10
#: A broader form gets so much of the error that a statement in its place would get.
BROADER: Final = 0.1
#: Up to so many rows the test is exact; with more the sum is as good as normal.
EXACT: Final = 4_000


class Tested(NamedTuple):
    """A statement on rows that did not suggest it.

    Attributes:
        p: Of the test that it does not fail more than other rows; adjusted for the list.
        own: Failures beyond what its rows would show if it said nothing beside those before it.
    """

    statement: Statement
    failures: int
    n: int
    p: float
    own: float


def halves(n: int, seed: int, groups: NDArray[np.int64] | None = None) -> NDArray[np.bool_]:
    """One half of the rows; rows of one group lie on one side."""
    place = np.arange(n) if groups is None else groups
    order = np.random.default_rng([seed, 2]).permutation(int(place.max()) + 1)
    sizes = np.bincount(place)[order]
    return np.isin(place, order[np.cumsum(sizes) <= n / 2])


def confirm(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    statements: Sequence[Statement],
    *,
    fdr: float,
    groups: NDArray[np.int64] | None = None,
) -> list[Tested]:
    """Those statements that hold, and broader ones whose other rows fail too.

    They are tested in their order: the first ones get the largest part of the error, broader ones little.
    """
    if not statements or not failed.any():
        return []
    usual = float(failed.mean())
    broad = broader(statements)
    of = members(rows, [*statements, *broad])
    tested: list[Tested] = []
    whole = strata = np.zeros(len(failed), np.int64)
    for i, statement in enumerate([*statements, *broad]):
        inside = np.zeros(len(failed), bool)
        inside[of.indices[of.indptr[i] : of.indptr[i + 1]]] = True
        n, k = int(inside.sum()), int(failed[inside].sum())
        p = max(greater(inside, failed, whole, groups), greater(inside, failed, strata, groups))
        own = k - _expected(inside, failed, strata)
        if i < len(statements):
            strata = np.unique(2 * strata + inside, return_inverse=True)[1]
        else:
            rest = inside & ~_speak(of, len(statements))
            p = max(p, greater(rest, failed, strata, groups))
            p = p if notable(int(failed[rest].sum()), int(rest.sum()), usual) else 1.0
        tested.append(Tested(statement, k, n, p, own))
    weights = 1.0 / (1.0 + np.arange(len(tested)))
    weights[len(statements) :] *= BROADER
    weights *= len(tested) / weights.sum()
    adjusted = adjusted_bh([min(1.0, one.p / w) for one, w in zip(tested, weights, strict=True)])
    return [
        one._replace(p=p)
        for one, p in zip(tested, adjusted, strict=True)
        if p <= fdr and notable(one.failures, one.n, usual)
    ]


def broader(statements: Sequence[Statement]) -> list[Statement]:
    """What the statements say with one concept less, as far as it is not among them."""
    found: dict[Statement, None] = {}
    for statement in statements:
        for one in statement if len(statement) > 1 else ():
            found.setdefault(tuple(i for i in statement if i != one))
    return [statement for statement in found if statement not in statements]


def _speak(of: csc_matrix, size: int) -> NDArray[np.bool_]:
    """The rows that the first statements speak of."""
    found = np.zeros(of.shape[0], bool)
    found[of.indices[: of.indptr[size]]] = True
    return found


def notable(failures: int, n: int, usual: float) -> bool:
    """Whether a rate is far enough above the usual to be called a weak spot."""
    return n > 0 and failures / n >= min(LIFT * usual, usual + ABOVE)


def greater(
    inside: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    strata: NDArray[np.int64],
    groups: NDArray[np.int64] | None,
) -> float:
    """The p-value that rows inside fail no more than others of their stratum; exact given the counts.

    Where rows come in groups they do not fail independently: then a test that needs only the groups to be
    independent must hold too.
    """
    size = int(strata.max()) + 1
    n = np.bincount(strata, minlength=size)
    k = np.bincount(strata, weights=failed, minlength=size).astype(np.int64)
    drawn = np.bincount(strata, weights=inside, minlength=size).astype(np.int64)
    seen = int((inside & failed).sum())
    p = _convolved(n, k, drawn, seen)
    return p if groups is None else max(p, _by_groups(inside, failed, strata, groups))


def _convolved(n: NDArray[np.int64], k: NDArray[np.int64], drawn: NDArray[np.int64], seen: int) -> float:
    mixed = (drawn > 0) & (drawn < n) & (k > 0) & (k < n)
    seen -= int(np.where(mixed, 0, np.where(drawn == n, k, np.where(k == n, drawn, 0))).sum())
    n, k, drawn = n[mixed], k[mixed], drawn[mixed]
    if not len(n):
        return 1.0
    if len(n) > 1 and int(drawn.sum()) > EXACT:
        mean = drawn * k / n
        variance = mean * (1 - k / n) * (n - drawn) / np.maximum(n - 1, 1)
        return float(norm.sf((seen - 0.5 - mean.sum()) / max(np.sqrt(variance.sum()), 1e-12)))
    if len(n) == 1:
        return float(hypergeom.sf(seen - 1, n[0], k[0], drawn[0]))
    total = np.ones(1)
    least = 0
    for size, bad, some in zip(n, k, drawn, strict=True):
        low, high = max(0, int(some + bad - size)), int(min(some, bad))
        total = np.convolve(total, hypergeom.pmf(np.arange(low, high + 1), size, bad, some))
        least += low
    return float(np.clip(total[max(seen - least, 0) :].sum(), 0.0, 1.0)) if seen - least < len(total) else 0.0


def _expected(inside: NDArray[np.bool_], failed: NDArray[np.bool_], strata: NDArray[np.int64]) -> float:
    """Failures that the rows inside would show at the rate of the others of their stratum."""
    size = int(strata.max()) + 1
    outside = np.bincount(strata, weights=~inside, minlength=size)
    bad = np.bincount(strata, weights=failed & ~inside, minlength=size)
    drawn = np.bincount(strata, weights=inside, minlength=size)
    every = np.bincount(strata, weights=failed, minlength=size) / np.maximum(
        np.bincount(strata, minlength=size), 1
    )
    return float((drawn * np.where(outside > 0, bad / np.maximum(outside, 1), every)).sum())


def _by_groups(
    inside: NDArray[np.bool_], failed: NDArray[np.bool_], strata: NDArray[np.int64], groups: NDArray[np.int64]
) -> float:
    size = int(strata.max()) + 1
    n = np.maximum(np.bincount(strata, minlength=size), 1)
    rate = (np.bincount(strata, weights=failed, minlength=size) / n)[strata]
    share = (np.bincount(strata, weights=inside, minlength=size) / n)[strata]
    of_group = np.bincount(groups, weights=(inside - share) * (failed - rate))
    spread = float(np.sqrt((of_group**2).sum()))
    return float(norm.sf(of_group.sum() / spread)) if spread > 0 else 1.0
