"""Figures: rates with intervals in rows, histograms, curves, each drawn as SVG and carrying its data.

Colours are the page's, by their names, so that a picture is right in the light, in the dark and on paper.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup, escape

from weakspot.core import Rate
from weakspot.report import format as show

#: Rows of data that a figure carries, and characters of a cell.
ROWS, CELL = 5_000, 300
#: Width of a picture (pixels) that is not made to fit a narrow screen.
BROAD: Final = 700
_WIDTH: Final = re.compile(r'<svg [^>]*?width="([0-9.]+)"')
#: The whole picture, the names at its left, one row, and the axis at its foot.
WIDE, NAMES, ROW, FOOT = 920.0, 310.0, 24.0, 26.0
#: Across a picture that is never scrolled.
SLIM: Final = 500.0
#: Characters of a line of a name.
LONGEST: Final = 44
#: Of the series, in their order: the usual one first.
INKS: Final = ("var(--base)", "var(--fail)", "var(--pass)", "var(--warn)", "var(--soft)")
#: Likewise, of bars.
BARS: Final = ("var(--base-bar)", "var(--fail-bar)", *INKS[2:])
#: Of two runs, or of one model before and after: everywhere the same, and no colour of failing or passing.
RUNS: Final = ("var(--first)", "var(--second)")
_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


class Figure(NamedTuple):
    """A picture (SVG) with its data, to be looked at, saved as a file, or read as a table.

    Attributes:
        name: Of the files it is saved as: letters, digits, hyphens.
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
        cells = (show.shorten(v, CELL) if isinstance(v, str) else _rounded(v) for v in row)
        writer.writerow(map(show.neutral, cells))
    return file.getvalue()


def named(*words: object) -> str:
    """A file's name of such words."""
    text = "-".join(str(word) for word in words).lower()
    kept = "".join(c if c.isascii() and c.isalnum() else "-" for c in text)
    return "-".join(filter(None, kept.split("-")))[:60] or "figure"


def _rounded(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


# -- axes --------------------------------------------------------------------------------------------


class Tick(NamedTuple):
    """A mark on the axis, at `x` percent of the width."""

    x: float
    label: str


class Bar(NamedTuple):
    """A rate and its interval, in percent of the width."""

    value: float
    low: float
    high: float


class Axis(NamedTuple):
    """A linear axis of rates from zero to `top`, at the right end."""

    top: float
    ticks: tuple[Tick, ...]

    @property
    def few(self) -> list[Tick]:
        """Every other mark and the last, for a narrow column."""
        last = len(self.ticks) - 1
        return [tick for i, tick in enumerate(self.ticks) if i == last or (i % 2 == 0 and i != last - 1)]

    def bar(self, rate: Rate) -> Bar:
        shares = (x / self.top for x in (rate.value, rate.low, rate.high))
        return Bar(*(round(100 * min(max(share, 0.0), 1.0), 3) for share in shares))


def axis(rates: Iterable[Rate]) -> Axis:
    """The shortest axis with round marks that holds all these intervals."""
    highest = max((r.high for r in rates if r.n and math.isfinite(r.high)), default=1.0)
    top, step = steps(min(max(highest, 1e-6), 1.0))
    parts = round(top / step)
    ticks = (Tick(round(100 * i / parts, 3), show.percent(round(step * i, 9))) for i in range(parts + 1))
    return Axis(top, tuple(ticks))


def steps(highest: float) -> tuple[float, float]:
    """The end of the shortest axis from zero that holds a number, and the distance of its round marks."""
    highest = highest if highest > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(highest / 4))
    step = next(s * power for s in _STEPS if highest <= 5 * s * power * (1 + 1e-9))
    return step * math.ceil(highest / step - 1e-9), step


# -- pictures ----------------------------------------------------------------------------------------


class Mark(NamedTuple):
    """A rate in a row of a picture; rows of one group stand together under its name."""

    row: str
    series: str
    rate: Rate
    group: str = ""


class Lanes(NamedTuple):
    """Rates in rows.

    Attributes:
        series: Their names, in the order of the colours.
        bands: By row, an interval that is shaded behind it.
        bars: Bars from zero in place of points.
        inks: Colours of the series, if not the usual ones.
    """

    marks: Sequence[Mark]
    series: tuple[str, ...]
    bands: Mapping[str, Rate] = {}
    bars: bool = False
    inks: tuple[str, ...] = ()


