"""Rivals that count: word frequencies, keywords, and an enumeration of conjunctions.

Each is made as strong as its idea allows. What the published methods lack, a test of what they report, is
added, since without it they report ten statements of every table, also where nothing is to be found.
"""

from __future__ import annotations

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

#: SliceLine's weight of errors against size, as its authors chose it, and the most concepts of a slice.
WEIGHT: Final = 0.95
DEEPEST: Final = 3
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
    gap = counts(slices.rows, failed) / failed.sum() - counts(slices.rows, ~failed) / (~failed).sum()
    kept = rejected(single_tails(slices)) & (gap > 0)
    order = np.argsort(-gap, kind="stable")
    return said(slices, [[int(column)] for column in order if kept[column]][:READ])


def enumeration(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """After SliceLine (Sagadeeva and Boehm, 2021): all conjunctions of up to three concepts, by its score.

    score(S) = α (rate(S) / rate − 1) − (1 − α) (n / |S| − 1), with α = 0.95 and at least one row in a
    hundred, as published. Conjunctions are left out only where no part of them can reach the best hundred, so
    nothing is missed. Of these, those that pass Fisher's test (Bonferroni, over all that were counted) are read in
    order; a slice that no longer fails more often where no better one speaks is passed over. Both filters
    are additions: the method reports its best ten.
    """
    rows, failed = slices.rows.astype(np.float64), slices.failed
    n, errors = float(len(failed)), float(failed.sum())
    if not errors or errors == n:
        return []
    least = max(5.0, n / 100)
    search = _Search(n, errors, least)
    sizes, wrong = counts(rows, np.ones(len(failed), np.bool_)), counts(rows, failed)
    able = np.flatnonzero((sizes >= least) & (wrong > 0))
    search.add([(int(column),) for column in able], wrong[able], sizes[able])
    own = rows[:, able]
    both = np.asarray((own.T @ own).todense())
    both_wrong = np.asarray((own.T @ own.multiply(failed[:, None]).tocsc()).todense())
    first, second = np.nonzero(np.triu((both >= least) & (both_wrong > 0), 1))
    pair_sizes, pair_wrong = both[first, second], both_wrong[first, second]
    search.add_pairs(able, first, second, pair_wrong, pair_sizes)
    hopeful = search.bound(pair_wrong) > search.bar
    if DEEPEST > 2 and hopeful.any():
        _add_triples(search, own, failed, able, first[hopeful], second[hopeful])
    best = search.best()
    pvalues = tails_of(slices, best) if best else np.ones(0)
    sure = [columns for columns, p in zip(best, pvalues, strict=True) if p * search.counted <= ALPHA]
    return said(slices, uncovered_first(slices, sure))


class _Search:
    """The best slices so far, and what a slice must reach to be one of them."""

    def __init__(self, n: float, errors: float, least: float) -> None:
        self.n, self.errors, self.least = n, errors, least
        self.counted = 0
        self.bar = 0.0  # a slice with no positive score is none
        self._best: list[tuple[float, tuple[int, ...]]] = []

    def score(self, wrong: Floats, sizes: Floats) -> Floats:
        rates = wrong / sizes / (self.errors / self.n)
        return np.asarray(WEIGHT * (rates - 1) - (1 - WEIGHT) * (self.n / sizes - 1))

    def bound(self, wrong: Floats) -> Floats:
        """The best score of a slice with at most so many failures: all of its rows, as few as may be."""
        return self.score(wrong, np.maximum(wrong, self.least))

    def add(self, slices: list[tuple[int, ...]], wrong: Floats, sizes: Floats) -> None:
        self.counted += len(slices)
        scores = self.score(wrong, sizes)
        new = [(float(score), one) for score, one in zip(scores, slices, strict=True) if score > self.bar]
        self._keep(new)

    def add_pairs(
        self, able: Any, first: Any, second: Any, wrong: Floats, sizes: Floats, also: tuple[int, ...] = ()
    ) -> None:
        """As `add`, but only what is good enough is spelt out."""
        self.counted += len(first)
        scores = self.score(wrong, sizes)
        good = np.flatnonzero(scores > self.bar)
        good = good[np.argsort(-scores[good], kind="stable")[:KEPT]]
        self._keep([(float(scores[i]), (*also, int(able[first[i]]), int(able[second[i]]))) for i in good])

    def _keep(self, new: list[tuple[float, tuple[int, ...]]]) -> None:
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
