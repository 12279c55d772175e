"""Two rates compared once, at an end that was fixed beforehand: on the same cases, or on separate ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np

from .intervals import Interval, _check_level

Alternative = Literal["greater", "less", "two-sided"]


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two runs fail equally often on the same cases.

    Only cases on which they differ count: given their number b + c, b is binomial with rate ½ if the runs
    are equally good. The p-value is twice the smaller tail, at most 1.

    Args:
        only_first: Cases that failed in the first run only.
        only_second: Cases that failed in the second run only.
    """
    from scipy.special import betainc

    if only_first < 0 or only_second < 0:
        raise ValueError(f"Counts of cases cannot be negative, got {only_first} and {only_second}.")
    smaller, larger = sorted((only_first, only_second))
    if smaller == larger:
        return 1.0
    return min(1.0, 2.0 * float(betainc(larger, smaller + 1, 0.5)))


def paired_difference(only_first: float, only_second: float, n: float, level: float = 0.95) -> Interval:
    """Tango's score interval (1998) for the difference of two rates on the same cases, first minus second.

    It holds the δ that the score test does not reject, so it leaves out 0 just when McNemar's test without
    correction rejects. Coverage is close to `level` rather than never below it: at 0.95 it was 0.93 or more
    for 50 cases and up, and errs for rare differences on the safe side. `n == 0` gives [−1, 1].

    Args:
        only_first: Cases that failed in the first run only.
        only_second: Cases that failed in the second run only.
        n: All cases. A fraction is an effective number of cases.
        level: Confidence level.
    """
    _check_level(level)
    if only_first < 0 or only_second < 0 or only_first + only_second > n + 1e-9:
        raise ValueError(f"{only_first} and {only_second} of {n} cases cannot differ.")
    if n == 0:
        return Interval(-1.0, 1.0)
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)

    def low_end(b: float, c: float) -> float:
        return _crossing(lambda delta: _score(b, c, n, delta) > z, -1.0, (b - c) / n)

    return Interval(low_end(only_first, only_second), -low_end(only_second, only_first))


def _score(b: float, c: float, n: float, delta: float) -> float:
    """The score statistic of 'the rates differ by delta', with the other rate at its most likely value."""
    first = -b - c + (2 * n - b + c) * delta
    root = math.sqrt(max(first * first + 8 * n * c * delta * (1 - delta), 0.0))
    rare = max((root - first) / (4 * n), 0.0)  # the likeliest rate of 'the second alone failed'
    variance = n * (2 * rare + delta * (1 - delta))
    above = b - c - n * delta
    return above / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, above) if above else 0.0


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where `holds`, true below, turns false."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low if low > -1.0 + 1e-12 else -1.0


def sign_flip(differences: Sequence[float]) -> float:
    """One-sided p-value that differences of pairs, first minus second, are above 0 by chance alone.

    If first and second are alike, each difference has either sign with equal chance. Where all that are not 0
    have one size the p-value is that of the sign test, which is McNemar's for differences of ±1; otherwise
    the sum is set against sums with random signs (20,000 of them, always the same, so no p-value is below
    5e-5).

    Args:
        differences: One per independent pair.
    """
    from scipy.special import betainc

    d = np.asarray(differences, float)
    if not np.isfinite(d).all():
        raise ValueError("Differences are finite numbers.")
    d = d[np.abs(d) > 1e-12]
    if not len(d):
        return 1.0
    size = np.abs(d)
    if size.max() - size.min() < 1e-12:
        wins = int((d > 0).sum())
        return float(betainc(wins, len(d) - wins + 1, 0.5)) if wins else 1.0
    rng, above, times = np.random.default_rng(0), 0, 20_000
    for _ in range(0, times, 500):
        signs = rng.integers(0, 2, (500, len(d))) * 2.0 - 1.0
        above += int((signs @ size >= d.sum() - 1e-9).sum())
    return (above + 1) / (times + 1)


def fisher(
    failures1: int, n1: int, failures0: int, n0: int, *, alternative: Alternative = "greater"
) -> float:
    """Fisher's exact p-value that two separate samples have the same rate.

    Given the total of failures, those of the first sample are hypergeometric if the rates are equal. The
    two-sided p-value adds all outcomes that are no likelier than the one observed.

    Args:
        failures1: Failures in the first sample.
        n1: Size of the first sample.
        failures0: Failures in the second sample.
        n0: Size of the second sample.
        alternative: `greater` asks whether the first rate is the higher one.
    """
    from scipy.special import gammaln

    for failures, n in ((failures1, n1), (failures0, n0)):
        if not 0 <= failures <= n:
            raise ValueError(f"Failures must lie between 0 and the number of trials, got {failures} of {n}.")
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"The alternative is 'greater', 'less' or 'two-sided', got {alternative!r}.")
    total = failures1 + failures0
    first = max(0, total - n0)
    outcomes = np.arange(first, min(n1, total) + 1, dtype=float)
    log_weight = -(
        gammaln(outcomes + 1)
        + gammaln(n1 - outcomes + 1)
        + gammaln(total - outcomes + 1)
        + gammaln(n0 - total + outcomes + 1)
    )
    weight = np.exp(log_weight - log_weight.max())
    observed = failures1 - first
    if alternative == "greater":
        tail = weight[observed:]
    elif alternative == "less":
        tail = weight[: observed + 1]
    else:
        tail = weight[weight <= weight[observed] * (1 + 1e-7)]  # equal outcomes differ by rounding
    return min(1.0, float(tail.sum() / weight.sum()))
