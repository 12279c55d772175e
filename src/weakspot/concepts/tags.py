"""What pictures show, in words of a list, by an encoder that puts pictures and words into one space.

How near a picture lies to a word says little by itself: some words lie near to every picture, and every
encoder has a scale of its own. So each word is calibrated on the pictures at hand. Its nearness, less the
nearness to everyday words in general, must fall into two groups: a mixture of two normal distributions that
explains it better than one, whose means lie at least three standard deviations apart, with a valley between.
Pictures in the upper group get the tag. A word without two groups says nothing here and is dropped, and of
words that mark about the same pictures the one that parts them best is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import TextEncoder, WeakspotError
from weakspot.core.errors import explained, system_reason
from weakspot.records import Column, Kind
from weakspot.text.lexicon import Tag, article, plural, words
from weakspot.text.plain import one_line
from weakspot.text.tagging import options

#: How a word is put to an encoder.
PROMPTS: Final = ("{}", "a photo of {}")
#: Fewer pictures cannot be told apart.
FEWEST: Final = 50
#: A tag is of so many pictures at least: outliers are no group.
LEAST: Final = 10
#: The means of the two groups lie so many standard deviations apart, and the valley between them is so low,
#: as a part of the density at its upper side.
APART: Final = 3.0
VALLEY: Final = 0.75
#: How much densities are smoothed: in standard deviations, of one picture.
SMOOTH: Final = 1.3
#: A picture is in the upper group where that is so likely.
LIKELY: Final = 0.8
#: Two words that mark so much the same pictures (Jaccard) are one.
SAME: Final = 0.5
#: Words of a list, and characters of one.
MOST, LONGEST = 5_000, 80
_BINS: Final = 160
_STEPS: Final = 60
_STARTS: Final = (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
_OURS: Final = Path(__file__).with_name("tags.txt")

Floats = NDArray[np.float64]


class Tagged(NamedTuple):
    """The pictures with one tag; `apart` is how clearly they differ from the others."""

    tag: str
    rows: NDArray[np.int64]
    apart: float


class Fit(NamedTuple):
    """Two normal distributions for each word: the lower one is of pictures without it.

    Attributes:
        share: Of the upper group.
        gain: The log-likelihood beyond that of a single one.
    """

    share: Floats
    low: Floats
    high: Floats
    low_spread: Floats
    high_spread: Floats
    gain: Floats

    @property
    def apart(self) -> Floats:
        found: Floats = (self.high - self.low) / np.sqrt((self.low_spread**2 + self.high_spread**2) / 2)
        return found


def read_tags(path: Path | None = None) -> tuple[str, ...]:
    """The words of a list, one or a phrase a line, as they stand after "shows"; by default ours."""
    file = path or _OURS
    fix = "write a word or a phrase a line, in UTF-8"
    with explained(
        f"the tags {file} cannot be read", OSError, UnicodeDecodeError, fix=fix, why=system_reason
    ):
        with file.open("rb") as opened:
            content = opened.read(MOST * LONGEST * 4 + 1)
        lines = [one_line(line) for line in content.decode("utf-8-sig").splitlines()]
    found = tuple(dict.fromkeys(_with_article(line) for line in lines if line and not line.startswith("#")))
    if not found:
        raise WeakspotError(f"the tags {file} are empty", fix=fix)
    if len(found) > MOST or (long := next((tag for tag in found if len(tag) > LONGEST), "")):
        what = f"has {len(found):,} tags" if len(found) > MOST else f"has a tag of {len(long)} characters"
        raise WeakspotError(f"{file} {what}", fix=f"give at most {MOST:,} of at most {LONGEST} characters")
    return found


def _with_article(tag: str) -> str:
    """A bare noun with its article: "dog" is "a dog"; what has none, or is not in our lists, as it is."""
    known = tag in words("animate") | words("compound") | words("other things") | words("other places")
    none = words("no article") | words("not counted") | words("plural only")
    if known and tag not in none and options(tag) == {Tag.NOUN} and plural(tag) != tag:
        return f"{article(tag)} {tag}"
    return tag


def directions_of(encoder: TextEncoder, tags: Sequence[str]) -> NDArray[np.float32]:
    """For each tag, the direction in the encoder's space in which it differs from everyday words."""
    ours = read_tags()
    every = list(dict.fromkeys([*ours, *tags]))
    place = {tag: i for i, tag in enumerate(every)}
    found = sum(
        unit_rows(encoder.embed_texts([prompt.format(t) for t in every]), len(every)) for prompt in PROMPTS
    )
    unit = unit_rows(found, len(every))
    usual = unit[[place[tag] for tag in ours]].mean(axis=0)
    chosen: NDArray[np.float32] = (unit[[place[tag] for tag in tags]] - usual).astype(np.float32)
    return chosen


