"""A sequential test that is frugal at tiny rates, and the rule that says which sample to draw next.

The question is that of `weakspot.stats.sequential`: does a hypothesis fail more often than `factor` times
its baseline? So are the promises: a pure function of four counts; both samples may grow by any rule that
looks at the past; the evidence may be read after every trial and reaches log(1 / α) under the null
hypothesis with probability at most α. What differs is where the bets lie. They are made for two samples
that grow *together*, as `next_arm` lets them. There the test needs about one and a half times the least mean
that any test of its level and of power 95 % can have, however it draws; `log_evidence` needs more than twice
that. After a baseline that was measured well beforehand it is the dearer one, by a tenth to a quarter:
`benchmarks/sequential.py` shows both.

Why bets in pairs. Let a = n1 / (n1 + n0), and failures so rare that two in one trial can be forgotten.
Given that a failure occurs, it comes from the hypothesis with probability aρ / (aρ + 1 − a), where ρ is the
ratio of the two rates: the unknown level of the rates cancels. Betting on ρ against 1 multiplies the wealth
by e^d1 for a failure of the hypothesis and by e^d0 for one of the baseline,

    d1 = log(ρ / (aρ + 1 − a)),   d0 = −log(aρ + 1 − a),   so that   a e^d1 + (1 − a) e^d0 = 1.        (*)

By (*) a trial without failure costs nothing to first order in the rate, whatever the rate: nothing is lost
to the nuisance parameter. At a ρ ≫ 1 all such bets are alike for the hypothesis (d1 ≈ log 1/a), so a
mixture over ρ from 1.2 to 1,000 is cheap too. For trials that are not rare (*) errs on the safe side: as
the logarithm is concave, n1 log(1 + θ (e^d1 − 1)) + n0 log(1 + θ (e^d0 − 1)) ≤ 0 for every θ if n1 : n0 is
a : 1 − a. These are the 2×2 e-variables of Turner, Ly and Grünwald (2024, "Generic E-variables for exact
sequential k-sample tests that allow for optional stopping"), which need that proportion block by block.

To be valid for *any* proportion, the wealth is taken at its least over the baseline's possible rate θ,

    inf over θ of  Σ w_k exp(d1_k f1 + d0_k f0 − n1 log(1 + cθ (e^d1_k − 1)) − n0 log(1 + θ (e^d0_k − 1))).

Proof. Let p1 ≤ c p0, and θ = min(p0, 1 / c), so that p1 ≤ cθ and p0 ≥ θ. With t = e^d − 1, a trial of the
hypothesis multiplies component k by exp(d1 X) / (1 + cθ t1), with mean (1 + p1 t1) / (1 + cθ t1) ≤ 1, as
t1 ≥ 0; one of the baseline by a factor with mean (1 + p0 t0) / (1 + θ t0) ≤ 1, as t0 ≤ 0. So the sum at this
θ is a nonnegative supermartingale from 1, whatever predictable rule chooses the sample, and the infimum lies
below it. By Ville's inequality it reaches 1 / α with probability at most α. No approximation is involved.

Where the samples keep the proportion, the infimum costs these pairs nothing, by (*). For other proportions
two more groups of bets are in the mixture: pairs for a baseline that is shared by several hypotheses
(a = 0.1), and a coarse grid of all pairs, which is the product construction of `weakspot.stats.sequential`.
Every component is convex in θ, and so is the log of their sum: `weakspot.stats.sequential.least` finds the
least wealth and never overstates it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weakspot.stats.sequential import EDGE, Array, check_factor, flat_counts, least

Arm = Literal["hypothesis", "baseline"]


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


_SHARE = 0.36
"""The share of the hypothesis that the main bets are made for. With ρ → ∞ the draws to a decision go with
1 / (a log 1/a), least at a = 1/e; at ρ = 2 the best share is 0.47. At 0.36 the fourth failure decides at
α = 0.05 if the baseline has none, at 1/e the fifth would."""

_SHARED = 0.1
_RATIOS = (1.2, 1.5, 2.2, 4.0, 10.0, 30.0, 100.0, 1000.0)
_WEIGHTS = (4.0, 8.0, 12.0, 14.0, 16.0, 18.0, 16.0, 12.0)

_UP = (0.2, 0.5, 1.0, 1.8, 3.0, 4.5, 6.5, 9.0)
_UP_WEIGHTS = (10.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0)
_DOWN = (0.0, 0.1, 0.4, 1.0, 2.5, math.inf)
_DOWN_WEIGHTS = (40.0, 15.0, 12.0, 10.0, 8.0, 15.0)


def _bets() -> Iterator[tuple[float, float, float]]:
    for mass, share in ((0.55, _SHARE), (0.10, _SHARED)):
        for weight, ratio in zip(_WEIGHTS, _RATIOS, strict=True):
            pooled = share * ratio + 1.0 - share
            yield mass * weight / sum(_WEIGHTS), math.log(ratio / pooled), -math.log(pooled)
    whole = sum(_UP_WEIGHTS) * sum(_DOWN_WEIGHTS)
    for weight1, up in zip(_UP_WEIGHTS, _UP, strict=True):
        for weight0, down in zip(_DOWN_WEIGHTS, _DOWN, strict=True):
            yield 0.35 * weight1 * weight0 / whole, up, -down


_PAIRS = pairs(_bets())


def log_evidence_frugal(failures1: int, n1: int, failures0: int, n0: int, *, factor: float = 1.0) -> float:
    """Log e-value against H0: p1 ≤ factor · p0, frugal where both samples grow as `next_arm` says.

    Args:
        failures1: Failures among the hypothesis' trials.
        n1: Trials of the hypothesis.
        failures0: Failures among the baseline's trials.
        n0: Trials of the baseline.
        factor: The multiple of the baseline's rate to be exceeded; 2 asks for a doubling that is worth a
            finding.

    Returns:
        The natural log of the evidence: at or above log(1 / α), H0 is rejected at α, whenever that is.
        About half a millisecond.
    """
    return float(log_evidences_frugal(failures1, n1, failures0, n0, factor=factor))


def log_evidences_frugal(
    failures1: ArrayLike, n1: ArrayLike, failures0: ArrayLike, n0: ArrayLike, *, factor: float = 1.0
) -> Array:
    """`log_evidence_frugal` for arrays of counts, broadcast against each other."""
    flat, shape = flat_counts(failures1, n1, failures0, n0, factor)
    return lowest_joint_wealths(_PAIRS, *flat, factor=factor).reshape(shape)


def exceeds_each_frugal(
    failures1: ArrayLike,
    n1: ArrayLike,
    failures0: ArrayLike,
    n0: ArrayLike,
    *,
    factor: float = 1.0,
    alpha: float = 0.05,
) -> NDArray[np.bool_]:
    """Whether the evidence has reached 1 / alpha; faster than the evidence where the answer is no."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"An error rate lies strictly between 0 and 1, got {alpha}.")
    flat, shape = flat_counts(failures1, n1, failures0, n0, factor)
    bar = -math.log(alpha)
    found = lowest_joint_wealths(_PAIRS, *flat, factor=factor, settled_below=bar)
    return np.asarray(found >= bar).reshape(shape)


