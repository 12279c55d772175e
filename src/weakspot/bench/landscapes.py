"""Real landscapes: `map` on part of the recorded answers of real models, against all of them.

BlindTest (Rahmanzadehgervi et al., 2024) asked vision-language models about simple drawings, of which every
parameter is known. The rates of all rows are the truth; a map reads a part of the rows and is compared with
a random sample of as many.
"""

from __future__ import annotations

import csv
import gzip
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.recorded import cells_of, space_of
from weakspot.core import WeakspotError
from weakspot.records import Column, Judged, Kind, Records, Roles
from weakspot.report.format import NONE, grid, percent
from weakspot.stats import wilson
from weakspot.studies.map.result import MapResult
from weakspot.study.calls import function_of

#: The concepts of each task; of its other parameters there are too many values for the rows.
CONCEPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "TouchingCircle": ("distance", "diameter", "rotation"),
    "CountingCircles": ("count", "size", "shape", "colour"),
    "LineIntersection": ("count", "thickness", "pixels", "prompt"),
    "NestedSquares": ("depth", "thickness", "prompt"),
}
#: Parts of the rows that may be read.
BUDGETS: Final = (0.1, 0.25, 0.5)
#: The fewest rows that can be mapped.
LEAST: Final = 50
#: Cells with fewer rows have no rate worth calling true; so many of the others are the worst.
ROWS, WORST = 8, 5
#: Rates are kept with five digits.
ROUNDED: Final = 1e-5
FILE: Final = "answers.csv.gz"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Guess(NamedTuple):
    """What is believed of the cells after some rows were read: rates with intervals, and how many rows.

    `named` are the cells of the modes, where modes are said.
    """

    rate: Floats
    low: Floats
    high: Floats
    read: int
    named: frozenset[int] | None = None


class LandscapeRow(NamedTuple):
    """How well a method knows the landscape of one model at one task; means over seeds.

    Attributes:
        share: The part of the rows that it was allowed to read; `read` are the rows it did read.
        worst: Of the five cells it calls worst, the share that are among the worst five of all rows.
        in_modes: Of the worst five of all rows, the share that lie in a mode; None without modes.
        order: Rank correlation of its rates with those of all rows, over the cells.
        covered: Share of cells whose interval holds the rate of all rows; `width` is its mean width.
    """

    task: str
    model: str
    rows: int
    cells: int
    rate: float
    method: str
    share: float
    read: float
    worst: float
    in_modes: float | None
    order: float
    covered: float
    width: float


def landscapes(folder: Path, seeds: int = 3, *, tasks: Sequence[str] = tuple(CONCEPTS)) -> list[LandscapeRow]:
    """Map every model of BlindTest at every task, and compare with all of its rows."""
    found: list[LandscapeRow] = []
    for (task, model), table in _tables(folder, tasks):
        for share in BUDGETS:
            if round(share * len(table)) >= LEAST:
                found += _compared(table, task, model, share, seeds)
    return found


def lines_of(rows: Sequence[LandscapeRow], wide: int) -> Iterator[str]:
    """The same as a table for the terminal, and the means of each method."""
    cells = [_cells(f"{row.task} · {row.model}", row) for row in rows]
    ranked = sorted(rows, key=lambda row: (row.share, row.method))
    for _, group in groupby(ranked, key=lambda row: (row.share, row.method)):
        some = list(group)
        modes = [row.in_modes for row in some if row.in_modes is not None]
        mean = some[0]._replace(
            worst=statistics.fmean(row.worst for row in some),
            in_modes=statistics.fmean(modes) if modes else None,
            order=statistics.fmean(row.order for row in some),
            covered=statistics.fmean(row.covered for row in some),
            width=statistics.fmean(row.width for row in some),
        )
        cells.append(_cells(f"mean of {len(some)}", mean))
    yield from grid(_HEAD, cells, wide, texts=(0, 2))


_HEAD: Final = ("task · model", "read", "method", "worst 5", "in modes", "order", "covered", "width")


def _cells(what: str, row: LandscapeRow) -> tuple[str, ...]:
    return (
        what,
        percent(row.share),
        row.method,
        percent(row.worst),
        NONE if row.in_modes is None else percent(row.in_modes),
        f"{row.order:.2f}",
        percent(row.covered),
        f"{row.width:.2f}",
    )


