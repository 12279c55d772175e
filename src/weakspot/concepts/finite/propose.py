"""What some rows suggest: the few statements that explain best which of them failed.

A statement is one to three concepts that hold together. Each explains the failures by how much likelier it
makes them than what is known already: with E failures expected among its n rows and O seen, the gain is
O log(O/E) + (n − O) log((n − O)/(n − E)), the log-likelihood ratio of one rate against another. Statements
pay for how many there are of their length, log of their number, so that a pair is said only where it explains
more than its parts. They are chosen one after the other, each beside those before it; then each is looked at
again beside all others, so that a first choice that a better one has made needless does not stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix
from scipy.special import xlogy
from threadpoolctl import threadpool_limits

#: A statement is of concepts with these numbers, in order.
Statement = tuple[int, ...]

#: At most so many concepts together, and so many statements.
LONGEST: Final = 3
PLACES: Final = 18
#: A statement must have so many failures, in so many rows.
FAILURES: Final = 3
ROWS: Final = 5
#: So many of the best statements of each length are looked at beside those already chosen.
POOL: Final = 1500
#: So many of the best pairs are tried with a third concept.
DEEPER: Final = 60
#: Two concepts that mark so much the same rows (Jaccard) make no pair.
SAME: Final = 0.9
#: Concepts of more than this share of the rows are counted as a dense matrix, so many rows at a time.
DENSE: Final = 0.01
STEP: Final = 8192
#: What a statement must gain beyond its price. It may lack a little, since other rows test it.
WORTH: Final = -3.0
#: A narrow statement gives way to a broader one whose other rows have so much of its effect.
BROAD: Final = 0.5
#: Below this log-likelihood ratio it may be chance that the other rows do not have the effect.
DOUBT: Final = 1.0
#: Times that every choice is looked at again.
AGAIN: Final = 2


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidate statements with the rows that each is of: so many, and so many that failed."""

    statements: tuple[Statement, ...]
    rows: csc_matrix
    price: NDArray[np.float64]
    n: NDArray[np.float64]
    k: NDArray[np.float64]
    #: What each gains beside others, as far as it was worked out.
    gains: dict[Statement, NDArray[np.float64]] = field(default_factory=dict)

    @cached_property
    def places(self) -> dict[Statement, int]:
        return {statement: i for i, statement in enumerate(self.statements)}


def propose(
    rows: csc_matrix,
    failed: NDArray[np.bool_],
    *,
    most: int = PLACES,
    longest: int = LONGEST,
    dear: NDArray[np.float64] | None = None,
) -> list[Statement]:
    """The statements that explain these failures, those that explain most first.

    Args:
        rows: Which rows each concept is of, a column for each.
        failed: Which rows failed.
        longest: At most so many concepts in a statement.
        dear: What each concept costs beyond the others, where some are less plain to people.
    """
    if not failed.any() or failed.all() or not rows.shape[1]:
        return []
    pool = candidates(rows, failed, longest=longest, dear=dear)
    if not pool.statements:
        return []
    chosen: list[int] = []
    seen: set[frozenset[int]] = set()
    while len(chosen) < most and frozenset(chosen) not in seen:
        seen.add(frozenset(chosen))
        best = _best(pool, failed, chosen)
        if best is None:
            break
        chosen.append(best)
        for _ in range(AGAIN):
            before = list(chosen)
            chosen = _revised(pool, failed, chosen)
            if chosen == before:
                break
    order = sorted(chosen, key=lambda i: -_gains(pool, failed, [j for j in chosen if j != i])[i])
    return [pool.statements[i] for i in order]


