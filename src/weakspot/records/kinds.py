"""What the cells of a column are: numbers, yes or no, dates, words, lists, vectors, or objects with names."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from weakspot.records.sheet import Cells, clean_name
from weakspot.records.table import Column, Kind

_T = TypeVar("_T")

#: Words for a value that is not there. "None" is one only among numbers and dates: it is an answer, too.
MISSING: Final = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null"})
#: Yes and no.
FLAGS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}

#: Lists of numbers are vectors from this length on.
SHORTEST_VECTOR: Final = 8
#: An object with more keys is a value of its own, such as a probability for every class.
_MOST_KEYS: Final = 100
_DEEPEST: Final = 6
#: Beyond it not every whole number is a float.
EXACT: Final = 2**53

_NUMBER: Final = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:.,+Z-]*)?")
_SAYS_FLAG: Final = re.compile(r"(?:.*\.)?(?:is|has|was|are|contains)[ _-].+", re.IGNORECASE)
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def columns_of(name: str, cells: Cells, *, words: bool = False, flag: bool = False) -> Iterator[Column]:
    """The column of these cells; several if they are objects, one for each key.

    Args:
        words: Yes and no are answers in this column, and stay words.
        flag: The name of the column says that 1 is yes and 0 is no.
    """
    flag = flag or _SAYS_FLAG.fullmatch(name) is not None
    if isinstance(cells, np.ndarray) and cells.dtype.kind != "O":
        yield _from_array(name, cells, flag)
    else:
        values = cells.tolist() if isinstance(cells, np.ndarray) else cells
        yield from _from_values(name, values, words, flag, depth=0)


def number_in(text: str) -> float | None:
    """The number that a text is; None of other words, and of those that are more than their number: 007."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number) and (abs(number) <= EXACT or not text.lstrip("+-").isdigit()):
            return number
    return None


def date_in(text: str) -> datetime | None:
    """The time of an ISO date, in UTC where it says its zone."""
    if not _DATE.fullmatch(text):
        return None
    try:
        said = datetime.fromisoformat(text)
        return said.astimezone(UTC).replace(tzinfo=None) if said.tzinfo else said
    except (ValueError, OverflowError):
        return None


def _from_array(name: str, cells: NDArray[Any], flag: bool) -> Column:
    """A column whose type the format knows."""
    kind = cells.dtype.kind
    if cells.ndim == 2 and kind in "iuf":
        if cells.shape[1] >= SHORTEST_VECTOR:
            return Column(name, Kind.VECTOR, cells.astype(np.float32))
        return _lists(name, cells.tolist())
    if kind in "iu" and len(cells) and max(abs(int(cells.min())), abs(int(cells.max()))) > EXACT:
        return _texts(name, [str(value) for value in cells.tolist()])
    if kind in "iuf":
        return _numbers(name, cells.astype(np.float64), flag)
    if kind == "b":
        return Column(name, Kind.FLAG, cells.astype(np.float64))
    if kind == "M":
        return Column(name, Kind.DATE, cells.astype("datetime64[s]"))
    return _texts(name, [str(value) for value in cells.tolist()])


def _from_values(name: str, values: Sequence[Any], words: bool, flag: bool, depth: int) -> Iterator[Column]:
    types = set(map(type, values)) - {type(None)}
    if any(issubclass(kind, np.generic | np.ndarray | Decimal | tuple) for kind in types):
        values = [plain(value) for value in values]
        types = set(map(type, values)) - {type(None)}
    if types and all(issubclass(kind, dict) for kind in types):
        yield from _expanded(name, values, words, flag, depth)
    elif types == {str}:
        yield from _from_texts(name, values, words, flag, depth)
    elif types and types <= {int, float} and not any(type(v) is int and abs(v) > EXACT for v in values):
        yield _numbers(name, np.array([math.nan if v is None else v for v in values], float), flag)
    elif types == {bool}:
        array = np.array([math.nan if value is None else value for value in values], float)
        yield Column(name, Kind.FLAG, array)
    elif types == {list}:
        yield _vectors(name, values) or _lists(name, values)
    elif types and all(issubclass(kind, date) for kind in types):
        yield from _from_texts(name, [as_text(value) for value in values], words, flag, depth)
    else:
        yield from _from_texts(name, [as_text(value) for value in values], words, flag, _DEEPEST)


