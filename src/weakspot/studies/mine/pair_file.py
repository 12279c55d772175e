"""Pairs of texts from a file: JSON lines, a JSON list, or csv. Broken lines are named, not fatal."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError
from weakspot.core.errors import nearest

LONGEST_LINE: Final = 1_000_000  # a longer line, in characters, is broken
#: Fields that are known to hold two texts, in the order they are looked for.
KNOWN: Final = (
    *(("caption", "foil"), ("first", "second"), ("prompt_1", "prompt_2"), ("caption_0", "caption_1")),
    *(("caption", "negative_caption"), ("true_caption", "false_caption"), ("positive", "negative")),
    *(("text_1", "text_2"), ("sentence1", "sentence2"), ("premise", "hypothesis"), ("a", "b")),
)


class PairLine(NamedTuple):
    """A pair and the number of its line (of its item, in a JSON list), from 1."""

    line: int
    first: str
    second: str


class BrokenLine(NamedTuple):
    """A line that is no pair, and why."""

    line: int
    why: str


class PairFile(NamedTuple):
    """What a file holds, and the fields that were read."""

    rows: list[PairLine]
    broken: list[BrokenLine]
    fields: tuple[str, str]


def read_pair_file(path: Path, *, fields: tuple[str, str] | None = None) -> PairFile:
    """Read the pairs of a file: .csv or .tsv with a header, or JSON, one object a line or one list.

    The two texts are in `fields`; by default the first of `KNOWN` that the first object has.
    """
    text = _text(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        entries = list(_from_csv(text, "\t" if path.suffix.lower() == ".tsv" else ","))
    elif text.lstrip()[:1] == "[":
        entries = list(_from_list(text, path))
    else:
        entries = list(_from_lines(text))
    if not entries:
        raise WeakspotError(
            f"{path} holds no pairs", fix="write one JSON object a line, or csv with a header"
        )
    objects = [entry for _, entry in entries if isinstance(entry, Mapping)]
    names = fields or _known(objects[0] if objects else {}, path)
    rows, broken = [], []
    for line, entry in entries:
        found = _pair(entry, names)
        if isinstance(found, str):
            broken.append(BrokenLine(line, found))
        else:
            rows.append(PairLine(line, *found))
    if not rows:
        hint = nearest(names[0], map(str, objects[0])) if objects else ""
        has = f"its fields are {_fields(objects[0])}; " if objects else ""
        what = f"{path} has no line with a pair; line {broken[0].line}: {broken[0].why}"
        raise WeakspotError(what, fix=f"{has}name the two with --fields. {hint}".strip())
    return PairFile(rows, broken, names)


def _text(path: Path) -> str:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise WeakspotError(f"{path} {what}", fix="give a .jsonl or .csv file of pairs")
    content = path.read_bytes()
    if b"\0" in content[:65536]:
        raise WeakspotError(f"{path} is not a text file", fix="give a .jsonl or .csv file of pairs")
    return content.decode("utf-8-sig", errors="surrogateescape")


def _from_lines(text: str) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if len(line) > LONGEST_LINE:
            yield number, f"it is longer than {LONGEST_LINE:,} characters"
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            yield number, f"no JSON: {str(error)[:100]}"


def _from_list(text: str, path: Path) -> Iterator[tuple[int, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WeakspotError(
            f"{path} begins like a JSON list but is not one: {str(error)[:100]}",
            fix="write one object a line",
        ) from error
    yield from enumerate(value, start=1)


def _from_csv(text: str, comma: str) -> Iterator[tuple[int, Any]]:
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(text.replace("\0", "").splitlines(keepends=True), delimiter=comma)
    header: list[str] = []
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield reader.line_num, f"no csv: {error}"
            continue
        if cells is None:
            return
        if not header:
            header = [cell.strip() for cell in cells]
        elif len(cells) == len(header):
            yield reader.line_num, dict(zip(header, cells, strict=True))
        elif cells:
            yield reader.line_num, f"it has {len(cells)} cells, the header {len(header)}"


def _known(first: Mapping[Any, Any], path: Path) -> tuple[str, str]:
    for names in KNOWN:
        if all(name in first for name in names):
            return names
    has = f"its fields are {_fields(first)}" if first else "its first line is not a JSON object"
    raise WeakspotError(
        f"which fields of {path} hold the two texts? {has}", fix="name them: --fields caption,foil"
    )


def _fields(entry: Mapping[Any, Any]) -> str:
    return ", ".join(map(str, list(entry)[:12]))


def _pair(entry: Any, names: tuple[str, str]) -> tuple[str, str] | str:
    """The two texts of an entry, or what is wrong with it."""
    if isinstance(entry, str):
        return entry if entry.startswith(("it ", "no ")) else "it is a text, not an object"
    if not isinstance(entry, Mapping):
        return f"it is {type(entry).__name__}, not an object"
    for name in names:
        if name not in entry:
            return f"it has no field {name!r}"
        if not isinstance(entry[name], str):
            return f"its field {name!r} is {type(entry[name]).__name__}, not a text"
        if any("\ud800" <= c <= "\udfff" for c in entry[name]):
            return f"its field {name!r} is not UTF-8"
    return entry[names[0]], entry[names[1]]