def lanes(data: Lanes, title: str) -> Markup:
    """Rates with their intervals, a row each; several series of a row below one another."""
    rates = [m.rate for m in data.marks] + list(data.bands.values())
    scale = axis(rates)
    span = WIDE - NAMES - 14

    def x(share: float) -> float:
        return round(NAMES + span * min(max(share / scale.top, 0.0), 1.0), 1)

    inks = data.inks or (BARS if data.bars else INKS)
    head = 24.0 if len(data.series) > 1 else 6.0
    long = any(len(mark.row) > LONGEST for mark in data.marks)
    step = (ROW + 6 * long) if len(data.series) == 1 else 6 + 12.0 * len(data.series)
    parts, y, group = [], head, ""
    rows: dict[tuple[str, str], list[Mark]] = {}
    for mark in data.marks:
        rows.setdefault((mark.group, mark.row), []).append(mark)
    for (heading, row), marks in rows.items():
        if heading != group:
            group = heading
            parts.append(text(0, y + 15, brief(heading, 120), ink="var(--ink)", bold=True))
            y += 22
        band = data.bands.get(row)
        if band is not None:
            width = max(x(band.high) - x(band.low), 2)
            parts.append(_rect(x(band.low), y, width, step, "var(--base-bar)", 0.55))
        parts += _name(row, y + step / 2 + 4)
        for mark in marks:
            at = data.series.index(mark.series)
            middle = y + (step / 2 if len(data.series) == 1 else 9 + 12 * at)
            ink = inks[(at if len(data.series) > 1 else 1) % len(inks)]
            parts += _mark(mark, x, middle, ink, bars=data.bars)
        y += step
    places = [(x(scale.top * tick.x / 100), tick) for tick in scale.ticks]
    foot = [_line(at, at, head, y) for at, _ in places]
    words = [text(at, y + 16, tick.label, "end" if tick.x == 100 else "middle") for at, tick in places]
    return svg(WIDE, y + FOOT, title, [*foot, *parts, *words, *_legend(data.series, inks)])


def _name(words: str, y: float) -> list[Markup]:
    """A name at the left of its row, in two lines where it is long."""
    lines = show.folded(brief(words, 2 * LONGEST), LONGEST)
    if len(lines) > 2:
        lines = [lines[0], brief(" ".join(lines[1:]), LONGEST)]
    first = y - 6.5 * (len(lines) - 1)
    return [text(NAMES - 10, first + 13 * i, line, "end", "var(--ink)") for i, line in enumerate(lines)]


def brief(words: object, most: int) -> str:
    """The beginning of a text, as it may stand in a picture."""
    cut = show.clean(str(words)[: most + 1])
    return cut if len(cut) <= most else f"{cut[: most - 1].rstrip()}…"


def _mark(mark: Mark, x: Any, y: float, ink: str, *, bars: bool) -> list[Markup]:
    rate = mark.rate
    tip = ", ".join(brief(words, 160) for words in (mark.row, mark.series) if words) + f": {show.rate(rate)}"
    if not rate.n:
        return []
    whisker = _line(x(rate.low), x(rate.high), y, y, "var(--ink)" if bars else ink, ' stroke-width="1.6"')
    if bars:
        bar = Markup('<rect x="{}" y="{}" width="{}" height="9" fill="{}"><title>{}</title></rect>')
        return [bar.format(x(0), y - 4.5, max(x(rate.value) - x(0), 1), ink, tip), whisker]
    dot = Markup('<circle cx="{}" cy="{}" r="4.5" fill="{}"><title>{}</title></circle>')
    return [whisker, dot.format(x(rate.value), y, ink, tip)]


def _legend(series: Sequence[str], inks: Sequence[str]) -> list[Markup]:
    parts, at = [], NAMES
    for i, name in enumerate(series if len(series) > 1 else ()):
        parts.append(_rect(at, 3, 10, 10, inks[i % len(inks)], 1))
        name = brief(name, 48)
        parts.append(text(at + 15, 12, name))
        at += 34 + 6.2 * len(name)
    return parts


class Bins(NamedTuple):
    """Counts in bins of equal width between two ends; of them, those that failed."""

    name: str
    counts: Sequence[int]
    failed: Sequence[int] = ()


