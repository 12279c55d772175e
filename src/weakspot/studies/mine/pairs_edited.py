"""Pairs of one category: captions of a corpus, and each with one thing changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from random import Random

from weakspot.sources.corpus import normal_form
from weakspot.studies.mine.pairs_made import Made
from weakspot.text.contrast import LONGEST, variants
from weakspot.text.differences import Category

#: After so many pairs with the same change of words ("two" → "three") others are preferred.
OFTEN = 12


def edited(
    captions: Sequence[str],
    *,
    category: Category,
    rng: Random,
    known: Collection[str],
    fits: Callable[[str], bool] | None = None,
) -> Iterator[Made]:
    """One new pair for each caption to which an edit of the category applies, in the captions' order.

    Args:
        captions: What is edited.
        category: In what the two texts of a pair differ.
        rng: Chooses among the edits of a caption.
        known: Normal forms of the texts of the corpus: none of them is the changed caption of a pair.
        fits: Whether a text can be understood where it will be used; others are not made.
    """
    seen: set[str] = set()
    used: Counter[str] = Counter()
    for caption in captions:
        if not 0 < len(caption) <= LONGEST or not caption.isprintable():
            continue
        found = variants(" ".join(caption.split()), category=category)
        rng.shuffle(found)
        found.sort(key=lambda c: used[_change(c.before, c.after)] >= OFTEN)  # what is worn comes last
        for contrast in found:
            form = normal_form(contrast.second)
            if form in known or form in seen or (fits is not None and not fits(contrast.second)):
                continue
            seen.add(form)
            change = _change(contrast.before, contrast.after)
            used[change] += 1
            yield Made(contrast.first, contrast.second, change)
            break


def _change(before: str, after: str) -> str:
    """What became what, in a few words."""
    return f"{before.casefold()[:60] or '∅'} → {after.casefold()[:60] or '∅'}"
