"""`weakspot try`: measure a person's own words against the baseline of a hunt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from weakspot.cli.flags import AsJson

if TYPE_CHECKING:
    from weakspot.after.tries import Tried
    from weakspot.engine import Lane


def command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a hunt.")],
    words: Annotated[
        str,
        typer.Argument(
            metavar="WORDS",
            help="Sentences to add to the baseline's words, or a whole prompt: 'it is on a red flower.'",
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="LABEL", help="Whose baseline, where the hunt has several labels."),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", metavar="NUMBER", help="At most so many new images; 256 without a budget."),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="LIMITS", help="Limits on what is new, e.g. images=1000,seconds=60."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Measure your own words: do they trouble the model more than the baseline of a hunt does?

    Draws until that is decided, at most 256 images; the same command again goes on where it stopped. The
    hunt's findings stay as they are. Each verdict errs at most once in twenty by itself: who tries many
    words will see some of them look worse by luck. Exit code 3 if a budget ended it undecided.
    """
    from weakspot.after.tries import MOST, try_words
    from weakspot.cli.screen import program
    from weakspot.engine.watch import Watch
    from weakspot.report.format import Progress, columns, shell
    from weakspot.store import Run
    from weakspot.study.reports import write

    most = n or (MOST if budget is None else 0)
    with Progress(f"trying {words!r} in {run}") as progress:

        class Drawn(Watch):
            def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
                del phase
                done, tally = int(spent["images"]), lanes[0].tally
                progress(f"{tally.failures} of {tally.n} failed", done, max(most, done))

        found = try_words(run, words, label=label, n=n, budget=budget, watch=Drawn())
    with Run.read(run) as opened:
        page = write(opened)
    code = 3 if found.limit and found.verdict == "undecided" else 0
    if as_json:
        typer.echo(json.dumps(found.to_json() | {"report": str(page), "exit_code": code}, indent=2))
        return code
    for line in lines(found, columns()):
        typer.echo(line)
    typer.echo(f"report   {shell([str(page)])}")
    if found.verdict == "undecided":
        again = [program(), "try", str(run), words, *(() if label is None else ("--label", label))]
        typer.echo(f"next     {shell([*again, '--n', str(max(1024, 2 * found.drawn))])}")
    return code


def lines(found: Tried, wide: int) -> Iterator[str]:
    """The result in lines of at most `wide` columns."""
    from weakspot.report.format import NONE, count, cut, e_value, percent, plural, rate, times

    def line(name: str, text: str) -> str:
        return f"{name:<9}{cut(text, wide - 9)}"

    yield cut(found.phrase, wide)
    yield line("failed", rate(found.rate) if found.rate.n else "nothing could be judged")
    if found.unchecked is not None:
        yield line("", f"{rate(found.unchecked)} without the second opinion")
    lift = times(found.lift)
    yield line("baseline", rate(found.baseline) + (f": {lift} as often" if lift != NONE else ""))
    if found.confusions:
        said = (
            f"{cut(answer, 30) or '(nothing)'} {percent(share)}" for answer, share in found.confusions[:3]
        )
        yield line("instead", ", ".join(said))
    verdict = found.verdict.value
    if found.verdict == "undecided":
        verdict = f"undecided after {plural(found.drawn, 'image')}: neither shown worse nor shown alike"
    elif found.log_evidence > 0 and "not" not in verdict:
        verdict = f"{verdict} (e-value {e_value(found.log_evidence)})"
    yield line("verdict", verdict)
    if found.raced:
        yield line(
            "note", "the hunt drew these words too; words it picked for failing look worse than they are"
        )
    costs = [
        f"{count(found.fresh)} new images",
        f"{count(found.drawn)} in all",
        plural(found.errors, "error"),
    ]
    yield line("trials", " · ".join([*costs, *([found.limit] if found.limit else [])]))
