"""A mixture of joint bets on two samples, and the least wealth it leaves over a nuisance rate.

The mathematics under `weakspot.stats.frugal`, which says what it is for. A pair (d1, d0), d1 ≥ 0 ≥ d0, bets
on both samples at once; a mixture of pairs has, at the rate θ it bets against, the wealth

    W(θ) = Σ w_k exp(d1_k f1 + d0_k f0 − n1 log(1 + cθ (e^d1_k − 1)) − n0 log(1 + θ (e^d0_k − 1))).

`weakspot.stats.envelope` has the product of two mixtures, which is all pairs at once with a product of
weights; here the pairs are chosen. Every component is convex in θ, and so is the log of their sum: as
there, Newton's method in a shrinking bracket, and what is returned is the tangent at the last point carried
to the end of the bracket. An unfinished search understates the evidence and never overstates it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .envelope import EDGE, Array, least


class Pairs(NamedTuple):
    """Joint bets: shifts of the log odds in both samples, tilts e^d − 1, log weights.

    A shift of −∞ ('it never fails') is kept as 0 beside its tilt of −1.
    """

    shift1: Array
    tilt1: Array
    shift0: Array
    tilt0: Array
    log_weight: Array

    def stakes(self, f1: Array, f0: Array) -> Array:
        """log w_k + d1_k f1 + d0_k f0, one row for each entry."""
        stakes = self.log_weight + f1[:, None] * self.shift1 + f0[:, None] * self.shift0
        stakes[(f0 > 0)[:, None] & (self.tilt0 == -1.0)] = -math.inf
        return stakes

    def log_wealth(self, f1: int, n1: int, f0: int, n0: int, theta: float, *, factor: float = 1.0) -> float:
        """log W(θ) for one pair of samples, 0 < θ < 1."""
        logs = self.stakes(np.array([float(f1)]), np.array([float(f0)]))[0]
        logs = logs - n1 * np.log1p(factor * theta * self.tilt1) - n0 * np.log1p(theta * self.tilt0)
        return float(np.logaddexp.reduce(logs))


def pairs(bets: Iterable[tuple[float, float, float]]) -> Pairs:
    """Pairs from (weight, d1, d0); weights are relative."""
    weight, shift1, shift0 = (np.array(column, dtype=float) for column in zip(*bets, strict=True))
    if np.any(shift1 < 0.0) or np.any(shift0 > 0.0):
        raise ValueError("A pair bets on more failures in the first sample and on fewer in the second.")
    return Pairs(
        shift1,
        np.expm1(shift1),
        np.where(np.isinf(shift0), 0.0, shift0),
        np.expm1(shift0),
        np.log(weight / weight.sum()),
    )


def lowest_joint_wealths(
    bets: Pairs,
    f1: Array,
    n1: Array,
    f0: Array,
    n0: Array,
    *,
    factor: float,
    settled_below: float = -math.inf,
) -> Array:
    """min over θ, 0 ≤ θ ≤ min(1, 1 / factor), of log W(θ), for arrays of one dimension and one length.

    A pair of samples whose value falls under `settled_below` ends early with that value, which is then only
    an upper bound of its minimum: all that a comparison with `settled_below` needs.
    """
    tilt1, tilt0 = factor * bets.tilt1, bets.tilt0
    stakes = bets.stakes(f1, f0)
    top = min(1.0, 1.0 / factor) * EDGE
    theta = np.minimum((f1 + f0 + 0.5) / (factor * n1 + n0 + 1.0), 0.9 * top)
    rows = (stakes, n1, n0)
    return least(lambda at, *some: _height(at, tilt1, tilt0, *some), theta, top, rows, settled_below)


def _height(
    theta: Array, tilt1: Array, tilt0: Array, stakes: Array, n1: Array, n0: Array
) -> tuple[Array, Array, Array]:
    """log W at θ with its first and second derivative.

    A component's logarithm has slope −s, s = n1 q1 + n0 q0 with q = tilt / (1 + θ tilt), and curvature
    n1 q1² + n0 q0²; a log-sum adds the variance of the slopes under the components' shares.
    """
    odds1, odds0 = 1.0 + theta[:, None] * tilt1, 1.0 + theta[:, None] * tilt0
    logs = stakes - n1[:, None] * np.log(odds1) - n0[:, None] * np.log(odds0)
    q1, q0 = tilt1 / odds1, tilt0 / odds0
    s1, s0 = n1[:, None] * q1, n0[:, None] * q0
    peak = logs.max(axis=1)
    share = np.exp(logs - peak[:, None])
    total = share.sum(axis=1)
    share /= total[:, None]
    mean = (share * (s1 + s0)).sum(axis=1)
    curve = (share * (s1 * q1 + s0 * q0 + (s1 + s0 - mean[:, None]) ** 2)).sum(axis=1)
    return peak + np.log(total), -mean, curve
