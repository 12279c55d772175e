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
from scipy.special import gammaln
from scipy.stats import norm

from weakspot.concepts.finite.counts import Counts, Integers
from weakspot.concepts.finite.propose import FAILURES, Statement, members
from weakspot.stats import adjusted_bh

#: A statement whose rate is neither so many times the usual nor so far above it is no weak spot.
LIFT, ABOVE = 1.5, 0.10
#: A broader form gets so much of the error that a statement in its place would get.
BROADER: Final = 0.1
#: So many broader forms are tested.
MOST: Final = 24
#: Exact up to this sum of the strata's standard deviations; a normal approximation above.
EXACT: Final = 2_000
#: Chances that are smaller count as they are, but are not multiplied with others.
TINY: Final = 1e-100


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


def halves(n: int, seed: int, groups: Integers | None = None) -> NDArray[np.bool_]:
    """One half of the rows; rows of one group lie on one side, that on which most of it would be."""
    place = np.arange(n) if groups is None else groups
    order = np.random.default_rng([seed, 2]).permutation(int(place.max()) + 1)
    sizes = np.bincount(place)[order]
    return np.isin(place, order[np.cumsum(sizes) - sizes / 2 < n / 2])


def confirm(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    statements: Sequence[Statement],
    *,
    fdr: float,
    groups: Integers | None = None,
) -> list[Tested]:
    """Those statements that hold, and broader ones whose other rows fail too.

    They are tested in their order: the first ones get the largest part of the error, broader ones little.
    """
    broad = broader(statements)
    every = [*statements, *broad]
    pattern = np.asarray(members(rows, every) @ 2.0 ** np.arange(len(every))).astype(np.int64)
    return confirmed(Counts.of(pattern, failed, groups), statements, broad, fdr=fdr)


def broader(statements: Sequence[Statement]) -> list[Statement]:
    """What the statements say with one concept less, as far as it is not among them."""
    found: dict[Statement, None] = {}
    for statement in statements:
        for one in statement if len(statement) > 1 else ():
            found.setdefault(tuple(i for i in statement if i != one))
    return [statement for statement in found if statement not in statements][:MOST]


def confirmed(
    counts: Counts, statements: Sequence[Statement], broad: Sequence[Statement] = (), *, fdr: float
) -> list[Tested]:
    """The same of rows that have been counted by all of these, the broader ones last."""
    whole = counts.total
    if not statements or not whole.k:
        return []
    tested: list[Tested] = []
    strata = np.zeros(len(counts.n), np.int64)
    spoken = np.zeros(len(counts.n), bool)
    for i, statement in enumerate([*statements, *broad]):
        inside = counts.inside(i)
        n, k = counts.where(inside).total
        p = max(greater(counts, inside, np.zeros_like(strata)), greater(counts, inside, strata))
        own = k - _expected(counts, inside, strata)
        if i < len(statements):
            strata = np.unique(2 * strata + inside, return_inverse=True)[1]
            spoken |= inside
        else:  # what no statement speaks of must fail by itself
            rest = counts.where(inside & ~spoken).total
            p = max(p, greater(counts, inside & ~spoken, strata))
            p = p if notable(rest.k, rest.n, whole.k / whole.n) else 1.0
        tested.append(Tested(statement, k, n, p, own))
    weights = 1.0 / (1.0 + np.arange(len(tested)))
    weights[len(statements) :] *= BROADER
    weights *= len(tested) / weights.sum()
    adjusted = adjusted_bh([min(1.0, one.p / w) for one, w in zip(tested, weights, strict=True)])
    usual = whole.k / whole.n
    return [
        one._replace(p=p)
        for one, p in zip(tested, adjusted, strict=True)
        if p <= fdr and notable(one.failures, one.n, usual)
    ]


def notable(failures: int, n: int, usual: float) -> bool:
    """Whether a rate is far enough above the usual, and seen often enough, to be called a weak spot."""
    return failures >= FAILURES and failures / n >= min(LIFT * usual, usual + ABOVE)


