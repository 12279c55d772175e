"""`weakspot hunt`: bugs of an image classifier."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def command(
    target: Annotated[
        str, typer.Argument(help="The classifier, e.g. world:classifier (see: weakspot list models).")
    ],
    label: Annotated[str, typer.Option(help="The label whose failures are hunted.")],
    target_label: Annotated[
        str | None, typer.Option(help="Count only this wrong answer as a failure.")
    ] = None,
    source: Annotated[str, typer.Option(help="What draws images from words.")] = "world:renderer",
    judge: Annotated[
        str | None, typer.Option(help="What counts as a failure; by default a missed label.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(help="Limits: images, calls, tokens, dollars, seconds; e.g. images=20k,seconds=600."),
    ] = "images=20000",
    seed: Annotated[int, typer.Option(help="The same seed gives the same run.")] = 0,
    fdr: Annotated[float, typer.Option(help="Bound on the expected share of false findings.")] = 0.05,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; by default a new one below runs/.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")
    ] = False,
) -> int:
    """Find captions under which a classifier fails more often than usual."""
    from weakspot.cli.screen import Screen, conclude, interruptible
    from weakspot.studies.hunt import hunt

    with Screen(f"hunting {target} for {label!r}", budget=budget, seed=seed) as screen, interruptible(screen):
        run = hunt(
            target,
            label=label,
            target_label=target_label,
            source=source,
            judge=judge,
            budget=budget,
            seed=seed,
            fdr=fdr,
            out=out,
            watch=screen,
        )
    return conclude(run, as_json=as_json)
