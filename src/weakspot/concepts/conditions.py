"""Conditions as people and language models write them, read as concepts of a table.

"weather is rain", "distance is below 0.2", "the text says snow": what a row is asked for must be something
that can be looked up in it. A condition that names no column, no value that occurs and no word that rows say
is none, however true it may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from math import isfinite
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.words import in_order, lemma_of
from weakspot.core import WeakspotError
from weakspot.records import Kind, Records
from weakspot.text.lexicon import words
from weakspot.text.llm_answers import one_line, quoted

#: Columns that are told of, and values of each.
COLUMNS: Final = 24
VALUES: Final = 8
#: Characters of a row that are told, and of a value.
TOLD: Final = 280
VALUE: Final = 60

#: Tests that cover several values; the values themselves say more of a row.
_COVERING: Final = ("from", "below", "since", "before", "group", "kind")
_NO: Final = ("flag", "no")

_JOINED: Final = re.compile(r"\s*(?:;|&&?|\.\s|,?\s+and\s+)\s*", re.IGNORECASE)
_SAYS: Final = re.compile(
    r"(?:it|the|this|an?|row|text|caption|picture|image|photo|input)?\s*"
    r"(?:text|caption|picture|image|photo|row|input)?\s*"
    r"(?:that\s+)?(?:says?|mentions?|contains?|includes?|shows?|has|with|text:)\s+(?:the\s+words?\s+)?(.+)",
    re.IGNORECASE,
)
_NUMBER: Final = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
#: What is said of a number, the longer words first; and whether it is a lower bound, and whether it is in.
_BOUNDS: Final = tuple(
    (re.compile(rf"\s*(?:is\s+|are\s+|=\s*)?{form.replace('N', _NUMBER)}\s*", re.IGNORECASE), lower, inside)
    for form, lower, inside in (
        (r"(?:at least|>=|from)\s*N", True, True),
        (r"N\s+or\s+(?:more|above|larger|greater|higher)", True, True),
        (r"(?:at most|<=|up to)\s*N", False, True),
        (r"N\s+or\s+(?:less|below|smaller|lower|fewer)", False, True),
        (r"(?:below|under|less than|lower than|smaller than|fewer than|<)\s*N", False, False),
        (r"(?:above|over|more than|greater than|higher than|larger than|>)\s*N", True, False),
    )
)
_START: Final = re.compile(r"(?:(?:if|when|where|the)\s+)+", re.IGNORECASE)
_IS: Final = re.compile(r"\s*(?:is|are|was|equals?|includes?|==?|:)\s*(?!not\b)(.+)", re.IGNORECASE)


class Conditions:
    """Reads conditions on the rows of a table.

    Args:
        records: The rows themselves, so that a number may be cut where nobody has cut it yet.
        silent: Columns of which nothing may be said.
    """

    def __init__(
        self, concepts: Sequence[Concept], records: Records | None = None, *, silent: Sequence[str] = ()
    ) -> None:
        self.concepts, self.records, self._silent = tuple(concepts), records, frozenset(silent)
        self._by_phrase: dict[str, Concept] = {}
        self._by_form: dict[str, Concept] = {}
        for one in self.concepts:
            self._by_phrase.setdefault(_plain(one.phrase), one)
            if one.test == "flag" and one.value == "yes":
                self._by_phrase.setdefault(_plain(one.column), one)
            if one.test == "mentions" and not one.wider:
                for form in (*sorted(one.forms), *in_order(one.value)):
                    self._by_form.setdefault(form, one)

    def read(self, text: str, *, most: int) -> tuple[Concept, ...]:
        """What must hold together; () where it cannot be looked up, or is of more than `most` concepts."""
        line = one_line(text).strip("\"'“” .")
        whole = self._part(line)
        parts = [whole] if whole else [self._part(part) for part in _JOINED.split(line) if part.strip()]
        found = tuple(dict.fromkeys(one for part in parts for one in part))
        return found if all(parts) and 0 < len(found) <= most else ()

    def _part(self, text: str) -> tuple[Concept, ...]:
        text = text[match.end() :] if (match := _START.match(text)) else text
        if known := self._by_phrase.get(_plain(text)):
            return (known,)
        for name in self._columns:
            start = _plain_column(name)
            if _plain_column(text).startswith(start):
                rest = text[len(start) :]
                found = self._of_column(name, rest)
                if found is not None or _IS.fullmatch(rest):
                    return () if found is None else (found,)
        said = _SAYS.fullmatch(text)
        return self._words(said[1] if said else text)

    @cached_property
    def _columns(self) -> list[str]:
        """Longer names first: "text length" before "text"."""
        named = dict.fromkeys(one.column for one in self.concepts if one.column)
        if self.records is not None:
            numbers = [c.name for c in self.records.columns.values() if c.kind is Kind.NUMBER]
            named |= dict.fromkeys(name for name in numbers if name not in self._silent)
        return sorted(named, key=lambda name: -len(name))

    def _of_column(self, name: str, rest: str) -> Concept | None:
        for pattern, lower, inside in _BOUNDS:
            if match := pattern.fullmatch(rest):
                return self._bound(name, float(match[1]), lower=lower, inside=inside)
        value = _IS.fullmatch(rest)
        if value is None:
            return None
        wanted = _plain(value[1])
        own = [one for one in self.concepts if one.column == name]
        return next(
            (one for one in own if one.test not in ("from", "below") and _plain(one.value) == wanted), None
        )

    def _bound(self, name: str, bound: float, *, lower: bool, inside: bool) -> Concept | None:
        """Numbers from a bound, or below it; a bound that lies on the other side moves to the next value."""
        if self.records is None or name in self._silent or not isfinite(bound):
            return None
        try:
            column = self.records.column(name)
        except WeakspotError:
            return None
        if column.kind is not Kind.NUMBER:
            return None
        if lower != inside:
            values: NDArray[np.float64] = column.values
            above = values[np.isfinite(values) & (values > bound)]
            if not len(above):
                return None
            bound = float(above.min())
        value = str(int(bound)) if bound.is_integer() else repr(bound)
        return Concept(name, "from" if lower else "below", value)

    def _words(self, text: str) -> tuple[Concept, ...]:
        """Every word that says something, as far as rows say it; () if one of them is said by none."""
        silent = words("stop") | words("says nothing")
        asked = [word for word in in_order(text) if word not in silent]
        found = [
            self._by_form.get(word) or self._by_form.get(lemma_of(word, self._by_form)) for word in asked
        ]
        known = [one for one in found if one is not None]
        return tuple(dict.fromkeys(known)) if len(known) == len(found) else ()


def columns_in_words(concepts: Sequence[Concept], records: Records | None = None) -> str:
    """The columns with some of their values, in a line: what conditions may be about."""
    values: dict[str, list[str]] = {}
    for one in concepts:
        if one.column and one.test not in _COVERING:
            values.setdefault(one.column, []).append(one.value or one.test)
    told = []
    for name, some in values.items():  # names and values are data, too
        listed = ", ".join(quoted(value[:VALUE]) for value in some[:VALUES])
        told.append(f"{quoted(name[:VALUE])} ({listed}{', …' if len(some) > VALUES else ''})")
    for name in dict.fromkeys(one.column for one in concepts if one.test in ("from", "below")):
        if name not in values and records is not None:
            known = records.column(name).values
            told.append(f"{quoted(name[:VALUE])} ({np.nanmin(known):.4g} to {np.nanmax(known):.4g})")
    return "; ".join(told[:COLUMNS])


def rows_in_words(
    concepts: Concepts, texts: Sequence[str], rows: Sequence[int], records: Records | None = None
) -> Iterator[str]:
    """Rows as a line each: what their columns say, then their text."""
    matrix = concepts.rows.tocsr()
    telling = [
        one.phrase if one.column and one.test not in _COVERING and (one.test, one.value) != _NO else ""
        for one in concepts.concepts
    ]
    cut = dict.fromkeys(one.column for one in concepts.concepts if one.test == "from")
    numbers = [] if records is None else [records.column(name) for name in cut]
    for row in rows:
        own = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        said = [telling[i] for i in own if telling[i]][:COLUMNS]
        for column in numbers:
            if column.kind is Kind.NUMBER and np.isfinite(column.values[row]):
                said.append(f"{column.name} is {column.values[row]:.4g}")
        if texts[row]:
            said.append(f"text: {texts[row]}")
        yield one_line("; ".join(dict.fromkeys(said)))[:TOLD]


def _plain(text: str) -> str:
    """A phrase without case, quotes, underscores and what stands around it."""
    text = re.sub(r"[\"'“”]", "", text.replace("_", " ")).strip(" .:")
    return " ".join(text.casefold().split())


def _plain_column(text: str) -> str:
    return text.replace("_", " ").casefold()
