"""Two failure rates set against each other, on the same cases or on separate ones.

Where the number of cases was fixed beforehand (a benchmark), the classical tests hold: McNemar's with Tango's
interval for the same cases, Fisher's with Newcombe's for separate ones. Where it was not (a hunt stops when
it has seen enough) they would find too much, and tests take their place that hold whenever somebody stops: a
bet on the signs of the differing cases, or the sequential test of a race in both directions.

Intervals of a difference from two intervals are joined as Newcombe (1998) and Zou and Donner (2008) do it, by
adding the squares of the distances to their ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .intervals import Interval, wilson
from .paired import fisher, mcnemar, paired_difference
from .sequence import confidence_sequence
from .sequential import log_evidence

_LOG_BETA_HALF = math.log(math.pi)  # log B(½, ½)


class Contrast(NamedTuple):
    """The second rate minus the first.

    Attributes:
        difference: Second minus first; positive is worse.
        low: Of the interval of the difference.
        high: Its upper end.
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
    """Two rates on the same cases.

    Args:
        only_first: Cases that failed in the first alone.
        only_second: Cases that failed in the second alone.
        n: All cases with a verdict in both; at least one.
        watched: The number of cases depended on what was seen.
        level: Of the interval.
    """
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
    low, high = joined(
        two,
        confidence_sequence(only_second, n, level),
        one,
        confidence_sequence(only_first, n, level),
        correlation=correlation,
    )
    p = math.exp(-max(sign_evidence(only_first, only_second), 0.0))
    return Contrast(difference, low, high, p, exact, n, only_first, only_second)


def contrast_separate(
    failures1: int, n1: int, failures2: int, n2: int, *, watched: bool = False, level: float = 0.95
) -> Contrast:
    """Two rates on separate cases.

    Args:
        failures1: Failures of the first.
        n1: Its cases; at least one.
        failures2: Failures of the second.
        n2: Its cases; at least one.
        watched: The numbers of cases depended on what was seen.
        level: Of the interval.
    """
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

    The Beta(½, ½) mixture of likelihood ratios against a fair coin, as in `weakspot.stats.sequence`.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"Counts of cases cannot be negative, got {only_first} and {only_second}.")
    n = only_first + only_second
    mixture = math.lgamma(only_first + 0.5) + math.lgamma(only_second + 0.5) - math.lgamma(n + 1.0)
    return mixture - _LOG_BETA_HALF + n * math.log(2)


def joined(
    second: float, second_ends: Interval, first: float, first_ends: Interval, *, correlation: float = 0.0
) -> Interval:
    """The interval of `second` − `first` from theirs, within [−1, 1].

    Args:
        second: An estimate.
        second_ends: Its interval.
        first: Another.
        first_ends: Its interval.
        correlation: Between the two estimates.
    """

    def reach(up: float, down: float) -> float:
        return math.sqrt(max(up * up + down * down - 2 * correlation * up * down, 0.0))

    difference = second - first
    below = reach(second - second_ends.low, first_ends.high - first)
    above = reach(second_ends.high - second, first - first_ends.low)
    return Interval(max(difference - below, -1.0), min(difference + above, 1.0))
