"""Pictures of a failure landscape as SVG: heat maps of axis pairs, cells in space, failures by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from markupsafe import Markup

from weakspot.report import format as show

#: Pixels of a cell of a heat map, and room for its labels.
CELL, LEFT, TOP = 44, 74, 24
_LOW: Final = (246, 240, 226)
_HIGH: Final = (168, 28, 36)


def colour(rate: float, top: float) -> str:
    """From pale (never) to red (the highest rate of the picture)."""
    t = min(max(rate / top if top > 0 else 0.0, 0.0), 1.0)
    return "#" + "".join(f"{round(a + (b - a) * t):02x}" for a, b in zip(_LOW, _HIGH, strict=True))


def heat(axes: Sequence[dict[str, Any]], pair: dict[str, Any], top: float) -> Markup:
    """Rates over two axes, averaged over the others."""
    a, b = (axes[i] for i in pair["axes"])
    wide, high = LEFT + CELL * len(b["values"]) + 6, TOP + CELL * len(a["values"]) + 22
    parts = [_text(LEFT + CELL * len(b["values"]) / 2, 12, b["name"], "middle", bold=True)]
    parts += [_text(4, 12, a["name"], "start", bold=True)]
    for i, value in enumerate(a["values"]):
        parts.append(_text(LEFT - 6, TOP + CELL * (i + 0.5) + 4, value, "end"))
        for j in range(len(b["values"])):
            rate = float(pair["rates"][i][j])
            x, y = LEFT + CELL * j, TOP + CELL * i
            ink = "#fff" if rate > 0.6 * top else "#222"
            parts.append(
                Markup(
                    '<rect x="{}" y="{}" width="{}" height="{}" fill="{}"><title>{}</title></rect>'
                ).format(
                    x,
                    y,
                    CELL - 2,
                    CELL - 2,
                    colour(rate, top),
                    f"{value}, {b['values'][j]}: {show.percent(rate)}",
                )
            )
            parts.append(
                _text(x + CELL / 2 - 1, y + CELL / 2 + 4, show.percent(rate).replace(" ", ""), "middle", ink)
            )
    parts += [
        _text(LEFT + CELL * (j + 0.5), TOP + CELL * len(a["values"]) + 14, value, "middle")
        for j, value in enumerate(b["values"])
    ]
    return _svg(wide, high, f"failure rate by {a['name']} and {b['name']}", parts)


def curve(trace: Sequence[Sequence[int]], queries: int) -> Markup:
    """Failures found against queries."""
    wide, high, left, foot = 460, 200, 56, 30
    most = max((row[1] for row in trace), default=0) or 1
    across, up = (wide - left - 10) / max(queries, 1), (high - foot - 14) / most
    points = " ".join(f"{left + across * q:.1f},{high - foot - up * f:.1f}" for q, f in [(0, 0), *trace])
    parts = [
        Markup('<line x1="{0}" y1="{2}" x2="{1}" y2="{2}" stroke="currentColor" opacity=".4"/>').format(
            left, wide - 10, high - foot
        ),
        Markup('<polyline points="{}" fill="none" stroke="#a81c24" stroke-width="2"/>').format(points),
        _text(left - 6, 18, show.count(most), "end", "currentColor"),
        _text(left - 6, high - foot + 4, "0", "end", "currentColor"),
        _text(wide - 10, high - 12, f"{show.count(queries)} queries", "end", "currentColor"),
        _text(left, 10, "failures", "start", "currentColor"),
    ]
    return _svg(wide, high, "failures found against queries", parts)


def scatter(
    axes: Sequence[dict[str, Any]], worst: Sequence[tuple[Sequence[int], float, str]], top: float
) -> Markup:
    """Cells by their first three axes, seen from above at an angle; the larger and redder, the worse."""
    three = list(axes[:3])
    sizes = [len(axis["values"]) for axis in three] + [1] * (3 - len(three))
    step, wide = 30.0, 60 + 30.0 * (sizes[0] + sizes[1]) * 0.87
    high = 60 + 30.0 * ((sizes[0] + sizes[1]) * 0.5 + sizes[2])

    def at(x: float, y: float, z: float) -> tuple[float, float]:
        return (
            30 + step * 0.87 * (x - y + sizes[1] - 1),
            high - 34 - step * (z + (x + y) * 0.5),
        )

    parts = []
    for x, y, z in ((sizes[0] - 1, 0, 0), (0, sizes[1] - 1, 0), (0, 0, sizes[2] - 1)):
        (x1, y1), (x2, y2) = at(0, 0, 0), at(x, y, z)
        line = '<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="currentColor" opacity=".35"/>'
        parts.append(_filled(line, x1, y1, x2, y2))
    for axis, end in zip(
        three, ((sizes[0] - 0.4, 0, 0), (0, sizes[1] - 0.4, 0), (0, 0, sizes[2] - 0.4)), strict=False
    ):
        x1, y1 = at(*end)
        parts.append(_text(x1, y1, axis["name"], "middle", "currentColor"))
    for place, rate, words in sorted(worst, key=lambda row: row[0][0] if row[0] else 0, reverse=True):
        x1, y1 = at(*(list(place[:3]) + [0] * (3 - len(place[:3]))))
        dot = '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="{}" opacity=".85"><title>{}</title></circle>'
        size = 2 + 8 * (rate / top if top else 0)
        parts.append(_filled(dot, x1, y1, size, colour(rate, top), f"{words}: {show.percent(rate)}"))
    return _svg(wide, high, "cells in space", parts)


def _text(
    x: float, y: float, text: str, anchor: str, ink: str = "currentColor", *, bold: bool = False
) -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}" font-size="11"{}>{}</text>').format(
        x, y, anchor, ink, Markup(' font-weight="600"') if bold else "", show.shorten(str(text), 24)
    )


def _filled(template: str, *values: object) -> Markup:
    """A template of ours with values of anybody, which are escaped."""
    return Markup(template).format(*values)  # noqa: S704


def _svg(wide: float, high: float, title: str, parts: Sequence[Markup]) -> Markup:
    head = '<svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" aria-label="{2}">'
    return _filled(head, wide, high, title) + Markup("").join(parts) + Markup("</svg>")
