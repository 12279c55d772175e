"""`weakspot resume`: go on with an interrupted run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    run: Annotated[Path, typer.Argument(help="The run's folder.")],
    budget: Annotated[
        str | None, typer.Option(help="A larger budget for a run that was stopped by its own.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")
    ] = False,
) -> int:
    """Go on with a run after Ctrl-C, a crash or a spent budget; nothing recorded is asked again."""
    from weakspot.cli.screen import Screen, conclude, interruptible
    from weakspot.store import RunConfig
    from weakspot.studies import resume

    settings = RunConfig.read(run / "run.yaml").settings
    with (
        Screen(f"resuming {run}", budget=budget or settings["budget"], seed=settings["seed"]) as screen,
        interruptible(screen),
    ):
        opened = resume(run, budget=budget, watch=screen)
    return conclude(opened, as_json=as_json)