def candidates(
    rows: csc_matrix, failed: NDArray[np.bool_], *, longest: int, dear: NDArray[np.float64] | None = None
) -> Pool:
    """Statements under which more fails than elsewhere, the best of each length, with what each costs.

    A concept costs log m, the number of concepts. A longer statement costs the place of its better part
    in the list of parts, log(1 + place), and log m for what it adds. `dear` makes some cost more.
    """
    usual, m = float(failed.mean()), rows.shape[1]
    extra = np.zeros(m) if dear is None else dear
    each = log(max(m, 2))
    n = np.diff(rows.indptr).astype(float)
    by_row = rows.tocsr()
    k = np.asarray(by_row[failed].sum(axis=0)).ravel()
    places = np.argsort(np.argsort(-gain_of(k, n, usual * n) + extra, kind="stable"))
    found: list[tuple[Statement, float]] = [((int(i),), each) for i in _ahead(k, n, usual, POOL)]
    if longest > 1:
        pairs = [pair for pair, _ in _pairs(by_row, failed, n, usual)]
        found += [(pair, each + log(2.0 + min(places[list(pair)]))) for pair in pairs]
        if longest > 2:
            triples: dict[Statement, tuple[float, float]] = {}
            for place, pair in enumerate(pairs[:DEEPER]):
                for triple, gain in _longer(by_row, failed, n, pair, _rows_of(rows, pair), usual):
                    triples.setdefault(
                        triple, (gain, each + log(2.0 + place) + log(2.0 + min(places[list(pair)])))
                    )
            ranked = sorted(triples.items(), key=lambda item: -item[1][0])[:POOL]
            found += [(triple, price) for triple, (_, price) in ranked]
    statements = tuple(statement for statement, _ in found)
    price = np.array([price + extra[list(statement)].sum() for statement, price in found])
    # Of the type of the chances that it will be multiplied with, or it would be converted every time.
    of = members(rows, statements).astype(np.float64)
    return Pool(statements, of, price, np.diff(of.indptr).astype(float), of.T @ failed.astype(float))


def members(rows: csc_matrix, statements: Sequence[Statement]) -> csc_matrix:
    """Which rows each statement is of."""
    columns = [_rows_of(rows, statement) for statement in statements]
    ends = np.cumsum([0, *map(len, columns)])
    indices = np.concatenate(columns) if columns else np.zeros(0, np.int64)
    return csc_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(rows.shape[0], len(columns)))


def _rows_of(rows: csc_matrix, statement: Statement) -> NDArray[np.int64]:
    found, *others = sorted((_column(rows, one) for one in statement), key=len)
    for other in others:
        inside = np.zeros(rows.shape[0], bool)
        inside[other] = True
        found = found[inside[found]]
    return found


def _column(rows: csc_matrix, i: int) -> NDArray[np.int64]:
    found: NDArray[np.int64] = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
    return found


