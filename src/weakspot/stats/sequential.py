"""The sequential test of a race: does a hypothesis fail more often than the baseline?

Both samples may grow in any order, by any rule that looks at the past, and the evidence may be read after
every trial: under the null hypothesis it reaches log(1 / α) at any time with probability at most α.

Construction, for H0: p1 ≤ c p0. For a trial X with P(X = 1) ≤ θ and d > 0, the bet
exp(d X) / (1 + θ (e^d − 1)) has mean at most 1; so, whatever the schedule,

    A(θ) = Σ w_i exp( d_i f1 − n1 log(1 + θ (e^d_i − 1)))         tests p1 ≤ θ
    B(θ) = Σ v_j exp(−d_j f0 − n0 log(1 + θ (e^−d_j − 1)))        tests p0 ≥ θ

and A(cθ) B(θ) is a nonnegative supermartingale from 1 wherever p1 ≤ cθ and p0 ≥ θ. H0 is the union of
these cases over θ, hence inf_θ A(cθ) B(θ) is an e-process for it: under every p1, p0 of H0 it stays below
one such supermartingale (`weakspot.stats.sequential` computes it). The mirrored test swaps the directions.

A bet d is the log odds ratio between the rate it hopes for and θ. The weights below lean to small bets,
where a race is long, and cost little at large ones, where it is short. The baseline's side keeps much of
its mass on no bet, because often the baseline has been sampled so well that there is nothing to win by
betting on it, and some on d = −∞ (it never fails), which is how a baseline without failures looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import _check_counts
from .multiple import _check_alpha

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
        placed = zip(stakes, (scale * bets.tilt).tolist(), strict=True)
        arms.append((n, [(stake, tilt) for stake, tilt in placed if stake > -math.inf]))
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


_BETS = (0.1, 0.25, 0.5, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0)
_HYPOTHESIS = (5.0, 7.0, 7.0, 6.0, 5.0, 4.0, 4.0, 4.0, 4.0, 3.0, 3.0, 2.0, 2.0, 2.0)
_BASELINE = (6.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5)

_HYPOTHESIS_UP = mixture(_HYPOTHESIS, _BETS, up=True, idle=0.0, never=0.0)
_HYPOTHESIS_DOWN = mixture(_HYPOTHESIS, _BETS, up=False, idle=0.0, never=0.15)
_BASELINE_UP = mixture(_BASELINE, _BETS, up=True, idle=0.4, never=0.0)
_BASELINE_DOWN = mixture(_BASELINE, _BETS, up=False, idle=0.4, never=0.15)


def log_evidence(failures1: int, n1: int, failures0: int, n0: int, *, factor: float = 1.0) -> float:
    """Log e-value against H0: p1 ≤ factor · p0.

    Args:
        factor: The multiple of the baseline's rate to be exceeded; 1 asks 'worse than the baseline?'.

    Returns:
        The natural log of the evidence: at or above log(1 / α), H0 is rejected at α, whenever that is.
        Negative values are contrary data and say nothing more; `log_evidence_below` weighs those.
    """
    _check(failures1, n1, failures0, n0, factor)
    return lowest_wealth(_HYPOTHESIS_UP, _BASELINE_DOWN, failures1, n1, failures0, n0, factor=factor)


def log_evidence_below(failures1: int, n1: int, failures0: int, n0: int, *, factor: float = 1.0) -> float:
    """Log e-value against H0: p1 ≥ factor · p0, for futility: the hypothesis is not `factor` times worse."""
    _check(failures1, n1, failures0, n0, factor)
    return lowest_wealth(_HYPOTHESIS_DOWN, _BASELINE_UP, failures1, n1, failures0, n0, factor=factor)


def exceeds(
    failures1: int, n1: int, failures0: int, n0: int, *, factor: float = 1.0, alpha: float = 0.05
) -> bool:
    """Whether the evidence that p1 > factor · p0 has reached 1 / alpha."""
    return log_evidence(failures1, n1, failures0, n0, factor=factor) >= _bar(alpha)


def log_evidences(
    failures1: ArrayLike, n1: ArrayLike, failures0: ArrayLike, n0: ArrayLike, *, factor: float = 1.0
) -> Array:
    """`log_evidence` for arrays of counts, broadcast against each other."""
    flat, shape = flat_counts(failures1, n1, failures0, n0, factor)
    return lowest_wealths(_HYPOTHESIS_UP, _BASELINE_DOWN, *flat, factor=factor).reshape(shape)


def exceeds_each(
    failures1: ArrayLike,
    n1: ArrayLike,
    failures0: ArrayLike,
    n0: ArrayLike,
    *,
    factor: float = 1.0,
    alpha: float = 0.05,
) -> NDArray[np.bool_]:
    """`exceeds` for arrays of counts; much faster than their evidence where the answer is no."""
    flat, shape = flat_counts(failures1, n1, failures0, n0, factor)
    bar = _bar(alpha)
    found = lowest_wealths(_HYPOTHESIS_UP, _BASELINE_DOWN, *flat, factor=factor, settled_below=bar)
    return np.asarray(found >= bar).reshape(shape)


def _bar(alpha: float) -> float:
    _check_alpha(alpha)
    return -math.log(alpha)


def _check(failures1: int, n1: int, failures0: int, n0: int, factor: float) -> None:
    check_factor(factor)
    _check_counts(failures1, n1)
    _check_counts(failures0, n0)


def check_factor(factor: float) -> None:
    """Raise unless it is a multiple that a rate can be compared with."""
    if not 0.0 < factor < math.inf:
        raise ValueError(f"The factor must be positive and finite, got {factor}.")


def flat_counts(
    failures1: ArrayLike, n1: ArrayLike, failures0: ArrayLike, n0: ArrayLike, factor: float
) -> tuple[list[Array], tuple[int, ...]]:
    """The counts checked and broadcast, as arrays of one dimension; and the shape they had."""
    check_factor(factor)
    counts = np.broadcast_arrays(
        *(np.asarray(count, dtype=float) for count in (failures1, n1, failures0, n0))
    )
    flat = [count.ravel() for count in counts]
    f1, m1, f0, m0 = flat
    if not np.all((f1 >= 0) & (f1 <= m1) & (f0 >= 0) & (f0 <= m0)):
        raise ValueError("Failures must lie between 0 and the number of trials, in every entry.")
    return flat, counts[0].shape
