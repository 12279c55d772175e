"""Searches over concept spaces against the exhaustive truth, all with the same numbers of queries.

    python benchmarks/map_search.py [--landscapes resnet20-125,…] [--searches thompson,…] [--json FILE]
    python benchmarks/map_search.py --show FILE [--svg docs/img/map-search.svg]

The truth of a landscape (Δ of every picture in every cell, `benchmarks/map_truth.py`) is computed once and
kept in the user's cache; searches then ask the table, so that many can be compared. At 2, 5, 10 and 25 % of
the grid's queries:

- *per query*: failures found per query;
- *cells*: how many of the five worst cells are the five that the search believes worst (ties with the fifth
  count);
- *modes*: how many of the five worst places (the worst cells no two of which are beside each other) the
  search names, at most one step off;
- *covered*: cells whose interval holds the true rate (for searches that leave a landscape).

What a search believes is the same function of its answers for all: the posterior of
`weakspot.stats.landscape`, with `weakspot.search.map_inputs`. A learned agent is also compared with its
untrained copy and with random cells, on pictures that its training did not show.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.map_truth import LANDSCAPES, Truth, truth

from weakspot.search.map_problem import Log, Table
from weakspot.search.map_searches import SEARCHES, search
from weakspot.search.modes import apart, steps_between
from weakspot.stats.landscape import rates

SHARES: Final = (0.02, 0.05, 0.10, 0.25)
WORST: Final = 5


def measure(found: Truth, name: str, share: float, seed: int) -> dict[str, Any]:
    """One search, once."""
    space, true = found.space, found.rates
    log = Log(Table(space, found.delta, found.contexts, seed=seed), int(share * found.delta.size))
    began = time.process_time()
    compared = search(name)(log, np.random.default_rng(seed))
    seconds = time.process_time() - began
    row: dict[str, Any] = {
        "landscape": found.name,
        "search": name,
        "share": share,
        "seed": seed,
        "queries": log.spent,
        "per_query": log.failed / log.spent,
        "seconds": round(seconds, 2),
    }
    if SEARCHES[name].learned:  # its own queries are at chosen inputs; what it believes is where it went
        return row | {"compared": compared._asdict()}
    every = np.arange(space.size)
    plain, sharp = rates(log.fit(log.prior()), every), rates(log.sharpened(log.prior()), every)
    believed = log.finite(sharp.rate)
    top = np.argsort(-believed, kind="stable")[:WORST]
    fifth = np.sort(true)[-WORST]
    named, places = apart(space, believed, WORST), apart(space, true, WORST)
    return row | {
        "cells": float((true[top] >= fifth).mean()),
        "gap": float(np.sort(true)[-WORST:].mean() - true[top].mean()),
        "modes": float(np.mean([any(steps_between(space, m, n) <= 1 for n in named) for m in places])),
        "covered": float(((plain.low <= true) & (true <= plain.high)).mean()),
        "covered_sharp": float(((sharp.low <= true) & (true <= sharp.high)).mean()),
        "width": float((plain.high - plain.low).mean()),
        "width_sharp": float((sharp.high - sharp.low).mean()),
    }


def show(rows: list[dict[str, Any]]) -> None:
    """The tables."""
    for landscape in dict.fromkeys(row["landscape"] for row in rows):
        print(f"\n{landscape}")
        for name in dict.fromkeys(row["search"] for row in rows):
            for share in SHARES:
                some = [
                    r for r in rows if (r["landscape"], r["search"], r["share"]) == (landscape, name, share)
                ]
                if not some:
                    continue
                line = (
                    f"  {name:<10} {share:>5.0%}  {len(some)} runs  {_mean(some, 'per_query'):.3f} per query"
                )
                if "cells" in some[0]:
                    all_five = np.mean([r["modes"] == 1 for r in some])
                    line += (
                        f"  cells {_mean(some, 'cells'):.2f} (gap {100 * _mean(some, 'gap'):.2f} points)  "
                        f"modes {_mean(some, 'modes'):.2f}, all five {all_five:.0%}  "
                        f"covered {_mean(some, 'covered'):.1%} (sharp {_mean(some, 'covered_sharp'):.1%})"
                    )
                if "compared" in some[0]:
                    line += _agents(some)
                print(f"{line}  {_mean(some, 'seconds'):.1f} s")


def _agents(some: list[dict[str, Any]]) -> str:
    """Trained against untrained and random, all runs together."""
    from scipy.stats import combine_pvalues

    parts = [f"  trained {_deep(some, 'trained'):.3f}"]
    for other in ("untrained", "random"):
        p = [min(max(r["compared"][f"p_{other}"], 1e-300), 1 - 1e-12) for r in some]
        together = combine_pvalues(p, method="fisher").pvalue if len(p) > 1 else p[0]
        parts.append(f"{other} {_deep(some, other):.3f} (p = {together:.1g})")
    return ", ".join(parts)


def _mean(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _deep(rows: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([row["compared"][key] for row in rows]))


def picture(rows: list[dict[str, Any]]) -> str:
    """Recall of the worst modes, and failures per query, against the share of the grid's queries: an SVG."""
    shown = [n for n in LANDSCAPES if any(r["landscape"] == n and "modes" in r for r in rows)]
    inks = {
        "thompson": "#a81c24",
        "ucb": "#c77d1e",
        "gp": "#2f6f9f",
        "tpe": "#4d8f5b",
        "random": "#888888",
        "exhaustive": "#bbbbbb",
    }
    wide, high, left, top = 250, 150, 46, 34
    parts = []
    for column, landscape in enumerate(shown):
        for line, (key, title) in enumerate(
            (("modes", "worst modes found"), ("per_query", "failures per query"))
        ):
            x0, y0 = left + column * (wide + 30), top + line * (high + 54)
            some = [r for r in rows if r["landscape"] == landscape and r["search"] in inks]
            most = 1.0 if key == "modes" else max(_mean([r], "per_query") for r in some)
            parts.append(
                f'<rect x="{x0}" y="{y0}" width="{wide}" height="{high}" fill="none" stroke="#ccc"/>'
            )
            parts.append(f'<text x="{x0}" y="{y0 - 8}" font-weight="600">{landscape}: {title}</text>')
            parts.append(f'<text x="{x0 - 6}" y="{y0 + 10}" text-anchor="end">{most:.2g}</text>')
            parts.append(f'<text x="{x0 - 6}" y="{y0 + high}" text-anchor="end">0</text>')
            for at, share in enumerate(SHARES):
                x = x0 + wide * (at + 0.5) / len(SHARES)
                parts.append(
                    f'<text x="{x:.0f}" y="{y0 + high + 14}" text-anchor="middle">{share:.0%}</text>'
                )
            for name, ink in inks.items():
                points = []
                for at, share in enumerate(SHARES):
                    own = [r for r in some if r["search"] == name and r["share"] == share and key in r]
                    if own:
                        y = y0 + high * (1 - _mean(own, key) / most)
                        points.append(f"{x0 + wide * (at + 0.5) / len(SHARES):.1f},{y:.1f}")
                if points:
                    parts.append(
                        f'<polyline points="{" ".join(points)}" fill="none" stroke="{ink}" stroke-width="2"/>'
                    )
    for at, (name, ink) in enumerate(inks.items()):
        parts.append(
            f'<text x="{left + 110 * at}" y="{top + 2 * (high + 54) + 6}" fill="{ink}">■ {name}</text>'
        )
    size = f"{left + len(shown) * (wide + 30)} {top + 2 * (high + 54) + 20}"
    style = "font: 11px sans-serif; background: #fff; color: #222"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" style="{style}">'
    return f"{head}{''.join(parts)}</svg>\n"


def main() -> None:
    """Measure what is asked for, print it, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--landscapes", default=",".join(LANDSCAPES))
    parser.add_argument("--searches", default="thompson,ucb,gp,tpe,random,exhaustive,dqn,ppo")
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of the truth's computation")
    parser.add_argument("--json", type=Path, help="rows are added to those that are there")
    parser.add_argument("--show", type=Path)
    parser.add_argument("--svg", type=Path)
    given = parser.parse_args()
    if given.show:
        rows = json.loads(given.show.read_text())
        show(rows)
        if given.svg:
            given.svg.write_text(picture(rows))
        return
    rows = json.loads(given.json.read_text()) if given.json and given.json.exists() else []
    done = {(r["landscape"], r["search"], r["share"], r["seed"]) for r in rows}
    for landscape in given.landscapes.split(","):
        found = truth(landscape, threads=given.threads)
        for seed in range(given.seeds):
            for name in given.searches.split(","):
                for share in map(float, given.shares.split(",")):
                    if (landscape, name, share, seed) in done:
                        continue
                    rows.append(measure(found, name, share, seed))
                    if given.json:
                        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    show(rows)


if __name__ == "__main__":
    main()