def _from_texts(
    name: str, values: Sequence[str | None], words: bool, flag: bool, depth: int
) -> Iterator[Column]:
    """Every different text is looked at once: most columns have few of them."""
    said = {value: cleaned(value) for value in set(values)}
    there = {text for text in said.values() if text is not None}
    but_none = {text for text in there if text.lower() != "none"}
    if (numbers := _all(number_in, but_none)) is not None:
        yield _numbers(name, _looked_up(values, said, numbers), flag)
    elif not words and (flags := _all(lambda text: FLAGS.get(text.lower()), there)) is not None:
        yield Column(name, Kind.FLAG, _looked_up(values, said, flags))
    elif (dates := _all(date_in, but_none)) is not None:
        times = {value: dates.get(text or "") for value, text in said.items()}
        yield Column(name, Kind.DATE, np.array([times[value] for value in values], "datetime64[s]"))
    elif depth < _DEEPEST and (nested := _all(nested_in, there)) is not None:
        inner = [None if (text := said[value]) is None else nested[text] for value in values]
        yield from _from_values(name, inner, words, flag, depth + 1)
    else:
        yield _texts(name, [said[value] for value in values])


def _looked_up(
    values: Sequence[str | None], said: Mapping[str | None, str | None], numbers: Mapping[str, float]
) -> NDArray[np.float64]:
    floats = {value: numbers.get(text or "", math.nan) for value, text in said.items()}
    return np.fromiter(map(floats.__getitem__, values), float, len(values))


def _all(read: Callable[[str], _T | None], texts: set[str]) -> dict[str, _T] | None:
    """What each of the texts is; None if one of them is nothing of the kind, or there is none."""
    found: dict[str, _T] = {}
    for text in texts:
        value = read(text)
        if value is None:
            return None
        found[text] = value
    return found or None


def nested_in(text: str) -> dict[str, Any] | list[Any] | None:
    """The JSON object or list that a cell holds."""
    if (text[0], text[-1]) not in (("{", "}"), ("[", "]")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _expanded(
    name: str, values: Sequence[Mapping[str, Any] | None], words: bool, flag: bool, depth: int
) -> Iterator[Column]:
    keys = list(dict.fromkeys(chain.from_iterable(value for value in values if value)))
    if len(keys) > _MOST_KEYS or depth >= _DEEPEST:
        yield _texts(name, [as_text(value) for value in values])
        return
    for key in keys:
        inner = [None if value is None else value.get(key) for value in values]
        yield from _from_values(f"{name}.{clean_name(key)}", inner, words, flag, depth + 1)


def _numbers(name: str, values: NDArray[np.float64], flag: bool) -> Column:
    """Numbers, or yes and no where the name says so and there is nothing but 0 and 1."""
    flag = flag and bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    return Column(name, Kind.FLAG if flag else Kind.NUMBER, values)


def _texts(name: str, values: Sequence[str | None]) -> Column:
    return Column(name, Kind.TEXT, np.fromiter(values, object, len(values)))


def _lists(name: str, values: Sequence[list[Any] | None]) -> Column:
    tuples = (
        None if value is None else tuple(text for v in value if (text := cleaned(as_text(v))) is not None)
        for value in values
    )
    return Column(name, Kind.LIST, np.fromiter(tuples, object, len(values)))


def _vectors(name: str, values: Sequence[list[Any] | None]) -> Column | None:
    there = [value for value in values if value is not None]
    if len(set(map(len, there))) != 1 or len(there[0]) < SHORTEST_VECTOR:
        return None
    if not set(map(type, chain.from_iterable(there))) <= {int, float}:
        return None
    array = np.full((len(values), len(there[0])), np.nan, np.float32)
    try:
        array[[value is not None for value in values]] = there
    except OverflowError:
        return None
    return Column(name, Kind.VECTOR, array)


def cleaned(text: str | None) -> str | None:
    """A cell without space around it and without halves of characters; None if it says that it is missing."""
    if text is None:
        return None
    text = text.strip()
    if len(text) < 5 and text.lower() in MISSING:
        return None
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def as_text(value: Any) -> str | None:
    """Any value as text; whole numbers without a point."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= EXACT else str(value)
    if isinstance(value, datetime):
        return value.isoformat() if value == value else None  # a missing time differs from itself
    if isinstance(value, dict | list):
        try:
            return json.dumps(value, ensure_ascii=False, default=str)
        except (ValueError, RecursionError):
            return None
    return str(value)


def plain(value: Any) -> Any:
    """Values of NumPy, and tuples, as Python's own."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Decimal):
        return float(value)
    return list(value) if isinstance(value, tuple) else value
