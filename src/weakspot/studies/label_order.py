"""Whether the labels of a classifier stand in the right order, seen from pictures whose labels are known.

A file with the labels in another order makes every answer wrong in a regular way: the answers are then right
under some renaming. A few renamings are tried that come of common slips (labels shifted by one, sorted,
reversed), which a handful of pictures tells apart; and, where there are several pictures of each label, the
best one of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

#: Below this many pictures nothing is said.
LEAST: Final = 8
#: A renaming must make so large a share right, and so many times as many as there are.
SHARE, TIMES = 0.5, 2.0
#: For the best renaming of all: so many pictures of each label that it does not fit by chance.
EACH: Final = 3


class Order(NamedTuple):
    """What the pictures say.

    Attributes:
        right: Answers that were right.
        n: Pictures.
        renamed: Answers that would be right under the renaming; `right` where there is none better.
        slip: What the renaming is, in words; "" where the order seems right.
        example: Two labels that change places, "cat is answered as dog".
    """

    right: int
    n: int
    renamed: int
    slip: str
    example: str = ""


def label_order(answers: Sequence[str], expected: Sequence[str], labels: Sequence[str]) -> Order:
    """Compare answers with what is right.

    Args:
        answers: What the classifier said of each picture.
        expected: The right labels; all of them its own.
        labels: All, in the classifier's order.
    """
    place = {label: i for i, label in enumerate(labels)}
    said = np.array([place[a] for a in answers], np.int64)
    wanted = np.array([place[e] for e in expected], np.int64)
    n, right = len(said), int((said == wanted).sum())
    best = Order(right, n, right, "")
    if n < LEAST:
        return best
    for slip, renamed in _slips(labels, said, wanted):
        hits = int((renamed[said] == wanted).sum())
        if hits >= SHARE * n and hits >= TIMES * max(right, 1) and hits > best.renamed:
            moved = np.flatnonzero((renamed[said] == wanted) & (said != wanted))
            told = f"{labels[wanted[moved[0]]]} is answered as {labels[said[moved[0]]]}" if len(moved) else ""
            best = Order(right, n, hits, slip, told)
    return best


def _slips(labels: Sequence[str], said: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Renamings, each as the true place of every place that was answered."""
    count = len(labels)
    places = np.arange(count)
    yield "the labels are shifted by one (a background class too many?)", (places + 1) % count
    yield "the labels are shifted by one (a background class is missing?)", (places - 1) % count
    order = np.array(sorted(range(count), key=lambda i: labels[i]))
    yield "the model's classes are in alphabetical order, the labels are not", order
    yield "the labels are in reverse", places[::-1]
    if len(wanted) >= EACH * len(np.unique(wanted)):
        from scipy.optimize import linear_sum_assignment

        counts = np.zeros((count, count))
        np.add.at(counts, (said, wanted), 1)
        rows, columns = linear_sum_assignment(-counts)
        found = places.copy()
        found[rows] = columns
        yield "the labels stand in another order than the model's classes", found
