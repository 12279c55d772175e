"""`weakspot report`: write the report of a run again."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(metavar="FOLDER", help="The run's folder; it may still be running.")],
    show: Annotated[bool, typer.Option("--open", help="Open the report in the browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Write report.html, report.md and report.json into the run's folder."""
    from weakspot.report import summary, write
    from weakspot.store import Run

    with Run.read(run) as opened:
        path = write(opened)
        if as_json:
            typer.echo(json.dumps(summary(opened), indent=2))
        else:
            typer.echo(path)
    if show:
        webbrowser.open(path.resolve().as_uri())
    return 0
