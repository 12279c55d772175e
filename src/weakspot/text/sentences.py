"""Captions cut into sentences: what they say in general, and which are said of failures more often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from weakspot.stats import log_evidence
from weakspot.text.lexicon import article, words

LONGEST: Final = 200  # a sentence longer than this is no description of a set of images


class Sentence(NamedTuple):
    """A sentence with how often it was said, and how strongly it goes with failure."""

    text: str
    failing: int
    passing: int
    lift: float  # share among failures over share among passes, half a count added to each
    log_evidence: float  # that cases with it fail more often than cases without it


def sentences(caption: str) -> list[str]:
    """The sentences of a caption: one line each, printable, in lower case, ended by a full stop."""
    if not caption.isprintable():
        caption = "".join(c if c.isprintable() else " " for c in caption)
    parts = (" ".join(part.split()) for part in caption.lower().split("."))
    return [f"{part}." for part in parts if 0 < len(part) < LONGEST]


def rank(failing: Iterable[frozenset[str]], passing: Iterable[frozenset[str]]) -> list[Sentence]:
    """Sentences said of failures, most telling first."""
    failed, passed = list(failing), list(passing)
    in_failed: Counter[str] = Counter(s for said in failed for s in said)
    in_passed: Counter[str] = Counter(s for said in passed for s in said)
    found = []
    for text, a in in_failed.items():
        b = in_passed[text]
        lift = (a + 0.5) / (len(failed) + 1) / ((b + 0.5) / (len(passed) + 1))
        rest = len(failed) - a, len(failed) - a + len(passed) - b
        found.append(Sentence(text, a, b, lift, log_evidence(a, a + b, *rest)))
    return sorted(found, key=lambda s: (-s.log_evidence, -s.lift, s.text))


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
