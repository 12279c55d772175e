"""What can be said of the rows of a table: words of their texts, values, ranges, wider nouns, what is alike.

See `Concept`. None of what is said looks at whether a row failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.groups import groups_of
from weakspot.concepts.words import Nouns, mentions, named, of_labels, of_texts, texts_of
from weakspot.records import Column, Judged, Kind, Records

__all__ = ["Concept", "Concepts", "concepts_of", "free_columns", "holds", "texts_of"]

#: A concept is of at least so many rows, and of at most this share of them.
LEAST, MOST = 5, 0.98
#: A column of texts with more words a row than this is free text; with fewer, its values are categories.
FREE: Final = 3.0
#: Numbers with at most so many different values are taken value by value; others are cut at quantiles.
VALUES: Final = 12
CUTS: Final = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
#: Hours that are night.
NIGHT: Final = (21, 6)
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Rows = NDArray[np.int64]
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
        found += _of_column(column, label=column.name == roles.label, shown=column.name == shown)
        if column.name == roles.label and column.kind is Kind.TEXT and wordnet is not None:
            found += of_labels(column.name, _members(column), wordnet)
    texts = texts_of(records, free) if free else []
    if free:
        found += of_texts(texts, least, wordnet)
    kept = [(c, rows) for c, rows in found if least <= len(rows) <= MOST * len(records)]
    for column in said:
        if column.kind is Kind.VECTOR:
            groups = groups_of(column, Concepts(tuple(c for c, _ in kept), _matrix(kept, len(records))))
            kept += [(c, rows) for c, rows in groups if least <= len(rows) <= MOST * len(records)]
    same: dict[bytes, list[int]] = {}
    for i, (_, rows) in enumerate(kept):
        same.setdefault(rows.tobytes(), []).append(i)
    kept = [
        (named([kept[i][0] for i in alike], texts[rows[0]] if texts else ""), rows)
        for alike in same.values()
        for rows in [kept[alike[0]][1]]
    ]
    return Concepts(tuple(c for c, _ in kept), _matrix(kept, len(records)))


def free_columns(judged: Judged, *, ignored: Iterable[str] = ()) -> list[str]:
    """The columns whose words are taken: those that were named as texts, and other free texts."""
    roles, records = judged.roles, judged.records
    silent = {*ignored, roles.id, roles.image, roles.group, roles.label, *judged.used}
    texts = [c for c in records.columns.values() if c.kind is Kind.TEXT and c.name not in silent]
    found = dict.fromkeys([*roles.text, *(column.name for column in texts if _is_free(column))])
    return [name for name in found if name not in silent]


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
    indices = np.concatenate([rows for _, rows in kept]) if kept else np.zeros(0, np.int64)
    return csc_matrix((np.ones(len(indices), np.float32), indices, ends), shape=(n, len(kept)))


def holds(concepts: Sequence[Concept], records: Records, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which rows of another table each concept is of, a column for each.

    Args:
        texts: The free texts of these rows, as `texts_of` gives them, where words are asked for.
    """
    found = np.zeros((len(records), len(concepts)), bool)
    mentioned = [i for i, concept in enumerate(concepts) if concept.test == "mentions"]
    if mentioned:
        found[:, mentioned] = mentions([concepts[i].forms for i in mentioned], texts)
    for i, concept in enumerate(concepts):
        if concept.test != "mentions":
            found[:, i] = _holds(concept, records)
    return found


def sources_of(concepts: Iterable[Concept]) -> set[str]:
    """The columns that must be read to say which rows these concepts are of, besides free texts."""
    return {concept.column for concept in concepts if concept.test != "mentions"}


def _holds(concept: Concept, records: Records) -> NDArray[np.bool_]:
    test, value, forms = concept.test, concept.value, concept.forms
    column = records.column(concept.column)
    values = column.values
    if test == "missing":
        found = ~column.present()
    elif test == "group" and concept.inside is not None:
        found = np.zeros(len(records), bool)
        there = column.present()
        found[there] = concept.inside(values[there])
    elif test == "kind":
        found = np.array([one in forms for one in values], bool)
    elif test in ("lists", "shows"):
        found = np.array([one is not None and value in one for one in values], bool)
    elif test in _COMPARED:
        bound = np.datetime64(value) if column.kind is Kind.DATE else float(value)
        found = values >= bound if _COMPARED[test] else values < bound
    elif test == "flag":
        found = values == float(value == "yes")
    elif column.kind is Kind.DATE:
        found = column.present() & (_parts(values)[test] == value)
    else:
        found = values == (float(value) if column.kind is Kind.NUMBER else value)
    return np.asarray(found, bool)


