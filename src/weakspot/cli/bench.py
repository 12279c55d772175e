"""`weakspot bench`: how good the methods are, where the truth is known."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from weakspot.cli.flags import AsJson, argument, flag, option, show
from weakspot.report.format import columns, count, folded, grid, plural

if TYPE_CHECKING:
    from weakspot.bench.bench import BenchResult, Share, Summary
    from weakspot.bench.real.compare import RealResult
    from weakspot.bench.real.imagenet import WordsScore

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure the methods themselves, where the truth is known.",
)

_LLM = "The language model that proposes in the methods llm (alone) and both (beside our rules)."

#: Seconds between lines of progress where the output is not a terminal.
PACE = 10.0


@app.command("planted", short_help="Hunts of planted failures, ours and others' side by side.")
def planted(
    worlds: int = option(40, "NUMBER", "How many classifiers with planted failures."),
    retrained: int = option(
        2,
        "NUMBER",
        "How many trained classifiers with measured weak spots; they look at "
        "pictures, so each takes minutes.",
    ),
    seed: int = option(0, "NUMBER", "The same seed gives the same figures."),
    budget: int = option(20_000, "IMAGES", "Images that each method may spend on a world."),
    methods: str = option(
        "ours,single,domino,keywords",
        "NAMES",
        "Any of ours, single, domino, keywords; with --llm also llm and both; with commas.",
    ),
    llm: str = option("", "MODEL", _LLM),
    pictures: bool = flag("--pictures", "Draw the pictures too, which planted classifiers do not need."),
    workers: int = option(0, "NUMBER", "Processes; 0 means one for each processor core."),
    as_json: AsJson = False,
) -> int:
    """Plant failures in classifiers, hunt them, and compare what is reported with the truth.

    recall: of the planted failures with at least five times the baseline's rate, those that were found.
    exact: of the same, those whose description says exactly the planted attributes. fdr: the share of what is
    reported that does not fail more often than the baseline. Intervals are 95 %, over worlds.
    """
    from weakspot.bench import bench

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    outcome = bench.run(
        worlds=worlds,
        retrained=retrained,
        seed=seed,
        methods=[name.strip() for name in methods.split(",")],
        llm=llm or None,
        budget=budget,
        pictures=pictures,
        workers=workers or cores,
        progress=_progress(),
    )
    return show(outcome.to_json(), _lines(outcome, columns()), as_json=as_json)


def _progress(what: str = "worlds") -> Callable[[int, int], None]:
    """Says on standard error how many are done: in one line on a terminal, else now and then."""
    terminal, said = sys.stderr.isatty(), 0.0

    def progress(done: int, of: int) -> None:
        nonlocal said
        if terminal:
            print(f"\r{done} of {of} {what}", end="\n" if done == of else "", file=sys.stderr, flush=True)
        elif done == of or time.monotonic() - said >= PACE:
            said = time.monotonic()
            print(f"{done} of {of} {what}", file=sys.stderr, flush=True)

    return progress


def _lines(outcome: BenchResult, wide: int) -> list[str]:
    from weakspot.bench.planted import ABOUT

    lines: list[str] = []
    for trained, number in ((False, len(outcome.worlds)), (True, len(outcome.trained))):
        if not number:
            continue
        what = plural(number, "trained classifier" if trained else "planted world")
        lines += ["", f"{what} · up to {count(outcome.settings['budget'])} images each"]
        rows = [
            (ABOUT[method], *map(_percent, (s.recall, s.exact, s.fdr)), count(round(s.images)))
            for method, s in outcome.summaries(trained=trained).items()
        ]
        lines += grid(("", "recall", "exact", "fdr", "images"), rows, wide)
    return lines[1:]


@app.command(
    "real", short_help="Planted and real failures of real photographs, ours and others' side by side."
)
def real(
    folder: Path = argument("FOLDER", "Where the data are; without them, the command says what is needed."),
    quick: bool = flag("--quick", "Only a few tables of each kind."),
    tables: int = option(0, "NUMBER", "How many tables with planted failures; 0 means all."),
    methods: str = option("", "NAMES", "Methods to compare, with commas; by default all but llm and both."),
    llm: str = option("", "MODEL", _LLM),
    parts: str = option(
        "", "NAMES", "Any of planted, null, words, factors, landscapes, labels; all by default."
    ),
    design: str = option(
        "test",
        "NAME",
        "Which plantings: test, third, or tune (for developing methods).",
    ),
    seed: int = option(0, "NUMBER", "The same seed gives the same figures."),
    as_json: AsJson = False,
) -> int:
    """Plant failures on real tables, and look for the real ones of real models; compare with the truth.

    recall: of the planted weak spots, those found. exact: those whose first description says just the planted
    notions. fdr: the share of what is reported that does not fail more often than usual. null: the share of
    tables with purely random errors for which anything is reported. Intervals are 95 %.
    """
    from weakspot.bench.real import compare

    outcome = compare.run(
        folder,
        which=design,
        methods=_named(methods) or tuple(compare.METHODS),
        llm=llm or None,
        parts=_named(parts) or tuple(compare.PARTS),
        quick=quick,
        tables=tables,
        seed=seed,
        progress=_part_progress(),
    )
    return show(outcome.to_json(), _real_lines(outcome, columns()), as_json=as_json)


def _named(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _part_progress() -> Callable[[str, int, int], None]:
    """As `_progress`, with the part of the benchmark that is under way."""
    from weakspot.bench.real.compare import PARTS

    by_part: dict[str, Callable[[int, int], None]] = {}

    def progress(part: str, done: int, of: int) -> None:
        if part not in by_part:
            by_part[part] = _progress(f"of {PARTS[part]}")
        by_part[part](done, of)

    return progress


def _real_lines(outcome: RealResult, wide: int) -> Iterator[str]:
    from weakspot.bench.real.compare import ABOUT

    if outcome.plantings:
        spots = sum(len(planting.spots) for planting in outcome.plantings)
        yield f"{plural(spots, 'planted weak spot')} in {plural(len(outcome.plantings), 'real table')}"
        head = ("", "recall", "exact", "fdr", "seconds")
        rows = [
            (ABOUT[method], *_shares(summary), f"{summary.seconds:.1f}")
            for method, summary in outcome.summaries().items()
        ]
        for kind in dict.fromkeys(planting.kind for planting in outcome.plantings):
            summaries = outcome.summaries(kind=kind).items()
            rows += [(f"{kind}: {ABOUT[method]}", *_shares(summary), "") for method, summary in summaries]
        yield from grid(head, rows, wide)
        yield ""
    if outcome.null:
        yield from folded("tables with errors independent of everything: share with any finding", wide)
        shares = [
            (ABOUT[method], f"{100 * at.rate:.0f} % [{100 * at.low:.0f}, {100 * at.high:.0f}]")
            for method, at in outcome.null.items()
        ]
        yield from grid(("", ""), shares, wide)
        yield ""
    for table in dict.fromkeys(one.table for one in outcome.words):
        about = "one half judged by the other: of what was said, fails 10 points above usual"
        yield from folded(f"{table} by words, {about}", wide)
        said = [
            _in_words(
                ABOUT[method], [one for one in outcome.words if one.table == table and one.method == method]
            )
            for method in dict.fromkeys(one.method for one in outcome.words)
        ]
        yield from grid(("", "precision", "explained", "of rows", "said", "seconds"), said, wide)
        yield ""
    for order in outcome.factors:
        yield from folded(
            f"{order.table}, factors from {plural(order.samples, 'sample')} of {count(order.rows)}: "
            f"{100 * order.covered:.0f} % of intervals cover, tau {order.agreement:.2f}, "
            f"{100 * order.reversed:.1f} % of clear pairs reversed",
            wide,
        )
        yield from folded(", ".join(f"{name} {ratio:.2f}" for name, ratio in order.published), wide)
        yield ""
    if outcome.landscapes:
        yield from import_module("weakspot.bench.landscapes").lines_of(outcome.landscapes, wide)
        yield ""
    for row in outcome.labels:
        yield from folded(str(row), wide)


def _in_words(about: str, own: Sequence[WordsScore]) -> tuple[str, ...]:
    """How well a method told the failures of a table in words."""
    reported = sum(one.reported for one in own)
    right = f"{100 * sum(one.right for one in own) / reported:.0f} %" if reported else "–"
    rows = [(one.explained, one.rows, one.reported, one.seconds) for one in own]
    explained, share, said, seconds = (sum(values) / len(own) for values in zip(*rows, strict=True))
    return about, right, f"{100 * explained:.0f} %", f"{100 * share:.0f} %", f"{said:.1f}", f"{seconds:.1f}"


def _shares(summary: Summary) -> tuple[str, ...]:
    return tuple(map(_percent, (summary.recall, summary.exact, summary.fdr)))


def _percent(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"
