"""What can be said of the rows of a table: words of their texts, values, ranges, wider nouns, what is alike.

See `Concept`. None of what is said looks at whether a row failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.groups import groups_of
from weakspot.concepts.nouns import Nouns
from weakspot.concepts.same import joined
from weakspot.concepts.words import Rows, in_order, kinds_of, mentions, places, said_in
from weakspot.records import Column, Judged, Kind, Records
from weakspot.records.table import coded

__all__ = ["Concept", "Concepts", "concepts_of", "free_columns", "holds", "sources_of", "texts_of"]

#: A concept is of at least so many rows, and of at most this share of them.
LEAST, MOST = 5, 0.98
#: A column of texts with more words a row than this is free text; with fewer, its values are categories.
FREE: Final = 3.0
#: Numbers with at most so many different values are taken value by value; others are cut at quantiles.
VALUES: Final = 12
CUTS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
#: Hours from and before which it is night.
NIGHT: Final = (21, 6)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Found = Iterator[tuple[Concept, Rows]]


def concepts_of(
    judged: Judged,
    *,
    least: int = LEAST,
    wordnet: Nouns | None = None,
    ignored: Iterable[str] = (),
    shown: str = "",
) -> Concepts:
    """Every concept of the rows of a table.

    Args:
        least: Of at least so many rows.
        wordnet: Gives wider nouns, such as animal for dogs and cats; None for none.
        ignored: Columns of which nothing is said.
        shown: The column of lists that says what the row's picture shows; "" where there is none.
    """
    records, free, roles = judged.records, free_columns(judged, ignored=ignored), judged.roles
    silent = {*free, *ignored, roles.id, roles.image, roles.group, roles.score, *judged.used} - {roles.label}
    said = [column for column in records.columns.values() if column.name not in silent]
    found: list[tuple[Concept, Rows]] = []
    for column in said:
        label = column.name == roles.label
        found += _of_column(column, least, label=label, shown=column.name == shown)
        if label and column.kind is Kind.TEXT and wordnet is not None:
            found += _of_kinds(column, wordnet)
    texts = texts_of(records, free) if free else []
    for one in said_in(texts, least, wordnet) if free else ():
        found.append((Concept("", "mentions", one.name, one.forms, wider=one.wider), one.rows))
    found += list(joined(found, wordnet, len(records)))
    kept = [(c, rows) for c, rows in found if least <= len(rows) <= MOST * len(records)]
    for column in said:
        if column.kind is Kind.VECTOR:
            groups = groups_of(column, Concepts(tuple(c for c, _ in kept), _matrix(kept, len(records))))
            kept += [(c, rows) for c, rows in groups if least <= len(rows) <= MOST * len(records)]
    same: dict[bytes, list[int]] = {}
    for i, (_, rows) in enumerate(kept):
        same.setdefault(blake2b(rows.tobytes(), digest_size=16).digest(), []).append(i)
    kept = [
        (_named([kept[i][0] for i in alike], texts[int(rows[0])] if texts else ""), rows)
        for alike in same.values()
        for rows in [kept[alike[0]][1]]
    ]
    return Concepts(tuple(c for c, _ in kept), _matrix(kept, len(records)))


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
        holding = _Holding(records.column(name))
        for i, concept in enumerate(concepts):
            if concept.column == name and concept.test != "mentions":
                found[:, i] = holding(concept)
    return found


def sources_of(concepts: Iterable[Concept]) -> set[str]:
    """The columns that must be read to say which rows these concepts are of, besides free texts."""
    return {concept.column for concept in concepts if concept.test != "mentions"}


def free_columns(judged: Judged, *, ignored: Iterable[str] = ()) -> list[str]:
    """The columns whose words are taken: those that were named as texts, and other free texts."""
    roles, records = judged.roles, judged.records
    silent = {*ignored, roles.id, roles.image, roles.group, roles.label, *judged.used}
    texts = [c for c in records.columns.values() if c.kind is Kind.TEXT and c.name not in silent]
    found = dict.fromkeys([*roles.text, *(column.name for column in texts if _is_free(column))])
    return [name for name in found if name not in silent]


def texts_of(records: Records, columns: Sequence[str]) -> list[str]:
    """The free texts of each row in one, in small letters."""
    said = [records.column(name).texts() for name in columns]
    return [" ".join(part for part in parts if part).lower() for parts in zip(*said, strict=True)]


def _is_free(column: Column) -> bool:
    """Whether a column is free text rather than categories."""
    present = [value for value in column.values if value is not None]
    some = present[:: max(1, len(present) // 500)]
    return (
        bool(some)
        and float(np.mean([value.count(" ") + 1 for value in some])) >= FREE
        and (len(set(some)) > len(some) / 10)
    )


def _matrix(kept: Sequence[tuple[Concept, Rows]], n: int) -> csc_matrix:
    ends = np.cumsum([0, *(len(rows) for _, rows in kept)])
    indices = np.concatenate([rows for _, rows in kept]) if kept else np.zeros(0, np.int32)
    return csc_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(n, len(kept)))


def _named(alike: Sequence[Concept], text: str) -> Concept:
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
    every = in_order(text)
    start = end = next(i for i, word in enumerate(every) if word in first.forms)
    while start > 0 and every[start - 1] in said:
        start -= 1
    while end + 1 < len(every) and every[end + 1] in said:
        end += 1
    return replace(first, value=" ".join(every[start : end + 1])) if end > start else first


# -- columns of values ------------------------------------------------------------------------------


class _Divided(NamedTuple):
    """Rows by what a column says of them; a row is of several if it lists several."""

    rows: Rows
    codes: NDArray[np.int64]
    names: list[str]


def _of_column(column: Column, least: int, *, label: bool, shown: bool) -> Found:
    there, name = column.present(), column.name
    if column.kind is Kind.VECTOR:
        return
    if column.kind is Kind.FLAG:
        yield from _of_flags(name, column.values)
    elif column.kind is Kind.NUMBER:
        yield from _of_numbers(name, column.values, least, label=label)
    elif column.kind is Kind.DATE:
        yield from _of_dates(name, column.values, there, least)
    else:
        test = "shows" if shown else "lists" if column.kind is Kind.LIST else "is"
        for value, rows in _by_value(_divided(column), least):
            yield Concept(name, test, value), rows
    if not there.all() and there.any():
        yield Concept(name, "missing", ""), places(~there)


def _divided(column: Column) -> _Divided:
    """The rows of each value of texts, or of each item of lists."""
    rows = places(column.present())
    codes, values = coded(column.values[rows].tolist())
    if column.kind is not Kind.LIST:
        return _Divided(rows, codes, [str(value) for value in values])
    items = [dict.fromkeys(map(str, one)) for one in values]
    said, names = coded([item for one in items for item in one])
    ends = np.cumsum([0, *map(len, items)])
    lengths = np.diff(ends)[codes]
    # The items of a row lie in a row from where those of its list begin.
    inside = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _Divided(np.repeat(rows, lengths), said[np.repeat(ends[codes], lengths) + inside], names)


def _by_value(divided: _Divided, least: int) -> Iterator[tuple[str, Rows]]:
    """The rows of each value that has so many."""
    rows, codes, names = divided
    counts = np.bincount(codes, minlength=len(names))
    ends = np.cumsum(counts)
    ordered = rows[np.argsort(codes, kind="stable")]
    for code in np.flatnonzero(counts >= least).tolist():
        yield names[code], ordered[ends[code] - counts[code] : ends[code]]


def _of_kinds(column: Column, wordnet: Nouns) -> Found:
    for one in kinds_of(dict(_by_value(_divided(column), 1)), len(column.values), wordnet):
        yield Concept(column.name, "kind", one.name, one.forms, wider=True), one.rows


def _of_flags(name: str, values: NDArray[np.float64]) -> Found:
    for value, said in ((1.0, "yes"), (0.0, "no")):
        yield Concept(name, "flag", said), places(values == value)


def _of_numbers(name: str, values: NDArray[np.float64], least: int, *, label: bool) -> Found:
    """Value by value where there are few, and ranges; of labels that are whole numbers every value."""
    known = np.sort(values[np.isfinite(values)])
    distinct = np.unique(known)
    if set(distinct[:3]) <= {0.0, 1.0}:
        yield from _of_flags(name, values)
        return
    few = len(distinct) <= VALUES
    if few or (label and (distinct % 1 == 0).all()):
        rows = places(np.isfinite(values))
        codes = np.searchsorted(distinct, values[rows])
        for value, some in _by_value(_Divided(rows, codes, [_plain(one) for one in distinct]), least):
            yield Concept(name, "is", value), some
    bounds = distinct[1:] if few else np.unique([_rounded(one, known) for one in np.quantile(known, CUTS)])
    for bound in bounds if len(distinct) > 2 else ():
        yield Concept(name, "from", _plain(bound)), places(values >= bound)
        yield Concept(name, "below", _plain(bound)), places(values < bound)


def _of_dates(name: str, values: NDArray[Any], there: NDArray[np.bool_], least: int) -> Found:
    """Years, months, days of the week and parts of the day, as far as they differ; before and after a day."""
    rows = places(there)
    if not len(rows):
        return
    for test, part in _PARTS.items():
        kinds, codes = np.unique(part(values[rows]), return_inverse=True)
        if len(kinds) > 1:
            for value, some in _by_value(_Divided(rows, codes, kinds.tolist()), least):
                yield Concept(name, test, value), some
    days = np.sort(values[rows].astype("datetime64[D]"))
    cuts = np.unique(days[[int(cut * len(days)) for cut in CUTS]])
    for day in cuts[cuts > days[0]]:
        yield Concept(name, "since", str(day)), places(there & (values >= day))
        yield Concept(name, "before", str(day)), places(there & (values < day))


def _years(values: NDArray[Any]) -> NDArray[Any]:
    return _looked_up(values.astype("datetime64[Y]"), str)


def _months(values: NDArray[Any]) -> NDArray[Any]:
    return _looked_up(values.astype("datetime64[M]"), str)


def _weekdays(values: NDArray[Any]) -> NDArray[Any]:
    # The first of January 1970 was a Thursday.
    return _looked_up((values.astype("datetime64[D]").astype(np.int64) + 3) % 7, _WEEKDAYS.__getitem__)


def _times(values: NDArray[Any]) -> NDArray[Any]:
    hours = values.astype("datetime64[h]").astype(np.int64) % 24
    return np.where((hours >= NIGHT[0]) | (hours < NIGHT[1]), "night", "day")


def _looked_up(values: NDArray[Any], said: Callable[[Any], str]) -> NDArray[Any]:
    distinct, place = np.unique(values, return_inverse=True)
    return np.array([said(one) for one in distinct], object)[place]


#: What is said of dates, by test.
_PARTS: Final[Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]]] = {
    "year": _years,
    "month": _months,
    "weekday": _weekdays,
    "time": _times,
}


def _plain(number: float) -> str:
    """A number as text from which it can be read again."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _rounded(bound: float, known: NDArray[np.float64]) -> float:
    """A bound with as few digits as still separate about the same of the values, which are in order."""
    share = np.searchsorted(known, bound) / len(known)
    for digits in range(1, 12):
        near = float(f"{bound:.{digits}g}")
        if abs(np.searchsorted(known, near) / len(known) - share) <= 0.01:
            return near
    return bound


