"""A figure of the report: a picture with its data, to be looked at, saved as a file, or read as a table."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape

from weakspot.report.dataset import neutral
from weakspot.report.format import shorten

#: Rows of data that a figure carries, and characters of a cell.
ROWS, CELL = 5_000, 300
#: Width of a picture (pixels) that is not made to fit a narrow screen.
BROAD: Final = 700
_WIDTH: Final = re.compile(r'<svg [^>]*?width="([0-9.]+)"')


class Figure(NamedTuple):
    """What a picture shows.

    Attributes:
        name: Of the files it is saved as: letters, digits, hyphens.
        title: In a few words.
        columns: Of its data.
        rows: Its data: texts and numbers.
        picture: As SVG.
        note: How to read it.
        wide: It takes a row of the page for itself.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    picture: Markup
    note: str = ""
    wide: bool = True

    @property
    def broad(self) -> bool:
        """It has names beside its marks: on a narrow screen it is scrolled, not made too small to read."""
        found = _WIDTH.search(self.picture[:400])
        return found is not None and float(found[1]) > BROAD

    @property
    def csv(self) -> Markup:
        """The data in an element that is not shown: escaped, but neither cut nor otherwise changed."""
        return escape(table(self))


def table(figure: Figure) -> str:
    """The data as CSV, with plain line ends; no cell is a formula to a spreadsheet."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(figure.columns)
    for row in figure.rows[:ROWS]:
        writer.writerow([neutral(shorten(v, CELL) if isinstance(v, str) else _rounded(v)) for v in row])
    return file.getvalue()


def named(*words: object) -> str:
    """A file's name of such words."""
    text = "-".join(str(word) for word in words).lower()
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text)
    return "-".join(filter(None, kept.split("-")))[:60] or "figure"


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value
