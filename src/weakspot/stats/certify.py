"""What a search excludes: bounds on many failure rates that hold for all of them at once, at any time.

Two e-processes watch each rate p, as in a duel (adaptive auditing, arXiv 2605.07002): one bets against
"p ≥ x", the auditor's claim, the other against "p ≤ x", the model's. For a trial X and d > 0 the bet
exp(−d X) / (1 + x (e^−d − 1)) is expected to win nothing wherever P(X = 1) ≥ x, whatever was seen before. A
mixture of such bets over d grows with x, so what it rejects at a level is everything from some rate on: an
upper confidence sequence. With failures and passes exchanged it is a lower one.

What is tried depends on what was seen, and how much is tried does too. Two rules keep the promise then. Of a
rate only those trials count that were drawn after it was decided to watch it. And the k-th rate to be watched
gets the k-th part of the error, the parts fixed beforehand (`part`), so that they sum to one however many
there will be. The chance that any rate ever leaves its bounds is then at most the whole error. So which of
the bounds are told, when, and which are left out, may depend on anything.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .sequential import mixture

Floats = NDArray[np.float64]

#: Log odds between the bounded rate and the one that is hoped for, as many draws of a rate would show them.
_BETS: Final = (0.1, 0.16, 0.25, 0.4, 0.6, 0.85, 1.2, 1.7, 2.4, 3.4, 5.0)
_BELOW: Final = mixture([1.0] * len(_BETS), _BETS, up=False, idle=0.0, never=0.2)
#: The parts of the error are about equal for so many rates, and then fall with the square of their number.
_EQUAL: Final = 64
_STEPS: Final = 60


def part(place: ArrayLike) -> Floats:
    """The part of the error for each rate, by its place in the order of proposals, from 0; all sum to 1."""
    at = np.asarray(place, dtype=float) + _EQUAL
    return np.asarray(_EQUAL / (at * (at + 1.0)))


def log_evidence_under(failures: ArrayLike, n: ArrayLike, rate: ArrayLike) -> Floats:
    """Log e-values against "it fails at this rate or more", entry by entry."""
    f, m = _checked(failures, n)
    theta = np.asarray(rate, dtype=float)
    if not np.all((theta > 0.0) & (theta < 1.0)):
        raise ValueError("A rate to be tested lies strictly between 0 and 1.")
    f, m, theta = np.broadcast_arrays(f, m, theta)
    flat = _wealth(_BELOW.stakes(f.ravel()), m.ravel(), theta.ravel())
    return flat.reshape(f.shape)


def log_evidence_over(failures: ArrayLike, n: ArrayLike, rate: ArrayLike) -> Floats:
    """Log e-values against "it fails at this rate or less", entry by entry."""
    f, m = _checked(failures, n)
    return log_evidence_under(m - f, m, 1.0 - np.asarray(rate, dtype=float))


def upper_bounds(failures: ArrayLike, n: ArrayLike, error: ArrayLike) -> Floats:
    """The lowest rates that the trials exclude, each with its part of the error; 1 where nothing was drawn.

    `error` is the chance that the true rate ever exceeds its bound, e.g. 0.05 times `part` of a rate.
    """
    f, m = _checked(failures, n)
    alpha = np.asarray(error, dtype=float)
    if not np.all((alpha > 0.0) & (alpha < 1.0)):
        raise ValueError("An error rate lies strictly between 0 and 1.")
    f, m, alpha = np.broadcast_arrays(f, m, alpha)
    shape, f, m, bar = f.shape, f.ravel(), m.ravel(), -np.log(alpha.ravel())
    stakes = _BELOW.stakes(f)
    low, high = np.where(m > 0, f / np.maximum(m, 1.0), 1.0), np.ones_like(m)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        excluded = _wealth(stakes, m, middle) >= bar
        low, high = np.where(excluded, low, middle), np.where(excluded, middle, high)
    return high.reshape(shape)


def lower_bounds(failures: ArrayLike, n: ArrayLike, error: ArrayLike) -> Floats:
    """The highest rates that the trials exclude from below; 0 where nothing was drawn."""
    f, m = _checked(failures, n)
    return 1.0 - upper_bounds(m - f, m, error)


def draws_to_decide(failures: int, n: int, *, rate: float, error: float, guess: float) -> float:
    """About how many more draws it takes to show on which side of a rate a hypothesis is; inf for never.

    Args:
        guess: Its true rate, if it goes on as it has so far. A guess on the rate itself is never decided.
    """
    if not 0.0 < guess < 1.0 or guess == rate:
        return math.inf
    evidence = log_evidence_under if guess < rate else log_evidence_over
    bar = -math.log(error)
    more, step = 0.0, 16.0
    while step < 1e7:
        there = np.array([failures + guess * step, n + step])
        if float(evidence(there[0], there[1], rate)) >= bar:
            break
        more, step = step, 2 * step
    else:
        return math.inf
    for _ in range(8):
        middle = (more + step) / 2
        enough = float(evidence(failures + guess * middle, n + middle, rate)) >= bar
        more, step = (more, middle) if enough else (middle, step)
    return math.ceil(step)


def _wealth(stakes: Floats, n: Floats, theta: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):  # at θ = 1 a bet on 'never' is worth 0 or ∞
        logs = stakes - n[:, None] * np.log1p(theta[:, None] * _BELOW.tilt)
    logs = np.where(np.isnan(logs), -math.inf, logs)
    peak = logs.max(axis=1)
    safe = np.where(np.isfinite(peak), peak, 0.0)
    with np.errstate(divide="ignore"):
        return np.where(np.isposinf(peak), math.inf, safe + np.log(np.exp(logs - safe[:, None]).sum(axis=1)))


def _checked(failures: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    f, m = np.asarray(failures, dtype=float), np.asarray(n, dtype=float)
    if not np.all((f >= 0) & (f <= m)):
        raise ValueError("Failures must lie between 0 and the number of trials, in every entry.")
    return f, m
