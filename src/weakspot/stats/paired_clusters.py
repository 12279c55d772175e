"""Two rates on the same cases, where several cases are of one picture and so not independent.

Before and after are exchanged for all cases of a picture together. With one case each it is McNemar's test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .intervals import Interval
from .paired import paired_difference

#: Up to this sum of differences the p-value is exact, beyond it the normal one.
EXACT = 20_000


def exchanged(differences: Sequence[int] | NDArray[np.int64]) -> float:
    """Two-sided p-value that each cluster's difference is as likely as its negative.

    Args:
        differences: Per cluster, failures of the one run minus failures of the other.
    """
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

    Args:
        before: Whether a case failed.
        after: The same afterwards.
        clusters: Which cluster it belongs to, from 0.
        level: Confidence level.
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
