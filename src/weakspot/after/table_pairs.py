"""Two tables of verdicts put side by side: which rows of one are the same case as which of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.records import Kind, Records, Roles
from weakspot.records.judged import Given
from weakspot.records.read import read_records
from weakspot.records.verdicts import read_judged

#: More values are no categories.
MOST_CATEGORIES: Final = 100
#: How cases were paired.
BY_ID, BY_ORDER = "by id", "by order"


class Tabled(NamedTuple):
    """All rows of a table.

    Attributes:
        failed: Per row: 1 failed, 0 did not, NaN has no verdict.
        rule: What a failure is, in words.
    """

    records: Records
    roles: Roles
    failed: NDArray[np.float64]
    rule: str


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases that both tables have; of one that was asked several times, its rows together.

    Attributes:
        failures: How many of a case's rows failed: in the first table, in the second.
        judged: How many have a verdict.
        rows: How many there are.
        place: A row of the first table for each case, which says its categories.
        alone: How many cases only the first has, and only the second.
        pairing: "by id" or "by order".
        notes: What a reader should know of how they were paired.
    """

    failures: tuple[NDArray[np.int64], NDArray[np.int64]]
    judged: tuple[NDArray[np.int64], NDArray[np.int64]]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    place: NDArray[np.int64]
    alone: tuple[int, int]
    pairing: str
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.place)

    @property
    def repeated(self) -> bool:
        """Whether some case was asked more than once."""
        return any(bool((rows > 1).any()) for rows in self.rows)

    def only(self, chosen: NDArray[np.bool_]) -> Cases:
        """These cases alone."""

        def cut(
            pair: tuple[NDArray[np.int64], NDArray[np.int64]],
        ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            return pair[0][chosen], pair[1][chosen]

        return replace(
            self,
            failures=cut(self.failures),
            judged=cut(self.judged),
            rows=cut(self.rows),
            place=self.place[chosen],
        )


def read_tabled(given: Given, *, named: Roles | None = None, failed: str = "") -> Tabled:
    """All rows of a table or a log, with and without a verdict."""
    records = read_records(given, named=named)
    # Rows with a verdict are found again by number: a line of some formats holds several rows.
    numbered = replace(records, lines=np.arange(len(records)))
    judged = read_judged(numbered, named=named, failed=failed)
    verdicts = np.full(len(records), np.nan)
    verdicts[judged.records.lines] = judged.failed
    return Tabled(replace(records, notes=judged.records.notes), judged.roles, verdicts, judged.rule)


def pair(first: Tabled, second: Tabled) -> Cases:
    """The cases of both tables: by id, or by order where both have the same inputs row by row."""
    names = [side.records.origin for side in (first, second)]
    ids = [_texts(side.records, side.roles.id) for side in (first, second)]
    inputs = [_inputs(side) for side in (first, second)]
    if ids[0] is not None and ids[1] is not None:
        keys, pairing = (ids[0], ids[1]), BY_ID
    elif inputs[0] is not None and inputs[0] == inputs[1]:
        order: list[str | None] = [str(i) for i in range(len(inputs[0]))]
        keys, pairing = (order, order), BY_ORDER
    else:
        which = " and ".join(name for name, found in zip(names, ids, strict=True) if found is None)
        raise WeakspotError(
            f"the rows of {names[0]} and {names[1]} cannot be paired: {which} has no column of ids, and the "
            "inputs are not the same, row by row",
            fix="name the column that says which case a row is, in both tables: --id COLUMN",
        )
    places = [_places(keys[0]), _places(keys[1])]
    shared = [key for key in places[0] if key in places[1]]
    if not shared:
        examples = ", ".join(repr(next(iter(place), "")[:40]) for place in places)
        raise WeakspotError(
            f"{names[0]} and {names[1]} have no id in common (they begin with {examples})",
            fix="compare two evaluations of the same data, or name another column: --id COLUMN",
        )
    notes = list(_doubts(first, second, inputs, places, shared)) if pairing == BY_ID else []
    notes += [
        f"{name}: {n:,} rows have no id."
        for name, key in zip(names, keys, strict=True)
        if (n := key.count(None))
    ]
    sides = [_counts(side.failed, place, shared) for side, place in zip((first, second), places, strict=True)]
    return Cases(
        (sides[0][0], sides[1][0]),
        (sides[0][1], sides[1][1]),
        (sides[0][2], sides[1][2]),
        np.array([places[0][key][0] for key in shared], np.int64),
        (len(places[0]) - len(shared), len(places[1]) - len(shared)),
        pairing,
        tuple(notes),
    )


def cases_of(table: Tabled) -> Cases:
    """The cases of one table, on both sides; each row is a case where there are no ids."""
    n = len(table.failed)
    keys = _texts(table.records, table.roles.id) or [str(i) for i in range(n)]
    places = _places(keys)
    failures, judged, rows = _counts(table.failed, places, list(places))
    first = np.array([several[0] for several in places.values()], np.int64)
    return Cases((failures,) * 2, (judged,) * 2, (rows,) * 2, first, (0, 0), BY_ID, ())


def categories(table: Tabled, cases: Cases, name: str) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """(value, which cases have it) of a column of the first table; of a list, each of its parts."""
    column = table.records.column(name)
    values: Sequence[Sequence[str]]
    if column.kind is Kind.LIST:
        values = [() if value is None else value for value in column.values[cases.place]]
    else:
        texts = column.rows(cases.place).texts()
        values = [() if text is None else (text,) for text in texts]
    found = sorted({value for several in values for value in several})
    if len(found) > MOST_CATEGORIES or column.kind is Kind.VECTOR:
        raise WeakspotError(
            f"the column {name[:60]!r} has {len(found):,} different values: it has no categories",
            fix=f"choose a column with at most {MOST_CATEGORIES}, or put its values into groups first",
        )
    for value in found:
        yield value, np.array([value in several for several in values], bool)


def _texts(records: Records, name: str) -> list[str | None] | None:
    return records.column(name).texts() if name else None


def _inputs(side: Tabled) -> list[tuple[str | None, ...]] | None:
    """What each row was asked, as far as the table says it."""
    names = [name for name in (*side.roles.text, side.roles.image) if name]
    return list(zip(*(side.records.column(name).texts() for name in names), strict=True)) if names else None


def _places(keys: Sequence[str | None]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        if key is not None:
            found.setdefault(key, []).append(row)
    return found


def _counts(
    failed: NDArray[np.float64], places: Mapping[str, list[int]], shared: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Failures, verdicts and rows of each case."""
    of_row = np.full(len(failed), len(shared), np.int64)
    for case, key in enumerate(shared):
        of_row[places[key]] = case

    def sums(values: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(of_row[values], minlength=len(shared) + 1)[: len(shared)].astype(np.int64)

    return sums(failed == 1), sums(~np.isnan(failed)), sums(np.ones(len(failed), bool))


def _doubts(
    first: Tabled,
    second: Tabled,
    inputs: Sequence[list[tuple[str | None, ...]] | None],
    places: Sequence[Mapping[str, list[int]]],
    shared: Sequence[str],
) -> Iterator[str]:
    """Whether the same ids stand for the same cases."""
    labels = [_texts(side.records, side.roles.label) for side in (first, second)]
    differ = []
    names = f"{first.records.origin} and {second.records.origin}"
    for what, (one, two) in (("input", inputs), ("label", labels)):
        if one is not None and two is not None:
            n = sum(one[places[0][key][0]] != two[places[1][key][0]] for key in shared)
            differ.append(n)
            if n:
                yield f"Of {len(shared):,} ids in both, {n:,} have a different {what} in the second table."
    if len(differ) == 2 and 2 * min(differ) > len(shared):
        raise WeakspotError(
            f"{names} have the same ids, but not for the same cases: most of {len(shared):,} have a "
            f"different input and a different label",
            fix="compare two evaluations of the same data, or name another column: --id COLUMN",
        )
