"""The commands of the studies: flags, help and what follows a run, all from the study's own options."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer

from weakspot.cli.flags import DEFAULT, AsJson, DryRun, OneIsMeant, show
from weakspot.core import WeakspotError
from weakspot.report.format import columns, wrapped
from weakspot.study.options import Field
from weakspot.study.study import Study, chosen, every_field, find_study, stand_ins

_EXITS = "Exit codes: 0 done, 1 error, 2 wrong usage, 3 the budget ran out first, 130 interrupted."


def commands_of(name: str) -> typer.Typer | Callable[..., int]:
    """A study's command; where the study brings tools of its own, the group of all of them."""
    study = find_study(name)
    if not study.tools:
        return command_for(study)
    app = typer.Typer(cls=OneIsMeant, no_args_is_help=True, rich_markup_mode=None, help=study.about)
    app.callback()(lambda: None)
    app.command(DEFAULT, short_help=f"{study.about.rstrip('.')} (the default if you name none).")(
        command_for(study)
    )
    for tool, where in study.tools.items():
        module, _, attribute = where.partition(":")
        function = getattr(import_module(module), attribute)
        about = (inspect.getdoc(function) or "").partition("\n\n")[0].replace("\n", " ")
        app.command(tool, short_help=about)(function)
    return app


def parser_of(name: str) -> Any:
    """The study's own command as click has it, with the variables of its flags."""
    from weakspot.cli.app import command_tree

    command = command_tree(name).commands[name]
    return command.commands[DEFAULT] if find_study(name).tools else command


def command_for(study: Study) -> Callable[..., int]:
    """The command of a study, as a function that typer reads its flags from."""

    def command(context: typer.Context, **values: Any) -> int:
        taker, values = chosen(study, values)
        needed = [taker.fields[name].flag for name in taker.one_of]
        if needed and not any(values[name] for name in taker.one_of):
            _check_named(taker, values)
            misuse = typer.BadParameter.__mro__[1]  # without "invalid value", whichever click typer uses
            others = " or ".join(map(repr, needed[1:]))
            raise misuse(f"Missing option {needed[0]!r} (or {others}).", ctx=context)
        return run_study(taker, values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(_parameter(field) for field in every_field(study)),
    ]
    if study.preview is not None:
        parameters.append(inspect.Parameter("dry_run", keyword, default=False, annotation=DryRun))
    parameters.append(inspect.Parameter("as_json", keyword, default=False, annotation=AsJson))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": int}
    about = inspect.cleandoc(study.options.__doc__ or study.about)
    ending = study.notes or f"The run can be stopped with Ctrl-C at any time and resumed. {_EXITS}"
    more = "".join(f"\n\nGiven a {one.name}: {one.about.lower()}" for one in stand_ins(study))
    command.__doc__ = f"{about}{more}\n\n{textwrap.fill(ending, 106)}"
    return command


def _check_named(study: Study, values: Mapping[str, Any]) -> None:
    """Refuse what is neither a model's name nor what another study takes: no option would mend it."""
    for field in study.fields.values():
        given = values.get(field.name)
        if (
            field.option.argument
            and field.option.names == "model"
            and stand_ins(study)
            and ":" not in str(given)
        ):
            others = " nor ".join(f"a {one.name}" for one in stand_ins(study))
            raise WeakspotError(
                f"{str(given)[:200]} is neither a model nor {others}",
                fix="see: weakspot list models; a table is a file such as predictions.csv",
            )


def run_study(study: Study, values: dict[str, Any]) -> int:
    """Run a study, show how it goes on, and tell the result; the exit code."""
    from weakspot.cli.screen import Screen, conclude
    from weakspot.study.lifecycle import begin

    as_json = bool(values.pop("as_json", False))
    dry_run = bool(values.pop("dry_run", False))
    frame = {key: values.pop(key) for key in ("out", "blobs", "executor") if key in values}
    given = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
    given = {key: v for key, v in given.items() if v is not None}
    settings, _ = study.separate(given)
    if dry_run:
        return _show_preview(study, given, as_json=as_json)
    with Screen(study, settings) as screen:
        run = begin(study, given, watch=screen, **frame)
    return conclude(run, as_json=as_json)


def _show_preview(study: Study, given: dict[str, Any], *, as_json: bool) -> int:
    """Print what a run would do and cost."""
    from weakspot.study.lifecycle import preview

    found = preview(study, given)
    lines = [*found["lines"], ("nothing", "has been sent; leave --dry-run out to begin")]
    shown = (line for name, about in lines for line in wrapped(name, str(about), columns(), room=11))
    return show(found, shown, as_json=as_json)


def _parameter(field: Field) -> inspect.Parameter:
    shown, help_text = field.shown or None, field.option.help
    kind: Any = str if field.option.names else field.kind
    if field.many:
        kind = list[kind] | None
    elif field.optional:
        kind = kind | None
    if field.option.argument:
        info: Any = typer.Argument(metavar=shown, help=help_text)
    elif field.kind is bool:
        both = f"{field.flag}/--no-{field.flag.removeprefix('--')}" if field.default else field.flag
        info = typer.Option(both, help=help_text)
    else:
        info = typer.Option(field.flag, metavar=shown, help=help_text)
    default: Any = inspect.Parameter.empty if field.required else None if field.many else field.default
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )
