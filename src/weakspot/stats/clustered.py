"""A rate of cases that come in clusters: five captions of one photograph are not five independent cases.

The variance is that of the ratio estimator over clusters. It gives an effective number of cases, for which
the exact binomial interval is taken (Korn and Graubard 1998), so that a rate near 0 or 1 keeps its coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class ClusteredRate(NamedTuple):
    """A rate, its interval, and what it rests on.

    Attributes:
        rate: The mean of all cases; nan if there are none.
        low: Of the interval.
        high: Of the interval.
        n: Cases.
        clusters: Clusters.
        effective: As many independent cases would say as much; at most n.
    """

    rate: float
    low: float
    high: float
    n: int
    clusters: int
    effective: float

    def above(self, bound: float) -> float:
        """The p-value of 'the rate is at most `bound`': small if it is above."""
        return _tail(self.rate * self.effective, self.effective, bound) if self.n else 1.0

    def below(self, bound: float) -> float:
        """The p-value of 'the rate is at least `bound`': small if it is below."""
        return _tail((1 - self.rate) * self.effective, self.effective, 1 - bound) if self.n else 1.0


def clustered_rate(
    values: Sequence[float] | NDArray[np.float64],
    clusters: Sequence[int] | NDArray[np.int64],
    level: float = 0.95,
) -> ClusteredRate:
    """Rate and interval of cases in clusters.

    Args:
        values: 1 for a hit, 0 for a miss, ½ for a tie.
        clusters: Which cluster each case belongs to.
        level: Confidence level.
    """
    from scipy.special import betaincinv
    from scipy.stats import norm, t

    y, groups = np.asarray(values, np.float64), np.asarray(clusters)
    if y.ndim != 1 or y.shape != groups.shape or not np.all((y >= 0) & (y <= 1)):
        raise ValueError("Values must be a flat sequence of numbers from 0 to 1, with one cluster each.")
    if not 0.0 < level < 1.0:
        raise ValueError(f"A confidence level lies strictly between 0 and 1, got {level}.")
    n = len(y)
    if not n:
        return ClusteredRate(math.nan, 0.0, 1.0, 0, 0, 0.0)
    _, places = np.unique(groups, return_inverse=True)
    many, rate = int(places.max()) + 1, float(y.mean())
    residuals = np.bincount(places, weights=y - rate, minlength=many)
    variance = many / max(many - 1, 1) * float((residuals**2).sum()) / n**2
    if variance > 1e-15 and many > 1:
        quantile = (1 + level) / 2
        width = float(norm.ppf(quantile) / t.ppf(quantile, many - 1)) ** 2
        effective = min(float(n), max(rate * (1 - rate) / variance * width, 1.0))
    else:  # all alike: as if the cases of a cluster were one
        effective = float(many)
    x, tail = rate * effective, (1 - level) / 2
    low = float(betaincinv(x, effective - x + 1, tail)) if x > 1e-9 else 0.0
    high = 1 - float(betaincinv(effective - x, x + 1, tail)) if effective - x > 1e-9 else 1.0
    return ClusteredRate(rate, low, high, n, many, effective)


def _tail(x: float, n: float, bound: float) -> float:
    """P(X ≥ x) of a binomial with n cases at the rate `bound`; both may be fractions."""
    from scipy.special import betainc

    if x <= 1e-9:
        return 1.0
    return float(betainc(x, n - x + 1, bound))
