"""`weakspot bench`: how good the methods are, where the truth is known."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from weakspot.cli.flags import AsJson, flag, option, show
from weakspot.report.format import count, plural

if TYPE_CHECKING:
    from weakspot.bench.bench import BenchResult, Share

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure the methods themselves, on worlds where the truth is known.",
)
app.callback()(lambda: None)  # a group, although it has one command

#: Seconds between lines of progress where the output is not a terminal.
PACE = 10.0


@app.command("planted", short_help="Hunts of planted failures, ours and others' side by side.")
def planted(
    worlds: int = option(40, "NUMBER", "Classifiers with planted failures."),
    retrained: int = option(
        2, "NUMBER", "Trained classifiers with measured weak spots; they look at pictures: minutes each."
    ),
    seed: int = option(0, "NUMBER", "The same seed gives the same figures."),
    budget: int = option(20_000, "IMAGES", "Images that each method may spend on a world."),
    methods: str = option(
        "ours,single,domino,keywords", "NAMES", "Any of ours, single, domino, keywords; with commas."
    ),
    pictures: bool = flag("--pictures", "Draw the pictures too, which planted classifiers do not need."),
    workers: int = option(0, "NUMBER", "Processes; 0 means one for each processor core."),
    as_json: AsJson = False,
) -> int:
    """Plant failures in classifiers, hunt them, and compare what is reported with the truth.

    recall: of the planted failures with at least five times the baseline's rate, those that were found.
    exact: of the same, those whose description says just the planted attributes. fdr: the share of what is
    reported that does not fail more often than the baseline. Intervals are 95 %, over worlds.
    """
    from weakspot.bench import bench

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    outcome = bench.run(
        worlds=worlds,
        retrained=retrained,
        seed=seed,
        methods=[name.strip() for name in methods.split(",")],
        budget=budget,
        pictures=pictures,
        workers=workers or cores,
        progress=_progress(),
    )
    return show(outcome.to_json(), _lines(outcome), as_json=as_json)


def _progress() -> Callable[[int, int], None]:
    """Says on standard error how many worlds are done: in one line on a terminal, else now and then."""
    terminal, said = sys.stderr.isatty(), 0.0

    def progress(done: int, of: int) -> None:
        nonlocal said
        if terminal:
            print(f"\r{done} of {of} worlds", end="\n" if done == of else "", file=sys.stderr, flush=True)
        elif done == of or time.monotonic() - said >= PACE:
            said = time.monotonic()
            print(f"{done} of {of} worlds", file=sys.stderr, flush=True)

    return progress


def _lines(outcome: BenchResult) -> list[str]:
    from weakspot.bench.planted import ABOUT

    lines: list[str] = []
    for trained, number in ((False, len(outcome.worlds)), (True, len(outcome.trained))):
        if not number:
            continue
        what = plural(number, "trained classifier" if trained else "planted world")
        lines += ["", f"{what} · up to {count(outcome.settings['budget'])} images each"]
        lines.append(f"{'':<30}  {'recall':<20}  {'exact':<20}  {'fdr':<20}  {'images':>8}")
        for method, s in outcome.summaries(trained=trained).items():
            shares = "  ".join(f"{_percent(share):<20}" for share in (s.recall, s.exact, s.fdr))
            lines.append(f"{ABOUT[method]:<30}  {shares}  {count(round(s.images)):>8}")
    return lines[1:]


def _percent(share: Share) -> str:
    if share.value is None:
        return "–"
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"
