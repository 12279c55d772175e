"""`weakspot list`: the names that can be used."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer


class What(StrEnum):
    """What can be listed."""

    MODELS = "models"
    SOURCES = "sources"
    JUDGES = "judges"
    CORPORA = "corpora"
    PICTURES = "pictures"
    DIFFERS = "differs"


def command(
    what: Annotated[What, typer.Argument(help="What to list.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """List the names of models, sources, judges and inputs, plugins included."""
    from weakspot.core import registry
    from weakspot.report.format import columns

    found: registry.Registry = getattr(registry, what.name)
    entries = list(found)
    rows = [
        {
            "name": e.name,
            "example": e.example or e.name,
            "about": e.about,
            "extra": e.extra,
            "origin": e.origin,
        }
        for e in entries
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return 0
    abouts = [r["about"] + (f" (needs weakspot[{r['extra']}])" if r["extra"] else "") for r in rows]
    wide = max(len(row["example"]) for row in rows)
    beside = wide + 2 + max(map(len, abouts)) <= columns()
    for row, about in zip(rows, abouts, strict=True):
        typer.echo(f"{row['example']:<{wide}}  {about}" if beside else f"{row['example']}\n    {about}")
    return 0
