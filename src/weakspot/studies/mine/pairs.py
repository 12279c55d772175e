"""Pairs that one encoder confuses and another tells apart: exact, over all pairs, each once.

The tested encoder's rows are shortened (`shorten`), multiplied tile by tile in float32, and compared with the
threshold less a proven bound of the error; what passes is computed again in float64, and only then is the
reference asked. Memory is the rows, a few megabytes a thread, and the answer.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.studies.mine.pair_rule import PUBLISHED, PairRule, Vectors
from weakspot.studies.mine.shorten import rounding, shorten

TILE: Final = 1024  # rows and columns of a tile: what fits into a core's cache
_AGAIN: Final = 512  # pairs that are computed again at once, so that the gathered rows stay in the cache

Indices = NDArray[np.int64]
#: Told how many pairs are done, and of how many.
Progress = Callable[[int, int], None]
#: Given the first and the second of some pairs, says which may be in the answer.
Accept = Callable[[Indices, Indices], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs, the most alike to the tested encoder first; ties in the order of their rows."""

    first: Indices  # row numbers
    second: Indices  # row numbers, each above that of `first`
    tested: NDArray[np.float64]  # the tested encoder's similarity: the cosine, in float64
    reference: NDArray[np.float64]  # the reference's
    #: How many pairs the tested encoder puts above the threshold; None if there are too many to count.
    alike: int | None = None
    complete: bool = True  # these are all candidates there are

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[tuple[int, int, float, float]]:
        columns = (self.first, self.second, self.tested, self.reference)
        return zip(*(column.tolist() for column in columns), strict=True)

    def some(self, which: Indices | slice) -> Self:
        columns = self.first[which], self.second[which], self.tested[which], self.reference[which]
        return type(self)(*columns, self.alike, self.complete)


def find_pairs(
    tested: Vectors,
    reference: Vectors,
    *,
    rule: PairRule = PUBLISHED,
    limit: int | None = None,
    accept: Accept | None = None,
    threads: int = 0,
    progress: Progress | None = None,
) -> Pairs:
    """All pairs the rule keeps, or the `limit` that are most alike to the tested encoder.

    Both encoders give one row of length 1 for each text or picture, of any width. `accept` may refuse pairs,
    e.g. two captions of one photograph; it is called from several threads (0 for one per core).
    """
    check_rows(tested, reference, limit=limit)
    n = len(tested)
    with _one_blas_thread():
        short = shorten(tested, above=rule.above)
    best = Best(rule.above, limit)
    buffers = threading.local()

    def look(top: int, left: int) -> Pairs:
        a, b = short.rows[top : top + TILE], short.rows[left : left + TILE]
        if not hasattr(buffers, "tile"):
            buffers.tile, buffers.mask = np.empty((TILE, TILE), np.float32), np.empty((TILE, TILE), np.bool_)
        whole = buffers.tile, buffers.mask
        tile, mask = (one.ravel()[: len(a) * len(b)].reshape(len(a), len(b)) for one in whole)
        np.matmul(a, b.T, out=tile)
        np.greater(tile, np.float32(best.bar - short.slack), out=mask)
        first, second = divmod(np.flatnonzero(mask), len(b))
        first, second = first + top, second + left
        if top == left:
            above = first < second
            first, second = first[above], second[above]
        # The same pairs again: by float64, then by the reference.
        alike = similarities(tested, first, second, least=best.bar)
        kept = (alike > rule.above) & (alike >= best.bar)
        first, second, alike = first[kept], second[kept], alike[kept]
        count = len(first)
        if accept is not None and count:
            kept = np.asarray(accept(first, second), np.bool_)
            first, second, alike = first[kept], second[kept], alike[kept]
        apart = similarities(reference, first, second)
        kept = rule.keeps(alike, apart)
        return Pairs(first[kept], second[kept], alike[kept], apart[kept], count)

    total, done = n * (n - 1) // 2, 0
    tiles = ((top, left) for top in range(0, n, TILE) for left in range(top, n, TILE))  # the upper triangle
    with _one_blas_thread():
        for (top, left), found in _in_turn(look, tiles, threads=threads):
            best.add(found)
            done += pairs_of_tile(min(TILE, n - top), min(TILE, n - left), diagonal=top == left)
            if progress is not None:
                progress(done, total)
    return best.pairs()


class Best:
    """The best candidates so far. `bar` is what a pair must reach to be among them; it only rises."""

    def __init__(self, above: float, limit: int | None) -> None:
        self.bar = above
        self._limit = limit
        self._parts: list[Pairs] = []
        self._alike = self._size = 0
        self._dropped = False

    def add(self, found: Pairs) -> None:
        """Take in the candidates of a tile; forget what can no longer be in the answer."""
        self._alike += found.alike or 0
        if len(found):
            self._parts.append(found)
            self._size += len(found)
        if self._limit is not None and self._size > 2 * self._limit:
            self._parts = [self._sorted().some(slice(self._limit))]
            self._size, self._dropped = self._limit, True
            self.bar = max(self.bar, float(self._parts[0].tested[-1]))

    def _sorted(self) -> Pairs:
        none = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
        columns = zip(
            *((p.first, p.second, p.tested, p.reference) for p in (none, *self._parts)), strict=True
        )
        first, second, tested, reference = (np.concatenate(column) for column in columns)
        return Pairs(first, second, tested, reference).some(np.lexsort((second, first, -tested)))

    def pairs(self) -> Pairs:
        found = self._sorted()
        complete = not self._dropped and (self._limit is None or len(found) <= self._limit)
        alike = None if self._dropped else self._alike
        return replace(found.some(slice(self._limit)), alike=alike, complete=complete)