def _compared(table: Judged, task: str, model: str, share: float, seeds: int) -> Iterator[LandscapeRow]:
    names, budget = CONCEPTS[task], round(share * len(table))
    space = space_of(table.records, names)
    cells = cells_of(table.records, names, space)
    total = np.bincount(cells, minlength=space.size)
    large = np.flatnonzero(total >= ROWS)
    true = np.bincount(cells, table.failed, space.size) / np.maximum(total, 1)
    methods: dict[str, Callable[[int], Guess]] = {
        "map": lambda seed: _mapped(table, names, budget, seed),
        "random": lambda seed: _sampled(cells, table.failed, space.size, budget, seed),
    }
    for method, look in methods.items():
        guesses = [look(seed) for seed in range(seeds)]
        scores = [_score(guess, true, large) for guess in guesses]
        modes = [one.in_modes for one in scores if one.in_modes is not None]
        yield LandscapeRow(
            task=task,
            model=model,
            rows=len(table),
            cells=int((total > 0).sum()),
            rate=float(table.failed.mean()),
            method=method,
            share=share,
            read=statistics.fmean(guess.read for guess in guesses),
            worst=statistics.fmean(one.worst for one in scores),
            in_modes=statistics.fmean(modes) if modes else None,
            order=statistics.fmean(one.order for one in scores),
            covered=statistics.fmean(one.covered for one in scores),
            width=statistics.fmean(one.width for one in scores),
        )


class _Score(NamedTuple):
    worst: float
    in_modes: float | None
    order: float
    covered: float
    width: float


def _score(guess: Guess, true: Floats, large: Ints) -> _Score:
    """How well the true rates are known, over cells with rows enough."""
    rate, low, high, known = guess.rate[large], guess.low[large], guess.high[large], true[large]
    bound = np.sort(known)[-min(WORST, len(large))]  # all that fail as often as the fifth are among the worst
    worst = large[known >= bound].tolist()
    covered = (low <= known + ROUNDED) & (known - ROUNDED <= high)
    return _Score(
        worst=float((known[np.argsort(-rate, kind="stable")[:WORST]] >= bound).mean()),
        in_modes=None if guess.named is None else statistics.fmean(cell in guess.named for cell in worst),
        order=_rank_correlation(rate, known),
        covered=float(covered.mean()),
        width=float((high - low).mean()),
    )


def _mapped(table: Judged, names: Sequence[str], budget: int, seed: int) -> Guess:
    """What a map says that reads so many rows."""
    with tempfile.TemporaryDirectory() as folder:
        options = {"concepts": names, "budget": f"images={budget}", "seed": seed}
        with function_of("map")(table, out=Path(folder, "run"), **options) as run:
            result, read = MapResult.of(run), int(run.ledger.spend()["images"])
    if result is None or result.landscape is None or result.every_cell is None:
        raise WeakspotError("a map ended without a landscape", fix="look at the table, and map it alone")
    every, space = result.every_cell, space_of(table.records, names)
    rate, low, high = (np.array(column, float) for column in (every.rate, every.low, every.high))
    named = frozenset(int(c) for mode in result.landscape.modes for c in space.cells(mode.region))
    return Guess(rate, low, high, read, named)


def _sampled(cells: Ints, failed: NDArray[np.bool_], size: int, budget: int, seed: int) -> Guess:
    """What so many random rows say: each cell's own rate, drawn to the mean as by one more row."""
    rows = np.random.default_rng([seed, 17]).permutation(len(cells))[:budget]
    n = np.bincount(cells[rows], minlength=size)
    failures = np.bincount(cells[rows], failed[rows], size).astype(int)
    ends = [wilson(f, k) if k else (0.0, 1.0) for f, k in zip(failures.tolist(), n.tolist(), strict=True)]
    low, high = np.array(ends, float).T
    return Guess((failures + failed[rows].mean()) / (n + 1), low, high, budget)


def _rank_correlation(one: Floats, other: Floats) -> float:
    from scipy.stats import spearmanr

    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(spearmanr(one, other).statistic)


def _tables(folder: Path, tasks: Sequence[str]) -> Iterator[tuple[tuple[str, str], Judged]]:
    """The rows of each task and model."""
    path = next((p for p in (folder / FILE, folder / "blindtest" / FILE) if p.is_file()), None)
    if path is None:
        raise WeakspotError(
            f"there is no {FILE} of BlindTest in {folder}",
            fix="collect it from the results of github.com/anguyen8/vision-llms-are-blind: a row per answer "
            "with task, prompt, model, correct and the drawing's parameters as JSON",
        )
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: (row["task"], row["model"]))
    for (task, model), some in groupby(rows, key=lambda row: (row["task"], row["model"])):
        if task in tasks:
            yield (task, model), _judged(path, task, list(some))


def _judged(path: Path, task: str, rows: Sequence[Mapping[str, str]]) -> Judged:
    """One model's answers to one task, with the concepts as columns."""
    drawn = [json.loads(row["parameters"]) | {"prompt": row["prompt"]} for row in rows]
    named = {name: _column(name, [one[name] for one in drawn]) for name in CONCEPTS[task]}
    records = Records(str(path), "CSV", named, np.arange(2, len(rows) + 2))
    nothing: list[str | None] = [None] * len(rows)
    failed = np.array([row["correct"] == "0" for row in rows])
    return Judged(
        records, Roles(), failed, "the answer is wrong", nothing, nothing, np.full(len(rows), np.nan)
    )


def _column(name: str, values: Sequence[Any]) -> Column:
    try:
        return Column(name, Kind.NUMBER, np.array(values, float))
    except ValueError:
        return Column(name, Kind.TEXT, np.array(values, object))
