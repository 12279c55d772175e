"""The sequential test of a race: does a hypothesis fail more often than the baseline?

Both samples may grow in any order, by any rule that looks at the past, and the evidence may be read after
every trial: under the null hypothesis it reaches log(1 / α) at any time with probability at most α.

Construction, for H0: p1 ≤ c p0. For a trial X with P(X = 1) ≤ θ and d > 0, the bet
exp(d X) / (1 + θ (e^d − 1)) has mean at most 1; so, whatever the schedule,

    A(θ) = Σ w_i exp( d_i f1 − n1 log(1 + θ (e^d_i − 1)))         tests p1 ≤ θ
    B(θ) = Σ v_j exp(−d_j f0 − n0 log(1 + θ (e^−d_j − 1)))        tests p0 ≥ θ

and A(cθ) B(θ) is a nonnegative supermartingale from 1 wherever p1 ≤ cθ and p0 ≥ θ. H0 is the union of
these cases over θ, hence inf_θ A(cθ) B(θ) is an e-process for it: under every p1, p0 of H0 it stays below
one such supermartingale (`weakspot.stats.envelope` computes it). The mirrored test swaps the directions.

A bet d is the log odds ratio between the rate it hopes for and θ. The weights below lean to small bets,
where a race is long, and cost little at large ones, where it is short. The baseline's side keeps much of
its mass on no bet, because often the baseline has been sampled so well that there is nothing to win by
betting on it, and some on d = −∞ (it never fails), which is how a baseline without failures looks.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .envelope import Array, lowest_wealth, lowest_wealths, mixture

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
        failures1: Failures among the hypothesis' trials.
        n1: Trials of the hypothesis.
        failures0: Failures among the baseline's trials.
        n0: Trials of the baseline.
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
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"An error rate lies strictly between 0 and 1, got {alpha}.")
    return -math.log(alpha)


def _check(failures1: int, n1: int, failures0: int, n0: int, factor: float) -> None:
    check_factor(factor)
    for failures, n in ((failures1, n1), (failures0, n0)):
        if not 0 <= failures <= n:
            raise ValueError(f"Failures must lie between 0 and the number of trials, got {failures} of {n}.")


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
