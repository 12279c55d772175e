"""What the words of rows say: each word in its forms, and wider nouns that cover several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.concept import Concept
from weakspot.records import Records
from weakspot.records.table import coded
from weakspot.text.lexicon import Tag, lines, singular, verb_forms, words
from weakspot.text.tagging import options, tokenise
from weakspot.text.wordnet import LabelParts, Sense

#: Of a text so many characters are read; what comes after is no description of one input.
READ: Final = 10_000
#: So many texts are looked at to see whether a word is a noun there.
READINGS: Final = 12
#: A wider noun must cover so many times the rows of the largest of its nouns.
WIDER: Final = 1.1
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-]+[^\W\d_]+)*|\d+")
_MARKS: Final = str.maketrans("’‐‑", "'--")


class Nouns(Protocol):
    """What is asked of WordNet."""

    def senses(self, word: str) -> list[Sense]:
        """The meanings of a noun, the most frequent first."""

    def sense_of_id(self, id: str) -> Sense:
        """The meaning with an id such as n02123394."""

    def above(self, sense: Sense) -> Iterator[tuple[Sense, int]]:
        """All that it is a kind of, the nearest first, with how far up it is."""


def texts_of(records: Records, columns: Sequence[str]) -> list[str]:
    """The free texts of each row in one, in small letters."""
    said = [records.column(name).texts() for name in columns]
    return [" ".join(part for part in parts if part).lower() for parts in zip(*said, strict=True)]


def words_in(text: str) -> dict[str, None]:
    """The words of a text that say something, in small letters, each once, in their order."""
    empty = words("says nothing")
    return dict.fromkeys(word for word in _in_order(text) if word not in empty)


def mentions(wanted: Sequence[frozenset[str]], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts say one of the forms of a word, a column for each word."""
    columns: dict[str, list[int]] = {}
    for i, forms in enumerate(wanted):
        for form in forms:
            columns.setdefault(form, []).append(i)
    codes, distinct = coded(texts)
    found = np.zeros((len(distinct), len(wanted)), bool)
    for row, text in enumerate(distinct):
        for word in words_in(text):
            if word in columns:
                found[row, columns[word]] = True
    marked: NDArray[np.bool_] = found[codes]
    return marked


def of_texts(
    texts: Sequence[str], least: int, wordnet: Nouns | None
) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    """The words that texts mention, each with its rows, and the wider nouns of these words."""
    rows_of: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        for word in words_in(text):
            rows_of.setdefault(word, []).append(row)
    lemmas: dict[str, list[str]] = {}
    for word in rows_of:
        lemmas.setdefault(lemma_of(word, rows_of), []).append(word)
    members: dict[str, frozenset[int]] = {}
    for lemma, forms in lemmas.items():
        rows = frozenset().union(*(rows_of[form] for form in forms))
        if len(rows) >= least:
            members[lemma] = rows
            yield Concept("", "mentions", lemma, frozenset(forms)), np.array(sorted(rows))
    if wordnet is None:
        return
    senses = {
        lemma: _usual(lemma, wordnet)
        for lemma, rows in members.items()
        if _is_noun(lemma, lemmas[lemma], [texts[row] for row in sorted(rows)[:READINGS]])
    }
    for name, some in _wider(senses, wordnet).items():
        some += [name] if name in members and name not in some else []
        rows = frozenset().union(*(members[lemma] for lemma in some))
        if len(rows) > WIDER * max(len(members[lemma]) for lemma in some):
            every = frozenset(form for lemma in some for form in lemmas[lemma])
            yield Concept("", "mentions", name, every, wider=True), np.array(sorted(rows))


def of_labels(
    column: str, rows_of: Mapping[str, Sequence[int]], wordnet: Nouns
) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    """The kinds of thing that labels are: a golden retriever is a dog and an animal."""
    for name, some in _wider(_meant(rows_of, wordnet), wordnet).items():
        rows = sorted(row for label in some for row in rows_of[label])
        if len(rows) > WIDER * max(len(rows_of[label]) for label in some):
            yield Concept(column, "kind", name, frozenset(some), wider=True), np.array(rows)


def named(alike: Sequence[Concept], text: str) -> Concept:
    """One of the concepts that are of the same rows; words that always stand side by side are said so.

    Args:
        text: Of one of these rows.
    """
    first = alike[0]
    if first.wider:
        return min(alike, key=lambda concept: len(concept.value))  # "duck" before "anseriform bird"
    said = {form: one for one in alike if one.test == "mentions" and not one.wider for form in one.forms}
    if len(said) < 2 or first.test != "mentions":
        return first
    every = _in_order(text)
    start = end = next(i for i, word in enumerate(every) if word in first.forms)
    while start > 0 and every[start - 1] in said:
        start -= 1
    while end + 1 < len(every) and every[end + 1] in said:
        end += 1
    return replace(first, value=" ".join(every[start : end + 1])) if end > start else first


def _in_order(text: str) -> list[str]:
    return _WORD.findall(text[:READ].lower().translate(_MARKS))


def lemma_of(word: str, known: Iterable[str] = ()) -> str:
    """The plainest form of a word: of "dogs" dog, of "surfing" surf where surf is known."""
    word = word.removesuffix("'s")
    return _lemma(word) or next((stem for stem in _stems(word) if stem in known), word)


@cache
def _lemma(word: str) -> str:
    one = singular(word)
    if one != word:
        return one
    forms = verb_forms()
    return forms[word][0] if word in forms else ""


def _stems(word: str) -> Iterator[str]:
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word.removesuffix(ending)
            yield stem
            yield f"{stem}e"
            if stem[-1] == stem[-2]:
                yield stem[:-1]


# -- wider nouns ------------------------------------------------------------------------------------


def _is_noun(lemma: str, forms: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a word is mostly a noun in these texts: "climbs" and "low" are none, though they could be."""
    if options(lemma) == {Tag.NOUN}:
        return True
    tags = [token.tag for text in texts for token in tokenise(text[:READ]) if token.text.lower() in forms]
    return tags.count(Tag.NOUN) > len(tags) / 2


def _usual(word: str, wordnet: Nouns) -> Sense | None:
    """The usual meaning of a word that is no name of a place or a person, as bikini is of an atoll."""
    senses = wordnet.senses(word) if word.isalpha() and len(word) > 2 else []
    return next((sense for sense in senses[:1] if not sense.name[:1].isupper()), None)


def _meant(labels: Iterable[str], wordnet: Nouns) -> dict[str, Sense | None]:
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


def _wider(senses: Mapping[str, Sense | None], wordnet: Nouns) -> dict[str, list[str]]:
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
