"""What every way to find weak spots of a finished table is given, and what it says.

All methods get the same: for each row whether it failed, which concepts it has, and its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from weakspot.stats import adjusted_bh

#: So many statements of a method are read.
READ: Final = 10
#: The false-discovery rate, or the chance of any false statement, that the rivals' filters keep.
ALPHA: Final = 0.05

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Slices(NamedTuple):
    """A finite table, as methods see it.

    Attributes:
        names: One per concept: "text:dog", "pose=1".
        rows: `scipy.sparse.csc_matrix` of zeros and ones, rows × concepts: the row has the concept.
        failed: Whether each row failed.
        texts: The captions of each row in one string; "" where there is none.
    """

    names: tuple[str, ...]
    rows: Any
    failed: Flags
    texts: Sequence[str]


class Said(NamedTuple):
    """One statement: rows with all these concepts fail more often."""

    names: frozenset[str]


class Rival(Protocol):
    def __call__(self, slices: Slices, *, seed: int) -> list[Said]:
        """What fails more often, best first; at most ten statements."""


def having(rows: Any, columns: Iterable[int]) -> Flags:
    """The rows that have all these concepts."""
    found = np.ones(rows.shape[0], np.bool_)
    for column in columns:
        own = np.zeros(rows.shape[0], np.bool_)
        own[rows.indices[rows.indptr[column] : rows.indptr[column + 1]]] = True
        found &= own
    return found


def counts(rows: Any, among: Flags) -> Floats:
    """Of these rows, how many have each concept."""
    return np.asarray(rows.T @ among.astype(np.float64))


def upper_tails(failures: Floats, sizes: Floats, failed: float, n: float) -> Floats:
    """One-sided p-values of Fisher's exact test: P(at least so many of these rows fail by chance).

    Where no more failed than chance would have it, the answer is 1: nobody asks how much below ½ it is.

    Args:
        failures: How many failed of each set of rows.
        sizes: How many rows each set has.
        failed: How many of all rows failed.
        n: How many rows there are.
    """
    from scipy.special import gammaln

    def log_choose(a: Any, b: Any) -> Any:
        return gammaln(a + 1) - gammaln(b + 1) - gammaln(a - b + 1)

    x, size = np.broadcast_arrays(np.asarray(failures, float), np.asarray(sizes, float))
    found = np.ones(x.shape)
    above = (x * n > size * failed) & (x > 0)
    if not above.any():
        return found
    x, size = x[above], size[above]
    first = log_choose(failed, x) + log_choose(n - failed, size - x) - log_choose(n, size)
    term, total, at = np.ones(x.shape), np.ones(x.shape), x.copy()
    while (term > 1e-12 * total).any():  # above what chance expects, every further term is smaller
        term = term * (size - at) * (failed - at) / ((at + 1) * (n - size - failed + at + 1))
        term = np.maximum(term, 0.0)
        total += term
        at += 1
    found[above] = np.minimum(np.exp(first) * total, 1.0)
    return found


def tails_of(slices: Slices, sets: Sequence[Iterable[int]]) -> Floats:
    """Fisher's p-value of each conjunction of columns."""
    masks = [having(slices.rows, columns) for columns in sets]
    failures = np.array([float((mask & slices.failed).sum()) for mask in masks])
    sizes = np.array([float(mask.sum()) for mask in masks])
    return upper_tails(failures, sizes, float(slices.failed.sum()), float(len(slices.failed)))


def single_tails(slices: Slices) -> Floats:
    """Fisher's p-value of each concept."""
    every = np.ones(len(slices.failed), np.bool_)
    sizes, failures = counts(slices.rows, every), counts(slices.rows, slices.failed)
    return upper_tails(failures, sizes, float(slices.failed.sum()), float(len(slices.failed)))


def rejected(pvalues: Floats) -> Flags:
    """Which of these Benjamini and Hochberg's procedure rejects at 5 %."""
    return np.array(adjusted_bh([float(p) for p in pvalues])) <= ALPHA


def uncovered_first(slices: Slices, sets: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """In their order, those that say something new; at most ten.

    New is what still fails more often where no earlier one speaks (Fisher, 5 %), and a narrower form of
    earlier ones that fails more often than the rest of each of them (the same, Bonferroni over all concepts).
    """
    kept: list[Sequence[int]] = []
    left = np.ones(len(slices.failed), np.bool_)
    for columns in sets:
        inside = having(slices.rows, columns)
        wider = [having(slices.rows, one) for one in kept if set(one) < set(columns)]
        bar = ALPHA / len(slices.names)
        narrower = bool(wider) and all(_tail(slices, inside, among=one) <= bar for one in wider)
        if narrower or _tail(slices, inside & left, among=left) <= ALPHA:
            kept.append(columns)
            left &= ~inside
        if len(kept) == READ:
            break
    return kept


def _tail(slices: Slices, inside: Flags, *, among: Flags) -> float:
    wrong, size = float((inside & slices.failed).sum()), float(inside.sum())
    failed, n = float((among & slices.failed).sum()), float(among.sum())
    return float(upper_tails(np.array([wrong]), np.array([size]), failed, n)[0])


def said(slices: Slices, sets: Iterable[Iterable[int]]) -> list[Said]:
    """Sets of columns as statements."""
    return [Said(frozenset(slices.names[column] for column in columns)) for columns in sets]