def unit_rows(vectors: object, rows: int) -> NDArray[np.float32]:
    """The vectors of an encoder, checked, each of length 1."""
    found = np.asarray(vectors, np.float32)
    if found.ndim != 2 or len(found) != rows or not np.isfinite(found).all():
        raise WeakspotError(
            f"the encoder gave {found.shape} for {rows} inputs, or numbers that are not finite",
            fix="it must give one row of finite numbers each",
        )
    unit: NDArray[np.float32] = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
    return unit


def tagged(
    pictures: NDArray[np.float32], directions: NDArray[np.float32], tags: Sequence[str], *, least: int = LEAST
) -> list[Tagged]:
    """Which pictures have which tag, those first that part the pictures best.

    Args:
        pictures: A row of length 1 for each.
        directions: Of the tags, from `directions_of`.
        least: A tag of fewer pictures is dropped.
    """
    if len(pictures) < FEWEST:
        return []
    if pictures.shape[1] != directions.shape[1]:
        raise WeakspotError(
            f"the encoder has {pictures.shape[1]} numbers for a picture and {directions.shape[1]} for a text",
            fix="name an encoder of pictures and texts",
        )
    counts, middles = histograms(pictures, directions)
    fit = fitted(counts, middles)
    cuts = cuts_of(fit)
    price = 1.5 * log(len(pictures)) + log(len(tags))
    fits = (fit.apart >= APART) & (fit.gain > price) & (valley(counts, middles, fit) <= VALLEY)
    found: list[Tagged] = []
    for i in np.flatnonzero(fits)[np.argsort(-fit.apart[fits], kind="stable")].tolist():
        rows = np.flatnonzero(pictures @ directions[i] >= cuts[i])
        if len(rows) >= least and not any(alike(rows, other.rows) for other in found):
            found.append(Tagged(tags[i], rows, float(fit.apart[i])))
    return found


def column_of(name: str, found: Sequence[Tagged], pictures: NDArray[np.int64], rows: int) -> Column:
    """The tags as a column of lists; a row without a picture has no value.

    Args:
        pictures: The row of each picture.
        rows: Of the table.
    """
    lists: list[list[str] | None] = [None] * rows
    for row in pictures.tolist():
        lists[row] = []
    for tag, marked, _ in found:
        for row in pictures[marked].tolist():
            lists[row].append(tag)
    values = (None if one is None else tuple(one) for one in lists)
    return Column(name, Kind.LIST, np.fromiter(values, object, rows))


