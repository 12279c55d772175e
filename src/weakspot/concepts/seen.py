"""What an encoder sees in photographs that nobody has described: tags that err, with calibrated cuts.

`tags` keeps only words that part the pictures into two clear groups. Photographs are seldom so clear: of the
words for what they show, few do. Here a word counts where two groups explain its nearness to the pictures
better than one does, though they overlap. Then it marks three sets of pictures, each larger than the one
before: those that more likely show it than not, those that may, and those that are something like it.
What such a tag says of a picture may be wrong; that pictures with it fail more often is tested all the same,
and no set looks at what failed.

Where captions say what some pictures show, each tag is checked by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.concept import UNSURE
from weakspot.concepts.tags import (
    FEWEST,
    Fit,
    alike,
    column_of,
    cuts_of,
    directions_of,
    fitted,
    histograms,
    read_tags,
    unit_rows,
)
from weakspot.concepts.tags import Tagged as Tag
from weakspot.concepts.words import in_order, lemma_of
from weakspot.core import TextEncoder
from weakspot.records import Column

#: The means of the two groups lie so many standard deviations apart, whatever lies between.
APART: Final = 1.5
#: How likely a picture shows a tag in each of its sets, and how that is said.
LEVELS: Final = ((0.5, "{}"), *zip((0.2, 0.05), (f"{start}{{}}" for start in UNSURE), strict=True))
#: A tag is of so many pictures at least.
LEAST: Final = 5
#: A tag is checked where so many captioned pictures have it; their captions must say it so many times as
#: often as others do.
CHECKED: Final = 5
TIMES: Final = 1.5
_MORE: Final = Path(__file__).with_name("photograph_tags.txt")


def everyday() -> tuple[str, ...]:
    """Our words for photographs: those for all pictures, and more for people and what they do."""
    return tuple(dict.fromkeys([*read_tags(), *read_tags(_MORE)]))


class Seen(NamedTuple):
    """What was seen in pictures.

    Attributes:
        column: The tags of each picture.
        tags: How many words say something.
        checked: How many of them captions could check; `refuted` were dropped for it.
    """

    column: Column
    tags: int
    checked: int = 0
    refuted: int = 0


def seen_in(
    pictures: NDArray[np.float32],
    encoder: TextEncoder,
    tags: Sequence[str],
    *,
    name: str,
    captions: Sequence[str] = (),
) -> Seen:
    """The tags of each picture, as a column of this name.

    Args:
        pictures: A row of length 1 for each.
        captions: What people say of each picture, "" where nobody does; () where nobody says anything.
    """
    found: list[Tag] = []
    best: list[NDArray[np.int64]] = []
    checked = refuted = 0
    if len(pictures) >= FEWEST:
        directions = directions_of(encoder, tags)
        counts, middles = histograms(pictures, directions)
        fit = fitted(counts, middles)
        near = pictures @ directions.T
        cuts = [cuts_of(fit, likely) for likely, _ in LEVELS]
        for i in _telling(fit, len(pictures)):
            rows = np.flatnonzero(near[:, i] >= cuts[0][i])
            if len(rows) < LEAST or any(alike(rows, other) for other in best):
                continue
            borne_out = _borne_out(rows, tags[i], captions)
            checked += borne_out is not None
            if borne_out is False:
                refuted += 1
                continue
            best.append(rows)
            for cut, (_, said) in zip(cuts, LEVELS, strict=True):
                marked = np.flatnonzero(near[:, i] >= cut[i])
                found.append(Tag(said.format(tags[i]), marked, float(fit.apart[i])))
    column = column_of(name, found, np.arange(len(pictures)), len(pictures))
    return Seen(column, len(best), checked, refuted)


def likely(pictures: NDArray[np.float32], encoder: TextEncoder, text: str) -> NDArray[np.bool_]:
    """Which pictures more likely show what a text says than not; none where the encoder cannot tell."""
    if len(pictures) < FEWEST:
        return np.zeros(len(pictures), bool)
    directions = directions_of(encoder, [text])
    fit = fitted(*histograms(pictures, directions))
    if not _telling(fit, len(pictures)):
        return np.zeros(len(pictures), bool)
    marked: NDArray[np.bool_] = unit_rows(pictures, len(pictures)) @ directions[0] >= cuts_of(fit, 0.5)[0]
    return marked


def _telling(fit: Fit, pictures: int) -> list[int]:
    """The words whose nearness two groups explain better than one, those first that explain it best."""
    price = 1.5 * log(pictures)  # of the three numbers that a second group has more
    fits = np.flatnonzero((fit.apart >= APART) & (fit.gain > price))
    order: list[int] = fits[np.argsort(-fit.gain[fits], kind="stable")].tolist()
    return order


def _borne_out(rows: NDArray[np.int64], tag: str, captions: Sequence[str]) -> bool | None:
    """Whether captions say a tag more often of its pictures than of others; None where nobody can tell."""
    word = lemma_of(in_order(tag)[-1]) if in_order(tag) else ""
    there = np.array([bool(caption) for caption in captions], bool)
    if not word or not there.any():
        return None
    has = np.zeros(len(captions), bool)
    has[rows] = True
    says = np.array([word in {lemma_of(one, [word]) for one in in_order(text)} for text in captions], bool)
    inside, outside = has & there, ~has & there
    if inside.sum() < CHECKED or says[there].sum() < CHECKED or not outside.any():
        return None
    return bool(says[inside].mean() >= TIMES * max(float(says[outside].mean()), 1e-9))
