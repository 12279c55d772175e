"""Words that mean the same, so that a finding is told once: snow and snowy, child and kid, bike and bicycle.

Forms of one word are one concept from the start (see `words`). Here different words are joined: those of one
group in our list of synonyms, nouns whose usual meaning in WordNet is the same, and an adjective in -y with
its noun. Words that are joined stay concepts of their own beside what they say together: where only "kid"
goes with failure, that is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.concept import Concept
from weakspot.concepts.nouns import Nouns, usual
from weakspot.concepts.words import Rows
from weakspot.text.lexicon import Tag
from weakspot.text.same_words import groups
from weakspot.text.tagging import options

#: Several words together must be of so many times the rows of the one that says most.
MORE: Final = 1.05
#: Adjectives in -y that mean something else than their noun.
NO_KIN: Final = frozenset({"funny", "handy", "ready", "sporty", "heady", "lucky", "edgy", "nosy", "pushy"})
#: Fewer letters make no stem of which an adjective in -y could come.
STEM: Final = 3


def joined(
    found: Sequence[tuple[Concept, Rows]], wordnet: Nouns | None, rows: int
) -> Iterator[tuple[Concept, Rows]]:
    """What words that mean the same say together, where that is more than one of them says.

    Args:
        found: Concepts with their rows; only words of texts are looked at.
        rows: Of the table.
    """
    spoken = {c.value: (c, own) for c, own in found if c.test == "mentions" and not c.wider}
    for same in synonyms(spoken, wordnet):
        parts = sorted((spoken[word] for word in same), key=lambda part: (-len(part[1]), part[0].value))
        mask = np.zeros(rows, bool)
        mask[np.concatenate([own for _, own in parts])] = True
        every = np.flatnonzero(mask).astype(np.int32)
        if len(every) >= MORE * len(parts[0][1]):
            forms = frozenset[str]().union(*(concept.forms for concept, _ in parts))
            yield Concept("", "mentions", parts[0][0].value, forms), every


def synonyms(spoken: Iterable[str], wordnet: Nouns | None) -> list[list[str]]:
    """Those of some words that mean the same, two or more each."""
    place = {word: i for i, word in enumerate(dict.fromkeys(spoken))}
    leader = list(range(len(place)))

    def first(i: int) -> int:
        while leader[i] != i:
            i = leader[i]
        return i

    by_meaning: dict[str, str] = {}
    for word, at in place.items():
        for meaning in _meanings(word, place, wordnet):
            other = by_meaning.setdefault(meaning, word)
            leader[first(at)] = first(place[other])
    found: dict[int, list[str]] = {}
    for word, at in place.items():
        found.setdefault(first(at), []).append(word)
    return [same for same in found.values() if len(same) > 1]


def _meanings(word: str, known: Mapping[str, int], wordnet: Nouns | None) -> Iterator[str]:
    """What two words must share to mean the same."""
    yield f"word {groups().get(word, word)}"
    if stem := _noun_of(word, known):
        yield f"word {groups().get(stem, stem)}"
    if wordnet is not None and word not in groups():  # of a word in our list the usual meaning is known
        sense = usual(word, wordnet)
        if sense is not None:
            yield sense.id


def _noun_of(word: str, known: Mapping[str, int]) -> str:
    """The noun of an adjective in -y, where both are said: snow of snowy, sun of sunny, rock of rocky."""
    if not word.endswith("y") or word in NO_KIN or options(word) - {Tag.NOUN} != {Tag.ADJ}:
        return ""
    stem = word[:-1]
    stems = [stem, f"{stem}e", stem[:-1] if len(stem) > STEM and stem[-1] == stem[-2] else ""]
    return next((one for one in stems if len(one) >= STEM and one in known and Tag.NOUN in options(one)), "")


def meanings_of(concepts: Sequence[Concept]) -> NDArray[np.int64]:
    """The number of what each concept means: the same for words that share a form, and for cuts of one word.

    A wider noun means more than any of the words that it covers.
    """
    number: dict[object, int] = {}
    found = np.zeros(len(concepts), np.int64)
    plain = [i for i, c in enumerate(concepts) if c.test == "mentions" and not c.wider]
    for i in sorted(plain, key=lambda i: -len(concepts[i].forms)):  # what joins several words comes first
        known = [number[form] for form in sorted(concepts[i].forms) if form in number]
        own = known[0] if known else len(number)
        for form in concepts[i].forms:
            number.setdefault(form, own)
        number.setdefault(("own", own), own)
        found[i] = own
    every = dict.fromkeys(found[plain].tolist()) if plain else {}
    following = max(every, default=-1) + 1
    others: dict[tuple[str, str, str, bool], int] = {}
    words_only = set(plain)
    for i, c in enumerate(concepts):
        if i not in words_only:
            key = (c.column, c.test, c.value, c.wider)  # however many of the pictures look like it
            found[i] = others.setdefault(key, following + len(others))
    return found


def forms_of(concepts: Sequence[Concept]) -> tuple[str, ...]:
    """The other words that count as what is said, in the order of the alphabet."""
    said = {concept.value for concept in concepts}
    mentioned = [c for c in concepts if c.test == "mentions" and not c.wider]
    return tuple(dict.fromkeys(form for c in mentioned for form in sorted(c.forms - said)))
