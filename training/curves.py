"""Draw the training curves in results/*.json as one picture.

    python training/curves.py

Loss and held-out error belong to the axis on the left, the share of held-out pictures that are named rightly
to the one on the right.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
COLUMNS, WIDE, HIGH = 3, 250, 150
#: Room around a chart: for its left axis, its right axis, its title, and the steps and names below it.
LEFT, RIGHT, ABOVE, BELOW = 44, 50, 34, 58
INK, GRID, PAPER = "#57606a", "#e6e9ed", "#ffffff"
#: What is drawn: its key in the results, its name, its colour, and whether it belongs to the right axis.
LINES = (
    ("loss", "loss", "#b4321c", False),
    ("error", "error, held out", "#1f5fa8", False),
    ("held_out", "right, held out", "#1f6f4a", True),
)
Row = dict[str, float]


class Axis(NamedTuple):
    """From where to where an axis goes, and the numbers written on it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """How far up a value lies, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def axis(values: Sequence[float], *, low: float | None = None, high: float | None = None) -> Axis:
    """An axis in round steps that holds all values.

    Args:
        values: At least one.
        low: Where it begins, if not at a step below the least value.
        high: Where it ends, if not at a step above the greatest.
    """
    least, most = min(values) if low is None else low, max(values) if high is None else high
    rough = (most - least or 1) / 4
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= rough * 0.999)
    first = least if low is not None else math.floor(least / step + 1e-9) * step
    last = most if high is not None else math.ceil(most / step - 1e-9) * step
    ticks = [round(first + i * step, 10) for i in range(math.floor((last - first) / step + 1e-9) + 1)]
    return Axis(first, last, tuple(ticks))


def words(x: float, y: float, text: str, color: str = INK, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"{more}>{text}</text>'


def stroke(points: Sequence[tuple[float, float]], color: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{color}"/>' for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>{dots}'


def chart(title: str, curve: Sequence[Row], x0: float, y0: float) -> str:
    """One training in a frame whose upper left corner is given, names and numbers outside of it."""
    along = "step" if "step" in curve[0] else "epoch"
    across = axis([row[along] for row in curve], low=0)
    there = [line for line in LINES if line[0] in curve[0]]
    amounts = [row[key] for key, _, _, share in there if not share for row in curve]
    shares = [row[key] for key, _, _, share in there if share for row in curve]
    left, right = axis(amounts, low=0), axis(shares, high=1) if shares else None
    bottom = y0 + HIGH
    parts = [words(x0, y0 - 12, title, more=' font-weight="600" font-size="12"')]
    for tick in left.ticks:
        y = bottom - HIGH * left.share(tick)
        parts.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + WIDE}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(words(x0 - 6, y + 4, f"{tick:g}", anchor="end"))
    for tick in right.ticks if right else ():
        y = bottom - HIGH * right.share(tick)
        parts.append(
            f'<line x1="{x0 + WIDE}" y1="{y:.1f}" x2="{x0 + WIDE + 4}" y2="{y:.1f}" stroke="{INK}"/>'
        )
        parts.append(words(x0 + WIDE + 7, y + 4, f"{100 * tick:g} %", LINES[2][2]))
    for tick in across.ticks:
        x = x0 + WIDE * across.share(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 4}" stroke="{INK}"/>')
        parts.append(words(x, bottom + 16, f"{tick:,.0f}", anchor="middle"))
    parts.append(f'<rect x="{x0}" y="{y0}" width="{WIDE}" height="{HIGH}" fill="none" stroke="{INK}"/>')
    x = x0
    for key, name, color, share in there:
        own = right if share and right else left
        points = [(x0 + WIDE * across.share(r[along]), bottom - HIGH * own.share(r[key])) for r in curve]
        last = f"{100 * curve[-1][key]:.1f} %" if share else f"{curve[-1][key]:.3f}"
        parts += [stroke(points, color), words(x, bottom + 34, f"{name}: {last}", color)]
        x += 92 if key == "loss" else 0
    parts.append(words(x0 + WIDE + 44, bottom + 34, f"{curve[-1][along]:,.0f} {along}s", anchor="end"))
    return "".join(parts)


def trainings() -> dict[str, list[Row]]:
    """The curves by title, both turns of a training one after the other."""
    files = {file.stem: json.loads(file.read_text()) for file in (HERE / "results").glob("*.json")}
    curves: dict[str, list[Row]] = {}
    for name in sorted(files, key=lambda n: (n.removesuffix("-first"), not n.endswith("-first"))):
        turn = ", second turn" if f"{name}-first" in files else ""
        title = f"{name.removesuffix('-first')}, first turn" if name.endswith("-first") else name + turn
        for key, what in (("vae_curve", " (autoencoder)"), ("curve", "")):
            if files[name].get(key):
                curves[title + what] = files[name][key]
    return curves


def picture(curves: dict[str, list[Row]]) -> str:
    """All of them as an SVG."""
    across, down = LEFT + WIDE + RIGHT, ABOVE + HIGH + BELOW
    size = (COLUMNS * across + 10, -(-len(curves) // COLUMNS) * down + 4)
    drawn = [
        chart(title, curve, LEFT + (i % COLUMNS) * across, ABOVE + (i // COLUMNS) * down)
        for i, (title, curve) in enumerate(curves.items())
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
        f'height="{size[1]}" font-size="11" font-family="system-ui, sans-serif">'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(drawn)}</svg>\n'
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE / "img" / "curves.svg", help="the picture's file")
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(picture(trainings()))
