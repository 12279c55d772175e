"""What people said, in a file beside the ledger: one line per answer, on disk before it is acknowledged.

The run may be running, and several pages may be open: a line is added under a lock and written through.
Nothing is ever changed; a later line of the same person on the same item replaces the earlier one, and an
undo takes it back. A line that a crash cut short is passed over.
"""

from __future__ import annotations

import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from weakspot.core import WeakspotError, disk_errors

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
        own = [one for one in self.current(task) if one.annotator == annotator]
        if not own:
            return None
        last = max(own, key=lambda one: one.order)
        self.add_many([{"task": task, "item": last.item, "annotator": annotator, "undo": True, "at": _now()}])
        return last.item

    def current(self, task: str) -> list[Label]:
        """What holds now, in the order in which it was said."""
        found: dict[tuple[str, str], Label] = {}
        for order, row in enumerate(self._read()):
            if row["task"] != task:
                continue
            key = row["annotator"], row["item"]
            found.pop(key, None)
            if "undo" not in row:
                found[key] = Label(task, row["item"], row["annotator"], row["label"], row["at"], order)
        return list(found.values())

    def _read(self) -> list[dict[str, Any]]:
        with disk_errors(f"{self.path} cannot be read", "check the permissions"):
            try:
                stat = self.path.stat()
                if (stat.st_mtime_ns, stat.st_size) != self._seen:
                    content = self.path.read_bytes()
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
            with self.path.open("ab+") as file:
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


def annotator_name(text: str) -> str:
    """A name as it is kept; an error if it is empty, long, or has signs that a name does not need."""
    name = " ".join(text.split())
    fine = name.strip(".") and len(name) <= LONGEST and all(c.isalnum() or c in " -_.'" for c in name)
    if not fine:
        raise WeakspotError(
            f"{name[:60]!r} is no name to label under",
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