def similarities(
    vectors: Vectors, first: Indices, second: Indices, *, least: float | None = None
) -> NDArray[np.float64]:
    """Products of rows in float64; one that is certainly below `least` need not be exact."""
    out = np.empty(len(first))
    for at in range(0, len(first), _AGAIN):
        where = slice(at, at + _AGAIN)
        a, b = vectors[first[where]], vectors[second[where]]
        if least is None:
            out[where] = _products(a, b)
            continue
        rough = np.einsum("ij,ij->i", a, b)
        near = rough > least - rounding(a.shape[1])
        out[where] = rough
        out[where][near] = _products(a[near], b[near])
    return out


def _products(a: Vectors, b: Vectors) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", a.astype(np.float64), b.astype(np.float64)), np.float64)


def check_rows(tested: Any, reference: Any, *, limit: int | None) -> None:
    """Refuse rows, of numpy or of torch, that cannot be searched: shapes, lengths other than 1, nan."""
    if limit is not None and limit < 1:
        raise WeakspotError(f"{limit} pairs are too few to look for", fix="ask for at least one")
    for what, rows in (("tested", tested), ("reference", reference)):
        if rows.ndim != 2 or not str(rows.dtype).endswith("float32"):
            raise WeakspotError(
                f"the {what} encoder's rows are {rows.dtype} of the shape {tuple(rows.shape)}",
                fix="give one row of float32 for each text",
            )
        for at in range(0, len(rows), 1 << 12):
            lengths = (rows[at : at + (1 << 12)] ** 2).sum(1) ** 0.5
            if not bool((abs(lengths - 1) < 1e-4).all()):  # nan is wrong too
                row = next(i for i, length in enumerate(lengths.tolist()) if not abs(length - 1) < 1e-4)
                raise WeakspotError(
                    f"row {at + row} of the {what} encoder is {float(lengths[row]):.4g} long, not 1",
                    fix="pass the rows through weakspot.models.vectors.unit",
                )
    if len(tested) != len(reference):
        raise WeakspotError(
            f"the tested encoder has {len(tested):,} rows, the reference {len(reference):,}",
            fix="embed the same texts with both",
        )


def pairs_of_tile(height: int, width: int, *, diagonal: bool) -> int:
    """How many pairs a tile has, each once."""
    return height * (height - 1) // 2 if diagonal else height * width


def _in_turn(
    look: Callable[[int, int], Pairs], tiles: Iterator[tuple[int, int]], *, threads: int
) -> Iterator[tuple[tuple[int, int], Pairs]]:
    """What is found in each tile, in their order; a few are looked at side by side, none far ahead."""
    workers = threads or os.cpu_count() or 1
    pool = ThreadPoolExecutor(workers)
    try:
        while some := list(islice(tiles, 8 * workers)):
            yield from zip(some, pool.map(lambda tile: look(*tile), some), strict=True)
    finally:
        pool.shutdown(cancel_futures=True)


def _one_blas_thread() -> AbstractContextManager[object]:
    """Tiles run side by side, each on one core: faster than one tile on all, for the comparing is so too."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits


# -- a short list ----------------------------------------------------------------------------------------

COPY: Final = 0.95  # texts this alike to the reference are near-copies
TOPIC: Final = 0.8  # pairs whose middles are this alike to the reference have one topic


class Diverse(NamedTuple):
    """The list, and how many pairs were passed over to make it: for a text, and for a topic."""

    pairs: Pairs
    for_text: int
    for_topic: int


def diverse(
    pairs: Pairs,
    vectors: Vectors,
    *,
    wanted: int,
    per_text: int = 1,
    per_topic: int = 3,
    copy: float = COPY,
    topic: float = TOPIC,
) -> Diverse:
    """The first `wanted` pairs that are not too much like those before them; fewer if there are no more.

    A text and its near-copies may be in `per_text` pairs, a topic in `per_topic`. Likeness is the
    reference's, whose rows are given: the tested encoder is the one that cannot tell.
    """
    width = vectors.shape[1] if vectors.ndim == 2 else 0
    room = min(wanted, len(pairs))
    ends, middles = np.empty((2 * room, width), np.float32), np.empty((room, width), np.float32)
    chosen: list[int] = []
    for_text = for_topic = 0
    uses: dict[int, int] = {}
    for place, (first, second) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        count = len(chosen)
        if count >= wanted:
            break
        if max(uses.get(first, 0), uses.get(second, 0)) >= per_text:  # without any arithmetic
            for_text += 1
            continue
        both = vectors[[first, second]]
        if int((both @ ends[: 2 * count].T >= copy).sum(1).max(initial=0)) >= per_text:
            for_text += 1
            continue
        middle = both.sum(0)
        length = float(np.linalg.norm(middle))
        middle = middle / length if length > 1e-6 else both[0]
        if int((middles[:count] @ middle >= topic).sum()) >= per_topic:
            for_topic += 1
            continue
        ends[2 * count : 2 * count + 2], middles[count] = both, middle
        for text in (first, second):
            uses[text] = uses.get(text, 0) + 1
        chosen.append(place)
    return Diverse(pairs.some(np.array(chosen, np.int64)), for_text, for_topic)
