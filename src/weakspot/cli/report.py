"""`weakspot report`: write the report of a run again, or one of several runs side by side."""

from __future__ import annotations

import json
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

if TYPE_CHECKING:
    from weakspot.store import Run

#: Where several runs are written if nobody says where.
OUT: Final = Path("compared.html")


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders of runs; they may still be running.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of several runs: the file to write; by default compared.html."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Write report.html, report.md and report.json into the run's folder; of several runs, one HTML file.

    Runs of the same study are set against each other at its top, on the same cases where they share them;
    then follows the report of each.
    """
    from weakspot.after.several import write_several
    from weakspot.core import WeakspotError
    from weakspot.store import Run
    from weakspot.study.reports import summary, write

    if out is not None and len(runs) == 1:
        raise WeakspotError(
            "--out is for several runs", fix="leave it out: the report goes into the run's folder"
        )
    twice = {path.resolve() for path in runs}
    if len(twice) < len(runs):
        raise WeakspotError("a run is named twice", fix="name every run once")
    with ExitStack() as stack:
        opened = [stack.enter_context(Run.read(folder)) for folder in runs]
        if len(opened) == 1:
            path = write(opened[0])
        else:
            path = write_several(opened, OUT if out is None else out)
        if as_json:
            found = summary(opened[0]) if len(opened) == 1 else _values(opened)
            typer.echo(json.dumps(found, indent=2))
        else:
            typer.echo(path)
    if show:
        webbrowser.open(path.resolve().as_uri())
    return 0


def _values(runs: list[Run]) -> dict[str, Any]:
    from weakspot.after.compared_words import to_json
    from weakspot.after.several import comparisons
    from weakspot.study.reports import summary

    return {
        "format": 1,
        "runs": [summary(run) for run in runs],
        "compared": [
            {"first": first, "second": second} | to_json(found) for first, second, found in comparisons(runs)
        ],
    }
