"""Intervals for a failure rate.

`wilson`, `clopper_pearson` and `blaker` hold their level only when the moment of stopping was chosen without
looking at the results; `confidence_sequence` holds for a rate that is watched while it grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A closed interval of rates."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A rate and the ends of its interval."""

    rate: float
    low: float
    high: float


def wilson(failures: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's score interval, each end moved just as far as honest coverage demands.

    The plain interval, the p with |f − n p| ≤ z √(n p (1 − p)), covers far less often than it says when
    failures are rare: at level 0.95 only 84 % for p near 0.18 / n, because its low end after one failure
    is too high. Its continuity-corrected form mends that at 0.95 but not at 0.99, and is then wider than
    Clopper–Pearson's for few failures. Here each end of the plain interval is kept if it lies between
    Blaker's end and Clopper–Pearson's and is otherwise moved to the nearer of the two. As both of those
    are exact, coverage is at least `level` for every n and p, and the result is never wider than
    Clopper–Pearson's. About a millisecond a call; `n == 0` gives [0, 1].
    """
    _check_counts(failures, n)
    _check_level(level)
    if n == 0:
        return Interval(0.0, 1.0)

    def low_end(x: int) -> float:
        if x == 0:
            return 0.0
        widest, narrowest = _clopper_pearson_low(x, n, level), _blaker_low(x, n, level)
        return min(max(_score_low(x, n, level), widest), narrowest)

    return Interval(low_end(failures), 1.0 - low_end(n - failures))


def clopper_pearson(failures: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of two one-sided binomial tests, each at (1 − level) / 2.

    Never covers less than `level`, usually more. `n == 0` gives [0, 1].
    """
    _check_counts(failures, n)
    _check_level(level)
    return Interval(
        _clopper_pearson_low(failures, n, level), 1.0 - _clopper_pearson_low(n - failures, n, level)
    )


def blaker(failures: int, n: int, level: float = 0.95) -> Interval:
    """Blaker's exact interval (2000): never covers less than `level`, always within Clopper–Pearson's.

    It inverts the test whose p-value is the smaller tail plus the largest opposite tail that does not
    exceed it. Where that set of p has gaps this is its hull. `n == 0` gives [0, 1].
    """
    _check_counts(failures, n)
    _check_level(level)
    return Interval(_blaker_low(failures, n, level), 1.0 - _blaker_low(n - failures, n, level))


def finite_population(failures: int, n: int, population: int, level: float = 0.95) -> Interval:
    """The rate in a population of which `n` were looked at, chosen at random, and `failures` of them failed.

    Both ends are of numbers of failures in the population that two one-sided hypergeometric tests, each at
    (1 − level) / 2, do not reject; coverage is never below `level`. Where all were looked at, the rate is
    known and both ends are it; `n == 0` gives [0, 1].
    """
    _check_counts(failures, n)
    _check_level(level)
    if n > population:
        raise ValueError(f"{n} of a population of {population} cannot have been looked at.")
    if n == 0:
        return Interval(0.0, 1.0)
    low = _fewest_failures(failures, n, population, (1.0 - level) / 2.0)
    passing = _fewest_failures(n - failures, n, population, (1.0 - level) / 2.0)
    return Interval(low / population, (population - passing) / population)


def _fewest_failures(x: int, n: int, population: int, alpha: float) -> int:
    """The smallest number of failures in a population under which x or more of n are likelier than alpha."""
    from scipy.stats import hypergeom

    low, high = x, population - n + x  # as many as were seen; all that were not looked at, too
    while low < high:  # the chance of x or more grows with their number
        middle = (low + high) // 2
        if hypergeom.sf(x - 1, population, middle, n) > alpha:
            high = middle
        else:
            low = middle + 1
    return low


def _score_low(x: int, n: int, level: float) -> float:
    z2 = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2
    return (x + z2 / 2 - math.sqrt(z2 * (x * (1 - x / n) + z2 / 4))) / (n + z2)


def _clopper_pearson_low(x: int, n: int, level: float) -> float:
    """The p with P(X ≥ x) = (1 − level) / 2, or 0 for x = 0."""
    from scipy.special import betaincinv

    return float(betaincinv(x, n - x + 1, (1.0 - level) / 2.0)) if x > 0 else 0.0


def _blaker_low(x: int, n: int, level: float) -> float:
    """The smallest p that Blaker's test does not reject.

    Above Clopper–Pearson's end the p-value is P(X ≥ x) + P(X < j), with j the first count whose lower tail
    P(X ≤ j) exceeds P(X ≥ x). For fixed j it falls, then rises; where j steps up it jumps to 2 P(X ≥ x),
    which there exceeds 1 − level. So the end is the first such step, or the one crossing before it.
    """
    from scipy.special import bdtrik, betainc

    if x == 0:
        return 0.0
    alpha = 1.0 - level
    start = _clopper_pearson_low(x, n, level)

    def at_least_x(p: float) -> float:
        return float(betainc(x, n - x + 1, p))

    def at_most(j: int, p: float) -> float:
        return float(betainc(n - j, j + 1, 1.0 - p)) if j >= 0 else 0.0

    guess = float(bdtrik(alpha / 2, n, start))
    j = min(max(math.ceil(guess), 0), x - 1) if math.isfinite(guess) else 0
    while j > 0 and at_most(j - 1, start) > alpha / 2:
        j -= 1
    while j < x - 1 and at_most(j, start) <= alpha / 2:
        j += 1
    step = _last_true(lambda p: at_least_x(p) <= at_most(j, p), start, x / n)
    if at_least_x(step) + at_most(j - 1, step) <= alpha:
        return step
    return _last_true(lambda p: at_least_x(p) + at_most(j - 1, p) <= alpha, start, step)


def _last_true(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The point at which `holds`, true at `low`, turns false before `high`; never beyond it."""
    for _ in range(60):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def _check_counts(failures: int, n: int) -> None:
    if not 0 <= failures <= n:
        raise ValueError(f"Failures must lie between 0 and the number of trials, got {failures} of {n}.")


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"A confidence level lies strictly between 0 and 1, got {level}.")


_STEPS = 60
_LOG_BETA_HALF = math.log(math.pi)  # log B(½, ½)


def confidence_sequence(failures: int, n: int, level: float = 0.95) -> Interval:
    """The interval after `failures` of `n` trials, valid at every n at once. Tens of microseconds."""
    _check_counts(failures, n)
    _check_level(level)
    if n == 0:
        return Interval(0.0, 1.0)
    mixture = math.lgamma(failures + 0.5) + math.lgamma(n - failures + 0.5) - math.lgamma(n + 1.0)
    # The interval is where n softplus(x) − f x < room.
    room = _LOG_BETA_HALF - mixture - math.log1p(-level)
    low = _lower_end(failures, n, room)
    high = 1.0 - _lower_end(n - failures, n, room)
    return Interval(low, high)


def _lower_end(f: int, n: int, room: float) -> float:
    """The smaller root of n softplus(x) − f x = room, as a rate."""
    if f == 0:
        return 0.0
    x = -room / f  # softplus ≥ 0, so here the left side is at least the right one
    for _ in range(_STEPS):
        softplus = math.log1p(math.exp(-abs(x))) + max(x, 0.0)
        theta = 0.5 * (1.0 + math.tanh(0.5 * x)) if x > -30.0 else math.exp(x)
        step = (n * softplus - f * x - room) / (f - n * theta)
        if not step > 1e-12 * (1.0 - x):
            break
        x += step
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


_DISAGREEMENT = 0.5  # the relative standard error from which on the repeats say no more than what is proven
_BARREN = 0.25  # the share of repeats without any failure from which on it is so, too


class Repeated(NamedTuple):
    """A rate from repeats.

    Attributes:
        ceiling: The high end from independent draws alone, which holds whatever the repeats have missed.
        agree: Whether the repeats agree well enough for the narrow interval.
    """

    rate: float
    low: float
    high: float
    ceiling: float
    agree: bool


def rate_from_repeats(
    estimates: Sequence[float], *, failures: int = 0, n: int = 0, level: float = 0.95
) -> Repeated:
    """Rate and interval from independent, unbiased, nonnegative estimates of it.

    Args:
        estimates: One number a repeat, at least two of them; 0 for a repeat that found no failure.
        failures: Failures among independent draws, such as those the repeats began with.
        n: The number of these draws; with 0 the ceiling is 1.
    """
    from scipy.special import stdtrit

    _check_counts(failures, n)
    _check_level(level)
    values = np.asarray(estimates, dtype=float)
    if values.ndim != 1 or values.size < 2 or not np.all((values >= 0.0) & (values <= 1.0)):
        raise ValueError("An interval from repeats needs at least two estimates between 0 and 1.")
    ceiling = clopper_pearson(failures, n, level).high
    mean, size = float(values.mean()), values.size
    if mean == 0.0:
        return Repeated(0.0, 0.0, ceiling, ceiling, False)
    deviation = values - mean
    spread = float(values.std(ddof=1)) / mean
    error = spread / math.sqrt(size)
    t = float(stdtrit(size - 1, (1.0 + level) / 2.0))
    second = float(np.mean(deviation**2))
    skewness = float(np.mean(deviation**3)) / second**1.5 if second > 0.0 else 0.0
    skewness = max(skewness, spread * (3.0 + spread * spread) / 2.0)
    low = mean * math.exp(-t * error)
    high = mean * math.exp((t + skewness * (1.0 + 2.0 * t * t) / (6.0 * math.sqrt(size))) * error)
    agree = error <= _DISAGREEMENT and float(np.mean(values == 0.0)) <= _BARREN
    if not agree:
        low, high = min(low, (1.0 - level) / 2.0 * mean), max(ceiling, mean)
    return Repeated(mean, low, min(high, 1.0), ceiling, agree)
