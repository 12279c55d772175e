"""What can be said of the rows of a table: words of their texts, values, ranges, wider nouns.

A concept is a predicate of a row that a person can read: its caption mentions a dog, its weather is rain, its
distance is below 0.2. None of them looks at whether the row failed.
"""

from __future__ import annotations

from calendar import day_name
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.words import Rows, in_order, mentions, places, said_in
from weakspot.records import Column, Judged, Kind, Records
from weakspot.records.table import coded

#: A concept is of at least so many rows, and of at most this share of them.
LEAST, MOST = 5, 0.98
#: A column of texts with more words a row than this is free text; with fewer, its values are categories.
FREE: Final = 3.0
#: Numbers with at most so many different values are taken value by value; others are cut at quantiles.
VALUES: Final = 12
CUTS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
#: How a test is said of a column.
_SAID: Final = {"is": "is", "from": "at least", "below": "below", "lists": "has"}


@dataclass(frozen=True, slots=True)
class Concept:
    """Something that is so of some rows.

    Attributes:
        column: The column it is about; "" for all texts together.
        test: "mentions", "is", "from", "below" or "lists".
        value: The word, the value, or the bound as text.
        forms: The words that count as this one, where it is mentioned.
        wider: It covers several nouns, as "animal" does.
        bound: Of numbers, the value or the bound, with all of its digits.
    """

    column: str
    test: str
    value: str
    forms: frozenset[str] = frozenset()
    wider: bool = False
    bound: float = 0.0

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
    found: list[tuple[Concept, Rows]] = []
    for column in records.columns.values():
        if column.name not in silent and column.kind is not Kind.VECTOR:
            found += _of_column(column, least)
    texts = texts_of(records, free) if free else []
    if free:
        found += list(_of_texts(texts, least, wordnet))
    kept = [(c, rows) for c, rows in found if least <= len(rows) <= MOST * len(records)]
    same: dict[bytes, list[int]] = {}
    for i, (_, rows) in enumerate(kept):
        same.setdefault(blake2b(rows.tobytes(), digest_size=16).digest(), []).append(i)
    kept = [
        (_named([kept[i][0] for i in alike], texts[int(rows[0])] if texts else ""), rows)
        for alike in same.values()
        for rows in [kept[alike[0]][1]]
    ]
    return Concepts(tuple(c for c, _ in kept), _matrix([rows for _, rows in kept], len(records)))


