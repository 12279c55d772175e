"""Rows and failures, counted by which statements the rows are of: all that a test needs of them.

Counts of parts of a table add up to those of the whole, so a table need not be in memory to be tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Rate
from weakspot.stats import Interval, wilson
from weakspot.stats.clustered import clustered_counts

#: The low end of what was picked for failing often is that of an interval of this level. At 95 % it misses up
#: to 11 % of the weak effects that are confirmed at all, since those are the lucky ones; at 99 % still 6 %.
PICKED: Final = 0.995

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Counts:
    """How many rows are of the same statements, and how many of these failed.

    Attributes:
        pattern: Which statements: the bit i is that of the statement i.
        group: Rows of which group; None where every row stands for itself.
    """

    pattern: Integers
    n: Integers
    k: Integers
    group: Integers | None = None

    @classmethod
    def of(cls, pattern: Integers, failed: NDArray[np.bool_], group: Integers | None = None) -> Counts:
        """Of rows, one by one."""
        return cls(pattern, np.ones(len(pattern), np.int64), failed.astype(np.int64), group).added()

    @classmethod
    def together(cls, parts: Sequence[Counts]) -> Counts:
        """Of several parts of a table."""
        groups = [part.group for part in parts if part.group is not None]
        return cls(
            np.concatenate([part.pattern for part in parts]),
            np.concatenate([part.n for part in parts]),
            np.concatenate([part.k for part in parts]),
            np.concatenate(groups) if groups else None,
        ).added()

    def added(self) -> Counts:
        """The same with one entry for each pattern, or each pattern and group."""
        patterns, place = np.unique(self.pattern, return_inverse=True)
        groups = None
        if self.group is not None:
            groups, at = np.unique(self.group, return_inverse=True)
            pairs, place = np.unique(at * len(patterns) + place, return_inverse=True)
            groups, patterns = groups[pairs // len(patterns)], patterns[pairs % len(patterns)]
        n = np.bincount(place, weights=self.n).astype(np.int64)
        return Counts(patterns, n, np.bincount(place, weights=self.k).astype(np.int64), groups)

    def where(self, chosen: NDArray[np.bool_]) -> Counts:
        """Some of the entries."""
        group = None if self.group is None else self.group[chosen]
        return Counts(self.pattern[chosen], self.n[chosen], self.k[chosen], group)

    def inside(self, statement: int) -> NDArray[np.bool_]:
        """The entries whose rows are of a statement."""
        found: NDArray[np.bool_] = (self.pattern >> statement) & 1 == 1
        return found

    def rate(self, *, picked: bool = False) -> Rate:
        """The failure rate, with an interval for rows like these; wider where they come in groups.

        Args:
            picked: They are shown because they fail often, here and now.
        """
        n, k = self.total
        low, high = self.interval(0.95)
        return Rate(k / n if n else 0.0, self.interval(PICKED).low if picked else low, high, n, k)

    def interval(self, level: float) -> Interval:
        """For the failure rate of rows like these."""
        n, k = self.total
        if self.group is None or not n:
            return wilson(k, n, level)
        place = np.unique(self.group, return_inverse=True)[1]
        hits = np.bincount(place, weights=self.k).astype(np.float64)
        found = clustered_counts(hits, np.bincount(place, weights=self.n).astype(np.int64), level)
        return Interval(found.low, found.high)

    @property
    def total(self) -> Total:
        return Total(int(self.n.sum()), int(self.k.sum()))


class Total(NamedTuple):
    """So many rows, and so many of them failed."""

    n: int
    k: int
