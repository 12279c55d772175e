"""Logs of other evaluation tools, read as tables. Which tool's it is, the content says, not the name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from weakspot.core.errors import WeakspotError
from weakspot.records.content import digest_of
from weakspot.records.kinds import columns_of
from weakspot.records.logs import fiftyone, garak, harness, inspect_ai, promptfoo
from weakspot.records.logs.raw import Line, Log, document, head, lines, mapping, sequence
from weakspot.records.sheet import sheet_of_rows
from weakspot.records.table import Column, Kind, Records

#: What is read, for people.
FORMATS: Final = (
    "inspect_ai (.eval, .json), lm-evaluation-harness samples, lmms-eval samples, promptfoo results, "
    "garak reports, FiftyOne data sets"
)


class _Whole(NamedTuple):
    """A log that is one JSON document: marks that its beginning must have, whether it is one, its reader."""

    marks: tuple[bytes, ...]
    fits: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Path, Mapping[str, Any]], Log]


class _Lines(NamedTuple):
    """A log of JSON lines: whether a line is one of its, and its reader."""

    fits: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Path, Iterable[Line]], Log]


_WHOLE: Final = (
    _Whole((b'"eval"', b'"version"'), inspect_ai.is_document, inspect_ai.read_document),
    _Whole((b'"results"',), promptfoo.is_document, promptfoo.read_document),
    _Whole((b'"evalId"',), promptfoo.is_document, promptfoo.read_document),
    _Whole((b'"samples"', b'"filepath"'), fiftyone.is_document, fiftyone.read_document),
    _Whole((b'"logs"',), harness.is_document, harness.read_document),
)
_LINES: Final = (
    _Lines(harness.is_sample, harness.read_lines),
    _Lines(garak.is_report, garak.read_lines),
    _Lines(garak.is_hitlog, garak.refuse_hitlog),
    _Lines(promptfoo.is_result, promptfoo.read_lines),
)
#: Lines that are looked at to see what they are.
_FIRST: Final = 20


def read_log(path: Path) -> Records | None:
    """A log of a tool that is known, or None: this is none.

    Rows without a verdict (an error, no score) are kept: the column of the role "correct" is missing there.
    """
    file = _file(path)
    found = _read(file)
    if found is None:
        return None
    if not found.rows:
        first = f": line {found.left_out[0].line}: {found.left_out[0].reason}" if found.left_out else ""
        raise WeakspotError(
            f"{path} is a log ({found.form}) without a row that can be read{first}",
            fix="run the evaluation again, or copy its log again",
        )
    columns = {column.name: column for column in _columns(found) if column.present().any()}
    return Records(
        str(path),
        found.form,
        columns,
        np.array(found.lines, np.int64),
        tuple(found.left_out),
        {role: name for role, name in found.roles.items() if name in columns},
        found.folder,
        digest_of([file]),
        tuple(found.notes),
    )


def is_log(path: Path) -> bool:
    """Whether this is a log that no ending tells: a folder of FiftyOne's, or an archive of inspect_ai's."""
    file = _file(path)
    return file != path or (path.is_file() and inspect_ai.is_archive(head(path)))


def is_log_of_lines(path: Path) -> bool:
    """Whether a file of JSON lines is a log."""
    return _by_lines(path, head(path)) is not None


def _file(path: Path) -> Path:
    """What FiftyOne exports is a folder with this file."""
    return path / "samples.json" if (path / "samples.json").is_file() else path


def _columns(log: Log) -> Iterator[Column]:
    """What has a role is words and stays so, also where the words are numbers, dates or JSON."""
    sheet = sheet_of_rows(log.form, log.rows, log.lines, ())
    words = [name for role, name in log.roles.items() if role not in ("correct", "score")]
    for name, cells in sheet.columns.items():
        if name in words:
            yield Column(name, Kind.TEXT, np.array([_clean(cell) for cell in cells], object))
        else:
            yield from columns_of(name, cells, flag=name == log.roles.get("correct"))


def _clean(cell: Any) -> str | None:
    """Text without halves of characters, which JSON can hold and no file can be written with."""
    return None if cell is None else str(cell).encode("utf-8", "replace").decode()


def _read(path: Path) -> Log | None:
    if not path.is_file():
        return None
    start = head(path)
    if inspect_ai.is_archive(start):
        return inspect_ai.read_archive(path)
    if (kind := _by_lines(path, start)) is not None:
        return kind.read(path, lines(path))
    if _is_list(start):
        values = sequence(document(path))
        return harness.read_list(path, values) if values and harness.is_sample(mapping(values[0])) else None
    if candidates := _candidates(start):
        value = mapping(document(path))
        return next((one.read(path, value) for one in candidates if one.fits(value)), None)
    return None


def _by_lines(path: Path, start: bytes) -> _Lines | None:
    """The kind of JSON lines that the first whole line begins; a document's first line is no object."""
    if not start.startswith(b"{"):
        return None
    for line in islice(lines(path), _FIRST):
        if not line.broken:
            return next((kind for kind in _LINES if kind.fits(line.value)), None)
        if line.number == 1 and start.split(b"\n", 1)[0].strip() in (b"{", b""):
            return None  # a document over many lines
    return None


def _candidates(start: bytes) -> list[_Whole]:
    if not start.startswith(b"{"):
        return []
    return [one for one in _WHOLE if all(mark in start for mark in one.marks)]


def _is_list(start: bytes) -> bool:
    return start.startswith(b"[") and b'"doc_id"' in start and b'resps"' in start
