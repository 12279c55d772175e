"""Groups of failures that look alike, and words that go with failure.

`cluster` splits failures by what the model said instead, then by what they look like (Wiles, Albuquerque and
Gowal, 2022, step 3). `rank_keywords` asks which words are said of wrong images more often than of right ones;
it needs no groups at all, and is the plain method that groups and descriptions must beat.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.rules import said_more_often
from weakspot.core import WeakspotError
from weakspot.text.sentences import Sentence, rank, sentences

#: Of a caption so many characters are read; what comes after is no description of one image.
READ: Final = 10_000
#: So many words at most are weighed exactly, those with the largest difference in counts.
_WEIGHED: Final = 512
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d{1,4}")
#: Words that say nothing of an image. Words of place and denial ("behind", "not") do.
_EMPTY: Final = frozenset(
    {
        *("a", "an", "the", "this", "that", "these", "those", "some", "it", "its", "they", "them", "their"),
        *("he", "she", "his", "her", "him", "we", "you", "your", "i", "my", "me", "which", "who", "there"),
        *("is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "has", "have", "had"),
        *("of", "and", "or", "to", "in", "on", "at", "by", "for", "from", "as", "with", "into", "than"),
        *("here", "having", "while", "also", "very", "then", "so"),
    }
)

Matrix = NDArray[np.float64]


class Group(NamedTuple):
    """Positions of failures with one wrong answer that look alike, the most typical first.

    A leftover group shares only its label: its members are like no group.
    """

    label: str
    members: tuple[int, ...]
    leftover: bool = False


def cluster(
    labels: Sequence[str | None],
    features: NDArray[Any],
    *,
    least: int = 5,
    largest: int = 256,
    dimensions: int = 8,
    most: int = 4096,
) -> list[Group]:
    """Group failures: by the label the model gave, then by cosine geometry of their features (one row each).

    Of each label, rows are divided by their length, reduced to `dimensions` principal components and given to
    HDBSCAN. What it calls noise, and rows without a direction, are one leftover group of the label, since
    strangers would blur the description of a group. Where it finds no group, or there are fewer than twice
    `least` failures, the label is one. A group larger than `largest` is halved across the component in which
    it varies most. Of a label at most `most` rows are clustered; the others go where their nearest neighbour
    went. The same input gives the same groups, the largest first, leftovers last.
    """
    rows = np.asarray(features, np.float64)
    if rows.ndim != 2 or len(rows) != len(labels):
        raise WeakspotError(
            f"features of the shape {rows.shape} do not belong to {len(labels)} failures",
            fix="give one row of numbers for each",
        )
    if least < 2 or largest < 2 * least or dimensions < 1 or most < 2 * least:
        raise WeakspotError(
            f"groups of {least} to {largest} in {dimensions} dimensions cannot be formed",
            fix="least is 2 or more, largest and most are at least twice as much, dimensions 1 or more",
        )
    unit, known = directions(rows)
    by_label: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        by_label.setdefault(label or "", []).append(i)
    found: list[Group] = []
    for label, positions in by_label.items():
        own = np.array(positions)
        points = _reduced(unit[own], known[own], dimensions, most)
        numbers = _numbers(points, known[own], least, most)
        for number in np.unique(numbers):
            leftover = bool(number < 0 and numbers.max() >= 0)
            parts = _halves(np.flatnonzero(numbers == number), points, largest)
            found += [Group(label, _typical_first(own[part], unit), leftover) for part in parts]
    return sorted(found, key=lambda g: (g.leftover, -len(g.members), g.label, min(g.members)))


def directions(rows: NDArray[Any]) -> tuple[Matrix, NDArray[np.bool_]]:
    """The rows with length 1, and which of them have a direction; the others become zeros."""
    rows = np.where(np.isfinite(rows).all(1, keepdims=True), rows, 0.0).astype(np.float64)
    rows = rows / np.maximum(np.abs(rows).max(1, initial=0.0, keepdims=True), 1e-300)  # squares stay finite
    lengths = np.linalg.norm(rows, axis=1)
    known = lengths > 0
    return rows / np.where(known, lengths, 1.0)[:, None], known


def _chosen(known: NDArray[np.bool_], most: int) -> NDArray[np.int64]:
    """Evenly spread, the rows that the others follow."""
    usable = np.flatnonzero(known)
    places = np.linspace(0, len(usable) - 1, min(most, len(usable)))
    return np.asarray(usable[places.astype(np.int64)])


def _reduced(unit: Matrix, known: NDArray[np.bool_], dimensions: int, most: int) -> Matrix:
    if not known.any():
        return np.zeros((len(unit), 1))
    chosen = _chosen(known, most)
    centred = unit - unit[chosen].mean(0)
    some = centred[chosen]
    if some.shape[0] >= some.shape[1]:  # the smaller of the two products is the faster way to the axes
        axes = np.linalg.eigh(some.T @ some)[1][:, ::-1][:, :dimensions]
    else:
        values, vectors = np.linalg.eigh(some @ some.T)
        lengths = np.sqrt(np.maximum(values[::-1][:dimensions], 1e-12))
        axes = some.T @ vectors[:, ::-1][:, :dimensions] / lengths
    return np.asarray(centred @ axes)


def _numbers(points: Matrix, known: NDArray[np.bool_], least: int, most: int) -> NDArray[np.int64]:
    numbers = np.full(len(points), -1)
    chosen = _chosen(known, most)
    if len(chosen) < 2 * least:
        return numbers
    from scipy.spatial import cKDTree
    from sklearn.cluster import HDBSCAN

    # Two neighbours are enough to be dense: failures are few, and a small group is a finding too.
    found = HDBSCAN(min_cluster_size=least, min_samples=2, copy=True).fit_predict(points[chosen])
    numbers[known] = found[cKDTree(points[chosen]).query(points[known])[1]]
    numbers[chosen] = found  # of rows that are the same, each keeps its own
    return numbers


def _halves(members: NDArray[np.int64], points: Matrix, largest: int) -> Iterator[NDArray[np.int64]]:
    if len(members) <= largest:
        yield members
        return
    widest = points[members].var(0).argmax()
    order = np.argsort(points[members, widest], kind="stable")
    for half in (order[: len(order) // 2], order[len(order) // 2 :]):
        yield from _halves(np.sort(members[half]), points, largest)


def _typical_first(members: NDArray[np.int64], unit: Matrix) -> tuple[int, ...]:
    near = unit[members] @ unit[members].mean(0)
    # Rounded, so that rows that are the same keep their order whatever the arithmetic does.
    return tuple(int(i) for i in members[np.argsort(-near.round(9), kind="stable")])


def keywords(caption: str) -> frozenset[str]:
    """The words of a caption that say something, alone and in pairs that stand side by side."""
    found: set[str] = set()
    for sentence in sentences(caption[:READ]):
        words = _WORD.findall(sentence)
        told = [word for word in words if word not in _EMPTY]
        pairs = pairwise(words)
        found.update(told, (f"{a} {b}" for a, b in pairs if a not in _EMPTY and b not in _EMPTY))
    return frozenset(found)


def rank_keywords(
    wrong: Iterable[str],
    right: Iterable[str],
    *,
    words: Callable[[str], Iterable[str]] = keywords,
    least: int = 2,
    most: int = 64,
) -> list[Sentence]:
    """What is said of wrong images more often than of right ones, most telling first, with its counts.

    `words` says what to look for in a caption; `least` is how many wrong images it must be said of.
    """
    failing, passing = ([frozenset(words(caption[:READ])) for caption in some] for some in (wrong, right))
    weighed = frozenset(said_more_often(failing, passing, least=least)[:_WEIGHED])
    return rank([said & weighed for said in failing], [said & weighed for said in passing])[:most]
