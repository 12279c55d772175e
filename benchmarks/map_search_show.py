"""Tables and a picture of what `benchmarks/map_search.py` measured."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from weakspot.stats import sign_flip
from weakspot.stats.clustered import clustered_rate

SHARES: Final = (0.02, 0.05, 0.10, 0.25)
INKS: Final = {
    "thompson": "#a81c24",
    "ucb": "#c77d1e",
    "gp": "#2f6f9f",
    "tpe": "#4d8f5b",
    "dqn": "#7a3e9d",
    "ppo": "#c25ba0",
    "random": "#888888",
    "exhaustive": "#bbbbbb",
}
Rows = list[dict[str, Any]]


def show(rows: Rows) -> None:
    """All tables, in Markdown."""
    landscapes = list(dict.fromkeys(row["landscape"] for row in rows))
    head = "| search | " + " | ".join(f"{share:.0%} of the queries" for share in SHARES) + " |"
    rule = "|---" * (len(SHARES) + 1) + "|"
    for landscape in landscapes:
        print(f"\n### {landscape}\n\n{head}\n{rule}")
        for name in _names(rows, landscape):
            print(f"| {name} | " + " | ".join(_found(_of(rows, landscape, name, s)) for s in SHARES) + " |")
    print(f"\n### Intervals\n\n{head.replace('| search', '| landscape | search')}\n|---{rule}")
    for landscape in landscapes:
        for at, name in enumerate(n for n in _names(rows, landscape) if n not in ("dqn", "ppo")):
            cells = [_covered(_of(rows, landscape, name, share)) for share in SHARES]
            print(f"| {'' if at else landscape} | {name} | " + " | ".join(cells) + " |")
    print("\n### Agents\n\n| landscape | agent | queries | runs, pictures | trained | untrained | random |")
    print("|---" * 7 + "|")
    for landscape in landscapes:
        for name in _names(rows, landscape):
            for share in SHARES:
                some = [r for r in _of(rows, landscape, name, share) if r.get("pairs")]
                if some:
                    print(f"| {landscape} | {name} | {share:.0%} | {_agents(some)} |")


def _names(rows: Rows, landscape: str) -> list[str]:
    there = dict.fromkeys(row["search"] for row in rows if row["landscape"] == landscape)
    return [name for name in INKS if name in there] + [name for name in there if name not in INKS]


def _of(rows: Rows, landscape: str, name: str, share: float) -> Rows:
    return [r for r in rows if (r["landscape"], r["search"], r["share"]) == (landscape, name, share)]


def _found(some: Rows) -> str:
    """Failures per query, recall of the worst cells and places, and how often all five places were named."""
    if not some:
        return "–"
    all_five = sum(r["modes"] == 1 for r in some)
    return (
        f"{_mean(some, 'per_query'):.3f} · {_mean(some, 'cells'):.2f} · {_mean(some, 'modes'):.2f} "
        f"({all_five} of {len(some)})"
    )


def _covered(some: Rows) -> str:
    return f"{100 * _mean(some, 'covered'):.1f} % ({len(some)})" if some else "–"


def _agents(some: Rows) -> str:
    """Trained against untrained and random: rates, and tests over pictures, all runs together.

    A picture that several runs held out counts once, with the mean of what they found.
    """
    pairs = np.array([pair for row in some for pair in row["pairs"]])
    pictures = np.unique(pairs[:, 0])
    parts = [f"{len(some)}, {len(pictures)}"]
    each = np.array([pairs[pairs[:, 0] == i, 1:].mean(axis=0) for i in pictures])
    for column in range(3):
        found = clustered_rate(pairs[:, column + 1], pairs[:, 0].astype(np.int64))
        text = f"{found.rate:.3f} [{found.low:.3f}, {found.high:.3f}]"
        if column:
            text += f", p = {sign_flip(each[:, 0] - each[:, column]):.1g}"
        parts.append(text)
    return " | ".join(parts)


def _mean(rows: Rows, key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def picture(rows: Rows) -> str:
    """Recall of worst places and cells, and failures per query, against the share of queries: an SVG."""
    shown = list(dict.fromkeys(row["landscape"] for row in rows))
    lines = (
        ("modes", "worst places found"),
        ("cells", "worst cells found"),
        ("per_query", "failures per query"),
    )
    wide, high, left, top, step = 250, 150, 46, 34, 204
    parts = []
    for column, landscape in enumerate(shown):
        some = [r for r in rows if r["landscape"] == landscape and r["search"] in INKS]
        for line, (key, title) in enumerate(lines):
            x0, y0 = left + column * (wide + 30), top + line * step
            most = 1.0
            if key == "per_query":
                most = max(
                    _mean(own, key) for n in INKS for s in SHARES if (own := _of(some, landscape, n, s))
                )
            parts += [
                f'<rect x="{x0}" y="{y0}" width="{wide}" height="{high}" fill="none" stroke="#ccc"/>',
                f'<text x="{x0}" y="{y0 - 8}" font-weight="600">{landscape}: {title}</text>',
                f'<text x="{x0 - 6}" y="{y0 + 10}" text-anchor="end">{most:.2g}</text>',
                f'<text x="{x0 - 6}" y="{y0 + high}" text-anchor="end">0</text>',
            ]
            places = [x0 + wide * (at + 0.5) / len(SHARES) for at in range(len(SHARES))]
            parts += [
                f'<text x="{x:.0f}" y="{y0 + high + 14}" text-anchor="middle">{share:.0%}</text>'
                for x, share in zip(places, SHARES, strict=True)
            ]
            for name, ink in reversed(INKS.items()):
                points = [
                    (x, y0 + high * (1 - _mean(own, key) / most))
                    for x, share in zip(places, SHARES, strict=True)
                    if (own := _of(some, landscape, name, share))
                ]
                if points:
                    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                    parts.append(
                        f'<polyline points="{through}" fill="none" stroke="{ink}" stroke-width="2"/>'
                    )
                parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{ink}"/>' for x, y in points]
    foot = top + len(lines) * step
    for at, (name, ink) in enumerate(INKS.items()):
        parts.append(f'<text x="{left + 100 * at}" y="{foot + 6}" fill="{ink}">■ {name}</text>')
    size = f"{max(left + len(shown) * (wide + 30), left + 100 * len(INKS))} {foot + 20}"
    style = "font: 11px sans-serif; background: #fff; color: #222"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" style="{style}">'
    return f"{head}{''.join(parts)}</svg>\n"
