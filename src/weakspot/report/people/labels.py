"""What people said, in a file beside the ledger: one line per answer, on disk before it is acknowledged.

The run may be running, and several pages may be open: a line is added under a lock and written through.
Nothing is ever changed; a later line of the same person on the same item replaces the earlier one, and an
undo takes it back. A line that a crash cut short is passed over. "Ann" and "ann" are one person, under the
name that came first.
"""

from __future__ import annotations

import fcntl
import json
import os
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, disk_errors
from weakspot.store import open_own

NAME: Final = "labels.jsonl"
#: Characters of an annotator's name.
LONGEST: Final = 40


class Label(NamedTuple):
    """One answer; `at` is when, in UTC, and `order` its place among all lines."""

    task: str
    item: str
    annotator: str
    label: str
    at: str
    order: int


class Labels:
    """The labels of a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._seen: tuple[int, int] = (-1, 0)
        self._rows: list[dict[str, Any]] = []

    def add(self, task: str, item: str, annotator: str, label: str) -> None:
        """Keep an answer; it is on disk when this returns."""
        row = {"task": task, "item": item, "annotator": annotator, "label": label, "at": _now()}
        self.add_many([row])

    def undo(self, task: str, annotator: str) -> str | None:
        """Take back a person's last answer; the item it was about, None if there is none."""
        own = [one for one in self.current(task) if same_person(one.annotator, annotator)]
        if not own:
            return None
        last = max(own, key=lambda one: one.order)
        self.add_many([{"task": task, "item": last.item, "annotator": annotator, "undo": True, "at": _now()}])
        return last.item

    def current(self, task: str) -> list[Label]:
        """What holds now, in the order in which it was said."""
        found: dict[tuple[str, str], Label] = {}
        names: dict[str, str] = {}
        for order, row in enumerate(self._read()):
            name = names.setdefault(folded(row["annotator"]), row["annotator"])
            if row["task"] != task:
                continue
            key = name, row["item"]
            found.pop(key, None)
            if "undo" not in row:
                found[key] = Label(task, row["item"], name, row["label"], row["at"], order)
        return list(found.values())

    def known_as(self, name: str) -> str:
        """The name under which a person has labelled before, however it was written; else the name itself."""
        return next((row["annotator"] for row in self._read() if same_person(row["annotator"], name)), name)

    def _read(self) -> list[dict[str, Any]]:
        with disk_errors(f"{self.path} cannot be read", "check the permissions"):
            try:
                stat = self.path.stat()
                if (stat.st_mtime_ns, stat.st_size) != self._seen:
                    with os.fdopen(open_own(self.path, os.O_RDONLY), "rb") as file:
                        content = file.read()
                    self._rows = [row for line in content.splitlines() if (row := _row(line)) is not None]
                    self._seen = stat.st_mtime_ns, stat.st_size
            except FileNotFoundError:
                self._seen, self._rows = (-1, 0), []
        return self._rows

    def add_many(self, rows: list[dict[str, Any]]) -> None:
        """Keep several, all of them or, if the disk is full, none or the first of them."""
        lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
        fix = "free some space or check the permissions; what was said before is kept"
        with disk_errors(f"{self.path} cannot be written", fix):
            handle = open_own(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            with os.fdopen(handle, "ab+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                end = file.seek(0, os.SEEK_END)
                if end:
                    file.seek(end - 1)
                    lines = lines if file.read(1) == b"\n" else b"\n" + lines
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            if not end:  # the name of a new file is on disk once its folder is
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        self._seen = (-1, 0)


def by_item(labels: Iterable[Label]) -> dict[str, dict[str, str]]:
    """What each annotator said of each item."""
    found: dict[str, dict[str, str]] = {}
    for label in labels:
        found.setdefault(label.item, {})[label.annotator] = label.label
    return found


def folded(name: str) -> str:
    """A name without what does not tell people apart: capitals, and ways to write one sign."""
    return unicodedata.normalize("NFKC", name).casefold()


def same_person(one: str, other: str) -> bool:
    return folded(one) == folded(other)


def annotator_name(text: str) -> str:
    """A name as it is kept; an error if it is empty, long, or has signs that a name does not need."""
    name = " ".join(text.split())
    fine = name.strip(".") and len(name) <= LONGEST and all(c.isalnum() or c in " -_.'" for c in name)
    if not fine:
        raise WeakspotError(
            f"{name[:60]!r} cannot be used as a name",
            fix=f"use letters, digits, spaces and -_.', at most {LONGEST} of them",
        )
    return name


def _row(line: bytes) -> dict[str, Any] | None:
    """A line, if it is whole and ours."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    needed = ("task", "item", "annotator", "at")
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in needed):
        return None
    return row if row.get("undo") is True or isinstance(row.get("label"), str) else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
