"""A study as a YAML file: written, checked, run; and any run gone on with."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import typer

from weakspot.cli.flags import AsJson, argument, flag, option, show
from weakspot.core import WeakspotError
from weakspot.report.format import clean, plural

FILE: Any = argument("FILE", "A study in YAML (see: weakspot init).")
CHANGES: Any = option(None, "KEY=VALUE", "Override a setting of the file; may be repeated.", "--set")


def init(
    study: str = argument("STUDY", "hunt, mine, map, ask, rare or repair."),
    schema: Path | None = option(
        None,
        "FILE",
        "Also write a JSON Schema and name it in the YAML, so that editors complete and check it.",
        "--schema",
    ),
) -> int:
    """Print a study as YAML: every option with its default and what it is for.

    As printed it runs on the embedded world, with nothing to download: weakspot init hunt > study.yaml, then
    weakspot validate study.yaml, then weakspot run study.yaml.
    """
    from weakspot.study.files import schema_of
    from weakspot.study.study import find_study

    chosen = find_study(study)
    if schema is not None:
        schema.write_text(json.dumps(schema_of(chosen), indent=2) + "\n", "utf-8")
        typer.echo(f"# yaml-language-server: $schema={schema}")
    for line in template(study):
        typer.echo(line)
    return 0


def template(name: str) -> Iterator[str]:
    """The lines of the file."""
    from weakspot.cli.app import PREFIX
    from weakspot.study.options import fields_of
    from weakspot.study.study import find_study

    study = find_study(name)
    yield from _comment(f"weakspot {name}: {study.about}")
    yield from _comment(
        "Check it: weakspot validate FILE. Run it: weakspot run FILE. An option that is null counts "
        "as not given. One that is left out takes its default, or the value of its variable: "
        f"{PREFIX}_{name.upper()}_ and its flag."
    )
    yield f"study: {name}"
    for field in fields_of(study):
        explained = field.option.help if field.option.help.endswith(".") else f"{field.option.help}."
        lists = " A list." if field.many else ""
        needed = " Needed." if field.required else ""
        yield ""
        yield from _comment(f"{explained}{lists}{needed}")
        yield f"{field.name}: {_value(study.example.get(field.name, field.default))}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, 98, initial_indent="# ", subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
    )


def _value(value: Any) -> str:
    """A value as YAML on one line."""
    import yaml

    plain = list(value) or None if isinstance(value, tuple) else value
    text: str = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def validate(
    file: Path = FILE,
    changes: list[str] | None = CHANGES,
    load: bool = flag("--load", "Also load the models and check that they fit; this may download them."),
    as_json: bool = flag("--json", "Print the problems as JSON."),
) -> int:
    """Check a study's file: keys, types, names of models, libraries, files, the budget, contradictions.

    Nothing is asked, drawn or written. Every problem is shown with its line. Exit codes: 0 valid, 1 not
    valid, 2 wrong usage.
    """
    from weakspot.cli.screen import limits
    from weakspot.study.checks import check_study
    from weakspot.study.files import described, read_study
    from weakspot.study.study import find_study

    found = read_study(file, changes=changes or ())
    problems = check_study(found, load=load)
    code = int(bool(problems))
    rows = [problem._asdict() for problem in problems]
    values = {"file": str(file), "study": found.study or None, "valid": not problems, "problems": rows}
    lines = [clean(line) for line in described(file, problems)]
    if not problems:
        study = find_study(found.study)
        given = {k: v for k, v in found.values.items() if v is not None and k in study.fields}
        settings, _ = study.separate(given)
        unit = "" if study.budget == "images" else study.budget
        spent = f", {limits(str(settings.plain()['budget']), unit)}" if "budget" in study.fields else ""
        lines.append(f"{clean(str(file))} is valid: {found.study}{spent}")
    show(values | {"exit_code": code}, lines, as_json=as_json)
    if problems and not as_json:
        typer.echo(f"{plural(len(problems), 'problem')}; nothing was spent", err=True)
    return code


def run(
    file: Path = FILE,
    changes: list[str] | None = CHANGES,
    out: Path | None = option(None, "FOLDER", "The run's folder, instead of the file's."),
    as_json: AsJson = False,
) -> int:
    """Run a study from its file: the same run as with the same flags.

    The file is validated first. If anything is wrong, every problem is shown and nothing runs. Paths in it
    are relative to the current folder. The file overrides environment variables. Exit codes: those of the
    study; 1 if the file is not valid.
    """
    from weakspot.cli.studies import parser_of
    from weakspot.study.checks import check_study
    from weakspot.study.files import described, read_study

    given = [*(changes or ()), *([] if out is None else [f"out={out}"])]
    found = read_study(file, changes=given)
    if problems := check_study(found):
        for line in described(file, problems):
            print(clean(line), file=sys.stderr)
        what = f"{file} is not valid: {plural(len(problems), 'problem')}"
        raise WeakspotError(what, fix=f"correct the file; to check it again: weakspot validate {file}")
    study = copy(parser_of(found.study))
    study.params = [copy(parameter) for parameter in study.params]
    for parameter in study.params:
        if found.values.get(parameter.name) is not None:
            parameter.envvar = None  # the file comes first, also where it says no
    words = [*(["--json"] if as_json else []), *found.arguments()]
    code = study.main(words, prog_name=f"weakspot {found.study}", standalone_mode=False)
    return int(code or 0)


def resume(
    run: Path = argument("FOLDER", "The run's folder."),
    budget: str | None = option(None, "LIMITS", "A larger budget for a run that was stopped by its own."),
    executor: str = option(
        "local", "EXECUTOR", "Where a hunt or a map goes on: local, or on Ray (see hunt).", "--executor"
    ),
    as_json: AsJson = False,
) -> int:
    """Go on with a run after Ctrl-C, a crash or a spent budget; nothing recorded is asked again."""
    from weakspot.cli.screen import Screen, conclude
    from weakspot.store import Run
    from weakspot.study.lifecycle import resume, settings_of
    from weakspot.study.study import find_study

    with Run.open(run) as opened:
        settings, study = settings_of(opened, budget=budget), find_study(opened.config.study)
    with Screen(study, settings, title=f"resuming {run}") as screen:
        opened = resume(run, budget=budget, watch=screen, executor=executor)
    return conclude(opened, as_json=as_json)
