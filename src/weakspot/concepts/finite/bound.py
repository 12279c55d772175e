"""How bad something that was not found may be at most."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix
from scipy.special import betaincinv
from scipy.stats import norm, t

#: A bound is of concepts with at least this share of the rows, and so many of them, and of groups.
SHARE: Final = 0.01
FEWEST: Final = 30

Rows = NDArray[np.bool_]
Groups = NDArray[np.int64]


class Highest(NamedTuple):
    """No concept with so many rows, of so many groups, fails more often than `rate`; 0 groups for none."""

    concepts: int
    rows: int
    groups: int
    rate: float


def highest(rows: csc_matrix, failed: Rows, groups: Groups | None, *, every: int) -> Highest | None:
    """How often a concept of some size may fail at most, at 95 %; None where all are too small.

    It holds for all these concepts at once, since each has its part of the 5 %.

    Args:
        every: Rows of the whole table, of which a concept has a share.
    """
    least = max(int(np.ceil(SHARE * every)), FEWEST)
    n = np.asarray(rows.sum(axis=0), float).ravel()
    large = n >= least
    if groups is None or not large.any():
        n = n[large]
        k = np.asarray(rows[:, large].T @ failed.astype(np.float32), float).ravel()
    else:
        size = (int(groups.max()) + 1, len(groups))
        member = csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))), shape=size)
        of_group = (member @ rows).tocsc()
        large &= of_group.getnnz(axis=0) >= FEWEST
        bad = (
            csr_matrix((failed.astype(float), (groups, np.arange(len(groups)))), shape=size) @ rows
        ).tocsc()
        n, k = _effective(of_group[:, large], bad[:, large])
    if not large.any():
        return None
    high = 1 - betaincinv(np.maximum(n - k, 1e-9), k + 1, 0.05 / len(n))
    return Highest(len(n), least, 0 if groups is None else FEWEST, float(min(high.max(), 1.0)))


def _effective(n: csc_matrix, k: csc_matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """As many independent rows, and failures, of each concept as say as much; by group and concept.

    The same as `clustered_counts`, for all concepts at once.
    """
    every, many = _sums(n), n.getnnz(axis=0)
    rate = _sums(k) / every
    spread = _sums(k.multiply(k)) - 2 * rate * _sums(k.multiply(n)) + rate**2 * _sums(n.multiply(n))
    variance = many / np.maximum(many - 1, 1) * spread / every**2
    quantile = 1 - 0.05 / max(len(every), 1)
    width = (norm.ppf(quantile) / t.ppf(quantile, np.maximum(many - 1, 1))) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.clip(rate * (1 - rate) / variance * width, 1.0, every)
    effective = np.where(variance > 1e-15, effective, many)
    return effective, rate * effective


def _sums(table: csc_matrix) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.asarray(table.sum(axis=0), float).ravel()
    return found
