"""Rows whose vectors are alike: groups at a few granularities, each said by what is common in it alone.

The groups follow from the vectors, and their words from all rows; neither looks at whether a row failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.cluster import directions
from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.words import Rows, places
from weakspot.records import Column
from weakspot.text.lexicon import words

#: So many groups are made, as far as they have so many rows on the average.
GROUPS: Final = (8, 24, 72)
ROWS: Final = 20
#: Centres are found among at most so many rows, in at most so many dimensions.
MOST: Final = 20_000
DIMENSIONS: Final = 64
#: What describes a group is of so many of its rows, and so many times as common there as elsewhere.
SHARE: Final = 0.25
TIMES: Final = 2.0
#: And more than chance would show, by so many standard deviations.
SURE: Final = 5.0
WORDS: Final = 3
#: What is of nearly the same rows of a group says the same of it.
SAME: Final = 0.8


@dataclass(frozen=True, eq=False)
class Nearest:
    """Whether vectors lie nearest to one of several centres, by their directions."""

    centres: NDArray[np.float32]
    number: int

    def __call__(self, vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
        if vectors.shape[1] != self.centres.shape[1]:
            return np.zeros(len(vectors), bool)
        found: NDArray[np.bool_] = nearest(vectors, self.centres) == self.number
        return found


def nearest(vectors: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.int64]:
    """The number of the nearest centre; a vector without a direction has none: -1."""
    found = np.full(len(vectors), -1, np.int64)
    half = 0.5 * (centres**2).sum(axis=1)
    for start in range(0, len(vectors), MOST):
        unit, known = directions(vectors[start : start + MOST])
        near = (unit.astype(np.float32) @ centres.T - half).argmax(axis=1)
        found[start : start + MOST] = np.where(known, near, -1)
    return found


def groups_of(column: Column, known: Concepts) -> Iterator[tuple[Concept, Rows]]:
    """The groups of a column of vectors with the rows of each, described by what is known of rows."""
    there = places(column.present())
    vectors = np.asarray(column.values[there], np.float32)
    names: Counter[str] = Counter()
    for k in GROUPS:
        if len(there) < k * ROWS:
            return
        centres = _centres(vectors, k)
        which = nearest(vectors, centres)
        for number in range(k):
            rows = there[which == number]
            if not len(rows):
                continue
            said = ", ".join(_described(rows, known))
            names[said] += 1
            again = f"{said} ({names[said]})" if names[said] > 1 else said
            value = again if said else str(names[said])
            inside = Nearest(centres, number)
            yield Concept(column.name, "group", value, inside=inside), rows


def _centres(vectors: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    from sklearn.cluster import KMeans

    chosen = np.linspace(0, len(vectors) - 1, min(MOST, len(vectors))).astype(np.int64)
    unit, has = directions(vectors[chosen])
    points = unit[has]
    if len(np.unique(points.round(6), axis=0)) < k:
        return points[:1].astype(np.float32)
    centred = points - points.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :DIMENSIONS]
    numbers = KMeans(k, n_init=3, random_state=0).fit_predict(centred @ axes)
    return np.array([points[numbers == i].mean(axis=0) for i in range(k)], np.float32)


def _described(rows: Rows, known: Concepts) -> list[str]:
    """What is said of many rows of a group and of few others, the most telling first."""
    table = known.rows
    n, size = table.shape[0], len(rows)
    if not table.shape[1] or size == n:
        return []
    part: csc_matrix = table[rows]
    inside = np.asarray(part.sum(axis=0), float).ravel()
    outside = np.asarray(table.sum(axis=0), float).ravel() - inside
    share, elsewhere = inside / size, outside / (n - size)
    usual = (inside + outside) / n
    spread = np.sqrt(usual * (1 - usual) * (1 / size + 1 / (n - size)))
    telling = (share - elsewhere) / np.maximum(spread, 1e-9)
    fits = (share >= SHARE) & (share >= TIMES * elsewhere) & (telling >= SURE)
    fits &= np.array([_tells(concept) for concept in known.concepts], bool)
    found: list[int] = []
    for i in np.flatnonzero(fits)[np.argsort(-telling[fits], kind="stable")].tolist():
        if not any(_alike(part, i, j) for j in found):
            found.append(i)
        if len(found) == WORDS:
            break
    return [_word(known.concepts[i]) for i in found]


def _tells(concept: Concept) -> bool:
    """Whether a concept says what something is, not what it is not; "in" and "with" say little."""
    if concept.test == "mentions":
        return concept.value not in words("stop")
    return concept.test not in ("missing", "group") and (concept.test, concept.value) != ("flag", "no")


def _alike(part: csc_matrix, i: int, j: int) -> bool:
    a, b = (set(part[:, one].indices.tolist()) for one in (i, j))
    return len(a & b) > SAME * len(a | b)


def _word(concept: Concept) -> str:
    """A concept in a list: beach, any animal, weather is rain."""
    if concept.test == "near":
        return concept.value
    return concept.phrase.strip("“”").removeprefix("shows ")
