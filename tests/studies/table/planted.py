"""Made tables: concepts that go together as in real ones, and failures whose chances are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.stats import norm

Flags = NDArray[np.bool_]
Chances = NDArray[np.float64]


class Made(NamedTuple):
    """A table: which rows each concept is of, which failed, and what each row's chance was."""

    rows: csc_matrix
    failed: Flags
    chance: Chances
    groups: NDArray[np.int64] | None = None


def dense(
    rng: np.random.Generator,
    n: int,
    rates: Sequence[float] | Chances,
    *,
    tie: float = 0.0,
    topics: int = 5,
    groups: NDArray[np.int64] | None = None,
) -> Flags:
    """Concepts as flags, a column each. Those of a topic correlate by `tie`; with groups, all rows of a group
    agree on every second concept.
    """
    m = len(rates)
    common = rng.normal(size=(n, topics))[:, np.arange(m) % topics]
    latent = np.sqrt(tie) * common + np.sqrt(1 - tie) * rng.normal(size=(n, m))
    if groups is not None:
        latent[:, ::2] = latent[:, ::2][np.unique(groups, return_index=True)[1]][groups]
    found: Flags = latent > norm.isf(np.asarray(rates))
    return found


def table_of(flags: Flags) -> csc_matrix:
    return csc_matrix(flags.astype(np.float32))


def rates_between(rng: np.random.Generator, m: int, low: float = 0.02, high: float = 0.6) -> Chances:
    return np.exp(rng.uniform(np.log(low), np.log(high), m))


def planted(
    flags: Flags, statements: Sequence[Sequence[int]], *, usual: float, error: float | Sequence[float]
) -> Chances:
    """The chance of every row: each statement is a cause that acts by itself."""
    errors = [error] * len(statements) if isinstance(error, int | float) else error
    passes = np.full(len(flags), 1 - usual)
    for statement, each in zip(statements, errors, strict=True):
        passes[flags[:, list(statement)].all(axis=1)] *= 1 - each
    return 1 - passes


def sizes_to_groups(rng: np.random.Generator, n: int, mean: int) -> NDArray[np.int64]:
    """Groups of one to twice the mean rows, numbered from 0 without gaps."""
    sizes = rng.integers(1, 2 * mean, n)
    return np.repeat(np.arange(n), sizes)[:n]


def together(rng: np.random.Generator, chance: Chances, groups: NDArray[np.int64]) -> Flags:
    """Failures of which a group has all or none, as far as its rows have the same chance."""
    found: Flags = rng.random(int(groups.max()) + 1)[groups] < chance
    return found
