"""The lists of words that everything here goes by: `lexicon.txt`, `synonyms.txt` and `swaps.txt`.

They are there to be read and changed. Nothing else is consulted, so every machine gives the same answers.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path


class Tag(StrEnum):
    """What a word does."""

    NEG = "negation"
    DET = "determiner"
    PRON = "pronoun"
    AUX = "auxiliary"
    CONJ = "conjunction"
    NUM = "number"  # quantifiers too
    PREP = "preposition"
    SIDE = "side"
    ADJ = "adjective"
    ADV = "adverb"
    VERB = "verb"
    NOUN = "noun"
    BREAK = "break"  # a comma or the end of a sentence


@cache
def sections(file: str = "lexicon.txt") -> dict[str, tuple[str, ...]]:
    """The lines of each section of a file."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in Path(__file__).with_name(file).read_text("utf-8").splitlines():
        if line.startswith("["):
            current = found.setdefault(line.strip("[] \n"), [])
        elif line.strip() and not line.startswith("#"):
            current.append(line)
    return {name: tuple(rows) for name, rows in found.items()}


@cache
def lines(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section of lexicon.txt, split into words."""
    return tuple(tuple(line.split()) for line in sections()[name])


@cache
def section(name: str) -> tuple[str, ...]:
    """The words of a section of lexicon.txt, in order."""
    return tuple(word for line in lines(name) for word in line)


@cache
def words(name: str) -> frozenset[str]:
    """The words of a section of lexicon.txt."""
    return frozenset(section(name))


@cache
def swaps(name: str) -> tuple[tuple[str, ...], ...]:
    """The lines of a section of swaps.txt: phrases that take each other's place."""
    return tuple(tuple(part.strip() for part in line.split(",")) for line in sections("swaps.txt")[name])
