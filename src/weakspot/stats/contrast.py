"""Two failure rates set against each other, on the same cases or on separate ones.

Where the number of cases was fixed beforehand (a benchmark), classical tests hold: McNemar's with Tango's
interval for the same cases, Fisher's with Newcombe's for separate ones. Where it was not (a hunt stops when
it has seen enough) tests take their place that hold whenever somebody stops: a bet on the signs of differing
cases, or the sequential test of a race in both directions. Intervals of a difference are joined from two as
Newcombe (1998) and Zou and Donner (2008) do it, by adding the squares of the distances to their ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from .intervals import Interval, _check_counts, _check_level, confidence_sequence, wilson
from .sequential import log_evidence

Alternative = Literal["greater", "less", "two-sided"]


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that two runs fail equally often on the same cases.

    Only cases on which they differ count: given their number b + c, b is binomial with rate ½ if the runs
    are equally good. The p-value is twice the smaller tail, at most 1.
    """
    from scipy.special import betainc

    _check_cases(only_first, only_second)
    smaller, larger = sorted((only_first, only_second))
    if smaller == larger:
        return 1.0
    return min(1.0, 2.0 * float(betainc(larger, smaller + 1, 0.5)))


def _check_cases(only_first: int, only_second: int) -> None:
    if only_first < 0 or only_second < 0:
        raise ValueError(f"Counts of cases cannot be negative, got {only_first} and {only_second}.")


def paired_difference(only_first: float, only_second: float, n: float, level: float = 0.95) -> Interval:
    """Tango's score interval (1998) for the difference of two rates on the same cases, first minus second.

    It holds the δ that the score test does not reject, so it leaves out 0 just when McNemar's test without
    correction rejects. Coverage is close to `level` rather than never below it: at 0.95 it was 0.93 or more
    for 50 cases and up, and errs for rare differences on the safe side. `n == 0` gives [−1, 1].

    Args:
        n: All cases. A fraction is an effective number of cases.
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
        alternative: `greater` asks whether the first rate is the higher one.
    """
    from scipy.special import gammaln

    _check_counts(failures1, n1)
    _check_counts(failures0, n0)
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


_LOG_BETA_HALF = math.log(math.pi)  # log B(½, ½)


class Contrast(NamedTuple):
    """The second rate minus the first.

    Attributes:
        difference: Second minus first; positive is worse.
        p: Two-sided, that the rates are equal; holds under the stopping rule that was declared.
        exact: The classical p-value, McNemar's or Fisher's; the same as `p` if the number was fixed.
        n: Cases in both (paired), or of the smaller sample.
        only_first: Paired: cases that failed in the first alone. Otherwise the first sample's failures.
        only_second: Likewise of the second.
    """

    difference: float
    low: float
    high: float
    p: float
    exact: float
    n: int
    only_first: int
    only_second: int


def contrast_paired(
    only_first: int, only_second: int, n: int, *, watched: bool = False, level: float = 0.95
) -> Contrast:
    """Two rates on the same cases; `watched` if the number of cases depended on what was seen."""
    if n < 1:
        raise ValueError("Without a case there is nothing to compare.")
    exact = mcnemar(only_first, only_second)
    difference = (only_second - only_first) / n
    if not watched:
        low, high = paired_difference(only_second, only_first, n, level)
        return Contrast(difference, low, high, exact, exact, n, only_first, only_second)
    one, two = only_first / n, only_second / n
    spread = (1 - one) * (1 - two)
    # The two kinds of differing cases exclude each other: their rates are negatively correlated.
    correlation = -math.sqrt(min(one * two / spread, 1.0)) if spread > 0 else 0.0
    ends = [confidence_sequence(times, n, level) for times in (only_second, only_first)]
    low, high = joined(two, ends[0], one, ends[1], correlation=correlation)
    p = math.exp(-max(sign_evidence(only_first, only_second), 0.0))
    return Contrast(difference, low, high, p, exact, n, only_first, only_second)


def contrast_separate(
    failures1: int, n1: int, failures2: int, n2: int, *, watched: bool = False, level: float = 0.95
) -> Contrast:
    """Two rates on separate cases; `watched` if the numbers of cases depended on what was seen."""
    if min(n1, n2) < 1:
        raise ValueError("Without a case there is nothing to compare.")
    exact = fisher(failures2, n2, failures1, n1, alternative="two-sided")
    interval = confidence_sequence if watched else wilson
    low, high = joined(
        failures2 / n2, interval(failures2, n2, level), failures1 / n1, interval(failures1, n1, level)
    )
    p = exact
    if watched:
        ups = log_evidence(failures2, n2, failures1, n1), log_evidence(failures1, n1, failures2, n2)
        # The mean of two e-values is one.
        log_mean = max(ups) + math.log1p(math.exp(min(ups) - max(ups))) - math.log(2)
        p = math.exp(-max(log_mean, 0.0))
    return Contrast(failures2 / n2 - failures1 / n1, low, high, p, exact, min(n1, n2), failures1, failures2)


def sign_evidence(only_first: int, only_second: int) -> float:
    """Log e-value against "a case that differs is as likely to differ either way"; holds at any time.

    The Beta(½, ½) mixture of likelihood ratios against a fair coin, as in `weakspot.stats.intervals`.
    """
    _check_cases(only_first, only_second)
    n = only_first + only_second
    mixture = math.lgamma(only_first + 0.5) + math.lgamma(only_second + 0.5) - math.lgamma(n + 1.0)
    return mixture - _LOG_BETA_HALF + n * math.log(2)


def joined(
    second: float, second_ends: Interval, first: float, first_ends: Interval, *, correlation: float = 0.0
) -> Interval:
    """The interval of `second` − `first` from theirs, within [−1, 1]."""

    def reach(up: float, down: float) -> float:
        return math.sqrt(max(up * up + down * down - 2 * correlation * up * down, 0.0))

    difference = second - first
    below = reach(second - second_ends.low, first_ends.high - first)
    above = reach(second_ends.high - second, first - first_ends.low)
    return Interval(max(difference - below, -1.0), min(difference + above, 1.0))
