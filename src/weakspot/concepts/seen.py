"""What an encoder sees in photographs that nobody has described: words that are true of them by degrees.

`tags` keeps only words that part the pictures into two clear groups. Photographs are seldom so clear: an
encoder of captions ranks them well by "young" or "a shirt", and there is no gap in the ranks. So no word is
thrown away and none gets a cut here. Each ranks the pictures, and what fails decides from where on a word is
said (`finite.graded`). A cut says only "the 20 % of these photographs that look most like a shirt".

How well the encoder ranks is known where some pictures have captions: of a picture whose caption says the
word and one whose does not, how often is the first one ranked higher? A word that does little better than a
coin is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from weakspot.concepts.concept import NEAR
from weakspot.concepts.finite.graded import Graded
from weakspot.concepts.tags import (
    FEWEST,
    Fit,
    cuts_of,
    directions_of,
    fitted,
    histograms,
    read_tags,
    unit_rows,
)
from weakspot.concepts.words import in_order, lemma_of
from weakspot.core import TextEncoder

#: For words that are asked about alone: the means of two groups of pictures lie so many standard deviations
#: apart, whatever lies between.
APART: Final = 1.5
#: A word is checked where captions of so many pictures say it, and those of as many do not.
CHECKED: Final = 5
#: A word that ranks fewer pairs of pictures rightly is refuted; a coin ranks 50 %.
FAIR: Final = 0.6
_OURS: Final = Path(__file__).with_name("photograph_words.txt")

Flags = NDArray[np.bool_]


@cache
def everyday() -> Mapping[str, int]:
    """Our words for photographs, and how often people say each of 5,000 photographs."""
    lines = _OURS.read_text("utf-8").splitlines()
    pairs = (line.split(" ", 1) for line in lines if not line.startswith("#"))
    return {word: int(times) for times, word in pairs}


def words_of(path: Path | None) -> Mapping[str, int]:
    """The words of a list, all as likely; by default ours."""
    return everyday() if path is None else dict.fromkeys(read_tags(path), 1)


class Seen(NamedTuple):
    """What was seen in pictures.

    Attributes:
        words: That rank them, and `graded` how.
        trust: Of words that captions could check: of pairs of a picture whose caption says it and one whose
            does not, how many are ranked rightly. So many words were `refuted` by this and dropped.
    """

    words: tuple[str, ...]
    graded: Graded
    trust: Mapping[str, float]
    refuted: int = 0

    @property
    def right(self) -> float | None:
        """How many pairs the median of all words ranks rightly that captions could check; None of none."""
        return float(np.median([*self.trust.values()])) if self.trust else None


def seen_in(
    pictures: NDArray[np.float32],
    encoder: TextEncoder,
    words: Mapping[str, int],
    *,
    captions: Sequence[str] = (),
) -> Seen:
    """How much each picture looks like each word.

    Args:
        pictures: A row of length 1 for each.
        words: How often people say each.
        captions: What people say of each picture, "" where nobody does; () where nobody says anything.
    """
    if len(pictures) < FEWEST:
        return Seen((), Graded(np.zeros((len(pictures), 0), np.float32), np.zeros(0)), {})
    names = list(words)
    near = near_to(pictures, encoder, names)
    trust = ranked_rightly(-near, names, captions)
    kept = [i for i, name in enumerate(names) if trust.get(name, 1.0) >= FAIR]
    times = np.array([words[name] for name in names], float)
    return Seen(
        tuple(names[i] for i in kept),
        Graded(near[:, kept], -np.log(times[kept] / times.sum())),
        trust,
        len(names) - len(kept),
    )


def near_to(pictures: NDArray[np.float32], encoder: TextEncoder, words: Sequence[str]) -> NDArray[np.float32]:
    """Of each picture, for each word, the share of the pictures that look as much like it, or more."""
    likeness = unit_rows(pictures, len(pictures)) @ directions_of(encoder, words).T
    near: NDArray[np.float32] = (rankdata(-likeness, "max", axis=0) / len(pictures)).astype(np.float32)
    return near


def ranked_rightly(
    likeness: NDArray[np.float32], words: Sequence[str], captions: Sequence[str]
) -> dict[str, float]:
    """By word that captions can check, the share of pairs of pictures that it ranks as their captions would.

    A picture counts as one of a word where its captions say the last part of it, in any form: of "a small
    child" that is "child".
    """
    there = np.array([bool(caption) for caption in captions], bool)
    if not there.any():
        return {}
    lasts = {word: lemma_of(parts[-1]) for word in words if (parts := in_order(word))}
    wanted = {*lasts.values()}
    said = [{lemma_of(one, wanted) for one in in_order(text)} for text in captions if text]
    found = {}
    for i, word in enumerate(words):
        says = np.array([lasts.get(word) in some for some in said], bool)
        yes, no = int(says.sum()), int((~says).sum())
        if min(yes, no) >= CHECKED:
            ranks = rankdata(likeness[there, i])
            found[word] = float((ranks[says].sum() - yes * (yes + 1) / 2) / (yes * no))
    return found


def likely(pictures: NDArray[np.float32], encoder: TextEncoder, text: str) -> Flags:
    """Which pictures more likely show what a text says than not; none where the encoder cannot tell.

    Of a text that names a word and a share, as findings in an encoder's words do, those nearest to the word.
    """
    if len(pictures) < FEWEST:
        return np.zeros(len(pictures), bool)
    if asked := NEAR.search(text):
        nearest: Flags = near_to(pictures, encoder, [asked[1]])[:, 0] <= int(asked[2]) / 100
        return nearest
    directions = directions_of(encoder, [text])
    fit = fitted(*histograms(pictures, directions))
    if not _telling(fit, len(pictures)):
        return np.zeros(len(pictures), bool)
    marked: Flags = unit_rows(pictures, len(pictures)) @ directions[0] >= cuts_of(fit, 0.5)[0]
    return marked


def _telling(fit: Fit, pictures: int) -> bool:
    """Whether two groups explain a word's nearness better than one; a second one has three numbers more."""
    return bool((fit.apart >= APART)[0] and fit.gain[0] > 1.5 * np.log(pictures))
