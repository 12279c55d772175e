"""`weakspot resume`: go on with an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weakspot.cli.flags import AsJson


def command(
    run: Annotated[Path, typer.Argument(metavar="FOLDER", help="The run's folder.")],
    budget: Annotated[
        str | None,
        typer.Option(metavar="LIMITS", help="A larger budget for a run that was stopped by its own."),
    ] = None,
    executor: Annotated[
        str,
        typer.Option(
            "--executor",
            metavar="EXECUTOR",
            help="Where a hunt or a map goes on: local, or on Ray (see hunt).",
        ),
    ] = "local",
    as_json: AsJson = False,
) -> int:
    """Go on with a run after Ctrl-C, a crash or a spent budget; nothing recorded is asked again."""
    from weakspot.cli.screen import Screen, conclude, interruptible
    from weakspot.store import Run
    from weakspot.study.lifecycle import resume, settings_of
    from weakspot.study.study import find_study

    with Run.open(run) as opened:
        settings, study = settings_of(opened, budget=budget), find_study(opened.config.study)
    with Screen.of(study, settings, title=f"resuming {run}") as screen, interruptible(screen):
        opened = resume(run, budget=budget, watch=screen, executor=executor)
    return conclude(opened, as_json=as_json)
