"""Rates far below one over the budget: multilevel splitting, driven by how near each case is to failing.

Splitting goes down a ladder of margins t1 > t2 > … > 0 (probability of the label less that of the best other
one; a failure is below 0): draw many cases, keep those with margin ≤ t1, replace the others by copies of kept
ones, move the copies a little without leaving the region, keep those with margin ≤ t2, and so on. The rate is
the product of the shares kept (Kahn and Harris 1951; Au and Beck 2001; Cérou, Del Moral, Furon and Guyader
2012).

A pilot finds the ladder, each rung at the median of the margins, and how far a move may go. Both are then
held fast, and the descent is repeated independently: with a fixed ladder the product is unbiased for *any*
moves that leave the distribution as it is (Del Moral 2004, §7.4): bad moves cost spread, not truth. The
interval is from the spread of the repeats. Failures that the margin does not lead to are missed by all
repeats alike; `Rare.ceiling` bounds them, from independent draws only. Where the ladder ends before a failure
(a flat margin, a dead end), the rest of the budget goes to plain sampling.

Everything follows from the seed, and the i-th evaluation is always the same state, so that a ledger can
answer for the evaluations it holds when a run is resumed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.sources.spaces import Space
from weakspot.stats.intervals import clopper_pearson, rate_from_repeats

States = NDArray[Any]
Margin = Callable[[States], Any]

_KEEP = 0.5
_ACCEPT = 0.5
_PATIENCE = 8  # rounds of moves without one better case after which the pilot gives up
_PILOT = 0.3  # the most of the budget that the pilot may use
_TURNS = 5  # the most proposals for one move
_COMMON = 1 / 300  # from this rate on, plain sampling is the better use of the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Rare:
    """The rate of a rare failure, with its interval.

    `ceiling` is the high end from independent draws alone, whatever the margin hides. The method is `plain`
    where there was no ladder to go down. Where the repeats do not `agree`, the interval is the wide one that
    is proven. `repeats` are their estimates, `ladder` the margins of the rungs, `roots` the first draws from
    which the failures of a repeat descend, on average (near 1, a repeat is one lucky case and its offspring),
    and `found` states that fail. The note says why the method or the interval is not the usual one.
    """

    rate: float
    low: float
    high: float
    ceiling: float
    method: Literal["splitting", "plain"]
    agree: bool
    evaluations: int
    repeats: tuple[float, ...] = ()
    ladder: tuple[float, ...] = ()
    roots: float = 0.0
    found: States = field(default_factory=lambda: np.empty(0), repr=False, compare=False)
    note: str = ""


def counted(failures: int, n: int, **more: Any) -> Rare:
    """The rate among independent draws, with Clopper and Pearson's interval."""
    low, high = clopper_pearson(failures, n)
    rate = failures / n if n else 0.0
    return Rare(rate=rate, low=low, high=high, ceiling=high, method="plain", agree=True, **more)


def rare_rate(
    space: Space, margin: Margin, *, budget: int, seed: int = 0, repeats: int = 12, moves: int = 3
) -> Rare:
    """Estimate P(margin < 0) of cases drawn from a space, with an interval for 95 %.

    Args:
        space: Where cases come from, and how they are moved.
        margin: The margins of an array of states; a failure is below 0. Deterministic: the same state must
            have the same margin. The only expensive call; it gets batches, and is never asked for more than
            `budget` states in all.
        budget: The most evaluations. 40,000 are enough for a factor of 2 at 1e-5; under 2,000 all go to plain
            sampling.
        seed: Everything follows from it.
        repeats: Independent descents; the interval is from their spread.
        moves: Moves of every copy on every rung. Proposals that change nothing cost nothing and do not count:
            where many do not, as with choices that are mostly made alike, more are made.
    """
    if budget < 1 or repeats < 2 or moves < 1:
        raise ValueError(
            f"Splitting needs a budget, two repeats and a move, got {budget}, {repeats} and {moves}."
        )
    rng, meter = np.random.default_rng(seed), _Meter(margin, budget)
    if budget < 2000:
        return _plain(space, meter, rng, "The budget is too small for splitting.")
    plan = _pilot(space, meter, rng, moves=moves)
    if isinstance(plan, str):
        return _plain(space, meter, rng, plan)
    if plan.rate > _COMMON:
        return _plain(space, meter, rng, "The pilot saw failures often enough to count them.")
    return _descend(space, meter, rng, plan, repeats=repeats, moves=moves)