class _Holding:
    """Says of which rows of a column a concept is; what several concepts need is worked out once."""

    def __init__(self, column: Column) -> None:
        self.column, self.there = column, column.present()
        self._coded: tuple[NDArray[np.int64], list[Any]] | None = None
        self._parts: dict[str, NDArray[Any]] = {}

    def __call__(self, concept: Concept) -> NDArray[np.bool_]:
        test, value, values, kind = concept.test, concept.value, self.column.values, self.column.kind
        if test == "missing":
            return ~self.there
        if test == "group":
            found = np.zeros(len(values), bool)
            if concept.inside is not None:
                found[self.there] = concept.inside(values[self.there])
            return found
        if test in ("from", "since", "below", "before"):
            bound = np.datetime64(value) if kind is Kind.DATE else float(value)
            return np.asarray(values >= bound if test in ("from", "since") else values < bound, bool)
        if test == "flag" or kind is Kind.NUMBER:
            number = float(value == "yes") if test == "flag" else float(value)
            return np.asarray(values == number, bool)
        if test in _PARTS:
            if test not in self._parts:
                self._parts[test] = _PARTS[test](values)
            return np.asarray(self.there & (self._parts[test] == value), bool)
        if self._coded is None:
            self._coded = coded(values.tolist())
        codes, distinct = self._coded
        if test in ("lists", "shows"):
            among = [one is not None and value in map(str, one) for one in distinct]
        else:
            among = [one in concept.forms if test == "kind" else one == value for one in distinct]
        return np.array(among, bool)[codes]
