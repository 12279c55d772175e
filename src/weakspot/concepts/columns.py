"""What can be said of the rows of a table: words of their texts, values, ranges, wider nouns.

A concept is a predicate of a row that a person can read: its caption mentions a dog, its weather is rain, its
distance is below 0.2. None of them looks at whether the row failed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.records import Column, Judged, Kind, Records
from weakspot.text.lexicon import lines, singular, verb_forms, words

#: A concept is of at least so many rows, and of at most this share of them.
LEAST, MOST = 5, 0.98
#: A column of texts with more words a row than this is free text; with fewer, its values are categories.
FREE: Final = 3.0
#: Numbers with at most so many different values are taken value by value; others are cut at quantiles.
VALUES: Final = 12
CUTS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
#: How a test is said of a column.
_SAID: Final = {"is": "is", "from": "at least", "below": "below", "lists": "has"}
_WORD: Final = re.compile(r"[a-z][a-z'’-]*[a-z]|[a-z]|\d+")


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that is so of some rows.

    Attributes:
        column: The column it is about; "" for all texts together.
        test: "mentions", "is", "from", "below" or "lists".
        value: The word, the value, or the bound as text.
        forms: The words that count as this one, where it is mentioned.
        wider: It covers several nouns, as "animal" does.
    """

    column: str
    test: str
    value: str
    forms: frozenset[str] = frozenset()
    wider: bool = False

    @property
    def name(self) -> str:
        """What identifies it in a table."""
        return f"{self.column} {self.test} {self.value}".strip()

    @property
    def dear(self) -> float:
        """How much more it must explain than a plain word or value, for being less plain to people."""
        return 2.0 if self.wider else 1.0 if (self.test, self.value) == ("is", "no") else 0.0

    @property
    def phrase(self) -> str:
        """As people read it."""
        value = self.value
        if self.test == "mentions":
            return f"any {value}" if self.wider else f"“{value}”"
        column = self.column.replace("_", " ")
        if self.test == "is" and value in ("yes", "no"):
            return column if value == "yes" else f"not {column}"
        return f"{column} {_SAID[self.test]} {value}"


class Concepts(NamedTuple):
    """The concepts of a table, and which rows they are of: a column for each concept."""

    concepts: tuple[Concept, ...]
    rows: csc_matrix


def concepts_of(
    judged: Judged, *, least: int = LEAST, wordnet: Any = None, ignored: Iterable[str] = ()
) -> Concepts:
    """Every concept of the rows of a table.

    Args:
        least: Of at least so many rows.
        wordnet: Gives wider nouns, such as animal for dogs and cats; None for none.
        ignored: Columns of which nothing is said.
    """
    records, free = judged.records, free_columns(judged, ignored=ignored)
    roles = judged.roles
    silent = {*free, *ignored, roles.id, roles.image, roles.group, roles.score, *judged.used} - {roles.label}
    found: list[tuple[Concept, NDArray[np.int64]]] = []
    for column in records.columns.values():
        if column.name not in silent and column.kind is not Kind.VECTOR:
            found += _of_column(column)
    texts = texts_of(records, free) if free else []
    if free:
        found += list(_of_texts(texts, least, wordnet))
    kept = [(c, rows) for c, rows in found if least <= len(rows) <= MOST * len(records)]
    same: dict[bytes, list[int]] = {}
    for i, (_, rows) in enumerate(kept):
        same.setdefault(rows.tobytes(), []).append(i)
    kept = [(_named([kept[i][0] for i in alike], texts), kept[alike[0]][1]) for alike in same.values()]
    return Concepts(tuple(c for c, _ in kept), _matrix([rows for _, rows in kept], len(records)))


