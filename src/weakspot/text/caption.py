"""Captions cut into sentences, and which sentences are said of failures more often than of passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from weakspot.stats import log_evidence

#: A sentence longer than this is no description of a set of images.
LONGEST: Final = 200


class Sentence(NamedTuple):
    """A sentence with how often it was said, and how strongly it goes with failure.

    Attributes:
        lift: Share among failures over share among passes, half a count added to each.
        log_evidence: That cases with it fail more often than cases without it.
    """

    text: str
    failing: int
    passing: int
    lift: float
    log_evidence: float


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
