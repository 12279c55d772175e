"""The table that a run waits for whose judge is people (`--judge people?folder=…`): read, and filled in.

The judge writes a row per output, with a picture beside it, and reads every column whose name begins with
"rating". What people say on the labelling page becomes a column each; columns filled in by hand stay.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, disk_errors, parse_name
from weakspot.report.people.labels import Label
from weakspot.store import Run, open_own, write_whole

FILE: Final = "ratings.csv"
#: From as it should be to as bad as can be.
SCALE: Final = tuple(str(n) for n in range(1, 11))
#: A column by hand, and the beginning of those that pages fill in.
BY_HAND, COLUMN = "rating", "rating "
#: Bytes of a table that is read.
LARGEST: Final = 64 * 1024 * 1024
_FORMULAS: Final = ("=", "+", "-", "@")


class Waiting(NamedTuple):
    """An output that is to be rated; `picture` is a file below the folder of the table, None of a text."""

    case: str
    expected: str
    answer: str
    picture: Path | None


def table_of(run: Run) -> Path | None:
    """Where the ratings of a run are, as the run's own name for it says; None if people are not its judge."""
    name = run.config.settings.get("judge")
    if not isinstance(name, str) or not name.startswith("people"):
        return None
    try:
        judge = parse_name(name)
    except WeakspotError:
        return None
    folder = judge.options.get("folder", "")
    return Path(folder, FILE) if judge.full == "people" and folder else None


def waiting(table: Path) -> list[Waiting]:
    """The outputs of a table but those that were rated in it by hand; [] if there is none yet."""
    columns, rows = _read(table)
    if not {"case", BY_HAND} <= set(columns):
        return []
    found = []
    for row in rows:
        if row["case"] and not row[BY_HAND].strip():
            picture = _picture(table.parent, row.get("file", ""))
            expected, answer = (_plain(row.get(name, "")) for name in ("expected", "answer"))
            found.append(Waiting(row["case"], expected, answer, picture))
    return found


def fill_in(table: Path, labels: Iterable[Label], *, annotators: Iterable[str] = ()) -> None:
    """Write what people said into the table, a column each, the whole file at once.

    The columns of `annotators` are theirs even if they took everything back.
    """
    said: dict[str, dict[str, str]] = {f"{COLUMN}{name}": {} for name in annotators}
    for label in labels:
        said.setdefault(f"{COLUMN}{label.annotator}", {})[label.item] = label.label
    fix = "free some space or check the permissions; what was said is kept with the run"
    with (
        disk_errors(f"{table} cannot be written", fix),
        os.fdopen(open_own(table.parent / f".{FILE}.lock", os.O_WRONLY | os.O_CREAT), "w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        columns, rows = _read(table)
        columns += [name for name in said if name not in columns]
        for row in rows:
            row |= {name: of.get(row["case"], "") for name, of in said.items()}
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)
        write_whole(table, text.getvalue().encode("utf-8", "backslashreplace"))


def digest_of(path: Path) -> str:
    """The name that a picture is served by."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _picture(folder: Path, name: str) -> Path | None:
    """A picture that the judge put beside the table; of any other file there is none."""
    home, path = (folder / "pictures").resolve(), (folder / name).resolve()
    fine = name.endswith(".png") and path.is_relative_to(home) and path.is_file()
    return path if fine else None


def _plain(text: str) -> str:
    """A cell as it was before it was made safe for spreadsheets."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULAS) else text


def _read(table: Path) -> tuple[list[str], list[dict[str, str]]]:
    try:
        if table.stat().st_size > LARGEST:
            raise WeakspotError(f"{table} is larger than {LARGEST >> 20} MB", fix="name another folder")
        reader = csv.DictReader(io.StringIO(table.read_text("utf-8-sig"), newline=""))
        columns = list(reader.fieldnames or ())
        rows = [{name: row.get(name) or "" for name in columns} for row in reader]
    except FileNotFoundError:
        return [], []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WeakspotError(f"{table} cannot be read: {error}", fix="save it as CSV in UTF-8") from error
    return columns, rows