def greater(counts: Counts, inside: NDArray[np.bool_], strata: Integers) -> float:
    """The p-value that rows inside fail no more than others of their stratum; exact given the counts.

    Where rows come in groups they do not fail independently: then a test that needs only the groups to be
    independent must hold too.
    """
    size = int(strata.max()) + 1
    n, k = _sums(strata, counts.n, size), _sums(strata, counts.k, size)
    p = _convolved(n, k, _sums(strata, counts.n * inside, size), int(counts.k[inside].sum()))
    return p if counts.group is None else max(p, _by_groups(counts, counts.group, inside, strata))


def _sums(strata: Integers, values: Integers, size: int) -> Integers:
    return np.bincount(strata, weights=values, minlength=size).astype(np.int64)


def _convolved(n: Integers, k: Integers, drawn: Integers, seen: int) -> float:
    """The chance of so many failures or more among those drawn from all strata."""
    mixed = (drawn > 0) & (drawn < n) & (k > 0) & (k < n)
    seen -= int(np.where(mixed, 0, np.where(drawn == n, k, np.where(k == n, drawn, 0))).sum())
    n, k, drawn = n[mixed], k[mixed], drawn[mixed]
    if not len(n):
        return 1.0
    mean = drawn * k / n
    variance = mean * (1 - k / n) * (n - drawn) / np.maximum(n - 1, 1)
    if float(np.sqrt(variance).sum()) > EXACT:
        return float(norm.sf((seen - 0.5 - mean.sum()) / np.sqrt(variance.sum())))
    total, least, dropped = np.ones(1), 0, 0.0
    for size, bad, some in zip(n.tolist(), k.tolist(), drawn.tolist(), strict=True):
        low = max(0, some + bad - size)
        chances = _hypergeometric(np.arange(low, min(some, bad) + 1.0), size, bad, some)
        first, last = np.flatnonzero(chances > TINY)[[0, -1]]
        dropped += float(chances[:first].sum() + chances[last + 1 :].sum())
        total = np.convolve(total, chances[first : last + 1])
        least += low + int(first)
    return float(min(total[max(seen - least, 0) :].sum() + dropped, 1.0))


def _hypergeometric(x: NDArray[np.float64], n: int, k: int, drawn: int) -> NDArray[np.float64]:
    """The chance that x of those drawn are among the k, as scipy has it, but fast for large numbers."""

    def ways(many: float, some: NDArray[np.float64] | float) -> NDArray[np.float64]:
        found: NDArray[np.float64] = (
            gammaln(many + 1) - gammaln(some + 1) - gammaln(many - np.asarray(some) + 1)
        )
        return found

    found: NDArray[np.float64] = np.exp(ways(k, x) + ways(n - k, drawn - x) - ways(n, drawn))
    return found


def _expected(counts: Counts, inside: NDArray[np.bool_], strata: Integers) -> float:
    """Failures that the rows inside would show at the rate of the others of their stratum."""
    size = int(strata.max()) + 1
    outside, bad = _sums(strata, counts.n * ~inside, size), _sums(strata, counts.k * ~inside, size)
    drawn = _sums(strata, counts.n * inside, size)
    every = _sums(strata, counts.k, size) / np.maximum(_sums(strata, counts.n, size), 1)
    return float((drawn * np.where(outside > 0, bad / np.maximum(outside, 1), every)).sum())


def _by_groups(counts: Counts, group: Integers, inside: NDArray[np.bool_], strata: Integers) -> float:
    size = int(strata.max()) + 1
    n = np.maximum(_sums(strata, counts.n, size), 1)
    rate = (_sums(strata, counts.k, size) / n)[strata]
    share = (_sums(strata, counts.n * inside, size) / n)[strata]
    place = np.unique(group, return_inverse=True)[1]
    of_group = np.bincount(place, weights=(inside - share) * (counts.k - counts.n * rate))
    spread = float(np.sqrt((of_group**2).sum()))
    return float(norm.sf(of_group.sum() / spread)) if spread > 0 else 1.0
