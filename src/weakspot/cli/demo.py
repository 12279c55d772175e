"""`weakspot demo`: true failures of a real, small classifier, within minutes, with nothing to set up."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

HUNTS: Final = ("fly", "cat", "crayfish")


def command(
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for the demo's runs; by default below runs/."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same demo.")] = 7,
    budget: Annotated[str, typer.Option(metavar="LIMITS", help="Limits of each hunt.")] = "images=12000",
) -> int:
    """Run every study there is on the embedded world: no key, no GPU, no download."""
    from weakspot.cli.screen import Screen, conclude, interruptible, program
    from weakspot.studies.hunt import hunt

    folder = out or Path("runs") / f"demo-{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
    typer.echo("The drawn world: 16 subjects, a classifier trained on how they usually appear.")
    typer.echo("Where does it fail, and can we prove it?\n")
    found, reports, code = 0, [], 0
    for label in HUNTS:
        with (
            Screen(f"hunting world:classifier for {label!r}", budget=budget, seed=seed) as screen,
            interruptible(screen),
        ):
            run = hunt(
                "world:classifier",
                label=label,
                budget=budget,
                seed=seed,
                out=folder / f"hunt-{label}",
                watch=screen,
            )
        found += sum(f.confirmed for f in run.findings)
        code = max(code, conclude(run))
        reports.append(folder / f"hunt-{label}" / "report.html")
        typer.echo("")
    typer.echo(f"{found} weak spots confirmed in {len(HUNTS)} hunts. Open the reports:")
    for path in reports:
        typer.echo(f"  {path}")
    typer.echo(f"next     {program()} hunt world:classifier --label wolf     (or your own: see README.md)")
    return code
