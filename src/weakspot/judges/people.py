"""People say how bad an output is: their ratings are Δ.

Whatever nobody has rated yet is written into a folder, a picture or a text each, with a row in `ratings.csv`;
the run then stops, and goes on (`weakspot resume`) when the ratings are there. A rating is a number from 1
(as it should be) to 10 (as bad as can be); Δ = (rating − 1) / 9. Columns `rating`, `rating 2`, … are
different people, whose mean counts. They are filled in by hand, or by a page: `weakspot label RUN`. A search
asks what it learns from, so there are several sittings; with `--search exhaustive` there are the fewest.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.core import Case, Output, Status, Verdict, WeakspotError, disk_errors
from weakspot.judges.discrepancy import Discrepancy, limit

FILE: Final = "ratings.csv"
COLUMNS: Final = ("case", "file", "expected", "answer", "rating")
LEAST, MOST = 1.0, 10.0
#: Characters of a text in the table; spreadsheets read what begins with these as a formula.
LONGEST, FORMULAS = 500, ("=", "+", "-", "@", "\t", "\r")


class PeopleJudge:
    """See the module. `waiting` counts the cases without a rating so far."""

    def __init__(self, folder: Path, *, epsilon: float = 0.5) -> None:
        self.folder, self.epsilon, self.waiting = folder, epsilon, 0
        self._rows = _read(folder / FILE)
        self._ratings = {key: rating for key, row in self._rows.items() if (rating := _mean(row)) is not None}

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The score is Δ. From the first case without a rating on, all wait."""
        rated = Discrepancy(
            lambda case, _: (self._ratings[_key(case)] - LEAST) / (MOST - LEAST), self.epsilon
        )
        found, before = [], self.waiting
        for case, output in zip(cases, outputs, strict=True):
            ready = _key(case) in self._ratings and not self.waiting
            if ready or output.status is not Status.OK or output.answer is None:
                found += rated.judge([case], [output])
            else:
                self._ask(case, output)
                found.append(Verdict(None, status=Status.ERROR, reason=f"outputs wait {self.to_do}"))
        if self.waiting > before:
            self._write()
        return found

    @property
    def to_do(self) -> str:
        return f"for people's ratings in {self.folder / FILE} (weakspot label RUN)"

    def hold(self) -> None:
        """Stop, by a `WeakspotError`, a run whose last cases wait."""
        if self.waiting:
            outputs = "1 output waits" if self.waiting == 1 else f"{self.waiting:,} outputs wait"
            raise WeakspotError(
                f"{outputs} {self.to_do}",
                fix="rate them there, from 1 (good) to 10 (bad), or by hand; then: weakspot resume RUN",
            )

    def _ask(self, case: Case, output: Output) -> None:
        key = _key(case)
        self.waiting += 1
        if key not in self._ratings and key not in self._rows:  # one with a rating waits for the others
            name = _keep(self.folder, key, case.input)
            row = (key, name, case.expected, str(output.answer), "")
            self._rows[key] = dict(zip(COLUMNS, map(_plain, row), strict=True))

    def _write(self) -> None:
        from weakspot.store.blobs import write_whole

        columns = dict.fromkeys([*COLUMNS, *(name for row in self._rows.values() for name in row)])
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, list(columns), restval="")
        table.writeheader()
        table.writerows(self._rows.values())
        with disk_errors(f"{self.folder / FILE} cannot be written", "name another folder"):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / FILE, text.getvalue().encode("utf-8", "backslashreplace"))


def _key(case: Case) -> str:
    return f"{case.hypothesis.id}-{case.index}"


def _keep(folder: Path, key: str, shown: Any) -> str:
    """The picture as a file; of texts there is none, what was answered is in the table."""
    if not isinstance(shown, np.ndarray):
        return ""
    from weakspot.store.blobs import png, write_whole

    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    write_whole(folder / "pictures" / f"{key}.png", png(shown))
    return f"pictures/{key}.png"


def _plain(text: str) -> str:
    shown = "".join(c if c.isprintable() else " " for c in text[:LONGEST])
    return f"'{shown}" if shown.startswith(FORMULAS) else shown


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(f"{path} cannot be read: {error}", fix="save it as CSV in UTF-8") from error
    table = csv.DictReader(io.StringIO(text))
    if not {"case", "rating"} <= set(table.fieldnames or ()):
        raise WeakspotError(f"{path} has no columns case and rating", fix="keep the columns as they were")
    rows = {}
    for row in table:
        case = row["case"] or ""
        rows[case] = {k: v or "" for k, v in row.items() if isinstance(k, str)}
        said = _said(rows[case])
        if said and _mean(rows[case]) is None:
            raise WeakspotError(
                f"the rating of {case[:80]!r} in {path} is {', '.join(said)[:60]!r}",
                fix="write a number from 1 (as it should be) to 10 (as bad as can be)",
            )
    return rows


def _said(row: dict[str, str]) -> list[str]:
    return [v.strip() for k, v in row.items() if k.lower().startswith("rating") and v.strip()]


def _mean(row: dict[str, str]) -> float | None:
    """The mean rating; None if there is none, or one that is no number from 1 to 10."""
    try:
        numbers = [float(value.replace(",", ".")) for value in _said(row)]
    except ValueError:
        return None
    fine = numbers and all(math.isfinite(n) and LEAST <= n <= MOST for n in numbers)
    return sum(numbers) / len(numbers) if fine else None


def load(*, folder: str = "", epsilon: str = "") -> PeopleJudge:
    """`people?folder=ratings`, `people?folder=ratings&epsilon=0.4`."""
    if not folder:
        raise WeakspotError("no folder of ratings is named", fix="--judge 'people?folder=ratings'")
    given = limit(epsilon)
    return PeopleJudge(Path(folder), epsilon=0.5 if given is None else given)