#: Tests against a bound: whether the concept is of what lies above.
_COMPARED: Final = {"from": True, "since": True, "below": False, "before": False}


# -- columns of values ------------------------------------------------------------------------------


def _of_column(column: Column, *, label: bool = False, shown: bool = False) -> Found:
    there, name = column.present(), column.name
    if column.kind is Kind.VECTOR:
        return
    if column.kind is Kind.FLAG:
        yield from _of_flags(name, column.values)
    elif column.kind is Kind.NUMBER:
        yield from _of_numbers(name, column.values, label=label)
    elif column.kind is Kind.DATE:
        yield from _of_dates(name, column.values, there)
    else:
        test = "shows" if shown else "lists" if column.kind is Kind.LIST else "is"
        for value, rows in _members(column).items():
            yield Concept(name, test, value), np.array(rows)
    if not there.all() and there.any():
        yield Concept(name, "missing", ""), np.flatnonzero(~there)


def _members(column: Column) -> dict[str, list[int]]:
    """The rows of each value, or of each item of lists."""
    found: dict[str, list[int]] = {}
    several = column.kind is Kind.LIST
    for row in np.flatnonzero(column.present()).tolist():
        value = column.values[row]
        for one in dict.fromkeys(value) if several else (value,):
            found.setdefault(str(one), []).append(row)
    return found


def _of_flags(name: str, values: NDArray[np.float64]) -> Found:
    for value, said in ((1.0, "yes"), (0.0, "no")):
        yield Concept(name, "flag", said), np.flatnonzero(values == value)


def _of_numbers(name: str, values: NDArray[np.float64], *, label: bool) -> Found:
    """Value by value where there are few, and ranges; of labels that are whole numbers every value."""
    known = values[np.isfinite(values)]
    distinct = np.unique(known)
    if set(distinct) <= {0.0, 1.0}:
        yield from _of_flags(name, values)
        return
    few = len(distinct) <= VALUES
    if few or (label and (distinct % 1 == 0).all()):
        order = np.argsort(values, kind="stable")
        starts, ends = (np.searchsorted(values[order], distinct, side) for side in ("left", "right"))
        for value, start, end in zip(distinct, starts, ends, strict=True):
            yield Concept(name, "is", _plain(value)), np.sort(order[start:end])
    bounds = distinct[1:] if few else np.unique([_rounded(one, known) for one in np.quantile(known, CUTS)])
    for bound in bounds if len(distinct) > 2 else ():
        yield Concept(name, "from", _plain(bound)), np.flatnonzero(values >= bound)
        yield Concept(name, "below", _plain(bound)), np.flatnonzero(values < bound)


def _of_dates(name: str, values: NDArray[Any], there: NDArray[np.bool_]) -> Found:
    """Years, months, days of the week and parts of the day, as far as they differ; before and after a day."""
    places = np.flatnonzero(there)
    for test, of_rows in _parts(values[there]).items():
        kinds, which = np.unique(of_rows, return_inverse=True)
        for i, kind in enumerate(kinds.tolist() if len(kinds) > 1 else ()):
            yield Concept(name, test, str(kind)), places[which == i]
    days = np.sort(values[there].astype("datetime64[D]"))
    cuts = np.unique(days[[int(cut * len(days)) for cut in CUTS]]) if len(days) else days
    for day in cuts[cuts > days[0]] if len(days) else ():
        yield Concept(name, "since", str(day)), np.flatnonzero(there & (values >= day))
        yield Concept(name, "before", str(day)), np.flatnonzero(there & (values < day))


def _parts(values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """What is said of each date, by test; of a date that is missing it means nothing."""
    days = values.astype("datetime64[D]")
    hours = (values - days).astype("timedelta64[h]").astype(np.int64)
    weekdays = (days.astype(np.int64) + 3) % 7  # the first of January 1970 was a Thursday
    night = (hours >= NIGHT[0]) | (hours < NIGHT[1])
    return {
        "year": values.astype("datetime64[Y]").astype(str),
        "month": values.astype("datetime64[M]").astype(str),
        "weekday": np.array(_WEEKDAYS)[weekdays],
        "time": np.where(night, "night", "day"),
    }


def _plain(number: float) -> str:
    """A number as text from which it can be read again."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def _rounded(bound: float, values: NDArray[np.float64]) -> float:
    """A bound with as few digits as still separate about the same values."""
    share = float(np.mean(values < bound))
    for digits in range(1, 12):
        near = float(f"{bound:.{digits}g}")
        if abs(float(np.mean(values < near)) - share) <= 0.01:
            return near
    return bound
