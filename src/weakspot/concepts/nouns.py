"""Wider nouns: what words of texts, and labels, are kinds of, by WordNet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from weakspot.text.lexicon import Tag, lines
from weakspot.text.tagging import options, tokenise
from weakspot.text.wordnet import LabelParts, Sense


class Nouns(Protocol):
    """What is asked of WordNet."""

    def senses(self, word: str) -> list[Sense]:
        """The meanings of a noun, the most frequent first."""

    def sense_of_id(self, id: str) -> Sense:
        """The meaning with an id such as n02123394."""

    def above(self, sense: Sense) -> Iterator[tuple[Sense, int]]:
        """All that it is a kind of, the nearest first, with how far up it is."""


def is_noun(lemma: str, forms: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a word is mostly a noun in these texts: "climbs" and "low" are none, though they could be."""
    if options(lemma) == {Tag.NOUN}:
        return True
    tags = [token.tag for text in texts for token in tokenise(text) if token.text in forms]
    return tags.count(Tag.NOUN) > len(tags) / 2


def usual(word: str, wordnet: Nouns) -> Sense | None:
    """The usual meaning of a word that is no name of a place or a person, as bikini is of an atoll."""
    senses = wordnet.senses(word) if word.isalpha() and len(word) > 2 else []
    return next((sense for sense in senses[:1] if not sense.name[:1].isupper()), None)


def meant(labels: Iterable[str], wordnet: Nouns) -> dict[str, Sense | None]:
    """What each label means: of a crane among birds and of a crane among machines, what the others are."""
    possible: dict[str, list[Sense]] = {}
    for label in labels:
        parts = LabelParts.of(label[:200])
        if parts.id:
            possible[label] = [wordnet.sense_of_id(parts.id)]
        else:
            known = [senses for name in parts.names if (senses := wordnet.senses(name))]
            shared = [s for s in known[0] if all(s in others for others in known[1:])] if known else []
            possible[label] = shared or (known[0] if known else [])
    kinds = {
        sense.id: [one.id for one, _ in wordnet.above(sense)] for some in possible.values() for sense in some
    }
    sure = Counter(id for some in possible.values() if len(some) == 1 for id in kinds[some[0].id])

    def company(sense: Sense) -> float:
        """The share of what it is a kind of that labels of one meaning are, too."""
        own = kinds[sense.id]
        return sum(kind in sure for kind in own) / max(len(own), 1)

    return {label: max(some, key=company) if some else None for label, some in possible.items()}


def wider(senses: Mapping[str, Sense | None], wordnet: Nouns) -> dict[str, list[str]]:
    """Wider nouns that cover at least two of these words."""
    general = {" ".join(line) for line in lines("too general")}
    found: dict[str, list[str]] = {}
    for word, sense in senses.items():
        if sense is None:
            continue
        kinds = [above.name for above, _ in wordnet.above(sense)]
        for name in kinds if "physical entity" in kinds else ():
            if name not in general:
                found.setdefault(name, []).append(word)
    return {name: some for name, some in found.items() if len(some) >= 2}
