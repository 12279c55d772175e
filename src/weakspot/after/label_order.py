"""Whether the labels of a classifier stand in the right order, seen from pictures whose labels are known.

A file with labels in another order makes answers wrong in a regular way: they are then right under some
renaming. A few renamings are tried that come of common slips (labels shifted by one, sorted, reversed), and,
where there are several pictures of each label, the best one of all, which is found with one half of the
pictures and tested with the other.

A renaming is believed by an exact sign test. Of the pictures whose answer it renames, some become right and
some become wrong; if the order were right, at most half of these would become right. At least two different
answers must gain, so that a model that always says the same is no slip.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Below this many pictures nothing is said.
LEAST: Final = 8
#: The chance of a false alarm, over all renamings that are tried, of a model that errs both ways alike.
ALPHA: Final = 0.01
#: Renamings that are tried.
TRIED: Final = 5
#: For the best renaming of all: pictures of each label, half of which find it.
EACH: Final = 4
#: Where pictures show few of the labels, the best renaming must make so large a share right, and so many
#: times as many as are, and as one single answer would: answers outside what is shown cannot become wrong.
SHARE, TIMES, MORE = 0.5, 2.0, 1.5
Places = NDArray[np.int64]


class Order(NamedTuple):
    """What the pictures say."""

    right: int  # answers that were right
    n: int  # pictures
    renamed: int  # answers that would be right under the renaming; `right` where there is none better
    slip: str  # what the renaming is, in words; "" where the order seems right
    example: str = ""  # two labels that change places, "cat is answered as dog"


def label_order(answers: Sequence[str], expected: Sequence[str], labels: Sequence[str]) -> Order:
    """Compare what a classifier said of each picture with the right label; `labels` are in its order."""
    place = {label: i for i, label in enumerate(labels)}
    said = np.array([place[a] for a in answers], np.int64)
    wanted = np.array([place[e] for e in expected], np.int64)
    n, right = len(said), int((said == wanted).sum())
    best = Order(right, n, right, "")
    if n < LEAST:
        return best
    for slip, renamed in (*_slips(labels), *_searched(len(labels), said, wanted)):
        if slip and not _gains(renamed, said, wanted):
            continue
        hits = int((renamed[said] == wanted).sum())
        if hits > best.renamed:
            moved = np.flatnonzero((renamed[said] == wanted) & (said != wanted))
            told = f"{labels[wanted[moved[0]]]} is answered as {labels[said[moved[0]]]}"
            best = Order(right, n, hits, slip or _how_many(renamed, said), told)
    return best


def _gains(renamed: Places, said: Places, wanted: Places) -> bool:
    """Whether a renaming that was chosen without these pictures makes more of them right than wrong."""
    now, then = renamed[said] == wanted, said == wanted
    gained, lost = int((now & ~then).sum()), int((then & ~now).sum())
    if len(np.unique(said[now & ~then])) < 2:
        return False
    changed = gained + lost
    chance = sum(math.comb(changed, k) for k in range(gained, changed + 1)) / 2**changed
    return bool(chance <= ALPHA / TRIED)


def _slips(labels: Sequence[str]) -> Iterator[tuple[str, Places]]:
    """Renamings, each as the true place of every place that was answered."""
    count = len(labels)
    places = np.arange(count)
    yield "the labels are shifted by one (one background class too many?)", (places + 1) % count
    yield "the labels are shifted by one (a background class is missing?)", (places - 1) % count
    order = np.array(sorted(range(count), key=lambda i: labels[i]))
    yield "the model's classes are in alphabetical order, the labels are not", order
    yield "the labels are in reverse order", places[::-1].copy()


def _searched(count: int, said: Places, wanted: Places) -> Iterator[tuple[str, Places]]:
    """The best renaming of all, if one half of the pictures finds it and the other believes it."""
    shown = np.unique(wanted)
    if len(wanted) < EACH * len(shown):
        return
    turn = np.zeros(len(wanted), np.int64)  # the how-manieth picture of its label each one is
    for label in shown:
        own = wanted == label
        turn[own] = np.arange(own.sum())
    finds = turn % 2 == 0
    found = _best(count, said[finds], wanted[finds])
    tests, answered = ~finds, said[~finds]
    hits, right = (int((one == wanted[tests]).sum()) for one in (found[answered], answered))
    constant = int(np.bincount(wanted[tests]).max())  # right of the best single answer
    if not _gains(found, answered, wanted[tests]):
        return
    # Answers that no picture shows cannot become wrong, so that alone they prove nothing.
    among = tests & np.isin(said, shown)
    many = hits >= max(SHARE * len(answered), TIMES * max(right, 1), MORE * constant)
    if many or _gains(found, said[among], wanted[among]):
        yield "", _best(count, said, wanted)


def _best(count: int, said: Places, wanted: Places) -> Places:
    """The renaming that makes most answers right; where it makes no difference, none."""
    from scipy.optimize import linear_sum_assignment

    counts = 0.5 * np.eye(count)
    np.add.at(counts, (said, wanted), 1)
    return np.asarray(linear_sum_assignment(-counts)[1], np.int64)


def _how_many(renamed: Places, said: Places) -> str:
    moved = renamed[said] != said
    if 2 * moved.sum() > len(said):
        return "the labels are not in the order of the model's classes"
    return f"{len(np.unique(said[moved]))} labels are swapped with each other"
