"""`weakspot realism`: FID and KID of a folder of pictures to another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from weakspot.cli.flags import AsJson


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Pictures, e.g. an exported data set.")],
    reference: Annotated[Path, typer.Option(metavar="FOLDER", help="Pictures of the real thing.")],
    features: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="What turns pictures into features: an encoder, onnx:model.onnx?output=NAME, "
            "python:module:function.",
        ),
    ] = "world:encoder",
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Say how far the pictures in a folder are from those in another: FID, and KID with an interval."""
    from weakspot.after.realism import realism
    from weakspot.report.format import Progress, columns, count, cut, plural

    with Progress(f"realism of {folder} against {reference} by {features}") as progress:
        found = realism(folder, reference=reference, features=features, seed=seed, progress=progress)
    if as_json:
        typer.echo(json.dumps({"by": features, **found.to_json(), "exit_code": 0}, indent=2))
        return 0
    sizes = f"{plural(found.n, 'picture')} against {count(found.reference_n)}"
    typer.echo(f"fid      {found.fid:.4g}   {sizes} · {plural(found.features, 'feature')}")
    if found.even is not None:
        even = found.even
        typer.echo(
            f"         {even.fid:.4g} at {count(even.n)} pictures a side, where the reference is "
            f"{even.reference:.4g} from itself"
        )
    typer.echo(f"kid      {found.kid:.4g}   95 % interval [{found.kid_low:.4g}, {found.kid_high:.4g}]")
    if found.few:
        typer.echo("warning  fewer pictures than features: FID is too large; trust KID, or add pictures")
    for name, why in found.skipped[:3]:
        typer.echo(f"skipped  {cut(f'{name}: {why}', columns() - 9)}")
    if len(found.skipped) > 3:
        typer.echo(f"         and {plural(len(found.skipped) - 3, 'other file')}")
    return 0