class _Meter:
    """The margin, counted, and refused beyond the budget."""

    def __init__(self, margin: Margin, budget: int) -> None:
        self.margin, self.budget, self.used = margin, budget, 0
        self.proposed = self.changed = 0  # moves, and those of them that were no copies of their states

    @property
    def left(self) -> int:
        return self.budget - self.used

    def __call__(self, states: States) -> NDArray[np.float64]:
        if len(states) > self.left:
            raise RuntimeError("The budget of evaluations is exceeded: this is an error of the search.")
        if not len(states):
            return np.empty(0)
        self.used += len(states)
        margins = np.asarray(self.margin(states), dtype=float)
        if margins.shape != (len(states),) or np.isnan(margins).any():
            raise ValueError(f"A margin is one number a state and not NaN, got shape {margins.shape}.")
        return margins


def _move(
    space: Space, meter: _Meter, rng: np.random.Generator, x: States, m: Any, rung: float, scale: float
) -> float:
    """One move of every state within margin ≤ rung, in place. Returns the share of moves accepted.

    A proposal that equals its state needs no evaluation. Without budget for the others nothing moves.
    """
    proposals = space.move(rng, x, scale)
    changed = np.flatnonzero((proposals != x).reshape(len(x), -1).any(axis=1))
    meter.proposed, meter.changed = meter.proposed + len(x), meter.changed + len(changed)
    if not len(changed) or len(changed) > meter.left:
        return 1.0
    margins = meter(proposals[changed])
    inside = margins <= rung
    x[changed[inside]], m[changed[inside]] = proposals[changed[inside]], margins[inside]
    return float(inside.mean())


class _Plan(NamedTuple):
    """What the pilot found: the rungs, how far to move on each, the share kept at each and at the end."""

    ladder: list[float]
    scales: list[float]
    shares: list[float]
    turns: int  # proposals that make the number of moves asked for

    @property
    def rate(self) -> float:
        return math.prod(self.shares)