def holds(concept: Concept, records: Records, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows of another table a concept is of; `texts` are the free texts that it may be said in."""
    if concept.test == "mentions":
        lemmas = concept.forms
        return np.array([not lemmas.isdisjoint(_words(text)) for text in texts], bool)
    column = records.column(concept.column)
    for same, rows in _of_column(column, only=concept):
        if same == concept:
            mask = np.zeros(len(records), bool)
            mask[rows] = True
            return mask
    return np.zeros(len(records), bool)


def _is_free(column: Column) -> bool:
    """Whether a column is free text rather than categories."""
    present = [value for value in column.values if value is not None]
    some = present[:: max(1, len(present) // 500)]
    return (
        bool(some)
        and float(np.mean([value.count(" ") + 1 for value in some])) >= FREE
        and (len(set(some)) > len(some) / 10)
    )


def _matrix(rows: Sequence[NDArray[np.int64]], n: int) -> csc_matrix:
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows) if rows else np.zeros(0, np.int64)
    return csc_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(n, len(rows)))


# -- columns of values ------------------------------------------------------------------------------


def _of_column(column: Column, *, only: Concept | None = None) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    there = column.present()
    name = column.name
    if column.kind is Kind.FLAG:
        for value, said in ((1.0, "yes"), (0.0, "no")):
            yield Concept(name, "is", said), np.flatnonzero(there & (column.values == value))
    elif column.kind is Kind.NUMBER:
        yield from _of_numbers(name, column.values, there, only)
    elif column.kind is Kind.DATE:
        yield from _of_dates(name, column.values, there)
    elif column.kind is Kind.LIST:
        members: dict[str, list[int]] = {}
        for row in np.flatnonzero(there):
            for item in dict.fromkeys(column.values[row]):
                members.setdefault(str(item), []).append(int(row))
        yield from ((Concept(name, "lists", item), np.array(rows)) for item, rows in members.items())
    else:
        yield from _of_values(name, column.values, there)
    if not there.all() and there.any():
        yield Concept(name, "is", "missing"), np.flatnonzero(~there)


def _of_values(
    name: str, values: NDArray[Any], there: NDArray[np.bool_]
) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    places = np.flatnonzero(there)
    members: dict[str, list[int]] = {}
    for row in places:
        members.setdefault(str(values[row]), []).append(int(row))
    for value, rows in members.items():
        yield Concept(name, "is", value), np.array(rows)


def _of_numbers(
    name: str, values: NDArray[np.float64], there: NDArray[np.bool_], only: Concept | None
) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    if only is not None and only.test in ("from", "below"):
        bound = float(only.value)
        inside = values >= bound if only.test == "from" else values < bound
        yield only, np.flatnonzero(there & inside)
        return
    known = values[there]
    distinct = np.unique(known)
    if set(distinct) <= {0.0, 1.0}:
        for value, said in ((1.0, "yes"), (0.0, "no")):
            yield Concept(name, "is", said), np.flatnonzero(there & (values == value))
        return
    if len(distinct) <= VALUES or only is not None:
        for value in distinct:
            yield Concept(name, "is", _plain(value)), np.flatnonzero(there & (values == value))
        bounds = distinct[1:]
    else:
        bounds = np.unique([_rounded(one, known) for one in np.quantile(known, CUTS)])
    for bound in bounds if len(distinct) > 2 else ():
        yield Concept(name, "from", _plain(bound)), np.flatnonzero(there & (values >= bound))
        yield Concept(name, "below", _plain(bound)), np.flatnonzero(there & (values < bound))


def _of_dates(
    name: str, values: NDArray[Any], there: NDArray[np.bool_]
) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    """Months, days of the week and parts of the day, as far as they differ."""
    parts: dict[str, dict[str, list[int]]] = {}
    for row in np.flatnonzero(there):
        when: datetime = values[row].astype("datetime64[s]").item()
        night = "night" if when.hour < 6 or when.hour >= 21 else "day"
        said = {"": f"{when:%Y-%m}", "year of ": f"{when:%Y}", "weekday of ": f"{when:%A}", "time of ": night}
        for part, value in said.items():
            parts.setdefault(part, {}).setdefault(value, []).append(int(row))
    for part, groups in parts.items():
        if len(groups) > 1:
            for value, rows in groups.items():
                yield Concept(f"{part}{name}", "is", value), np.array(rows)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:.12g}"


def _rounded(bound: float, values: NDArray[np.float64]) -> float:
    """A bound with as few digits as still separate about the same values."""
    share = float(np.mean(values < bound))
    for digits in range(1, 12):
        near = float(f"{bound:.{digits}g}")
        if abs(float(np.mean(values < near)) - share) <= 0.01:
            return near
    return bound


# -- words of texts ---------------------------------------------------------------------------------


def texts_of(records: Records, columns: Sequence[str]) -> list[str]:
    """The free texts of each row in one, in small letters."""
    said = [records.column(name).texts() for name in columns]
    return [" ".join(part for part in parts if part).lower() for parts in zip(*said, strict=True)]


def free_columns(judged: Judged, *, ignored: Iterable[str] = ()) -> list[str]:
    """The columns whose words are taken: those that were named as texts, and other free texts."""
    roles, records = judged.roles, judged.records
    silent = {*ignored, roles.id, roles.image, roles.group, roles.label, *judged.used}
    texts = [c for c in records.columns.values() if c.kind is Kind.TEXT and c.name not in silent]
    found = dict.fromkeys([*roles.text, *(column.name for column in texts if _is_free(column))])
    return [name for name in found if name not in silent]


def _of_texts(texts: Sequence[str], least: int, wordnet: Any) -> Iterator[tuple[Concept, NDArray[np.int64]]]:
    rows_of: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        for word in _words(text):
            rows_of.setdefault(word, []).append(row)
    lemmas = _lemmas(rows_of)
    members: dict[str, frozenset[int]] = {}
    for lemma, forms in lemmas.items():
        rows = frozenset().union(*(rows_of[form] for form in forms))
        if len(rows) >= least:
            members[lemma] = rows
            yield Concept("", "mentions", lemma, frozenset(forms)), np.array(sorted(rows))
    if wordnet is not None:
        for name, some in _wider(members, wordnet).items():
            rows = frozenset().union(*(members[lemma] for lemma in some))
            if len(rows) > 1.1 * max(len(members[lemma]) for lemma in some):
                every = frozenset(form for lemma in some for form in lemmas[lemma])
                yield Concept("", "mentions", name, every, wider=True), np.array(sorted(rows))


def _named(alike: Sequence[Concept], texts: Sequence[str]) -> Concept:
    """One of the concepts that are of the same rows; words that always stand side by side are said so."""
    first = alike[0]
    said = {form: one for one in alike if one.test == "mentions" and not one.wider for form in one.forms}
    if len(said) < 2 or first.test != "mentions" or first.wider:
        return first
    some = next(text for text in texts if not first.forms.isdisjoint(_words(text)))
    every = _WORD.findall(some)
    at = next(i for i, word in enumerate(every) if word in first.forms)
    start = end = at
    while start > 0 and every[start - 1] in said:
        start -= 1
    while end + 1 < len(every) and every[end + 1] in said:
        end += 1
    return replace(first, value=" ".join(every[start : end + 1])) if end > start else first


def _words(text: str) -> set[str]:
    return {
        word for word in _WORD.findall(text.lower().replace("’", "'")) if word not in words("says nothing")
    }


def _lemmas(known: Mapping[str, Sequence[int]]) -> dict[str, list[str]]:
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


def _wider(members: Mapping[str, frozenset[int]], wordnet: Any) -> dict[str, list[str]]:
    """Wider nouns that cover at least two of these words, by their usual meaning."""
    general = {" ".join(line) for line in lines("too general")}
    found: dict[str, list[str]] = {}
    for lemma in members:
        senses = wordnet.senses(lemma) if lemma.isalpha() and len(lemma) > 2 else []
        if not senses:
            continue
        kinds = [above.name for above, _ in wordnet.above(senses[0])]
        for name in kinds if "physical entity" in kinds else ():
            if name not in general:
                found.setdefault(name, []).append(lemma)
    counted = Counter({name: len(some) for name, some in found.items()})
    return {
        name: [*some, *([name] if name in members and name not in some else [])]
        for name, some in found.items()
        if counted[name] >= 2
    }