def histograms(rows: Sequence[Bins], *, low: float, high: float, cut: float | None, title: str) -> Markup:
    """Histograms above one another on one axis; what failed is red, and stands on what did not.

    Their names stand above them, so that a narrow screen holds the whole picture.
    """
    height, y, left = 40.0, 20.0, 14.0
    span, parts = SLIM - 2 * left, list[Markup]()

    def x(value: float) -> float:
        return round(left + span * (value - low) / (high - low), 1)

    for row in rows:
        most, n = max(row.counts, default=0) or 1, sum(row.counts)
        parts.append(text(left, y - 6, show.cut(row.name, 48), "start", "var(--ink)"))
        failures = f", {show.count(sum(row.failed))} failed" if row.failed else ""
        parts.append(text(SLIM - left, y - 6, f"{show.plural(n, 'pair')}{failures}", "end"))
        wide = (high - low) / len(row.counts)
        for i, count in enumerate(row.counts):
            if not count:
                continue
            a, unit = low + i * wide, (height - 4) / most
            failed = min(row.failed[i], count) if i < len(row.failed) else 0
            for some, below, ink in (
                (count - failed, 0, "var(--base-bar)"), (failed, count - failed, "var(--fail-bar)")
            ):  # fmt: skip
                if some:
                    top = y + height - unit * (below + some)
                    parts.append(_rect(x(a), top, x(a + wide) - x(a) - 0.6, unit * some, ink, 1))
        parts.append(_line(x(low), x(high), y + height, y + height))
        if cut is not None:
            line = Markup('<line class="cut" x1="{0}" x2="{0}" y1="{1}" y2="{2}"/>')
            parts.append(line.format(x(cut), y, y + height))
        y += height + 26
    y -= 22
    size = steps(high - low)[1]
    marks = [size * i for i in range(math.ceil(low / size - 1e-9), math.floor(high / size + 1e-9) + 1)]
    parts += [text(x(v), y + 12, f"{v:.4g}".replace("-", "−"), "middle") for v in marks]
    return svg(SLIM, y + 20, title, parts)


class Curve(NamedTuple):
    """A line through points from left to right; the one at `marked` is a dot."""

    name: str
    points: Sequence[tuple[float, float]]
    marked: float | None = None


def curves(some: Sequence[Curve], title: str, *, across: str, up: str = "", shares: bool = False) -> Markup:
    """Lines over counts; a single one with its area.

    Args:
        across: What is counted.
        up: What is shown of it, where the lines have no names.
        shares: It is shares, and shown in percent.
    """
    left, head, wide, high = 62.0, 24.0, 400.0, 170.0
    points = [point for curve in some for point in curve.points]
    (last, step), (most, rise) = (steps(max(column, default=0)) for column in zip(*points, strict=True))
    inks = ("var(--fail)", "var(--base)", *INKS[2:])

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return round(left + wide * point[0] / last, 1), round(head + high * (1 - point[1] / most), 1)

    parts = []
    for i in range(round(most / rise) + 1):
        _, y = at((0, rise * i))
        parts.append(_line(left, left + wide, y, y))
        parts.append(text(left - 8, y + 4, show.percent(rise * i) if shares else f"{rise * i:,g}", "end"))
    for i in range(round(last / step) + 1):
        x, y = at((step * i, 0))
        if (step * i) % 1 == 0:
            parts.append(text(x, y + 18, f"{step * i:,g}", "middle"))
    parts.append(text(left + wide / 2, head + high + 36, across, "middle", "var(--ink)"))
    parts.append(text(left, 12, up, ink="var(--ink)"))
    for i, (curve, ink) in enumerate(zip(some, inks, strict=False)):
        path = " ".join(f"{x},{y}" for x, y in map(at, curve.points))
        if len(some) == 1:
            (first, foot), (end, _) = at((curve.points[0][0], 0)), at(curve.points[-1])
            area = Markup('<polygon points="{},{} {} {},{}" fill="var(--fail-bar)" opacity="0.15"/>')
            parts.append(area.format(first, foot, path, end, foot))
        drawn = Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>')
        parts.append(drawn.format(path, ink))
        for x, y in (at(point) for point in curve.points if point[0] == curve.marked):
            parts.append(Markup('<circle cx="{}" cy="{}" r="5" fill="{}"/>').format(x, y, ink))
        if len(some) > 1:
            parts.append(_rect(left + 110 * i, 3, 10, 10, ink, 1))
            parts.append(text(left + 110 * i + 15, 12, brief(curve.name, 14)))
    return svg(left + wide + 20, head + high + 44, title, parts)


def svg(wide: float, high: float, title: str, parts: Sequence[Markup]) -> Markup:
    """The picture; it may be made narrower, and its text with it."""
    head = Markup(
        '<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">'
    )
    return head.format(wide, high, brief(title, 200)) + Markup("").join(parts) + Markup("</svg>")


def text(
    x: float, y: float, words: str, anchor: str = "start", ink: str = "var(--soft)", *, bold: bool = False
) -> Markup:
    weight = Markup(' font-weight="600"') if bold else ""
    found = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}" font-size="12"{}>{}</text>')
    return found.format(x, y, anchor, ink, weight, show.clean(words))


def _line(x1: float, x2: float, y1: float, y2: float, ink: str = "var(--line)", more: str = "") -> Markup:
    found = Markup('<line x1="{}" x2="{}" y1="{}" y2="{}" stroke="{}"{}/>')
    return found.format(x1, x2, y1, y2, ink, Markup(more))  # noqa: S704 - ours


def _rect(x: float, y: float, wide: float, high: float, ink: str, opacity: float) -> Markup:
    found = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}" opacity="{}"/>')
    return found.format(x, y, wide, high, ink, opacity)
