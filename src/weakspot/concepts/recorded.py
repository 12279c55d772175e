"""Columns of a table as axes of a concept space, and the cell in which each row lies.

Categories, flags and numbers with few values are values as they are; of many categories the rarest are one
value together. Other numbers are cut into ranges between round bounds, dates into months or years.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.axis import OR, OUTSIDE, Axis, as_text, ranges
from weakspot.concepts.space import ConceptSpace
from weakspot.core import WeakspotError
from weakspot.records.table import Column, Kind, Records

#: Numbers of at most so many different values stay as they are; others are cut into at most so many ranges.
FEW, RANGES = 8, 6
#: Categories beyond these are one value together, and months beyond these are years.
CATEGORIES, MONTHS = 12, 12
OTHER: Final = "other"
#: The least part of the rows that the named categories of a column must have, or it is free text.
NAMED: Final = 0.3
#: A cut may be so far from where equally many rows would lie between all, in parts of a range.
LOOSE: Final = 0.3
#: Characters of a category.
LONGEST: Final = 60
#: Names of concepts that mean something else.
_TAKEN: Final = (OUTSIDE, "policy")

Floats = NDArray[np.float64]


def space_of(records: Records, names: Sequence[str]) -> ConceptSpace:
    """The space whose axes are these columns; a wrong name is an error that says the nearest right one."""
    axes = tuple(axis_of(records.column(name)) for name in names)
    return ConceptSpace(", ".join(names)[:200], axes, task="table", about=f"rows of {records.origin}"[:200])


def cells_of(records: Records, names: Sequence[str], space: ConceptSpace) -> NDArray[np.int64]:
    """The number of each row's cell; −1 where a column has no value, or one that the space does not have."""
    places = [_places(records.column(name), axis) for name, axis in zip(names, space.axes, strict=True)]
    inside = np.all([place >= 0 for place in places], axis=0)
    found = np.full(len(records), -1, np.int64)
    found[inside] = np.ravel_multi_index(tuple(place[inside] for place in places), space.shape)
    return found


def axis_of(column: Column) -> Axis:
    """The axis of a column: its values, their order and the words for them."""
    name = re.sub(r"[^\w-]+", "_", column.name).strip("_")[:40] or "column"
    name += "_" if name in _TAKEN else ""
    words = f"{re.sub(r'[{}]', '', _clean(column.name)) or name} {{value}}"
    if column.kind in (Kind.LIST, Kind.VECTOR):
        what = "lists" if column.kind is Kind.LIST else "vectors"
        raise WeakspotError(
            f"the column {column.name[:80]!r} holds {what}, which cannot be a concept of a map",
            fix="name columns of numbers, categories, dates or flags",
        )
    if column.kind is Kind.NUMBER:
        numbers = column.values[np.isfinite(column.values)]
        distinct = np.unique(numbers)
        cuts = cuts_of(numbers) if len(distinct) > FEW else ()
        if cuts:
            return Axis(name, ranges(cuts), words=words, cuts=cuts)
        return Axis(name, tuple(dict.fromkeys(map(as_text, distinct.tolist()))), words=words)
    values = _labels(column)
    counts = Counter(value for value in values if value is not None)
    if column.kind is Kind.DATE:
        months = len(counts) <= MONTHS
        return Axis(name, tuple(sorted(counts if months else {value[:4] for value in counts})), words=words)
    if column.kind is Kind.FLAG:
        return Axis(name, tuple(sorted(counts)), "categorical", words)
    return Axis(name, _categories(column.name, counts), "categorical", words)


def _categories(name: str, counts: Counter[str]) -> tuple[str, ...]:
    """The categories of a column by name, and what stands for the rarest."""
    if len(counts) <= CATEGORIES:
        return tuple(sorted(counts))
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    named = [value for value in ranked if value != OTHER][: CATEGORIES - 1]
    if sum(counts[value] for value in named) < NAMED * counts.total():
        raise WeakspotError(
            f"the column {name[:80]!r} has {len(counts):,} different values, which cannot be a "
            f"concept of a map",
            fix="name a column with few values, or with numbers",
        )
    return (*sorted(named), OTHER)


def cuts_of(numbers: Floats) -> tuple[float, ...]:
    """Round bounds between ranges that hold about equally many of the numbers; none is empty.

    There are none between numbers that are written alike.
    """
    for some in (numbers, np.unique(numbers)):  # nearly all may be one number
        wanted = [
            float(as_text(_roundest(*np.quantile(some, [(i - LOOSE) / RANGES, (i + LOOSE) / RANGES]))))
            for i in range(1, RANGES)
        ]
        places = np.searchsorted(np.sort(numbers), wanted)  # how many are below each
        kept = {int(at): cut for at, cut in zip(places, wanted, strict=True) if 0 < at < len(numbers)}
        if kept:
            break
    return tuple(sorted(kept.values()))


def _roundest(low: float, high: float) -> float:
    """The number between two that is said with the fewest digits."""
    largest = max(abs(low), abs(high))
    if not low < high or largest < 1e-290:
        return float(low)
    if low <= 0 <= high:
        return 0.0
    first = math.floor(math.log10(largest))
    for power in range(first, first - 17, -1):
        for step in (5, 2, 1):
            found = float(f"{math.ceil(low / (step * 10.0**power) - 1e-9) * step}e{power}")
            if low <= found <= high:
                return found
    return float(low)


def _places(column: Column, axis: Axis) -> NDArray[np.int64]:
    """The number of each row's value on an axis; −1 where it has none."""
    if axis.cuts:
        found = np.searchsorted(np.asarray(axis.cuts), column.values, side="right")
        return np.where(np.isfinite(column.values), found, -1)
    numbers = {value: i for i, value in enumerate(axis.values)}
    rest = numbers.get(OTHER, -1) if column.kind is Kind.TEXT else -1
    wide = len(axis.values[0])
    cut = [value[:wide] if value and column.kind is Kind.DATE else value for value in _labels(column)]
    return np.array([-1 if value is None else numbers.get(value, rest) for value in cut], np.int64)


def _labels(column: Column) -> list[str | None]:
    """What each row's value is called: of a date the month."""
    if column.kind is Kind.DATE:
        months = column.values.astype("datetime64[M]").astype(str)
        return [str(month) if there else None for month, there in zip(months, column.present(), strict=True)]
    if column.kind is Kind.FLAG:
        return [{0.0: "no", 1.0: "yes"}.get(value) for value in column.values.tolist()]
    if column.kind is Kind.NUMBER:
        return [as_text(value) if math.isfinite(value) else None for value in column.values.tolist()]
    known: dict[str | None, str | None] = {None: None}
    return [known.get(value) or known.setdefault(value, _clean(value) or None) for value in column.values]


def _clean(text: str | None) -> str:
    """Words that can be a value: printable, in one line, without what stands between values."""
    printable = "".join(c if c.isprintable() and c != OR else " " for c in (text or "")[:400])
    return " ".join(printable.split())[:LONGEST].strip()
