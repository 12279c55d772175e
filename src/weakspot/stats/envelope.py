"""Mixtures of bets on two samples, and the least wealth they leave over a nuisance rate.

The mathematics under `weakspot.stats.sequential`, which says what it is for. A mixture of bets on a sample
of n trials with f failures has, at the rate θ it bets against, the wealth

    W(θ) = Σ w_i exp(d_i f − n log(1 + θ (e^d_i − 1))).

`lowest_wealth` is min over θ of log W1(cθ) + log W0(θ), 0 ≤ θ ≤ min(1, 1 / c). Every component is convex
in θ and so is a log-sum of them: Newton's method in a shrinking bracket finds the one minimum. What is
returned is the tangent at the last point, carried to the end of the bracket, which a convex function
nowhere undercuts: an unfinished search understates the evidence and never overstates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_TOLERANCE = 1e-7
_STEPS = 80
EDGE = 1.0 - 1e-12  # θ = 1 is approached to within this: there a bet on 'never' is worth 0 or ∞


class Mixture(NamedTuple):
    """Bets on one sample: log odds shifts d, tilts e^d − 1, log weights, and which of them is d = −∞."""

    shift: Array
    tilt: Array
    log_weight: Array
    never: NDArray[np.bool_]

    def stakes(self, failures: Array) -> Array:
        """log w_i + d_i f, one row for each entry of `failures`."""
        stakes = self.log_weight + failures[:, None] * self.shift
        stakes[(failures > 0)[:, None] & self.never] = -math.inf
        return stakes


def mixture(
    weights: Sequence[float], bets: Sequence[float], *, up: bool, idle: float, never: float
) -> Mixture:
    """Bets that a rate lies above θ (`up`) or below it.

    Args:
        weights: Relative weights of `bets`.
        bets: Absolute log odds shifts, positive.
        up: Whether the bets are on more failures than θ says.
        idle: Share of the mass on no bet.
        never: Share of the mass on d = −∞, 'it never fails'; 0 unless the bets go down.
    """
    sign = 1.0 if up else -1.0
    mass = (1.0 - idle - never) * np.array(weights, dtype=float) / sum(weights)
    shift, tilt, weight = [sign * bet for bet in bets], [math.expm1(sign * bet) for bet in bets], list(mass)
    if idle:
        shift, tilt, weight = [*shift, 0.0], [*tilt, 0.0], [*weight, idle]
    if never:
        shift, tilt, weight = [*shift, 0.0], [*tilt, -1.0], [*weight, never]
    return Mixture(np.array(shift), np.array(tilt), np.log(weight), np.array(tilt) == -1.0)


def lowest_wealth(
    first: Mixture, second: Mixture, f1: int, n1: int, f0: int, n0: int, *, factor: float
) -> float:
    """The minimum for one pair of samples, in plain Python: several times faster than arrays of one."""
    arms = []
    for bets, failures, n, scale in ((first, f1, n1, factor), (second, f0, n0, 1.0)):
        stakes = bets.stakes(np.array([float(failures)]))[0].tolist()
        tilts = (scale * bets.tilt).tolist()
        arms.append(
            (n, [(stake, tilt) for stake, tilt in zip(stakes, tilts, strict=True) if stake > -math.inf])
        )
    low, high = 0.0, min(1.0, 1.0 / factor) * EDGE
    theta = min((f1 + f0 + 0.5) / (factor * n1 + n0 + 1.0), 0.9 * high)
    floor = -math.inf
    for _ in range(_STEPS):
        value = slope = curve = 0.0
        for n, bets_placed in arms:
            odds = [1.0 + theta * tilt for _, tilt in bets_placed]
            logs = [stake - n * math.log(o) for (stake, _), o in zip(bets_placed, odds, strict=True)]
            peak = max(logs)
            total = mean = square = 0.0
            for log, (_, tilt), o in zip(logs, bets_placed, odds, strict=True):
                if log > peak - 40.0:
                    share, q = math.exp(log - peak), tilt / o
                    total += share
                    mean += share * q
                    square += share * q * q
            mean, square = mean / total, square / total
            value += peak + math.log(total)
            slope -= n * mean
            curve += n * (square + n * (square - mean * mean))
        low, high = (theta, high) if slope < 0.0 else (low, theta)
        gap = abs(slope) * (high - theta if slope < 0.0 else theta - low)
        floor = value - gap
        if gap < _TOLERANCE:
            break
        goal = theta - slope / curve if curve > 0.0 else theta
        theta = min(goal, 0.1 * theta + 0.9 * high) if slope < 0.0 else max(goal, 0.1 * theta + 0.9 * low)
    return floor


def lowest_wealths(
    first: Mixture,
    second: Mixture,
    f1: Array,
    n1: Array,
    f0: Array,
    n0: Array,
    *,
    factor: float,
    settled_below: float = -math.inf,
) -> Array:
    """The minima for many pairs of samples, given as arrays of one dimension and one length.

    A pair whose value falls under `settled_below` ends early with that value, which is then only an upper
    bound of its minimum: all that a comparison with `settled_below` needs.
    """
    width = max(first.tilt.size, second.tilt.size)
    tilt, stakes = np.zeros((2, width)), np.full((f1.size, 2, width), -math.inf)
    for arm, (bets, failures, scale) in enumerate(((first, f1, factor), (second, f0, 1.0))):
        tilt[arm, : bets.tilt.size] = scale * bets.tilt
        stakes[:, arm, : bets.tilt.size] = bets.stakes(failures)
    n = np.stack([n1, n0], axis=1)
    top = min(1.0, 1.0 / factor) * EDGE
    theta = np.minimum((f1 + f0 + 0.5) / (factor * n1 + n0 + 1.0), 0.9 * top)
    return least(lambda at, *rows: _height(at, tilt, *rows), theta, top, (stakes, n), settled_below)


def least(
    height: Callable[..., tuple[Array, Array, Array]],
    theta: Array,
    top: float,
    rows: tuple[Array, ...],
    settled_below: float = -math.inf,
) -> Array:
    """The minima of many convex functions on (0, top), never overstated.

    Newton's method in a shrinking bracket; the result is the tangent at the last point carried to the end of
    the bracket.

    Args:
        height: Values, slopes and curvatures at θ, given (θ, *rows).
        theta: Where to begin, one entry for each function.
        top: The end of the range.
        rows: What the functions depend on, one row for each.
        settled_below: A function that falls under it ends early with that value.
    """
    low, high = np.zeros_like(theta), np.full_like(theta, top)
    result = np.empty_like(theta)
    left: NDArray[Any] = np.arange(theta.size)
    for _ in range(_STEPS):
        value, slope, curve = height(theta, *rows)
        falling = slope < 0.0
        low, high = np.where(falling, theta, low), np.where(falling, high, theta)
        gap = np.abs(slope) * np.where(falling, high - theta, theta - low)
        settled = value < settled_below
        result[left] = np.where(settled, value, value - gap)
        keep = ~settled & (gap >= _TOLERANCE)
        if not keep.any():
            break
        goal = theta - slope / np.where(curve > 0.0, curve, math.inf)
        # A step out of the bracket goes nine tenths of the way to its end: ten times closer to 0 or 1.
        end = 0.1 * theta + 0.9 * np.where(falling, high, low)
        theta = np.where(falling, np.minimum(goal, end), np.maximum(goal, end))
        if not keep.all():
            left, theta, low, high = left[keep], theta[keep], low[keep], high[keep]
            rows = tuple(row[keep] for row in rows)
    return result


def _height(theta: Array, tilt: Array, stakes: Array, n: Array) -> tuple[Array, Array, Array]:
    """log W1 + log W0 at θ with its first and second derivative.

    A component's logarithm has slope −n q and curvature n q², with q = tilt / (1 + θ tilt); a log-sum adds
    the variance of the slopes under the components' shares.
    """
    odds = 1.0 + theta[:, None, None] * tilt
    q = tilt / odds
    logs = stakes - n[:, :, None] * np.log(odds)
    peak = logs.max(axis=2)
    share = np.exp(logs - peak[:, :, None])
    total = share.sum(axis=2)
    share *= q
    mean = share.sum(axis=2) / total
    share *= q
    square = share.sum(axis=2) / total
    value = (peak + np.log(total)).sum(axis=1)
    slope = -(n * mean).sum(axis=1)
    curve = (n * (square + n * (square - mean * mean))).sum(axis=1)
    return value, slope, curve
