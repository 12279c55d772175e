"""Tables and the picture of benchmarks/hunt_cost.py, from its results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from statistics import median
from typing import Any, Final

Results = Mapping[str, Any]
INK, SOFT, OURS, THEIRS = "#57606a", "#d0d7de", "#1f6f4a", "#b4321c"
#: Pixels of the picture: the names' column, the axis, the ratio's column, a row.
NAMES, AXIS, RATIO, ROW = 210, 520, 90, 26
PAPER_BARS: Final = (15, 300)
BAR: Final = 10


def heading() -> str:
    heads = (
        "captions",
        "published",
        "the same",
        "fewer",
        "ours",
        "fewer",
        "generous",
        "true p/o",
        "false p/o",
        "strong",
        "winner",
    )
    return f"{'pair (sentences of ours)':<28}" + "".join(f"{head:>11}" for head in heads)


def lines(row: Results) -> str:
    """One pair: a line for each of our hunts."""
    theirs = row["published"]
    found = []
    for sentences, mine in row["ours"].items():
        cells = (
            f"{len(theirs['captions']):,}",
            f"{mine['ratio'] * mine['images']:,.0f}",
            f"{row['same']['images']:,}" if row["same"]["same"] else "not found",
            f"{row['same']['ratio']:,.1f}×",
            f"{mine['images']:,}",
            f"{mine['ratio']:,.1f}×",
            f"{theirs['generous'] / mine['images']:,.1f}×",
            f"{theirs['true']}/{mine['true']}",
            f"{theirs['false']}/{mine['false']}",
            f"{mine['strong']} of {theirs['strong']}",
            "found" if mine["winner"] else "not found",
        )
        found.append(f"{row['pair'] + f' ({sentences})':<28}" + "".join(f"{cell:>11}" for cell in cells))
    return "\n".join(found)


def totals(results: Results) -> str:
    """What holds over all pairs."""
    return "\n".join(_total(results, sentences) for sentences in results["summary"])


def _total(results: Results, sentences: str) -> str:
    total, mine = results["summary"][sentences], [row["ours"][sentences] for row in results["rows"]]
    ratios = sorted(one["ratio"] for one in mine)
    phases: Counter[str] = Counter()
    for one in mine:
        phases.update(one["phases"])
    shares = ", ".join(f"{phase} {images / phases.total():.0%}" for phase, images in phases.items())
    limits = "; ".join(f"{name}: {ratio:,.1f}×" for name, ratio in total["median_ratio"].items())
    return "\n".join(
        [
            f"\nthe same findings: {total['median_ratio_same']:,.1f}× fewer images in the median of "
            f"{len(ratios)} pairs (generous: {total['median_ratio_same_generous']:,.1f}×), found in "
            f"{total['same']} of them; a pair that was not counts as 0× (wanted: {BAR}×)",
            f"\nours with at most {sentences} sentence(s): fewer images than published "
            f"{median(ratios):,.1f}× in the median of {len(ratios)} pairs, {ratios[0]:,.1f}× to "
            f"{ratios[-1]:,.1f}× (wanted: {BAR}×)",
            f"  the median by the images after which a published caption is given up: {limits}",
            f"  with a generous rate for each caption: {total['median_ratio_generous']:,.1f}×; if only the "
            f"most frequent sentences became captions: {total['median_ratio_described']:,.1f}×",
            f"  false discoveries: ours {total['fdr_ours']:.1%} of {total['findings_ours']}; published "
            f"{total['fdr_published']:.1%} of {total['findings_published']}",
            f"  ours says the published winner in {total['winners_ours']} of {len(ratios)} pairs, "
            f"{total['strong_ours']} of its {total['strong']} captions with a true lift of 3 or more, and "
            f"{total['alone_ours']} true findings that it does not",
            f"  our images by phase: {shares}",
        ]
    )


def simulated(results: Results) -> str:
    """The sequential decision at the paper's own rates."""
    lines = [
        f"Draws of our sequential decision at the paper's rates, mean of {results['repeats']:,} simulations",
        f"{'':<32}" + "".join(f"{head:>12}" for head in ("published", "ours", "95 % by", "power", "fewer")),
    ]
    for row in results["rows"]:
        cells = (
            f"{row['published']:,}",
            f"{row['frugal']:,.0f}",
            f"{row['frugal_95']:,.0f}",
            f"{row['decided']:.1%}",
            f"{row['fewer']:,.0f}×",
        )
        lines.append(f"{row['name']:<32}" + "".join(f"{cell:>12}" for cell in cells))
    fewer = sorted(row["fewer"] for row in results["rows"])
    lines.append(
        f"fewer than published: {fewer[0]:,.1f}× at least, {median(fewer):,.0f}× in the median "
        f"(wanted: {PAPER_BARS[0]}×, {PAPER_BARS[1]}×); false decisions at most "
        f"{results['false_decisions']:.1%} (promised: {results['level']:.0%})"
    )
    return "\n".join(lines)


def everything(results: Results) -> str:
    """All tables."""
    parts = [simulated(results["simulated"])] if "simulated" in results else []
    if results["rows"]:
        parts += [f"\n{heading()}", *map(lines, results["rows"]), totals(results)]
    return "\n".join(parts)