def alike(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Whether two tags mark so much the same pictures that they are one."""
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return shared > SAME * (len(a) + len(b) - shared)


# -- two groups or one ------------------------------------------------------------------------------


def histograms(pictures: NDArray[np.float32], directions: NDArray[np.float32]) -> tuple[Floats, Floats]:
    """How often each word lies how near: counts, and the middles of their bins, a row a word."""
    counts, middles = np.zeros((2, len(directions), _BINS))
    for i, direction in enumerate(directions):
        near = pictures @ direction
        counts[i], edges = np.histogram(
            near, _BINS, (float(near.min()), max(float(near.max()), float(near.min()) + 1e-6))
        )
        middles[i] = (edges[1:] + edges[:-1]) / 2
    return counts, middles


def fitted(counts: Floats, middles: Floats) -> Fit:
    """The likeliest two normal distributions for each row of counts, by expectation and maximisation."""
    n = counts.sum(axis=1, keepdims=True)
    mean = (counts * middles).sum(axis=1, keepdims=True) / n
    floor = (middles[:, 1:2] - middles[:, :1]) ** 2
    spread = np.sqrt((counts * (middles - mean) ** 2).sum(axis=1, keepdims=True) / n + floor)
    z = (middles - mean) / spread
    floor = floor / spread**2
    one = (counts * _log_normal(z, 0.0, 1.0)).sum(axis=1)
    best: tuple[Floats, ...] = ()
    for start in _STARTS:
        below = np.cumsum(counts, axis=1) / n
        fit = _maximised(counts, z, np.where(below > 1 - start, 1.0, 0.0), n, floor)
        better = fit[-1] > best[-1] if best else np.ones(len(counts), bool)
        best = tuple(np.where(better, new, old) for new, old in zip(fit, best, strict=True)) if best else fit
    share, low, high, low_spread, high_spread, likelihood = best
    shift, scale = mean[:, 0], spread[:, 0]
    return Fit(
        share,
        low * scale + shift,
        high * scale + shift,
        low_spread * scale,
        high_spread * scale,
        likelihood - one,
    )


def _maximised(counts: Floats, z: Floats, upper: Floats, n: Floats, floor: Floats) -> tuple[Floats, ...]:
    for _ in range(_STEPS):
        a, b = counts * upper, counts * (1 - upper)
        of_a, of_b = (np.maximum(one.sum(axis=1, keepdims=True), 1e-9) for one in (a, b))
        high, low = (a * z).sum(axis=1, keepdims=True) / of_a, (b * z).sum(axis=1, keepdims=True) / of_b
        low_spread = np.sqrt((b * (z - low) ** 2).sum(axis=1, keepdims=True) / of_b + floor)
        high_spread = np.sqrt((a * (z - high) ** 2).sum(axis=1, keepdims=True) / of_a + floor)
        # A spike of a few pictures that are the same is no group of its own.
        high_spread, low_spread = (
            np.maximum(high_spread, 0.3 * low_spread),
            np.maximum(low_spread, 0.3 * high_spread),
        )
        log_high = np.log(of_a / n) + _log_normal(z, high, high_spread)
        log_low = np.log(of_b / n) + _log_normal(z, low, low_spread)
        top = np.logaddexp(log_high, log_low)
        upper = np.exp(log_high - top)
        # Of the wider distribution both tails win; nearness speaks for a word on one side only.
        upper = np.where(z < low, 0.0, np.where(z > high, np.maximum.accumulate(upper, axis=1), upper))
    likelihood = (counts * top).sum(axis=1)
    return (*(one[:, 0] for one in (of_a / n, low, high, low_spread, high_spread)), likelihood)


def _log_normal(z: Floats, mean: Floats | float, spread: Floats | float) -> Floats:
    found: Floats = -0.5 * ((z - mean) / spread) ** 2 - np.log(spread)
    return found


def valley(counts: Floats, middles: Floats, fit: Fit) -> Floats:
    """The lowest density of the pictures between the two means, as a part of the highest above it.

    It is smoothed, as in Silverman's rule, so much that chance makes no valleys in the smaller group.
    """
    smaller = np.minimum(fit.share, 1 - fit.share) * counts.sum(axis=1)
    wide = SMOOTH * np.minimum(fit.low_spread, fit.high_spread) * np.maximum(smaller, 1.0) ** -0.2
    found = np.ones(len(counts))
    for i, points in enumerate(_between(fit)):
        near = (points[:, None] - middles[i]) / max(wide[i], middles[i, 1] - middles[i, 0])
        density = np.exp(-0.5 * near**2) @ counts[i]
        lowest = int(density.argmin())
        found[i] = density[lowest] / max(density[lowest:].max(), 1e-300)
    return found


def cuts_of(fit: Fit, likely: float = LIKELY) -> Floats:
    """From where on a picture belongs to the upper group, if that must be so likely."""
    points = _between(fit)
    share = np.clip(fit.share, 1e-9, 1 - 1e-9)[:, None]
    high = np.log(share) + _log_normal(points, fit.high[:, None], fit.high_spread[:, None])
    low = np.log(1 - share) + _log_normal(points, fit.low[:, None], fit.low_spread[:, None])
    upper = high - low >= log(likely / (1 - likely))
    upper[:, -1] = True
    found: Floats = np.take_along_axis(points, upper.argmax(axis=1)[:, None], axis=1)[:, 0]
    return found


def _between(fit: Fit) -> Floats:
    """Points from the lower mean to the upper."""
    found: Floats = fit.low[:, None] + (fit.high - fit.low)[:, None] * np.linspace(0, 1, _BINS)
    return found
