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

from .contrast import paired_difference
from .intervals import Interval


class ClusteredRate(NamedTuple):
    """A rate, its interval, and what it rests on.

    Attributes:
        rate: The mean of all cases; nan if there are none.
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
    """
    y, groups = np.asarray(values, np.float64), np.asarray(clusters)
    if y.ndim != 1 or y.shape != groups.shape or not np.all((y >= 0) & (y <= 1)):
        raise ValueError("Values must be a flat sequence of numbers from 0 to 1, with one cluster each.")
    places = np.unique(groups, return_inverse=True)[1]
    hits = np.bincount(places, weights=y).astype(np.float64)
    return clustered_counts(hits, np.bincount(places).astype(np.int64), level)


def clustered_counts(
    hits: NDArray[np.float64], cases: NDArray[np.int64], level: float = 0.95
) -> ClusteredRate:
    """The same of the hits and the cases of each cluster."""
    from scipy.special import betaincinv
    from scipy.stats import norm, t

    if not 0.0 < level < 1.0:
        raise ValueError(f"A confidence level lies strictly between 0 and 1, got {level}.")
    n, many = int(cases.sum()), len(cases)
    if not n:
        return ClusteredRate(math.nan, 0.0, 1.0, 0, 0, 0.0)
    rate = float(hits.sum() / n)
    residuals = hits - rate * cases
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


#: Up to this sum of differences the p-value is exact, beyond it the normal one.
EXACT = 20_000


def exchanged(differences: Sequence[int] | NDArray[np.int64]) -> float:
    """Two-sided p-value that each cluster's difference (in failures) is as likely as its negative."""
    from scipy.stats import binom, norm

    found = np.asarray(differences, np.int64)
    sizes, counts = np.unique(np.abs(found[found != 0]), return_counts=True)
    above = abs(int(found.sum()))
    if not len(sizes) or above == 0:
        return 1.0
    if int(sizes @ counts) > EXACT:
        return float(2 * norm.sf((above - 1) / math.sqrt(float((sizes**2) @ counts))))
    # Σ ±d: twice the positive part minus the whole. The positive part is a sum of binomials, stretched.
    positive = np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        row = np.zeros(size * count + 1)
        row[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        positive = np.convolve(positive, row)
    whole = len(positive) - 1
    tail = float(positive[math.ceil((whole + above) / 2) :].sum())
    return min(1.0, 2.0 * tail)


def clustered_difference(
    before: NDArray[np.bool_], after: NDArray[np.bool_], clusters: NDArray[np.int64], level: float = 0.95
) -> Interval:
    """Tango's interval for the difference of two rates, after minus before, for as many cases as count.

    The cases count as fewer by the factor by which clusters make the difference vary more (the design
    effect); where nothing differs, each cluster counts once.
    """
    n = len(before)
    if n == 0:
        return Interval(-1.0, 1.0)
    d = after.astype(float) - before.astype(float)
    sizes = np.bincount(clusters)
    many, mean = int((sizes > 0).sum()), float(d.mean())
    alone = float(((d - mean) ** 2).sum())
    together = float((np.bincount(clusters, d - mean) ** 2).sum()) * many / max(many - 1, 1)
    effect = n / many if alone == 0 else max(1.0, together / alone)
    made, removed = int((after & ~before).sum()), int((before & ~after).sum())
    return paired_difference(made / effect, removed / effect, n / effect, level)
