"""`weakspot validate`: is a study's file right? Before anything is spent, and all that is wrong at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study in YAML (see: weakspot init).")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="In place of what the file says; may be repeated."),
    ] = None,
    load: Annotated[
        bool,
        typer.Option("--load", help="Load the models, too, and see whether they fit; may download them."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the problems as JSON.")] = False,
) -> int:
    """Check a study's file: keys, types, names of models, libraries, files, the budget, what cannot be meant.

    Nothing is asked, drawn or written. Every problem is told with its line. Exit codes: 0 it is right, 1 it
    is not, 2 misused.
    """
    from weakspot.cli.screen import limits
    from weakspot.report.format import clean, plural
    from weakspot.study.checks import check_study
    from weakspot.study.files import described, read_study
    from weakspot.study.study import find_study

    found = read_study(file, changes=changes or ())
    problems = check_study(found, load=load)
    if as_json:
        rows = [problem._asdict() for problem in problems]
        document = {"file": str(file), "study": found.study or None, "valid": not problems, "problems": rows}
        typer.echo(json.dumps(document | {"exit_code": int(bool(problems))}, indent=2))
        return int(bool(problems))
    for line in described(file, problems):
        typer.echo(clean(line))
    if problems:
        typer.echo(f"{plural(len(problems), 'problem')}; nothing was spent", err=True)
        return 1
    study = find_study(found.study)
    settings, _ = study.separate(
        {k: v for k, v in found.values.items() if v is not None and k in study.fields}
    )
    unit = "" if study.budget == "images" else study.budget
    spent = f", {limits(str(settings.plain()['budget']), unit)}" if "budget" in study.fields else ""
    typer.echo(f"{clean(str(file))} is right: {found.study}{spent}")
    return 0
