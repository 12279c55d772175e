"""What some rows suggest where words are true of rows by degrees, as an encoder sees them.

For every word the rows are ranked: which are more like it. A word explains failures where these lie near its
top. That is a score test: the failures beyond those expected are multiplied with −log(rank), so that the
first hundredth counts, and the first third too, and no cut must be right for a word to be noticed. z²/2 of it
is about the log-likelihood that the word gains. A word pays −log of how often people say it, so that out of
hundreds of words those that nobody says need more. Then a cut is chosen. It goes as far as rows fail more
often than the others by a part of what those at the most telling cut do: where a word is plain in the ranks
it ends there, and where it fades out it takes in most of what fails, at a lower rate.

Only the rows that suggest have a say in the word and in its cut. Both stand before others test them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.finite.confirm import ABOVE, LIFT
from weakspot.concepts.finite.propose import FAILURES, ROWS, WORTH, fitted

#: A word is of so many of all rows, those most like it.
SHARES: Final = np.array([0.03, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5])
#: A cut takes in rows that have so much of the effect.
PART: Final = 0.1
#: So many are suggested at most: each is a further test.
PLACES: Final = 6

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Graded(NamedTuple):
    """Words that are true of rows by degrees.

    Attributes:
        near: A column for each word: the share of all rows that are as much like it as this row, or more.
        price: What a word must gain.
    """

    near: NDArray[np.float32]
    price: Floats


class Choice(NamedTuple):
    """A word with the share of all rows that it is said of; or, with the share 0, a plain concept."""

    number: int
    share: float


def suggest(words: Graded, plain: csc_matrix, dear: Floats, failed: Flags) -> list[Choice]:
    """The words, and plain concepts, that explain these failures, those that explain most first.

    Args:
        words: Of these rows.
        plain: Which of these rows each plain concept is of.
        dear: What each of them must gain.
    """
    if not failed.any() or failed.all():
        return []
    wrong, rows = failed.astype(float), len(failed)
    likeness = -np.log(np.maximum(words.near, 1e-6))  # as wide as photographs times words: single precision
    squared = likeness**2
    place = np.searchsorted(SHARES, words.near)
    sets: list[Flags] = []
    found: list[Choice] = []
    while len(found) < PLACES:
        told = csc_matrix(np.column_stack(sets).astype(float)) if sets else csc_matrix((rows, 0))
        expected = np.clip(fitted(told, failed), 1e-6, 1 - 1e-6)
        left, spread = wrong - expected, expected * (1 - expected)
        of_words = _z(left @ likeness, spread @ likeness, spread @ squared, left, spread)
        size, bad = np.diff(plain.indptr).astype(float), plain.T @ wrong
        of_plain = _z(plain.T @ left, plain.T @ spread, plain.T @ spread, left, spread)
        of_plain[~_notable(bad, size, wrong.mean())] = 0.0
        gains = np.concatenate([of_words**2 / 2 - words.price, of_plain**2 / 2 - dear])
        gains[[one.number if one.share else one.number + len(words.price) for one in found]] = -np.inf
        one = None
        while one is None and gains.max(initial=-np.inf) > WORTH:
            best = int(gains.argmax())
            gains[best] = -np.inf
            if best >= len(words.price):
                one = Choice(best - len(words.price), 0.0)
                sets.append(plain[:, [one.number]].toarray().ravel() > 0)
            elif (cut := _cut(place[:, best], wrong, left, spread)) is not None:
                one = Choice(best, float(SHARES[cut]))
                sets.append(place[:, best] <= cut)
        if one is None:
            break
        found.append(one)
    return found


def _z(sums: Floats, weights: Floats, squares: Floats, left: Floats, spread: Floats) -> Floats:
    """By how many standard deviations the failures beyond the expected go with a score; 0 where they do not.

    Args:
        sums: The score of the failures beyond the expected, for each score.
        weights, squares: The scores and their squares, by the variance of each row.
        left: The failures beyond the expected.
        spread: The variance of each row.
    """
    total = max(float(spread.sum()), 1e-9)
    centred = sums - weights * float(left.sum()) / total
    variance = np.maximum(squares - weights**2 / total, 1e-9)
    found: Floats = np.maximum(centred, 0.0) / np.sqrt(variance)
    return found


def _cut(place: NDArray[np.int64], wrong: Floats, left: Floats, spread: Floats) -> int | None:
    """How far rows share a part of the effect that a word has up to its most telling cut; None of no effect.

    Between two cuts there are few rows, so their rates are smoothed: they only fall down the ranks.
    """
    from sklearn.isotonic import isotonic_regression

    def between(values: Floats | None) -> Floats:
        return np.bincount(place, weights=values, minlength=len(SHARES) + 1).astype(float)

    rows, beyond = between(None), between(left)
    size, sums, weights = (each[:-1].cumsum() for each in (rows, beyond, between(spread)))
    notable = _notable(between(wrong)[:-1].cumsum(), size, float(wrong.mean()))
    z = np.where(notable, _z(sums, weights, weights, left, spread), 0.0)
    best = int(z.argmax())
    if z[best] <= 1.0:
        return None
    inside = sums[best] / size[best]
    outside = (float(left.sum()) - sums[best]) / max(len(left) - size[best], 1.0)
    rates = isotonic_regression(
        beyond / np.maximum(rows, 1.0), sample_weight=np.maximum(rows, 1e-9), increasing=False
    )
    shares = notable & (rates[:-1] >= outside + PART * (inside - outside))
    return int(np.flatnonzero(shares).max()) if shares.any() else best


def _notable(bad: Floats, size: Floats, usual: float) -> Flags:
    """Which would be called a weak spot if they were confirmed as they are."""
    enough: Flags = (bad >= FAILURES) & (size >= ROWS) & (bad >= min(LIFT * usual, usual + ABOVE) * size)
    return enough
