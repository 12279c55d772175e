"""What a study's file may say: the options of its command, read off the command line itself.

Nothing is written twice: names, types, defaults and explanations are those of `weakspot STUDY --help`. What
an option names is told by its placeholder there: MODEL and ENCODER are models, LIMITS is a budget, and so on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

from typer.models import ArgumentInfo

from weakspot.core.studies import study_names
from weakspot.study.options import fields_of
from weakspot.study.registry import find_study

#: The studies that can be put into a file, and the values with which each runs on the embedded world.
STUDIES: Final[dict[str, dict[str, Any]]] = {
    **{name: dict(find_study(name).example) for name in study_names()},
}
#: Options that say what to print, not what to study.
_NOT_OF_THE_STUDY: Final = ("as_json", "dry_run", "help")


class Option(NamedTuple):
    """An option of a study.

    Attributes:
        name: The key in the file.
        flag: As on the command line; "" for what needs none.
        kind: "text", "number", "whole number", "yes or no" or "path".
        many: A list may be given.
        required: There is no run without it.
        default: Where nothing is given.
        placeholder: As the help shows it: MODEL, LIMITS, …
        help: In a sentence.
    """

    name: str
    flag: str
    kind: str
    many: bool
    required: bool
    default: Any
    placeholder: str
    help: str


@cache
def options_of(study: str) -> dict[str, Option]:
    """The options of a study by key, in the order of its help."""
    if study in study_names():
        return {
            field.name: Option(
                field.name, field.flag, "path" if field.option.names == "file" else field.takes, field.many,
                field.required, field.default, field.shown, field.option.help,
            )
            for field in fields_of(find_study(study))
        }  # fmt: skip
    found = {}
    function = _function(study)
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        info = next((m for m in getattr(hints[name], "__metadata__", ()) if hasattr(m, "help")), None)
        if info is None or name in _NOT_OF_THE_STUDY:
            continue
        kind, many = _kind(get_args(hints[name])[0])
        flags = [word for word in info.param_decls or () if word.startswith("--")]
        required = parameter.default is inspect.Parameter.empty
        found[name] = Option(
            name=name,
            flag="" if isinstance(info, ArgumentInfo) else (flags or [f"--{name.replace('_', '-')}"])[0],
            kind=kind,
            many=many,
            required=required,
            default=None if required else parameter.default,
            placeholder=str(info.metavar or ""),
            help=str(info.help or ""),
        )
    return found


def _function(study: str) -> Callable[..., int]:
    """What a study's command calls."""
    modules: dict[str, Any] = {}
    function: Callable[..., int] = modules[study].command
    return function


def command_of(study: str) -> Any:
    """The click command of a study."""
    from weakspot.cli.environment import command_tree
    from weakspot.cli.groups import DEFAULT

    command = command_tree(study).commands[study]
    return command.commands[DEFAULT] if hasattr(command, "commands") else command


def about(study: str) -> str:
    """The first sentence of a study's help."""
    if study in study_names():
        return find_study(study).about
    return str(inspect.getdoc(_function(study)) or "").strip().split("\n\n")[0].replace("\n", " ")


def _kind(hint: Any) -> tuple[str, bool]:
    """What an option takes, and whether a list of it."""
    inner = [one for one in get_args(hint) if one is not type(None)]
    plain = inner[0] if inner and get_origin(hint) is not list else hint
    if get_origin(plain) is list:
        return _kind(get_args(plain)[0])[0], True
    return {bool: "yes or no", int: "whole number", float: "number", Path: "path"}.get(plain, "text"), False
