"""What the readers of logs share: JSON that may be broken or hostile, and a row's values as plain columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core.errors import WeakspotError, disk_errors
from weakspot.records.content import DAMAGED, opened, read_content
from weakspot.records.table import LeftOut

#: A line is not read beyond so many bytes.
MOST_LINE: Final = 256 << 20
#: So much of a file is enough to see what it is.
HEAD: Final = 1 << 20
#: Dictionaries in dictionaries become dotted columns to this depth; deeper ones stay JSON.
_DEPTH: Final = 4
_LONG: Final = 2_000
#: What `json` raises on broken, hostile or badly encoded text; the last on too deep nesting.
BROKEN_JSON: Final = (ValueError, RecursionError)


@dataclass(frozen=True)
class Log:
    """What a reader found.

    Attributes:
        form: What it is, for people.
        rows: A row's values by column; a column that a row lacks is missing there.
        lines: Where each row stands in its file, from 1.
        roles: role → column, as in `Records`.
    """

    form: str
    rows: list[dict[str, Any]]
    lines: list[int]
    roles: dict[str, str]
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    folder: str = ""


class Line(NamedTuple):
    """A line of a JSON lines file: its object, or why there is none."""

    number: int
    value: Mapping[str, Any]
    broken: str = ""


def head(path: Path) -> bytes:
    """The beginning of a file, unpacked, after any byte order mark; of a damaged one as much as there is."""
    found = b""
    try:
        with opened(path) as file:
            while len(found) < HEAD and (more := file.read(1 << 10)):
                found += more
    except DAMAGED:
        pass
    return found.removeprefix(b"\xef\xbb\xbf").lstrip()


def document(path: Path) -> Any:
    """A whole JSON file."""
    content = read_content(path)
    try:
        return json.loads(content.data.removeprefix(b"\xef\xbb\xbf"))
    except BROKEN_JSON as error:
        raise WeakspotError(
            f"{path} is not complete JSON: {content.cut or why(error)}",
            fix="was it cut off? write or copy it again",
        ) from error


def lines(path: Path) -> Iterator[Line]:
    """The objects of a JSON lines file, one at a time; lines without one say why."""
    with disk_errors(f"{path} cannot be read", "check the permissions"), opened(path) as file:
        number = 0
        while True:
            number += 1
            try:
                raw = file.readline(MOST_LINE + 1)
            except DAMAGED as error:
                yield Line(number, {}, f"the file is damaged: {error}")
                return
            if not raw:
                return
            if len(raw) > MOST_LINE:
                yield Line(number, {}, f"longer than {MOST_LINE >> 20} MiB; nothing after it was read")
                return
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                value = json.loads(raw)
            except BROKEN_JSON as error:
                yield Line(number, {}, f"no JSON: {why(error)}")
                continue
            whole = isinstance(value, dict)
            yield Line(number, value if whole else {}, "" if whole else "not a JSON object")


def why(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).splitlines()[0][:150] if str(error) else type(error).__name__


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one: logs leave out what they have not got."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def flat(name: str, value: Any, depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """(column, plain value) of a value that may be an object: {"a": {"b": 1}} is a.b = 1."""
    if isinstance(value, dict) and depth:
        for key, inner in value.items():
            yield from flat(f"{name}.{key}" if name else str(key), inner, depth - 1)
    elif isinstance(value, dict | list) and not _plain_list(value):
        try:
            yield name, json.dumps(value, ensure_ascii=False)[:_LONG]
        except BROKEN_JSON:
            yield name, "…"
    else:
        yield name, value


def _plain_list(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(item, dict | list) for item in value)


def text(value: Any) -> str | None:
    """Words of a value: text as it is, parts of a message joined, objects as JSON; None if there are none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return joined(map(part, value), "\n")
    return part(value) or dict(flat("", {"": value}, 1)).get("")


def part(value: Any) -> str | None:
    """The words of a message, of its content or of a part of that; pictures have none."""
    if isinstance(value, str):
        return value
    inner = mapping(value)
    for key in ("text", "content"):
        if isinstance(inner.get(key), str):
            return str(inner[key])
        if isinstance(inner.get(key), list):
            return joined((part(one) for one in inner[key] if one is not value), "\n")
        if isinstance(inner.get(key), dict):
            return part(inner[key])
    return None


def joined(parts: Iterable[str | None], between: str) -> str | None:
    return between.join(one for one in parts if one) or None


def number(value: Any) -> float | None:
    """A finite number, from a number or text; None otherwise."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if -float("inf") < found < float("inf") else None
