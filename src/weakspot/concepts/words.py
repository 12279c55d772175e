"""The words of texts: which rows say them, in which forms, and which wider nouns cover them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from weakspot.concepts.nouns import Nouns, is_noun, meant, usual, wider
from weakspot.records.table import coded
from weakspot.text.lexicon import singular, verb_forms, words

#: Numbers of rows, in order.
Rows = NDArray[np.int32]

#: Of a text so many characters are read; what comes after is no description of one input.
READ: Final = 10_000
#: So many texts are looked at to see whether a word is a noun there.
READINGS: Final = 12
#: A wider noun must cover so many times the rows of the largest of its nouns.
WIDER: Final = 1.1
_WORD: Final = re.compile(r"[^\W\d_]+(?:['-]+[^\W\d_]+)*|\d+")
_MARKS: Final = str.maketrans("’‐‑", "'--")


class Said(NamedTuple):
    """A word, or a noun that covers several, with the forms that occur and the rows that say it."""

    name: str
    forms: frozenset[str]
    wider: bool
    rows: Rows


def places(mask: NDArray[np.bool_]) -> Rows:
    return np.flatnonzero(mask).astype(np.int32)


def said_in(texts: Sequence[str], least: int, wordnet: Nouns | None) -> Iterator[Said]:
    """Every word of these texts, and every wider noun, that so many rows say.

    Args:
        wordnet: Gives wider nouns; None for none.
    """
    codes, distinct = coded(texts)
    every = [dict.fromkeys(in_order(text)) for text in distinct]
    spoken, vocabulary = coded([word for some in every for word in some])
    ends = np.cumsum([0, *map(len, every)])
    matrix = csr_matrix((np.ones(len(spoken), bool), spoken, ends), shape=(len(distinct), len(vocabulary)))
    matrix = matrix[codes].tocsc()
    silent = words("says nothing")
    place = {word: i for i, word in enumerate(vocabulary) if word not in silent}
    lemmas = _lemmas(place)
    members: dict[str, Rows] = {}
    for lemma, forms in lemmas.items():
        rows = _union([_column(matrix, place[form]) for form in forms], len(texts))
        if len(rows) >= least:
            members[lemma] = rows
            yield Said(lemma, frozenset(forms), False, rows)
    if wordnet is None:
        return
    senses = {
        lemma: usual(lemma, wordnet)
        for lemma, rows in members.items()
        if is_noun(lemma, lemmas[lemma], [texts[row][:READ] for row in rows[:READINGS].tolist()])
    }
    for name, some in wider(senses, wordnet).items():
        some += [name] if name in members and name not in some else []
        own = frozenset(form for lemma in some for form in lemmas[lemma])
        yield from _covering(name, own, [members[lemma] for lemma in some], len(texts))


def kinds_of(rows_of: Mapping[str, Rows], n: int, wordnet: Nouns) -> Iterator[Said]:
    """The kinds of thing that labels are, with these labels: a golden retriever is a dog and an animal."""
    for name, some in wider(meant(rows_of, wordnet), wordnet).items():
        yield from _covering(name, frozenset(some), [rows_of[label] for label in some], n)


def _covering(name: str, forms: frozenset[str], parts: Sequence[Rows], n: int) -> Iterator[Said]:
    """A wider noun, where it covers more than the largest of its nouns."""
    rows = _union(parts, n)
    if len(rows) > WIDER * max(map(len, parts)):
        yield Said(name, forms, True, rows)


def mentions(wanted: Sequence[frozenset[str]], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows say one of the forms of a word, a column for each word."""
    columns: dict[str, list[int]] = {}
    for i, forms in enumerate(wanted):
        for form in forms:
            columns.setdefault(form, []).append(i)
    codes, distinct = coded(texts)
    found = np.zeros((len(distinct), len(wanted)), bool)
    for row, text in enumerate(distinct):
        for word in in_order(text):
            if word in columns:
                found[row, columns[word]] = True
    marked: NDArray[np.bool_] = found[codes]
    return marked


def says_all(words_of: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which texts say all words of a phrase that say something, in any form; none where no word does."""
    asked = {lemma_of(word) for word in in_order(words_of)} - words("stop") - words("says nothing")
    if not asked:
        return np.zeros(len(texts), bool)
    return np.array([asked <= {lemma_of(word, asked) for word in in_order(text)} for text in texts], bool)


def in_order(text: str) -> list[str]:
    """The words of a text, in small letters."""
    found: list[str] = _WORD.findall(text[:READ].lower().translate(_MARKS))
    return found


def _column(matrix: csc_matrix, i: int) -> Rows:
    found: Rows = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
    return found


def _union(some: Sequence[Rows], n: int) -> Rows:
    if len(some) == 1:
        return some[0]
    mask = np.zeros(n, bool)
    mask[np.concatenate(some)] = True
    return places(mask)


def _lemmas(known: Mapping[str, int]) -> dict[str, list[str]]:
    """The forms that occur of each word, by its plainest form."""
    found: dict[str, list[str]] = {}
    for word in known:
        found.setdefault(lemma_of(word, known), []).append(word)
    return found


def lemma_of(word: str, known: Iterable[str] = ()) -> str:
    """The plainest form of a word: of "dogs" dog, of "surfing" surf where surf is known."""
    word = word.removesuffix("'s")
    return _lemma(word) or next((stem for stem in _stems(word) if stem in known), word)


@cache
def _lemma(word: str) -> str:
    one = singular(word)
    if one != word or one in words("participle noun"):  # a building is no form of "build"
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
