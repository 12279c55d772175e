"""Searches over concept spaces against the exhaustive truth, all with the same numbers of queries.

    python benchmarks/map_search.py --json FILE                     # all of it; the same again goes on
    python benchmarks/map_search.py --show FILE [--svg docs/img/map-search.svg]

The truth of a landscape (Δ of every picture in every cell, `benchmarks/map_truth.py`) is computed once and
kept in the user's cache; searches then ask the table, so that many can be compared. At 2, 5, 10 and 25 % of
the grid's queries:

- *per query*: failures found per query;
- *cells*: how many of the five worst cells are the five that the search believes worst (ties with the fifth
  count);
- *modes*: how many of the five worst places (the worst cells no two of which are beside each other) the
  search names, at most one step off. These are not the modes that `weakspot map` reports, which are connected
  regions above a rate: they are places that a table can be asked for without choosing a rate;
- *covered*: cells whose interval holds the true rate.

What a search believes is the same function of its answers for all: the posterior of
`weakspot.stats.landscape`, with `weakspot.studies.map.search.inputs`. Of a learned agent the answers are
those of its training and comparison, at inputs that had a say in which cell was asked: what it believes
rests on where it went, and its intervals promise nothing. (`weakspot map` does not use them so; it measures
the landscape beside the agent.) An agent is also compared with its untrained copy and with random cells, on
pictures that its training did not show, each picture once.

Every (landscape, search, share, seed) is measured once and written at once, so a run can be stopped at any
time. `--minutes` stops it by itself.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.map_search_show import SHARES, picture, show
from benchmarks.map_table import Table
from benchmarks.map_truth import LANDSCAPES, Truth, truth

from weakspot.concepts.space import ConceptSpace
from weakspot.stats.landscape import rates
from weakspot.studies.map.search.problem import Answers, Cells, Log
from weakspot.studies.map.search.rl import AGENTS, LEAST
from weakspot.studies.map.search.searches import search

WORST: Final = 5
#: Landscapes with more cells are measured with other numbers of seeds.
LARGE: Final = 1000


def steps_between(space: ConceptSpace, first: int, second: int) -> int:
    """How many steps along axes lie between two cells."""
    steps = 0
    for axis, i, j in zip(space.axes, space.cell(first), space.cell(second), strict=True):
        if axis.metric == "categorical":
            steps += i != j
        else:
            steps += (
                min(abs(i - j), len(axis.values) - abs(i - j)) if axis.metric == "circular" else abs(i - j)
            )
    return steps


def apart(space: ConceptSpace, rate: NDArray[np.float64], k: int, *, steps: int = 1) -> list[int]:
    """The k worst cells no two of which are within `steps` of each other: the worst places of a landscape."""
    chosen: list[int] = []
    for cell in map(int, np.argsort(-rate, kind="stable")):
        if len(chosen) < k and all(steps_between(space, cell, other) > steps for other in chosen):
            chosen.append(cell)
    return chosen


class Noting(Table):
    """A table that keeps what policies asked."""

    def __init__(self, found: Truth, *, seed: int) -> None:
        super().__init__(found.space, found.delta, found.contexts, seed=seed)
        self.asked: dict[str, list[tuple[Cells, Cells]]] = {}

    def ask_on(self, policy: str, cells: Cells, inputs: Cells) -> Answers:
        """See `Problem`."""
        self.asked.setdefault(policy, []).append((cells.copy(), inputs.copy()))
        return super().ask_on(policy, cells, inputs)

    def own(self) -> Log:
        """What policies asked, each cell and input once, as a landscape is fitted to."""
        log = Log(self, 0)
        every = [pair for pairs in self.asked.values() for pair in pairs]
        cells, inputs = (np.concatenate(column) for column in zip(*every, strict=True))
        once = np.unique(cells * self.inputs + inputs)
        cells, inputs = once // self.inputs, once % self.inputs
        log.take(cells, Table.ask_on(self, "", cells, inputs)._replace(inputs=inputs))
        return log

    def pairs(self, name: str) -> list[list[float]]:
        """Per picture that the comparison showed: failures per query of agent, copy and chance."""
        each: list[dict[int, float]] = []
        for who in (f"{name} trained", f"{name} untrained", "random"):
            cells, inputs = (np.concatenate(column) for column in zip(*self.asked[who], strict=True))
            failed = self._delta[cells, inputs] > 0
            each.append({int(i): float(failed[inputs == i].mean()) for i in np.unique(inputs)})
        return [[i, *(one[i] for one in each)] for i in each[0] if all(i in one for one in each)]


def measure(found: Truth, name: str, share: float, seed: int) -> dict[str, Any]:
    """One search, once."""
    space, true = found.space, found.rates
    asked = Noting(found, seed=seed)
    log = Log(asked, int(share * found.delta.size))
    began = time.process_time()
    compared = search(name)(log, np.random.default_rng(seed))
    row: dict[str, Any] = {
        "landscape": found.name,
        "search": name,
        "share": share,
        "seed": seed,
        "queries": log.spent,
        "per_query": log.failed / log.spent,
        "seconds": round(time.process_time() - began, 2),
    }
    if name in AGENTS:
        row |= {"compared": compared.model_dump(exclude={"agent", "sees"}), "pairs": asked.pairs(name)}
        log = asked.own()
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
        "width": float((plain.high - plain.low).mean()),
    }


def planned(given: argparse.Namespace, landscape: str) -> Iterator[tuple[str, float, int]]:
    """What is to be measured of a landscape: (search, share, seed), the first seeds of all searches first.

    Learned agents are left out where they have too few queries to learn from, or more than `--most`.
    """
    pictures, cells = LANDSCAPES[landscape][-1], int(landscape.rpartition("-")[2])
    of: Mapping[str, str] = dict(part.split("=") for part in given.seeds_of.split(",") if part)
    searches = given.searches.split(",")
    for seed in range(max(given.seeds, given.large_seeds, *map(int, of.values()))):
        for name in searches:
            most = given.large_seeds if cells > LARGE else int(of.get(name, given.seeds))
            for share in map(float, given.shares.split(",")):
                fits = LEAST <= share * cells * pictures <= given.most or name not in AGENTS
                if seed < most and fits:
                    yield name, share, seed


def main() -> None:
    """Measure what is asked for, print it, write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--landscapes", default=",".join(LANDSCAPES))
    parser.add_argument("--searches", default="thompson,ucb,gp,tpe,random,exhaustive,dqn,ppo")
    parser.add_argument("--shares", default=",".join(map(str, SHARES)))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seeds-of", default="thompson=10", help="other numbers of seeds: NAME=N,…")
    parser.add_argument("--large-seeds", type=int, default=2, help="seeds of the landscapes of 3,125 cells")
    parser.add_argument("--most", type=float, default=50_000, help="queries of a learned agent at most")
    parser.add_argument("--threads", type=int, default=1, help="of the truth's computation")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after so many")
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
    until = time.monotonic() + 60 * given.minutes
    for landscape in given.landscapes.split(","):
        left = [one for one in planned(given, landscape) if (landscape, *one) not in done]
        found = truth(landscape, threads=given.threads) if left and time.monotonic() < until else None
        for name, share, seed in left:
            if found is None or time.monotonic() > until:
                break
            rows.append(measure(found, name, share, seed))
            print(f"{landscape} {name} {share:g} seed {seed}: {rows[-1]['seconds']} s", flush=True)
            if given.json:
                part = given.json.with_suffix(".part")
                part.write_text(json.dumps(rows) + "\n")
                part.replace(given.json)
    show(rows)


if __name__ == "__main__":
    main()
