"""The rivals as they were published, on the same rows and concepts.

Each reports its best ten by its own score. None tests what it reports or passes over what others cover, and
none has its settings chosen for the table at hand: those are the additions of `rivals` and `learners`.
Where a method would use an encoder of pictures to name what it found, people's words are used instead, as
there: that is more exact than an encoder.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from weakspot.bench.real.learners import conjunctions, similar_rows
from weakspot.bench.real.methods import READ, Said, Slices, said, upper_tails
from weakspot.bench.real.rivals import WEIGHTS, gaps, searched
from weakspot.bench.rivals import fit

#: What tools for error analysis grow by default: so many leaves, of so many rows or more.
LEAVES: Final = 31
LEAST: Final = 20


def sliceline(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """SliceLine (Sagadeeva and Boehm, 2021): the ten conjunctions with the highest score.

    α = 0.95, and slices of at least one row in a hundred; of up to three concepts, as ours are.
    """
    if not slices.failed.any() or slices.failed.all():
        return []
    return said(slices, searched(slices, WEIGHTS[0]).best()[:READ])


def leaves(slices: Slices, *, seed: int) -> list[Said]:
    """A decision tree, its leaves read as conjunctions of the concepts that their rows have.

    31 leaves of 20 rows or more, as error analysis grows them (Microsoft's Responsible AI Toolbox). Those
    that fail more often than usual, the most significant first (Fisher), each conjunction once. On the design
    that is there to look at, neither the toolbox's three levels, nor smaller leaves, nor the highest rate
    first name more weak spots.
    """
    from sklearn.tree import DecisionTreeClassifier

    failed = slices.failed
    if not failed.any() or failed.all():
        return []
    rows = slices.rows.astype(np.float32)
    model = DecisionTreeClassifier(max_leaf_nodes=LEAVES, min_samples_leaf=LEAST, random_state=seed)
    at = model.fit(rows, failed).apply(rows.tocsr())
    sizes = np.bincount(at, minlength=model.tree_.node_count).astype(float)
    wrong = np.bincount(at, weights=failed, minlength=model.tree_.node_count).astype(float)
    pvalues = upper_tails(wrong, sizes, float(failed.sum()), float(len(failed)))
    says = dict(conjunctions(model.tree_))
    order = [leaf for leaf in np.argsort(pvalues, kind="stable").tolist() if pvalues[leaf] < 1.0]
    distinct = dict.fromkeys(says[leaf] for leaf in order if says.get(leaf))
    return said(slices, list(distinct)[:READ])


def domino(slices: Slices, *, seed: int) -> list[Said]:
    """Domino (Eyuboglu et al., 2022): a mixture of 25 slices; the ten that fail most, each named.

    Domino names a slice by the text that is nearest to the mean of its pictures less the mean of all. Of
    concepts that is the one whose share in the slice is most above its share of all rows.
    """
    from threadpoolctl import threadpool_limits

    chosen, features = similar_rows(slices, seed=seed)
    some, wrong = slices.rows[chosen], slices.failed[chosen]
    if not wrong.any() or wrong.all():
        return []
    with threadpool_limits(1, user_api="blas"):
        member = fit(features, np.eye(2)[wrong.astype(int)], seed=seed)
    sizes = member.sum(0) + 1e-9
    rates = member.T @ wrong / sizes
    apart = np.asarray(some.T @ (member / sizes)) - np.asarray(some.mean(axis=0)).reshape(-1, 1)
    worst = [int(at) for at in np.argsort(-rates, kind="stable") if rates[at] > wrong.mean()][:READ]
    return said(slices, list(dict.fromkeys((int(np.argmax(apart[:, at])),) for at in worst)))


def bias_to_text(slices: Slices, *, seed: int) -> list[Said]:  # noqa: ARG001
    """Bias-to-Text (Kim et al., 2024): the ten words of failing captions that tell them apart most."""
    if not slices.failed.any() or slices.failed.all():
        return []
    gap = gaps(slices)
    order = np.argsort(-gap, kind="stable")[:READ]
    return said(slices, [[int(column)] for column in order if gap[column] > 0])
