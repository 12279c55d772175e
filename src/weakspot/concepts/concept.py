"""One thing that is so of some rows of a table, and how it is said.

It is a predicate of a row that a person can read: its caption mentions a dog, its weather is rain, its
distance is below 0.2. None looks at whether the row failed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.text.lexicon import singular
from weakspot.text.plain import one_line

#: Characters of a value that are said.
SAID: Final = 80
#: What "near" says, with its word and its share in per cent.
NEAR: Final = re.compile(r"looks like “(.+)” \(nearest (\d+) %\)")
_VERB: Final = re.compile(r"(is|was|are|has|have|contains) (.+)", re.IGNORECASE)
#: Not by the machine's own language.
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_DENIED: Final = {"has": "has no", "have": "have no", "contains": "contains no"}

#: Which rows of vectors are of a concept.
Inside = Callable[[NDArray[np.float32]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that is so of some rows.

    Attributes:
        column: The column it is about; "" for all texts together.
        test: "mentions", "is", "kind", "flag", "missing", "from", "below", "lists", "shows", "near", "group",
            or of dates "since", "before", "year", "month", "weekday" and "time".
        value: The word, the value, or the bound as text.
        forms: The words, or the values, that count as this one.
        wider: It covers several nouns, as "animal" does.
        inside: Of a group of vectors: which ones lie in it.
        share: Of "near": it is of this share of the pictures, those that look most like its value.
    """

    column: str
    test: str
    value: str
    forms: frozenset[str] = frozenset()
    wider: bool = False
    inside: Inside | None = field(default=None, compare=False, repr=False)
    share: float = 0.0

    @property
    def name(self) -> str:
        """What identifies it in a table."""
        share = f" {self.share:.2f}" if self.test == "near" else ""
        return f"{self.column} {self.test} {self.value}{share}".strip()

    @property
    def dear(self) -> float:
        """How much more it must explain than a plain word or value, for being less plain to people."""
        if self.wider or self.test == "group":
            return 2.0
        return 1.0 if (self.test, self.value) == ("flag", "no") else 0.0

    @property
    def phrase(self) -> str:
        """As people read it: “dog”, "weather is rain", "distance is below 0.2", "shows a beach"."""
        column, value = one_line(self.column.replace("_", " ")), _short(self.value)
        say = _PHRASES.get(self.test)
        if say is not None:
            return say(column, value)
        if self.test == "mentions":
            return f"any {value}" if self.wider else f"“{value}”"
        if self.test == "shows":
            return f"shows {value}"
        if self.test == "near":
            return f"looks like “{value}” (nearest {100 * self.share:.0f} %)"
        return f"{column} is {f'“{value}”' if value == 'missing' else value}"


class Concepts(NamedTuple):
    """The concepts of a table, and which rows they are of: a column for each concept."""

    concepts: tuple[Concept, ...]
    rows: csc_matrix


def _short(text: str) -> str:
    line = one_line(text[: 4 * SAID])
    return line if len(line) <= SAID else f"{line[: SAID - 1].rstrip()}…"


def _number(text: str) -> str:
    """A number with as many digits as people read; a column may hold 0.30000001192092896."""
    return text if len(text) <= 12 else f"{float(text):.6g}"


def _flag(column: str, value: str) -> str:
    found = _VERB.fullmatch(column)
    if found is None:
        return f"{column} is {value}"
    if value == "yes":
        return column
    verb = found[1].lower()
    return f"{_DENIED.get(verb, f'{verb} not')} {found[2]}"


def _lists(column: str, value: str) -> str:
    last = column.split(" ")[-1].lower()
    return f"{column} {'include' if singular(last) != last else 'includes'} {value}"


def _group(column: str, value: str) -> str:
    return f"{column} group {value}" if value.isdigit() else f"{column} group: {value}"


_PHRASES: Final[dict[str, Callable[[str, str], str]]] = {
    "flag": _flag,
    "missing": lambda column, _: f"{column} is missing",
    "kind": lambda column, value: f"{column} is any kind of {value}",
    "from": lambda column, value: f"{column} is {_number(value)} or more",
    "below": lambda column, value: f"{column} is below {_number(value)}",
    "since": lambda column, value: f"{column} is {value} or later",
    "before": lambda column, value: f"{column} is before {value}",
    "year": lambda column, value: f"{column} is in {value}",
    "month": lambda column, value: f"{column} is in {_MONTHS[int(value[-2:]) - 1]} {value[:-3]}",
    "weekday": lambda column, value: f"{column} is on a {value}",
    "time": lambda column, value: f"{column} is {'at night' if value == 'night' else 'in the daytime'}",
    "lists": _lists,
    "group": _group,
}
