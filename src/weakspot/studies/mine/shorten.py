"""Short rows whose products are never below those of the long ones: what makes an exact search fast.

Let Q be an orthonormal basis of k directions, p = Qᵀa what a row has of them, and c = √(‖a‖² − ‖p‖²) the
length of the rest. For any two rows, a·b = p·q + (the product of the rests) ≤ p·q + c·c′ (Cauchy–Schwarz).
So the product of the short rows (p, c) and (q, c′) is an upper bound of a·b: nothing is lost, whatever Q is.
The leading directions of the rows themselves make the bound tight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: What looking at one pair again costs, in units of one more number in every short row. On a CPU a product
#: of two gathered rows takes about a microsecond, a number of a row about 0.03 ns a pair.
RECHECK: Final = 30_000.0
#: Lengths of short rows that are considered.
LENGTHS: Final = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
FEW: Final = 4096  # up to so many rows it does not pay to look for directions
_LEARN, _TRY = 4096, 1024  # rows from which directions are found, and rows whose pairs are tried
_CHUNK: Final = 1024  # rows that are projected at once, in float64
#: Added to a squared length before its root is taken: far above the errors of sums in float64.
_MARGIN: Final = 1e-9


class Short(NamedTuple):
    """Rows whose products, plus `slack`, are at least those of the original rows."""

    rows: Any  # one per original row, of float32; as they were if nothing shorter pays
    slack: float  # an upper bound of all errors of rounding, in whatever order a product is summed


def rounding(length: int) -> float:
    """How far a product of two rows of length 1, summed in float32 in any order, can be off.

    The classical bound is length · 2⁻²⁴ · Σ|aᵢbᵢ| ≤ length · 2⁻²⁴ (Cauchy–Schwarz again). This is more than
    twice that, for the rounding of the numbers themselves and for rows whose length is 1 only to four digits.
    """
    return (length + 16) * 2.0**-23


def shorten(vectors: NDArray[np.float32], *, above: float, recheck: float = RECHECK) -> Short:
    """Short rows for finding pairs with products above a threshold: the higher, the shorter they can be."""
    n, width = vectors.shape
    if n <= FEW:
        return Short(np.ascontiguousarray(vectors, np.float32), rounding(width))
    rng = np.random.default_rng(0)  # it can change the speed, and never the answer
    basis = directions(vectors[np.sort(rng.choice(n, min(n, _LEARN), replace=False))])
    tried = vectors[np.sort(rng.choice(n, 2 * _TRY, replace=False))] @ basis
    length = best_length(tried[::2], tried[1::2], above=above, recheck=recheck)
    if length >= width:
        return Short(np.ascontiguousarray(vectors, np.float32), rounding(width))
    basis64 = np.linalg.qr(basis[:, : length - 1].astype(np.float64))[0]  # orthonormal to the last bits
    rows = np.empty((n, length), np.float32)
    for at in range(0, n, _CHUNK):
        part = vectors[at : at + _CHUNK].astype(np.float64)
        kept = part @ basis64
        rest = np.sqrt(np.maximum(_squares(part) - _squares(kept), 0) + _MARGIN)
        rows[at : at + _CHUNK, :-1] = kept
        rows[at : at + _CHUNK, -1] = np.nextafter(rest.astype(np.float32), np.float32(2))  # never below
    return Short(rows, rounding(length))


def _squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def directions(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """An orthonormal basis, one direction a column, the one with most of the rows' lengths first."""
    return np.ascontiguousarray(np.linalg.eigh(sample.T @ sample)[1][:, ::-1])


def best_length(
    one: Any, other: Any, *, above: float, recheck: float = RECHECK, lengths: Sequence[int] = LENGTHS
) -> int:
    """The cheapest length of short rows, the last number included; the full width if nothing shorter pays.

    Asked of some rows and as many others (of numpy or of torch) in a basis, best direction first: their pairs
    tell how many must be looked at again.
    """
    width = int(one.shape[1])
    costs: dict[int, float] = {}
    for length in (*(x for x in lengths if x < width), width):
        p, q = (rows if length == width else rows[:, : length - 1] for rows in (one, other))
        c, d = (((rows**2).sum(1) - (cut**2).sum(1)).clip(0) ** 0.5 for rows, cut in ((one, p), (other, q)))
        passing = int((p @ q.T + c[:, None] * d > above).sum())
        costs[length] = length + recheck * passing / (len(one) * len(other))
    return min(costs, key=lambda length: (costs[length], length))