def _pilot(space: Space, meter: _Meter, rng: np.random.Generator, *, moves: int) -> _Plan | str:
    """Find the ladder, or say why there is none."""
    size = min(max(meter.budget // 400, 60), 400)
    x = space.draw(rng, size)
    m = meter(x)
    plan, scale, last = _Plan([], [], [], moves), 0.5, math.inf
    while True:
        rung = float(np.sort(m)[int(_KEEP * size) - 1])
        if rung >= last:  # more than half share one margin: the next rung is the best there is
            rung = float(m[m < last].max(initial=-math.inf))
        if rung < 0.0:
            if not np.any(m < 0.0):
                return f"The margin leads nowhere below {last:.3g}: all draws went to plain sampling."
            plan.shares.append(float(np.mean(m < 0.0)))
            turns = round(moves * meter.proposed / max(meter.changed, 1))
            return plan._replace(turns=min(max(turns, moves), _TURNS * moves))
        kept = m <= rung
        plan.shares.append(float(kept.mean()))
        copies = np.flatnonzero(~kept)
        parents = np.resize(rng.permutation(np.flatnonzero(kept)), len(copies))
        x[copies], m[copies] = x[parents], m[parents]
        for turn in range(_PATIENCE):
            moving = copies if turn == 0 and len(copies) >= size // 4 else np.arange(size)
            for _ in range(moves + 1):
                if meter.used > _PILOT * meter.budget:
                    return f"The margin was still {rung:.3g} when the pilot's budget was spent."
                part, margins = x[moving], m[moving]
                accepted = _move(space, meter, rng, part, margins, rung, scale)
                x[moving], m[moving] = part, margins
                scale = min(scale * math.exp(accepted - _ACCEPT), 1.0)
            if np.any(m < rung):
                break
        plan.ladder.append(rung)
        plan.scales.append(scale)
        last = rung


def _sizes(plan: _Plan, repeats: int, moves: int, budget: int) -> list[int]:
    """Cases of a repeat on each rung, for the budget.

    A rung that keeps the share q adds (1 − q) / (q n) to the relative variance, so that n should go with
    √((1 − q) / q); first draws cost one evaluation instead of one for each move, and may be √moves as many.
    """
    shares = np.clip(plan.shares, 1e-3, 0.95)
    weight = np.sqrt((1.0 - shares) / shares)
    weight = np.clip(weight / np.median(weight), 0.5, 4.0)
    weight[0] *= math.sqrt(moves)
    copies = np.maximum(weight[1:] - weight[:-1] * shares[:-1], 0.25 * weight[1:])
    cost = weight[0] + moves * copies.sum()
    return [max(int(0.95 * budget / (repeats * cost) * w), 8) for w in weight]


def _descend(
    space: Space, meter: _Meter, rng: np.random.Generator, plan: _Plan, *, repeats: int, moves: int
) -> Rare:
    """All repeats side by side: arrays have an axis of repeats, then one of cases."""
    sizes = _sizes(plan, repeats, moves, meter.left)
    first = space.draw(rng, repeats * sizes[0])
    m = meter(first).reshape(repeats, sizes[0])
    x = first.reshape(repeats, sizes[0], *first.shape[1:])
    draws, failures = m.size, int(np.sum(m < 0.0))
    root = np.tile(np.arange(sizes[0]), (repeats, 1))
    estimates = np.ones(repeats)
    row = np.arange(repeats)[:, None]
    for rung, scale, size in zip(plan.ladder, plan.scales, sizes[1:], strict=True):
        kept = m <= rung
        estimates *= kept.mean(axis=1)
        parents, copied = np.zeros((repeats, size), dtype=int), np.zeros((repeats, size), dtype=bool)
        for repeat in np.flatnonzero(kept.any(axis=1)):
            order = rng.permutation(np.flatnonzero(kept[repeat]))
            parents[repeat] = np.resize(order, size)
            copied[repeat, min(len(order), 3 * size // 4) :] = True  # a quarter moves in any case
        x, m, root = x[row, parents], m[row, parents], root[row, parents]
        part, margins = x[copied], m[copied]
        for _ in range(plan.turns):
            _move(space, meter, rng, part, margins, rung, scale)
        x[copied], m[copied] = part, margins
    failing = (m < 0.0) & (estimates > 0.0)[:, None]
    estimates *= failing.mean(axis=1)
    roots = [len(np.unique(root[repeat][failing[repeat]])) for repeat in np.flatnonzero(estimates > 0.0)]
    repeated = tuple(estimates.tolist())
    result = rate_from_repeats(repeated, failures=failures, n=draws)
    if not result.agree and meter.left:  # what is left makes the ceiling lower, on which all now depends
        drawn, more = _independent(space, meter, rng)
        result = rate_from_repeats(repeated, failures=failures + len(more), n=draws + drawn)
    return Rare(
        **result._asdict(),
        method="splitting",
        evaluations=meter.used,
        repeats=repeated,
        ladder=tuple(plan.ladder),
        roots=float(np.mean(roots)) if roots else 0.0,
        found=x[failing],
        note="" if result.agree else "The repeats disagree: the interval is wide, and its estimate is rough.",
    )


def _plain(space: Space, meter: _Meter, rng: np.random.Generator, note: str) -> Rare:
    n, found = _independent(space, meter, rng)
    return counted(len(found), n, evaluations=meter.used, found=found, note=note)


def _independent(space: Space, meter: _Meter, rng: np.random.Generator) -> tuple[int, States]:
    """What is left of the budget as independent draws: their number, and those that fail."""
    n, found = meter.left, []
    while meter.left:
        x = space.draw(rng, min(meter.left, 4096))
        found.append(x[meter(x) < 0.0])
    return n, np.concatenate(found) if found else np.empty(0)
