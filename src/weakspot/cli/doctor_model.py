"""`weakspot doctor MODEL`, for people: what a model is, whether it keeps its promises, how fast it is."""

from __future__ import annotations

import json

import typer


def run(name: str, *, images: str | None, as_json: bool, debug: bool = False) -> int:
    """Print what is found; 1 where something is wrong."""
    from weakspot.after.examine import examine

    found = examine(name, images=images)
    if as_json:
        typer.echo(json.dumps(found.to_json(), indent=2))
        return 0 if found.ok else 1
    typer.echo(f"model    {_plain(found.about or name)}")
    typer.echo(f"is       {', '.join(found.ports) or 'nothing that is known'}")
    memory = "" if found.memory is None else f" · {found.memory / 1e6:,.0f} MB of memory"
    gpu = "" if found.gpu is None else f" · {found.gpu / 1e6:,.0f} MB on the GPU"
    typer.echo(f"loaded   in {found.seconds:.1f} s{memory}{gpu}")
    for what in found.checked:
        typer.echo(f"holds    {_plain(what)}")
    if found.speed is not None:
        pace, items = found.speed
        typer.echo(f"speed    {pace:,.0f} {items}/s" if pace >= 10 else f"speed    {pace:.2g} {items}/s")
    for note in found.notes:
        typer.echo(f"note     {_plain(note)}")
    for what, fix in found.faults:
        typer.echo(f"WRONG    {_plain(what)}")
        typer.echo(f"         {_plain(fix)}")
    if debug and found.trace:
        typer.echo(found.trace, err=True)
    typer.echo("ok" if found.ok else "not ok")
    return 0 if found.ok else 1


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)[:500]
