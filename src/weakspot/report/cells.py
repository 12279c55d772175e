"""Pictures of rates by concepts, drawn as SVG: heat maps of two axes, and lanes of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report.plots import RUNS, Figure, Lanes, Mark, brief, lanes, named, svg, text

#: Pixels of a cell of a heat map, and of a letter.
WIDE, HIGH, LETTER = 64.0, 38.0, 6.4
#: Steps of the scale of rates, from never to the worst of all pictures; pixels of one in the legend.
STEPS: Final = 9
SWATCH: Final = 16.0
#: Characters of a value's name.
LONGEST: Final = 40


class Axis(NamedTuple):
    """An axis with the names of its values."""

    name: str
    values: Sequence[str]


#: Rates by two axes: a row for each value of the first; None where there is nothing to have a rate.
ByTwo = Sequence[Sequence[float | None]]


def heat(down: Axis, across: Axis, rates: ByTwo, top: float) -> Markup:
    """Rates by two axes, written into the cells, with the scale of the colours below.

    Args:
        top: The rate of the strongest colour; the same for all pictures that are to be compared.
    """
    names = [brief(value, LONGEST) for value in down.values]
    heads = [brief(value, LONGEST) for value in across.values]
    longest = LETTER * max(map(len, heads), default=0)
    turned = longest > WIDE - 4  # names that do not fit above one another's columns lean
    foot = 26 + (0.6 * longest if turned else 0)
    left = 24 + max(LETTER * max(map(len, names), default=0) + 8, 0.8 * longest - WIDE / 2 if turned else 0)
    wide, high = WIDE * len(across.values), HIGH * len(names)
    parts = [
        text(left + wide / 2, high + foot + 14, brief(across.name, 40), "middle", "var(--ink)"),
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
    for j, name in enumerate(heads):
        x = left + WIDE * (j + 0.5)
        if turned:
            lean = Markup('<g transform="translate({:.0f} {:.0f}) rotate(-37)">{}</g>')
            parts.append(lean.format(x + 6, high + 14, text(0, 0, name, "end")))
        else:
            parts.append(text(x, high + 18, name, "middle"))
    bottom = high + foot + 34
    parts += _legend(left, bottom, top)
    least = left + (STEPS + 6) * SWATCH
    return svg(
        max(left + wide, least) + 4, bottom + 16, f"failure rate by {down.name} and {across.name}", parts
    )


def _legend(left: float, y: float, top: float) -> list[Markup]:
    """The colours from never to the worst rate."""
    box = Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="{}"/>')
    start = left + 30
    boxes = [
        box.format(start + SWATCH * step, y - 10, SWATCH, SWATCH - 4, f"var(--heat-{step})")
        for step in range(STEPS)
    ]
    last = start + SWATCH * STEPS + 6
    return [text(start - 6, y, "0 %", "end"), *boxes, text(last, y, show.percent(top) if top > 0 else "0 %")]


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
        lanes(Lanes(marks, tuple(rates), bars=True, inks=RUNS if len(rates) == 2 else ()), title),
        note,
    )


def ink(rate: float, top: float) -> str:
    step = min(int(STEPS * rate / top), STEPS - 1) if top > 0 else 0
    return f"var(--heat-{max(step, 0)})"