def gain_of(
    k: NDArray[np.float64], n: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much better a rate of their own explains k of n failures than the expected one; 0 where fewer."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = xlogy(k, k / expected) + xlogy(n - k, (n - k) / (n - expected))
    return np.where((k > expected) & (n > 0), np.nan_to_num(found, nan=0.0, posinf=0.0), 0.0)


def _ahead(k: NDArray[np.float64], n: NDArray[np.float64], usual: float, most: int) -> NDArray[np.int64]:
    gains = gain_of(k, n, usual * n)
    gains[(k < FAILURES) | (n < ROWS)] = 0.0
    order = np.argsort(-gains, kind="stable")[:most]
    return order[gains[order] > 1.0]


def _pairs(
    by_row: csr_matrix, failed: NDArray[np.bool_], n: NDArray[np.float64], usual: float
) -> Iterator[tuple[Statement, float]]:
    """The pairs under which most fails beyond the usual."""
    bad = by_row[failed]
    able = np.flatnonzero((n >= ROWS) & (np.asarray(bad.sum(axis=0)).ravel() >= FAILURES))
    bad = bad[:, able]
    both = (bad.T @ bad).tocoo()
    upper = (both.row < both.col) & (both.data >= FAILURES)
    first, second, k = able[both.row[upper]], able[both.col[upper]], both.data[upper].astype(float)
    # However few rows a pair has, it gains no more than if all of them failed.
    worth = k * -log(usual) > log(max(len(n), 2))
    first, second, k = first[worth], second[worth], k[worth]
    counts = _together(by_row, n, first, second)
    smaller = np.minimum(n[first], n[second])
    union = n[first] + n[second] - counts
    own = (counts < SAME * union) & (counts < smaller)
    gains = np.where(own, gain_of(k, counts, usual * counts), 0.0)
    gains[counts < ROWS] = 0.0
    for i in np.argsort(-gains, kind="stable")[:POOL]:
        if gains[i] > 1.0:
            yield (int(first[i]), int(second[i])), float(gains[i])


def _together(
    by_row: csr_matrix, n: NDArray[np.float64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Rows of both of two concepts, for many pairs of them.

    Concepts of many rows are counted as a dense matrix, which is much the faster, the others as a sparse one.
    """
    found = np.zeros(len(first))
    many = n > DENSE * by_row.shape[0]
    dense = many[first] & many[second]
    if dense.any():
        some, place = _numbered(first[dense], second[dense])
        together = np.zeros((len(some), len(some)))
        with threadpool_limits(1):  # threads on busy processors mostly wait for each other
            for start in range(0, by_row.shape[0], STEP):
                block = by_row[start : start + STEP, some].toarray()
                together += block.T @ block
        found[dense] = together[place[first[dense]], place[second[dense]]]
    rest = np.flatnonzero(~dense)
    rarer = n[first[rest]] <= n[second[rest]]
    few, other = np.where(rarer, (first[rest], second[rest]), (second[rest], first[rest]))
    some, place = _numbered(few)
    others, beside = _numbered(other)
    left, right = by_row[:, some].tocsc(), by_row[:, others]
    for start in range(0, len(some), 256):
        block = (left[:, start : start + 256].T @ right).toarray()
        here = (place[few] >= start) & (place[few] < start + 256)
        found[rest[here]] = block[place[few[here]] - start, beside[other[here]]]
    return found


def _numbered(*some: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different ones among these numbers, and by number its place among them."""
    every = np.unique(np.concatenate(some))
    place = np.zeros(int(every.max(initial=0)) + 1, np.int64)
    place[every] = np.arange(len(every))
    return every, place


def _longer(
    by_row: csr_matrix,
    failed: NDArray[np.bool_],
    n: NDArray[np.float64],
    pair: Statement,
    inside: NDArray[np.int64],
    usual: float,
) -> Iterator[tuple[Statement, float]]:
    """A pair, of the rows `inside`, with each third concept."""
    of_pair = by_row[inside]
    counts = np.asarray(of_pair.sum(axis=0)).ravel()
    k = np.asarray(of_pair[failed[inside]].sum(axis=0)).ravel()
    narrower = (counts < SAME * len(inside)) & (counts < n)
    gains = np.where(narrower, gain_of(k, counts, usual * counts), 0.0)
    gains[(k < FAILURES) | (counts < ROWS)] = 0.0
    for i in np.flatnonzero(gains > 1.0):
        if i not in pair:
            triple = tuple(sorted((*pair, int(i))))
            yield triple, float(gains[i])


# -- choosing among candidates ----------------------------------------------------------------------


def _gains(pool: Pool, failed: NDArray[np.bool_], chosen: Sequence[int]) -> NDArray[np.float64]:
    """What each candidate gains beside those chosen, less its price."""
    beside = tuple(sorted(chosen))
    if beside not in pool.gains:
        expected = pool.rows.T @ fitted(pool.rows[:, list(beside)], failed)
        gains = gain_of(pool.k, pool.n, expected) - pool.price
        gains[pool.k - expected < 1.0] = -np.inf
        pool.gains[beside] = gains
    return pool.gains[beside].copy()


def _best(pool: Pool, failed: NDArray[np.bool_], chosen: Sequence[int]) -> int | None:
    """The candidate that gains most; a broader one in its place where what it adds fails as well."""
    gains = _gains(pool, failed, chosen)
    gains[list(chosen)] = -np.inf
    best = int(np.argmax(gains))
    if gains[best] <= WORTH:
        return None
    likely = fitted(pool.rows[:, list(chosen)], failed)
    while (broader := _broader(pool, failed, likely, best)) is not None:
        best = broader
    return None if best in chosen else best


def _broader(pool: Pool, failed: NDArray[np.bool_], likely: NDArray[np.float64], narrow: int) -> int | None:
    """A candidate that says one concept less, unless its other rows show that the concept is needed.

    It is needed where these rows have less than half of the effect, and not by chance.
    """
    statement = pool.statements[narrow]
    own = _column(pool.rows, narrow)
    effect = _effect(failed, likely, own)
    found: list[tuple[float, int]] = []
    for one in statement if len(statement) > 1 else ():
        at = pool.places.get(tuple(i for i in statement if i != one))
        if at is not None:
            rest = np.setdiff1d(_column(pool.rows, at), own, assume_unique=True)
            expected = float(likely[rest].sum())
            as_much, seen = expected + effect * (len(rest) - expected), float(failed[rest].sum())
            without = _log_likelihood(seen, len(rest), expected) - _log_likelihood(seen, len(rest), as_much)
            if without < DOUBT or _effect(failed, likely, rest) >= BROAD * effect:
                found.append((without, at))
    return min(found)[1] if found else None


def _log_likelihood(k: float, n: int, expected: float) -> float:
    share = min(max(expected / max(n, 1), 1e-6), 1 - 1e-6)
    return float(xlogy(k, share) + xlogy(n - k, 1 - share))


def _effect(failed: NDArray[np.bool_], likely: NDArray[np.float64], rows: NDArray[np.int64]) -> float:
    """The share of rows that would have passed and failed all the same."""
    expected = float(likely[rows].sum())
    return (float(failed[rows].sum()) - expected) / max(len(rows) - expected, 1e-9)


def _revised(pool: Pool, failed: NDArray[np.bool_], chosen: list[int]) -> list[int]:
    """Each choice, beside all others: kept, exchanged for a better one, or dropped."""
    kept = list(chosen)
    for one in chosen:
        others = [i for i in kept if i != one]
        best = _best(pool, failed, others)
        kept = others if best is None else [*others, best] if best != one else kept
    return kept


def fitted(rows: csc_matrix, failed: NDArray[np.bool_], *, times: int = 60) -> NDArray[np.float64]:
    """The chance that each row fails, were every statement it is of a cause that acts by itself (a noisy or).

    A row passes where no cause acts: 1 − p = (1 − b) Π (1 − r) over its statements. Rows that are of the same
    statements have the same chance, so it is fitted to their counts, by expectation and maximisation.
    """
    size = rows.shape[1]
    if not size:
        return np.full(len(failed), failed.mean())
    pattern = np.asarray(rows @ (2.0 ** np.arange(size))).ravel().astype(np.int64)
    kinds, place = np.unique(pattern, return_inverse=True)
    n = np.bincount(place).astype(float)
    k = np.bincount(place, weights=failed)
    acts = np.column_stack([np.ones(len(kinds)), (kinds[:, None] >> np.arange(size)) & 1]).astype(float)
    rate = np.full(size + 1, max(float(failed.mean()) / 2, 1e-6))
    for _ in range(times):
        chance = 1 - np.exp(acts @ np.log1p(-rate))
        # Of a failure, each cause acted with the chance r/p; of a pass, none did.
        acted = (acts * rate * (k / np.maximum(chance, 1e-12))[:, None]).sum(axis=0)
        rate = np.clip(acted / np.maximum(n @ acts, 1e-12), 1e-9, 1 - 1e-9)
    found: NDArray[np.float64] = (1 - np.exp(acts @ np.log1p(-rate)))[place]
    return found
