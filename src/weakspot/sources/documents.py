"""Texts with a summary that people wrote of each: what a summariser is measured by.

- a `.jsonl` file: one object per line with `text` and `summary`, and `name` if wanted. The fields of common
  sets are known too (article, document, dialogue; highlights, reference, abstract);
- a folder of texts `NAME.txt`, each with its summary beside it, `NAME.summary.txt`;
- "" or `own`: twenty short texts that come with weakspot.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from weakspot.core import WeakspotError

OWN: Final = Path(__file__).with_name("documents.jsonl")
TEXTS: Final = ("text", "article", "document", "dialogue", "source")
SUMMARIES: Final = ("summary", "highlights", "reference", "abstract", "target")
#: Longer texts and larger files are refused, in characters and bytes.
LONGEST, LARGEST = 200_000, 1 << 30
#: More texts than these are not read.
MOST: Final = 200_000


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts in a fixed order; equal ones have equal digests."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    summaries: tuple[str, ...]
    digests: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def digest(self) -> str:
        """Of all texts and their summaries."""
        rows = (f"{n}\0{d}\0{s}\n" for n, d, s in zip(self.names, self.digests, self.summaries, strict=True))
        return hashlib.sha256("".join(rows).encode()).hexdigest()


def documents(where: str = "") -> Documents:
    """Read texts and their summaries."""
    path = OWN if where in ("", "own") else Path(where)
    fix = "name a .jsonl file, or a folder of NAME.txt and NAME.summary.txt"
    try:
        rows = _folder(path) if path.is_dir() else _lines(path)
    except OSError as error:
        what = f"the texts in {str(path)[:200]!r} cannot be read: {error.strerror}"
        raise WeakspotError(what, fix=fix) from error
    if not rows:
        raise WeakspotError(f"there are no texts in {str(path)[:200]!r}", fix=fix)
    names, texts, summaries = zip(*rows, strict=True)
    if len(set(names)) < len(names):
        raise WeakspotError(f"two texts in {path} have the same name", fix="give each its own")
    digests = tuple(hashlib.sha256(text.encode()).hexdigest() for text in texts)
    return Documents(names, texts, summaries, digests)


def _lines(path: Path) -> list[tuple[str, str, str]]:
    if path.stat().st_size > LARGEST:
        raise WeakspotError(f"{path} is larger than {LARGEST >> 30} GiB", fix="give a part of it")
    rows: list[tuple[str, str, str]] = []
    with path.open(encoding="utf-8", errors="strict") as file:
        try:
            for number, line in enumerate(file, start=1):
                if line.strip() and len(rows) < MOST:
                    rows.append(_row(json.loads(line), f"line {number} of {path}", str(number)))
        except (ValueError, RecursionError) as error:
            raise WeakspotError(
                f"{path} is not lines of JSON in UTF-8: {str(error)[:200]}",
                fix='write one {"text": …, "summary": …} per line',
            ) from error
    return rows


def _row(data: Any, where: str, name: str) -> tuple[str, str, str]:
    if not isinstance(data, Mapping):
        raise WeakspotError(f"{where} is no object", fix='write {"text": …, "summary": …}')
    text = next((data[key] for key in TEXTS if key in data), None)
    summary = next((data[key] for key in SUMMARIES if key in data), None)
    return _checked(str(data.get("name", data.get("id", name)))[:200], text, summary, where)


def _folder(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for file in sorted(path.glob("*.txt"))[: 2 * MOST]:
        if file.name.endswith(".summary.txt"):
            continue
        beside = file.with_name(f"{file.name.removesuffix('.txt')}.summary.txt")
        if not beside.is_file():
            raise WeakspotError(f"{file} has no summary", fix=f"write one into {beside.name}")
        try:
            both = file.read_text("utf-8"), beside.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise WeakspotError(f"{file} or its summary is not UTF-8", fix="save both as UTF-8") from error
        rows.append(_checked(file.stem, *both, str(file)))
    return rows


def _checked(name: str, text: object, summary: object, where: str) -> tuple[str, str, str]:
    for what, value in (("text", text), ("summary", summary)):
        if not isinstance(value, str) or not value.strip():
            raise WeakspotError(f"{where} has no {what}", fix="give every text and its summary")
        if len(value) > LONGEST:
            raise WeakspotError(f"the {what} in {where} is too long", fix=f"keep to {LONGEST:,} characters")
    clean = [str(value).encode("utf-8", "backslashreplace").decode() for value in (name, text, summary)]
    return clean[0], clean[1], clean[2]
