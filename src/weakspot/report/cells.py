"""Pictures of rates by concepts, drawn as SVG: heat maps of two axes, cells in the space of three."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report.plots import Figure, Lanes, Mark, brief, lanes, named, svg, text

#: Pixels of a cell of a heat map, and of a letter.
WIDE, HIGH, LETTER = 64.0, 38.0, 6.4
#: Steps of the scale of rates, from never to the worst of a picture.
STEPS: Final = 9
#: Of cells in space: the picture, pixels of half an axis, and the angles (degrees) from which it is seen
#: until report.js turns it.
ACROSS, UP, SCALE, TURN, TILT = 440.0, 370.0, 96.0, 35.0, 25.0


class Axis(NamedTuple):
    """An axis with the names of its values."""

    name: str
    values: Sequence[str]


class Cell(NamedTuple):
    """A cell: the numbers of its values, its rate, and what it is in words."""

    at: Sequence[int]
    rate: float
    words: str


#: Rates by two axes: a row for each value of the first; None where there is nothing to have a rate.
ByTwo = Sequence[Sequence[float | None]]


def heat(down: Axis, across: Axis, rates: ByTwo, top: float) -> Markup:
    """Rates by two axes, written into the cells.

    Args:
        top: The rate of the strongest colour.
    """
    names = [brief(value, 22) for value in down.values]
    left = 24 + LETTER * max(map(len, names), default=0) + 8
    wide, high = WIDE * len(across.values), HIGH * len(names)
    parts = [
        text(left + wide / 2, high + 40, brief(across.name, 40), "middle", "var(--ink)"),
        Markup('<g transform="translate(12 {:.0f}) rotate(-90)">{}</g>').format(
            high / 2, text(0, 0, brief(down.name, 40), "middle", "var(--ink)")
        ),
    ]
    for i, name in enumerate(names):
        parts.append(text(left - 8, HIGH * (i + 0.5) + 4, name, "end"))
        for j, value in enumerate(across.values):
            rate = rates[i][j]
            if rate is None:
                continue
            tip = f"{down.values[i]}, {value}: {show.percent(rate)}"
            box = Markup(
                '<rect x="{}" y="{}" width="{}" height="{}" rx="3" fill="{}"><title>{}</title></rect>'
            )
            parts.append(
                box.format(left + WIDE * j, HIGH * i, WIDE - 2, HIGH - 2, ink(rate, top), brief(tip, 160))
            )
            on = "var(--heat-ink)" if top > 0 and rate >= 2 / 3 * top else "var(--ink)"
            parts.append(
                text(left + WIDE * (j + 0.5) - 1, HIGH * (i + 0.5) + 3, show.percent(rate), "middle", on)
            )
    parts += [
        text(left + WIDE * (j + 0.5), high + 18, brief(value, 9), "middle")
        for j, value in enumerate(across.values)
    ]
    return svg(left + wide + 4, high + 48, f"failure rate by {down.name} and {across.name}", parts)


def heat_figure(
    axes: Sequence[Axis], pair: tuple[int, int], rates: ByTwo, top: float, when: str = ""
) -> Figure:
    """A heat map with its data.

    Args:
        pair: The places of the two that are shown.
        top: The rate of the strongest colour.
        when: Of which landscape, where there are several.
    """
    down, across = (axes[i] for i in pair)
    rows = [
        (str(r), str(c), rate)
        for r, some in zip(down.values, rates, strict=True)
        for c, rate in zip(across.values, some, strict=True)
        if rate is not None
    ]
    names = f"{show.shorten(down.name, 40)} and {show.shorten(across.name, 40)}"
    return Figure(
        named("rate", *pair, down.name, across.name, when),
        f"{when}: rate by {names}" if when else f"Rate by {names}",
        (show.shorten(down.name, 60), show.shorten(across.name, 60), "failure rate"),
        rows,
        heat(down, across, rates, top),
        wide=False,
    )


def axis_figure(axis: Axis, rates: Mapping[str, Sequence[Rate]], name: str, title: str, note: str) -> Figure:
    """Rates over one axis with their intervals: a row for each value; several series below one another."""
    marks, rows = [], []
    for i, value in enumerate(axis.values):
        for series, some in rates.items():
            rate = some[i]
            marks.append(Mark(show.shorten(str(value), 120), series, rate))
            rows.append((str(value), series, rate.value, rate.low, rate.high, rate.failures, rate.n))
    title = title.format(show.shorten(axis.name, 40))
    return Figure(
        named("rate", name, axis.name),
        title,
        (show.shorten(axis.name, 60), "of", "rate", "low", "high", "failures", "n"),
        rows,
        lanes(Lanes(marks, tuple(rates), bars=True), title),
        note,
    )


def ink(rate: float, top: float) -> str:
    step = min(int(STEPS * rate / top), STEPS - 1) if top > 0 else 0
    return f"var(--heat-{max(step, 0)})"


def space(axes: Sequence[Axis], cells: Sequence[Cell], top: float) -> Markup:
    """Cells by their first three axes; the larger and redder, the worse."""
    three = axes[:3]
    half = [(len(axis.values) - 1) / 2 or 0.5 for axis in three]
    parts, labels = [], []
    for i, axis in enumerate(three):
        begin, end, beyond = ([-1.0] * 3 for _ in range(3))
        end[i], beyond[i] = 1.0, 1.25
        (x1, y1, _), (x2, y2, _) = _seen(begin), _seen(end)
        arm = Markup(
            '<line data-from="{}" data-to="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" '
            'stroke="var(--soft)" stroke-width="1.2"/>'
        )
        parts.append(arm.format(_numbers(begin), _numbers(end), x1, y1, x2, y2))
        labels.append(_put(beyond, text(0, 4, brief(axis.name, 30), "middle", "var(--ink)")))
    dots = []
    for cell in cells:
        place = [(number - h) / h for number, h in zip(cell.at, half, strict=False)]
        area = 12 + 248 * (cell.rate / top if top > 0 else 0.0)
        dot = Markup(
            '<circle r="{:.1f}" fill="{}" stroke="var(--paper)" stroke-width="0.7"><title>{}</title></circle>'
        ).format(
            math.sqrt(area / math.pi),
            ink(cell.rate, top),
            f"{brief(cell.words, 160)}: {show.percent(cell.rate)}",
        )
        dots.append((-_seen(place)[2], _put(place, dot)))
    dots.sort(key=lambda one: one[0])
    drawn = svg(ACROSS, UP, "cells in space", [*parts, *labels, *(dot for _, dot in dots)])
    head = Markup('<svg class="space" data-turn="{:g}" data-tilt="{:g}" data-scale="{:g}" ')
    return Markup(drawn.replace("<svg ", head.format(TURN, TILT, SCALE), 1))  # noqa: S704 - ours


def _put(place: Sequence[float], mark: Markup) -> Markup:
    x, y, _ = _seen(place)
    group = Markup('<g data-at="{}" transform="translate({:.1f} {:.1f})">{}</g>')
    return group.format(_numbers(place), x, y, mark)


def _numbers(place: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in place)


def _seen(place: Sequence[float]) -> tuple[float, float, float]:
    """Where a place (from −1 to 1 along each axis) lies in the picture, and how far away."""
    x, y, z = place
    turn, tilt = math.radians(TURN), math.radians(TILT)
    depth = x * math.sin(turn) + y * math.cos(turn)
    across = x * math.cos(turn) - y * math.sin(turn)
    up = z * math.cos(tilt) + depth * math.sin(tilt)
    return ACROSS / 2 + SCALE * across, UP / 2 - SCALE * up, depth
