"""Made tables: concepts that go together as in real ones, and failures whose chances are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix
from scipy.stats import norm

from weakspot.concepts.finite.bound import Highest, highest
from weakspot.concepts.finite.confirm import halves
from weakspot.concepts.finite.counts import Counts
from weakspot.concepts.finite.spots import Spot, weak_spots
from weakspot.core import Rate

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


def hunted(made: Made, seed: int = 0, *, fdr: float = 0.05, longest: int = 3) -> list[Spot]:
    half = halves(len(made.failed), seed, made.groups)
    return weak_spots(made.rows, made.failed, half, fdr=fdr, groups=made.groups, longest=longest)


def null_table(seed: int, *, tie: float = 0.0, group: int = 0) -> Made:
    """Errors that are independent of everything; with groups of so many rows, whole groups fail together."""
    rng = np.random.default_rng([seed, group, round(10 * tie)])
    n = int(np.exp(rng.uniform(np.log(100), np.log(5000))))
    usual = float(np.exp(rng.uniform(np.log(0.02), np.log(0.6))))
    groups = sizes_to_groups(rng, n, group) if group else None
    flags = dense(rng, n, rates_between(rng, int(rng.integers(20, 60))), tie=tie, groups=groups)
    chance = np.full(n, usual)
    failed = rng.random(n) < chance if groups is None else together(rng, chance, groups)
    return Made(table_of(flags), failed, chance, groups)


def table_with_spots(
    seed: int, *, error: tuple[float, float] = (0.1, 0.8), group: int = 0
) -> tuple[Made, Flags, list[tuple[int, ...]]]:
    """One to three causes of one or two concepts, among concepts that go with them; and the causes."""
    rng = np.random.default_rng([seed, group])
    n = int(np.exp(rng.uniform(np.log(300), np.log(5000))))
    m = int(rng.integers(30, 60))
    groups = sizes_to_groups(rng, n, group) if group else None
    tie = float(rng.choice([0.0, 0.4, 0.7]))
    flags = dense(rng, n, rates_between(rng, m, 0.05, 0.5), tie=tie, groups=groups)
    order = rng.permutation(m).tolist()
    sizes = rng.choice([1, 1, 2], int(rng.integers(1, 4)))
    causes = [tuple(sorted(order.pop() for _ in range(size))) for size in sizes]
    usual = float(np.exp(rng.uniform(np.log(0.02), np.log(0.3))))
    chance = planted(flags, causes, usual=usual, error=rng.uniform(*error, len(causes)).tolist())
    if groups is None:
        failed = rng.random(n) < chance
    else:  # half of its luck a row shares with its group
        luck = rng.normal(size=int(groups.max()) + 1)[groups] + rng.normal(size=n)
        failed = luck < np.sqrt(2) * norm.ppf(chance)
    return Made(table_of(flags), failed, chance, groups), flags, causes


class Score(NamedTuple):
    """What was true of the weak spots of many tables.

    Attributes:
        spots: Found in all.
        strangers: Those that share no concept, and fewer than half of the rows, with any cause.
        idle: Those whose rows do not fail more than others.
        low: Intervals whose low end is too high; `high`: whose high end is too low.
        elsewhere: Intervals of the other rows that miss.
        causes: Planted in all; `exact`: said in so many words.
        bounds: Bounds that were told; `broken`: those that a concept exceeds.
    """

    spots: int = 0
    strangers: int = 0
    idle: int = 0
    low: int = 0
    high: int = 0
    elsewhere: int = 0
    causes: int = 0
    exact: int = 0
    bounds: int = 0
    broken: int = 0

    def __add__(self, other: tuple[int, ...]) -> Score:  # type: ignore[override]
        return Score(*(a + b for a, b in zip(self, other, strict=True)))


def scored(seeds: range, *, error: tuple[float, float] = (0.1, 0.8), group: int = 0) -> Score:
    """What becomes of tables with causes of so much error."""
    whole = Score()
    for seed in seeds:
        made, flags, causes = table_with_spots(seed, error=error, group=group)
        whole += _score(made, flags, causes, seed)
    return whole


def _score(made: Made, flags: Flags, causes: Sequence[tuple[int, ...]], seed: int) -> Score:
    half = halves(len(made.failed), seed, made.groups)
    spots = hunted(made, seed)
    of_causes = [flags[:, list(cause)].all(axis=1) for cause in causes]
    of_causes.append(np.logical_or.reduce(of_causes))
    found = Score(causes=len(causes), exact=sum(any(s.statement == c for s in spots) for c in causes))
    left = np.ones(len(made.failed), bool)
    for spot in spots:
        inside, tested = flags[:, list(spot.statement)].all(axis=1), half if spot.side else ~half
        left &= ~inside
        rate = rate_among(made, inside & tested, picked=True)
        truth = made.chance[inside & tested].mean()
        other = rate_among(made, tested & ~inside)
        beyond = not other.low <= made.chance[tested & ~inside].mean() <= other.high
        alike = max(float((inside & one).sum() / (inside | one).sum()) for one in of_causes)
        known = any(set(spot.statement) & set(cause) for cause in causes)
        idle = made.chance[inside].mean() <= made.chance[~inside].mean()
        found += Score(
            1, not known and alike < 0.5, idle, truth < rate.low, truth > rate.high, beyond
        )  # fmt: skip
    groups = None if made.groups is None else made.groups[left]
    bound = highest(made.rows[left], made.failed[left], groups, every=len(left))
    if bound is not None:
        found += Score(bounds=1, broken=worst_of(flags[left], made.chance[left], groups, bound) > bound.rate)
    return found


def worst_of(flags: Flags, chance: Chances, groups: NDArray[np.int64] | None, bound: Highest) -> float:
    """The highest true rate of a concept that the bound is about."""
    worst = 0.0
    for i in np.flatnonzero(flags.sum(axis=0) >= bound.rows):
        if groups is None or len(np.unique(groups[flags[:, i]])) >= bound.groups:
            worst = max(worst, float(chance[flags[:, i]].mean()))
    return worst


def rate_among(made: Made, rows: Flags, *, picked: bool = False) -> Rate:
    groups = None if made.groups is None else made.groups[rows]
    return Counts.of(np.zeros(int(rows.sum()), np.int64), made.failed[rows], groups).rate(picked=picked)