def baseline_per_draw(*, sharing: int = 1, factor: float = 1.0) -> float:
    """How many trials of the baseline belong to one trial of each hypothesis.

    With c the factor, k hypotheses that share the baseline, r = n0 / n1, and a baseline that hardly fails,
    a decision takes n1 ∝ 1 / log(1 + r / c) trials of each hypothesis, hence k + r times that in all. With
    x = k / c the least is at r / c = exp(1 + w) − 1, w e^w = (x − 1) / e; for x = 1 it is e − 1. It is
    never less than what the bets are made for.

    Args:
        sharing: Hypotheses that are tested against the same trials of the baseline.
        factor: As in `log_evidence_frugal`.
    """
    if sharing < 1:
        raise ValueError(f"At least one hypothesis uses the baseline, got {sharing}.")
    check_factor(factor)
    lowest = (1.0 - _SHARE) / _SHARE
    goal = (sharing / factor - 1.0) / math.e
    if goal <= 0.0:
        return factor * lowest
    w = math.log1p(goal)
    for _ in range(20):  # Newton's method for w − goal e^−w = 0, which is concave and rising
        w -= (w - goal * math.exp(-w)) / (1.0 + goal * math.exp(-w))
    return factor * max(lowest, math.expm1(1.0 + w))


def next_arm(
    failures1: int, n1: int, failures0: int, n0: int, *, sharing: int = 1, factor: float = 1.0
) -> Arm:
    """Which sample the next trial, or the next small batch, should be drawn from.

    The baseline is kept just ahead of the wanted proportion, so that the evidence is complete whenever a
    trial of the hypothesis fails. While the hypothesis has not failed there is nothing to weigh against the
    baseline; until then it gets an eighth, enough to show a baseline that fails often. Any other rule is as
    valid, only dearer.

    Args:
        failures1: Failures among the hypothesis' trials.
        n1: Trials of the hypothesis.
        failures0: Failures among the baseline's trials.
        n0: Trials of the baseline, those measured beforehand included.
        sharing: Hypotheses that are tested against the same trials of the baseline.
        factor: As in `log_evidence_frugal`.
    """
    for failures, n in ((failures1, n1), (failures0, n0)):
        if not 0 <= failures <= n:
            raise ValueError(f"Failures must lie between 0 and the number of trials, got {failures} of {n}.")
    wanted = baseline_per_draw(sharing=sharing, factor=factor)
    if failures1 == 0:
        return "hypothesis" if n0 >= wanted * n1 / 8 else "baseline"
    return "hypothesis" if n0 >= wanted * (n1 + 1) else "baseline"
