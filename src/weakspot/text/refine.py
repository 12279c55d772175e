"""Sentences that say less: without adjectives, a thing without its place."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from weakspot.text.forms import article
from weakspot.text.lexicon import words

_ARTICLES: Final = frozenset({"a", "an", "the", "some", "two", "three", "four", "several"})


@lru_cache(8192)
def without_adjectives(sentence: str) -> str:
    """The sentence without adjectives that stand before a noun: "on a yellow flower" → "on a flower".

    An adjective after a verb stays, since it is all the sentence says ("it is small.").
    """
    kept: list[str] = []
    inside = dropped = False  # between an article and the noun it belongs to; an adjective was there
    for word in sentence.split():
        if word in _ARTICLES:
            inside, dropped = True, False
        elif inside and word in words("looks"):
            dropped = True
            continue
        else:
            if dropped and kept[-1] in ("a", "an"):
                kept[-1] = article(word)
            inside = dropped = False
        kept.append(word)
    return " ".join(kept)


_BESIDE: Final = re.compile(
    r"(?P<thing>an? [^.]+?) (?:is|stands|sits|lies) "
    r"(?:(?:to|on) the (?:left|right) of|behind|in front of|next to|beside|near|above|below|under) "
    r"(?:it|them)\."
)


@lru_cache(8192)
def general_forms(sentence: str) -> frozenset[str]:
    """What else is true where a sentence is: the same without adjectives, a thing without its place.

    "a red cup is behind it." → "a cup is behind it.", "there is a red cup.", "there is a cup."
    """
    plain = {sentence, without_adjectives(sentence)}
    there = {f"there is {found['thing']}." for s in plain if (found := _BESIDE.fullmatch(s))}
    return frozenset({*plain, *there, *map(without_adjectives, there)} - {sentence})