def markdown(results: Results) -> str:
    """The table of pairs as Markdown, for benchmarks/hunt_cost.md."""
    hunts = list(results["summary"])
    heads = [
        "pair",
        "baseline",
        "captions",
        "published",
        "true, false",
        "ours, the same",
        "fewer",
        "generous",
    ]
    for sentences in hunts:
        heads += [f"ours ({sentences})", "fewer", "generous", "true, false", "strong ones"]
    table = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in results["rows"]:
        theirs, usual = row["published"], row["published"]["baseline"]
        cells = [
            row["pair"],
            f"{usual['failures']} of {usual['drawn']:,}",
            f"{len(theirs['captions'])}",
            f"{theirs['images'][results['limit']]:,.0f}",
            f"{theirs['true']}, {theirs['false']}",
            f"{row['same']['images']:,}" + ("" if row["same"]["same"] else " (not found)"),
            f"{row['same']['ratio']:,.1f}×",
            f"{row['same']['generous']:,.1f}×",
        ]
        for sentences in hunts:
            mine = row["ours"][sentences]
            cells += [
                f"{mine['images']:,}",
                f"{mine['ratio']:,.1f}×",
                f"{theirs['generous'] / mine['images']:,.1f}×",
                f"{mine['true']}, {mine['false']}",
                f"{mine['strong']} of {theirs['strong']}",
            ]
        table.append(f"| {' | '.join(cells)} |")
    return "\n".join(table)


# -- the picture -----------------------------------------------------------------------------------


def picture(results: Results) -> str:
    """Both methods' images for each pair on one logarithmic axis, as SVG."""
    first, *others = results["summary"]
    bars = [
        (
            row["pair"],
            row["same"]["images"],
            row["published"]["images"][results["limit"]],
            [row["ours"][other]["images"] for other in (first, *others)][:1],
        )
        for row in results["rows"]
    ]
    paper: list[tuple[str, float, float, list[float]]] = [
        (row["name"], row["frugal"], row["published"], [])
        for row in results.get("simulated", {}).get("rows", ())
    ]
    ends = [n for _, mine, theirs, more in (*bars, *paper) for n in (mine, theirs, *more)]
    low, high = math.floor(math.log10(min(ends))), math.ceil(math.log10(max(ends)))
    high = max(high, low + 1)
    parts, top = [], 34
    parts += [
        dot(NAMES, 14, OURS), words(NAMES + 10, 18, "ours, the same findings", OURS),
        dot(NAMES + 180, 14, OURS, hollow=True), words(NAMES + 190, 18, "ours by default", OURS),
        dot(NAMES + 390, 14, THEIRS), words(NAMES + 400, 18, "published protocol", THEIRS),
        words(NAMES + AXIS + RATIO, 18, "fewer", INK, "end"),
    ]  # fmt: skip
    for title, rows in (("the world", bars), ("the paper's rates, simulated", paper)):
        if not rows:
            continue
        parts.append(words(0, top + 12, title, INK, weight="bold"))
        top += ROW
        parts += grid(top - 6, top + ROW * len(rows) - 8, low, high)
        for name, mine, theirs, more in rows:
            y, a, b = top + 6, along(mine, low, high), along(theirs, low, high)
            parts += [
                words(0, y + 4, name, INK),
                f'<line x1="{a:.1f}" y1="{y}" x2="{b:.1f}" y2="{y}" stroke="{SOFT}" stroke-width="4"/>',
                *(dot(along(n, low, high), y, OURS, hollow=True) for n in more),
                dot(a, y, OURS),
                dot(b, y, THEIRS),
                words(NAMES + AXIS + RATIO, y + 4, f"{theirs / mine:,.0f}×", INK, "end"),
            ]
            top += ROW
        top += 10
    for power in range(low, high + 1):
        parts.append(words(along(10**power, low, high), top + 6, short(10**power), INK, "middle"))
    parts.append(words(NAMES + AXIS + RATIO, top + 6, "images", INK, "end"))
    size = f'width="{NAMES + AXIS + RATIO + 20}" height="{top + 24}"'
    box = f'viewBox="-10 0 {NAMES + AXIS + RATIO + 20} {top + 24}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="system-ui, sans-serif" '
        f'font-size="13" role="img"><title>Images until found, ours and the published protocol</title>'
        f'<rect x="-10" width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def along(n: float, low: int, high: int) -> float:
    return NAMES + AXIS * (math.log10(n) - low) / (high - low)


def grid(top: float, bottom: float, low: int, high: int) -> Iterable[str]:
    for power in range(low, high + 1):
        x = along(10**power, low, high)
        yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}" stroke="{SOFT}"/>'


def dot(x: float, y: float, color: str, *, hollow: bool = False) -> str:
    fill = "#ffffff" if hollow else color
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{fill}" stroke="{color}" stroke-width="1.5"/>'


def words(x: float, y: float, text: str, color: str, anchor: str = "start", weight: str = "normal") -> str:
    at = f'x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}"'
    return f"<text {at}>{escape(text)}</text>"


def short(n: int) -> str:
    return f"{n // 10**6} M" if n >= 10**6 else f"{n:,}"
