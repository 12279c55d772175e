"""How far the shares of an attribute are from those that are wanted: the total variation, with an interval.

Total variation is the largest difference that the two distributions make on any group of values: 0 if they
are the same, 1 if they share nothing. With two values it is the difference of one share.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from weakspot.stats.intervals import Estimate, clopper_pearson

#: With more values than this the groups are too many to be looked at one by one.
FEW: Final = 8


def total_variation(counts: Sequence[int], wanted: Sequence[float], *, level: float = 0.95) -> Estimate:
    """The distance between observed shares and wanted ones, with an interval for the true distance.

    TV = max over groups A of |p(A) − w(A)|. Of few values every group gets an exact interval of its share,
    all of them together at `level` (Bonferroni; a group and its complement are one); the ends of the distance
    are the largest of the groups' ends. Of many, |p̂ − p|₁ is bounded as Weissman et al. (2003) do:
    P(|p̂ − p|₁ ≥ a) ≤ (2^k − 2) exp(−n a² / 2). Both hold the level whatever the truth is, for independent
    draws, and more than hold it if the draws were spread evenly over several sources.

    Args:
        counts: How often each value was seen.
        wanted: The share each value should have; they are scaled to sum to 1.
        level: Of the interval.

    Returns:
        The plain estimate, which is too large on average for few draws, and the ends.
    """
    n, k = sum(counts), len(counts)
    if k < 2 or len(wanted) != k:
        raise ValueError(f"Two values at least, and a wanted share of each; got {k} and {len(wanted)}.")
    if any(c < 0 for c in counts):
        raise ValueError("Counts must not be negative.")
    shares = np.asarray(wanted, dtype=float)
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise ValueError("Wanted shares must be finite, not negative, and not all 0.")
    shares = shares / shares.sum()
    most = float(1 - shares.min())
    if n == 0:
        return Estimate(math.nan, 0.0, most)
    seen = np.asarray(counts, dtype=float) / n
    rate = float(np.abs(seen - shares).sum() / 2)
    if k > FEW:
        half = math.sqrt(2 * (k * math.log(2) - math.log(1 - level)) / n) / 2
        return Estimate(rate, max(rate - half, 0.0), min(rate + half, most))
    groups = [g for size in range(1, k) for g in itertools.combinations(range(k), size) if 0 in g]
    low = high = 0.0
    for group in groups:
        ends = clopper_pearson(sum(counts[i] for i in group), n, 1 - (1 - level) / len(groups))
        want = float(shares[list(group)].sum())
        low = max(low, ends.low - want, want - ends.high)
        high = max(high, abs(ends.low - want), abs(ends.high - want))
    return Estimate(rate, min(low, rate), max(min(high, most), rate))
