"""Draw the training curves in results/*.json as one picture: img/curves.svg.

python training/curves.py
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
WIDE, HIGH, GAP, COLUMNS = 300, 170, 46, 3
INK, SOFT, LOSS, RIGHT = "#57606a", "#d0d7de", "#b4321c", "#1f6f4a"


def line(points: list[tuple[float, float]], color: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.8"/>'


def words(x: float, y: float, text: str, color: str = INK, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{text}</text>'


def chart(name: str, curve: list[dict[str, float]], left: float, top: float) -> str:
    """The loss, from its least to its greatest value; the held-out accuracy, from 80 to 100 %."""
    step = "step" if "step" in curve[0] else "epoch"
    last = curve[-1][step]
    losses = [row["loss"] for row in curve]
    low, high = min(losses), max(losses)

    def at(x: float, share: float) -> tuple[float, float]:
        return left + WIDE * x / last, top + HIGH * (1 - min(max(share, 0.0), 1.0))

    parts = [
        f'<rect x="{left}" y="{top}" width="{WIDE}" height="{HIGH}" fill="none" stroke="{SOFT}"/>',
        words(left, top - 8, name),
        words(left, top + HIGH + 15, f"loss {high:.3g} to {low:.3g}", LOSS),
        words(left + WIDE, top + HIGH + 15, f"{last:,} {step}s", anchor="end"),
        line([at(r[step], (r["loss"] - low) / (high - low or 1)) for r in curve], LOSS),
    ]
    if "held_out" in curve[0]:
        parts.append(line([at(r[step], (r["held_out"] - 0.8) / 0.2) for r in curve], RIGHT))
        text = f"right on held-out pictures, 80 to 100 %: {100 * curve[-1]['held_out']:.1f} %"
        parts.append(words(left + WIDE - 6, top + HIGH / 2, text, RIGHT, "end"))
    return "".join(parts)


def main() -> None:
    curves = {}
    for file in sorted((HERE / "results").glob("*.json")):
        results = json.loads(file.read_text())
        for key in ("vae_curve", "curve"):
            if results.get(key):
                curves[file.stem + (" (autoencoder)" if key == "vae_curve" else "")] = results[key]
    rows = -(-len(curves) // COLUMNS)
    size = (GAP + COLUMNS * (WIDE + GAP), rows * (HIGH + GAP + 20) + 20)
    drawn = [
        chart(name, curve, GAP + (i % COLUMNS) * (WIDE + GAP), 34 + (i // COLUMNS) * (HIGH + GAP + 20))
        for i, (name, curve) in enumerate(curves.items())
    ]
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-size="11" '
        'font-family="system-ui, sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{''.join(drawn)}</svg>\n"
    )
    (HERE / "img").mkdir(exist_ok=True)
    (HERE / "img" / "curves.svg").write_text(svg)


if __name__ == "__main__":
    main()
