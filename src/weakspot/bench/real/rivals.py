"""Rivals that count: word frequencies, keywords, and an enumeration of conjunctions.

Each is made as strong as its idea allows. What the published methods lack, a test of what they report, is
added, since without it they report ten statements of every table, also where nothing is to be found. As
they were published they are in `published`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weakspot.bench.real.methods import (
    ALPHA,
    READ,
    Flags,
    Floats,
    Said,
    Slices,
    counts,
    having,
    rejected,
    said,
    single_tails,
    tails_of,
    uncovered_first,
    upper_tails,
)

#: SliceLine's weight of errors against size: as its authors chose it, and one that lets smaller slices in.
WEIGHTS: Final = (0.95, 0.99)
#: So many of the best slices are kept, of which ten are reported.
KEPT: Final = 100


def frequencies(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """Single concepts by Fisher's exact test, and a greedy cover of the failures.

    One-sided tests of all concepts, Benjamini and Hochberg at 5 %. Of those left over the one with the
    smallest p-value is taken, its rows are set aside, and all are tested again on the rest, at the p-value
    that Benjamini and Hochberg's procedure went down to.
    """
    pvalues = single_tails(slices)
    kept = rejected(pvalues)
    if not kept.any():
        return []
    bar = float(pvalues[kept].max())
    left = np.ones(len(slices.failed), np.bool_)
    chosen: list[list[int]] = []
    while len(chosen) < READ:
        now = upper_tails(
            counts(slices.rows, left & slices.failed),
            counts(slices.rows, left),
            float((left & slices.failed).sum()),
            float(left.sum()),
        )
        best = int(np.argmin(np.where(kept, now, 2.0)))
        if now[best] > bar:
            break
        chosen.append([best])
        left &= ~having(slices.rows, [best])
    return said(slices, chosen)


def keywords(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """After Bias-to-Text (Kim et al., 2024): the words of failing captions that tell them apart.

    There a keyword's score is how much nearer it is to the failing pictures than to the others, by CLIP.
    Here people's words take the place of a captioner, so that the score is exact: the concept's share among
    the rows that failed, less its share among the others. Only concepts that pass Fisher's test at 5 %
    (Benjamini and Hochberg) are reported, which the method itself does not ask.
    """
    failed = slices.failed
    if not failed.any() or failed.all():
        return []
    gap = gaps(slices)
    kept = rejected(single_tails(slices)) & (gap > 0)
    order = np.argsort(-gap, kind="stable")
    return said(slices, [[int(column)] for column in order if kept[column]][:READ])


def gaps(slices: Slices) -> Floats:
    """Of each concept, its share among the rows that failed, less its share among the others."""
    failed = slices.failed
    inside, outside = counts(slices.rows, failed), counts(slices.rows, ~failed)
    return np.asarray(inside / failed.sum() - outside / (~failed).sum())


def enumeration(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """After SliceLine (Sagadeeva and Boehm, 2021): all conjunctions of up to three concepts, by its score.

    score(S) = α (rate(S) / rate − 1) − (1 − α) (n / |S| − 1), with α = 0.95 and at least one row in a
    hundred, as published. Conjunctions are left out only where no part of them can reach the best hundred, so
    nothing is missed. Of these, those that pass Fisher's test (Bonferroni, over all that were counted) are
    read in order; a slice that no longer fails more often where no better one speaks is passed over. Both
    filters are additions: the method reports its best ten. So is a second round with α = 0.99, whose slices
    come after those of the first: where every fourth row fails, no slice of one row in fifty can have a
    positive score at 0.95.
    """
    failed = slices.failed
    if not failed.any() or failed.all():
        return []
    sure: list[tuple[int, ...]] = []
    for weight in WEIGHTS:
        search = searched(slices, weight)
        best = search.best()
        pvalues = tails_of(slices, best) if best else np.ones(0)
        sure += [columns for columns, p in zip(best, pvalues, strict=True) if p * search.counted <= ALPHA]
    return said(slices, uncovered_first(slices, sure))


def searched(slices: Slices, weight: float) -> _Search:
    """The slices with the best scores at this weight of errors against size."""
    rows, failed = slices.rows.astype(np.float64), slices.failed
    n = float(len(failed))
    search = _Search(n, float(failed.sum()), max(5.0, n / 100), weight)
    sizes, wrong = counts(rows, np.ones(len(failed), np.bool_)), counts(rows, failed)
    able = np.flatnonzero((sizes >= search.least) & (wrong > 0))
    own = rows[:, able]
    search.add_singles(able, wrong[able], sizes[able])
    both = np.asarray((own.T @ own).todense())
    both_wrong = np.asarray((own.T @ own.multiply(failed[:, None]).tocsc()).todense())
    first, second = np.nonzero(np.triu((both >= search.least) & (both_wrong > 0), 1))
    search.add_pairs(able, first, second, both_wrong[first, second], both[first, second])
    hopeful = search.bound(both_wrong[first, second]) > search.bar
    if hopeful.any():
        _add_triples(search, own, failed, able, first[hopeful], second[hopeful])
    return search


class _Search:
    """The best slices so far, and what a slice must reach to be one of them."""

    def __init__(self, n: float, errors: float, least: float, weight: float) -> None:
        self.n, self.errors, self.least, self.weight = n, errors, least, weight
        self.counted = 0
        self.bar = 0.0  # a slice with no positive score is none
        self._best: list[tuple[float, tuple[int, ...]]] = []

    def score(self, wrong: Floats, sizes: Floats) -> Floats:
        rates = wrong / sizes / (self.errors / self.n)
        return np.asarray(self.weight * (rates - 1) - (1 - self.weight) * (self.n / sizes - 1))

    def bound(self, wrong: Floats) -> Floats:
        """The best score of a slice with at most so many failures: all of its rows, as few as may be."""
        return self.score(wrong, np.maximum(wrong, self.least))

    def add_singles(self, able: Any, wrong: Floats, sizes: Floats) -> None:
        self._add(wrong, sizes, lambda i: (int(able[i]),))

    def add_pairs(
        self, able: Any, first: Any, second: Any, wrong: Floats, sizes: Floats, also: tuple[int, ...] = ()
    ) -> None:
        """Two concepts each, and those that all of them have."""
        self._add(wrong, sizes, lambda i: (*also, int(able[first[i]]), int(able[second[i]])))

    def _add(self, wrong: Floats, sizes: Floats, columns: Callable[[int], tuple[int, ...]]) -> None:
        self.counted += len(sizes)
        scores = self.score(wrong, sizes)
        good = np.flatnonzero(scores > self.bar)
        good = good[np.argsort(-scores[good], kind="stable")[:KEPT]]
        new = [(float(scores[i]), columns(int(i))) for i in good]
        self._best = sorted([*self._best, *new], key=lambda one: (-one[0], len(one[1]), one[1]))[:KEPT]
        if len(self._best) == KEPT:
            self.bar = max(self.bar, self._best[-1][0])

    def best(self) -> list[tuple[int, ...]]:
        return [columns for _, columns in self._best]


def _add_triples(search: _Search, own: Any, failed: Flags, able: Any, first: Any, second: Any) -> None:
    """All conjunctions of three whose pairs may still hold one that is good enough."""
    by_row = own.tocsr()
    for one in np.unique(first):
        inside = np.flatnonzero(having(own, [int(one)]))
        others = np.unique(second[first == one])
        if len(others) < 2:
            continue
        part = by_row[inside][:, others]
        sizes = np.asarray((part.T @ part).todense())
        wrong_part = by_row[inside[failed[inside]]][:, others]
        wrong = np.asarray((wrong_part.T @ wrong_part).todense())
        i, j = np.nonzero(np.triu((sizes >= search.least) & (wrong > 0), 1))
        search.add_pairs(able[others], i, j, wrong[i, j], sizes[i, j], also=(int(able[one]),))
