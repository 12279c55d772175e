"""A figure of the report: a picture with its data, to be looked at, turned into a file, or read as a table.

Every figure has a picture that is drawn here without any library. Where altair and vl-convert are installed,
its Vega-Lite chart takes that place, as a static picture of the same chart that scripts bring to life.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape

from weakspot.report.dataset import neutral
from weakspot.report.format import shorten

#: Rows of data that a figure carries, and characters of a cell.
ROWS, CELL = 5_000, 300
#: Figures of one page that become Vega-Lite charts; further ones stay as drawn here.
CHARTS: Final = 40
#: Width of a picture (pixels) that is not made to fit a narrow screen.
BROAD: Final = 700
_WIDTH: Final = re.compile(r'<svg [^>]*?width="([0-9.]+)"')

Spec = dict[str, Any]


class Figure(NamedTuple):
    """What a picture shows.

    Attributes:
        name: Of the files it is saved as: letters, digits, hyphens.
        title: In a few words.
        columns: Of its data.
        rows: Its data: texts and numbers.
        plain: The picture, drawn without a library.
        spec: Makes the Vega-Lite chart; None where there is none that is better.
        note: How to read it.
        wide: It takes a row of the page for itself.
        live: Its controls are of use at once, so it is brought to life when the page opens.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    plain: Markup
    spec: Callable[[], Spec] | None = None
    note: str = ""
    wide: bool = True
    live: bool = False


class Shown(NamedTuple):
    """A figure as the page shows it; `spec` is "" where there is only the picture."""

    name: str
    title: str
    note: str
    picture: Markup
    csv: Markup
    spec: Markup
    wide: bool
    live: bool

    @property
    def broad(self) -> bool:
        """It has names beside its marks: on a narrow screen it is scrolled, not made too small to read."""
        found = _WIDTH.search(self.picture[:400])
        return found is not None and float(found[1]) > BROAD


def shown(figures: Sequence[Figure]) -> list[Shown]:
    """The figures of a page, as Vega-Lite charts where that can be had."""
    from weakspot.report import vega

    able, found = vega.available(), []
    for i, figure in enumerate(figures):
        picture, spec = figure.plain, ""
        if able and figure.spec is not None and i < CHARTS:
            made = vega.themed(figure.spec())
            with suppress(ValueError):  # strange letters that vl-convert cannot measure: as drawn here
                picture, spec = vega.svg(made, figure.title), json.dumps(made, separators=(",", ":"))
        made_of = _hidden(table(figure)), _hidden(spec), figure.wide, figure.live and bool(spec)
        found.append(Shown(figure.name, figure.title, figure.note, picture, *made_of))
    return found


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


def values(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows as Vega-Lite has them; texts are cleaned and cut."""
    return [
        {
            c: shorten(v, CELL) if isinstance(v, str) else _rounded(v)
            for c, v in zip(columns, row, strict=True)
        }
        for row in rows
    ]


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _hidden(text: str) -> Markup:
    """Text in an element that is not shown: escaped, but neither cut nor otherwise changed."""
    return escape(text)


def merged(*specs: Mapping[str, Any]) -> Spec:
    """Specifications one over the other, deep."""
    found: Spec = {}
    for spec in specs:
        for key, value in spec.items():
            old = found.get(key)
            found[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return found
