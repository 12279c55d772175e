"""`weakspot run`: a study from its file, the same run as with the flags."""

from __future__ import annotations

import sys
from copy import copy
from pathlib import Path
from typing import Annotated

import typer

from weakspot.cli.flags import AsJson


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A study in YAML (see: weakspot init).")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="In place of what the file says; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The run's folder, in place of what the file says."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Run a study from its file: the same run as with the same flags.

    The file is validated first; if anything is wrong, all of it is told and nothing is run. Paths in it are
    read from the current folder. What the file says comes before environment variables. Exit codes: those of
    the study; 1 if the file is not right.
    """
    from weakspot.cli.studies import parser_of
    from weakspot.core import WeakspotError
    from weakspot.report.format import clean, plural
    from weakspot.study.checks import check_study
    from weakspot.study.files import described, read_study

    given = [*(changes or ()), *([] if out is None else [f"out={out}"])]
    found = read_study(file, changes=given)
    if problems := check_study(found):
        for line in described(file, problems):
            print(clean(line), file=sys.stderr)
        what = f"{file} is not right: {plural(len(problems), 'problem')}"
        raise WeakspotError(what, fix=f"mend the file; to see it again: weakspot validate {file}")
    study = copy(parser_of(found.study))
    study.params = [copy(parameter) for parameter in study.params]
    for parameter in study.params:
        if found.values.get(parameter.name) is not None:
            parameter.envvar = None  # the file comes first, also where it says no
    words = [*(["--json"] if as_json else []), *found.arguments()]
    code = study.main(words, prog_name=f"weakspot {found.study}", standalone_mode=False)
    return int(code or 0)