def holds(concepts: Sequence[Concept], records: Records, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows of another table each concept is of, a column for each.

    Args:
        texts: The free texts of these rows, as `texts_of` gives them, where words are asked for.
    """
    found = np.zeros((len(records), len(concepts)), bool)
    mentioned = [i for i, concept in enumerate(concepts) if concept.test == "mentions"]
    if mentioned:
        found[:, mentioned] = mentions([concepts[i].forms for i in mentioned], texts)
    for name in dict.fromkeys(concept.column for concept in concepts if concept.test != "mentions"):
        column, part = _column_of(name, records)
        there, divided = column.present(), None
        for i, concept in enumerate(concepts):
            if concept.column != name or concept.test == "mentions":
                continue
            if concept.test in ("from", "below"):
                more = column.values >= concept.bound
                found[:, i] = there & (more if concept.test == "from" else ~more)
            elif concept.value == "missing":
                found[:, i] = ~there
            elif column.kind is Kind.NUMBER:
                found[:, i] = column.values == concept.bound
            else:
                if divided is None:
                    divided = next(one for one in _divided(column, there) if one.part == part)
                if concept.value in divided.names:
                    found[divided.rows[divided.codes == divided.names.index(concept.value)], i] = True
    return found


def sources_of(concepts: Iterable[Concept], records: Records) -> set[str]:
    """The columns that must be read to say which rows these concepts are of, besides free texts."""
    return {_column_of(one.column, records)[0].name for one in concepts if one.test != "mentions"}


def _column_of(name: str, records: Records) -> tuple[Column, str]:
    """The column that a concept is about, and which part of its dates."""
    if name not in records.columns:
        for part in _PARTS:
            if part and name.startswith(part) and name.removeprefix(part) in records.columns:
                return records.columns[name.removeprefix(part)], part
    return records.column(name), ""


def _is_free(column: Column) -> bool:
    """Whether a column is free text rather than categories."""
    present = [value for value in column.values if value is not None]
    some = present[:: max(1, len(present) // 500)]
    return (
        bool(some)
        and float(np.mean([value.count(" ") + 1 for value in some])) >= FREE
        and (len(set(some)) > len(some) / 10)
    )


def _matrix(rows: Sequence[Rows], n: int) -> csc_matrix:
    ends = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows) if rows else np.zeros(0, np.int32)
    return csc_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(n, len(rows)))


# -- columns of values ------------------------------------------------------------------------------


class _Divided(NamedTuple):
    """Rows by what a column says of them, or a part of its dates; a row is of several if it lists several."""

    part: str
    rows: Rows
    codes: NDArray[np.int64]
    names: list[str]


def _of_column(column: Column, least: int) -> Iterator[tuple[Concept, Rows]]:
    there, name = column.present(), column.name
    if column.kind is Kind.NUMBER:
        yield from _of_numbers(name, column.values, there)
    else:
        test = "lists" if column.kind is Kind.LIST else "is"
        for part, rows, codes, names in _divided(column, there):
            if len(names) > 1 or column.kind is not Kind.DATE:
                for code, some in _by_code(rows, codes, len(names), least):
                    yield Concept(f"{part}{name}", test, names[code]), some
    if not there.all() and there.any():
        yield Concept(name, "is", "missing"), places(~there)


def _divided(column: Column, there: NDArray[np.bool_]) -> Iterator[_Divided]:
    rows = places(there)
    values = column.values[rows]
    if column.kind is Kind.FLAG:
        yield _Divided("", rows, (values == 0).astype(np.int64), ["yes", "no"])
    elif column.kind is Kind.DATE:
        yield from (_Divided(part, rows, *coded(divide(values))) for part, divide in _PARTS.items())
    elif column.kind is Kind.LIST:
        codes, lists = coded(values.tolist())
        items = [dict.fromkeys(map(str, one)) for one in lists]
        said, names = coded([item for one in items for item in one])
        ends = np.cumsum([0, *map(len, items)])
        lengths = np.diff(ends)[codes]
        # The items of a row lie in a row from where those of its list begin.
        inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        yield _Divided("", np.repeat(rows, lengths), said[np.repeat(ends[codes], lengths) + inside], names)
    else:
        yield _Divided("", rows, *coded(values.tolist()))


def _by_code(rows: Rows, codes: NDArray[np.int64], size: int, least: int) -> Iterator[tuple[int, Rows]]:
    """The rows of each code that has so many."""
    counts = np.bincount(codes, minlength=size)
    ends = np.cumsum(counts)
    ordered = rows[np.argsort(codes, kind="stable")]
    for code in np.flatnonzero(counts >= least).tolist():
        yield code, ordered[ends[code] - counts[code] : ends[code]]


def _of_numbers(
    name: str, values: NDArray[np.float64], there: NDArray[np.bool_]
) -> Iterator[tuple[Concept, Rows]]:
    known = np.sort(values[there])
    distinct = np.unique(known)
    if set(distinct[:3]) <= {0.0, 1.0}:
        for value, said in ((1.0, "yes"), (0.0, "no")):
            yield Concept(name, "is", said, bound=value), places(values == value)
        return
    bounds = distinct[1:]
    if len(distinct) <= VALUES:
        for value in distinct:
            yield Concept(name, "is", _plain(value), bound=float(value)), places(values == value)
    else:
        bounds = np.unique([_rounded(one, known) for one in np.quantile(known, CUTS)])
    for bound in bounds if len(distinct) > 2 else ():
        more, plain = values >= bound, _plain(bound)
        yield Concept(name, "from", plain, bound=float(bound)), places(there & more)
        yield Concept(name, "below", plain, bound=float(bound)), places(there & ~more)


def _months(values: NDArray[Any]) -> list[str]:
    return _looked_up(values.astype("datetime64[M]"), str)


def _years(values: NDArray[Any]) -> list[str]:
    return _looked_up(values.astype("datetime64[Y]"), str)


def _weekdays(values: NDArray[Any]) -> list[str]:
    return _looked_up((values.astype("datetime64[D]").astype(np.int64) + 3) % 7, lambda day: day_name[day])


def _times(values: NDArray[Any]) -> list[str]:
    hours = values.astype("datetime64[h]").astype(np.int64) % 24
    return _looked_up((hours < 6) | (hours >= 21), lambda dark: "night" if dark else "day")


def _looked_up(values: NDArray[Any], said: Callable[[Any], str]) -> list[str]:
    distinct, place = np.unique(values, return_inverse=True)
    names: list[str] = np.array([said(one) for one in distinct], object)[place].tolist()
    return names


#: What is said of dates: the month, the year, the day of the week, the part of the day.
_PARTS: Final[Mapping[str, Callable[[NDArray[Any]], list[str]]]] = {
    "": _months,
    "year of ": _years,
    "weekday of ": _weekdays,
    "time of ": _times,
}


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else f"{number:.12g}"


def _rounded(bound: float, known: NDArray[np.float64]) -> float:
    """A bound with as few digits as still separate about the same of the values, which are in order."""
    share = np.searchsorted(known, bound) / len(known)
    for digits in range(1, 12):
        near = float(f"{bound:.{digits}g}")
        if abs(np.searchsorted(known, near) / len(known) - share) <= 0.01:
            return near
    return bound


# -- free texts -------------------------------------------------------------------------------------


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


def _of_texts(texts: Sequence[str], least: int, wordnet: Any) -> Iterator[tuple[Concept, Rows]]:
    for said in said_in(texts, least, wordnet):
        yield Concept("", "mentions", said.name, said.forms, wider=said.wider), said.rows


def _named(alike: Sequence[Concept], text: str) -> Concept:
    """One of the concepts that are of the same rows; words that always stand side by side are said so.

    Args:
        text: Of one of these rows.
    """
    first = alike[0]
    said = {form: one for one in alike if one.test == "mentions" and not one.wider for form in one.forms}
    if len(said) < 2 or first.test != "mentions" or first.wider:
        return first
    every = in_order(text)
    at = next(i for i, word in enumerate(every) if word in first.forms)
    start = end = at
    while start > 0 and every[start - 1] in said:
        start -= 1
    while end + 1 < len(every) and every[end + 1] in said:
        end += 1
    return replace(first, value=" ".join(every[start : end + 1])) if end > start else first
