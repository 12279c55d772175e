"""docs/reference/commands.md: every command with its options, as the program itself has them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from weakspot.cli.app import command_names, command_tree
from weakspot.cli.flags import DEFAULT
from weakspot.core.registry import study_names
from weakspot.study.options import Field, fields_of
from weakspot.study.study import Study, find_study

HEAD: Final = """\
# Commands and options

<!-- Written by `python -m tests.study.written` from the program itself. Do not edit. -->

Every command of weakspot, with every option. `weakspot COMMAND --help` prints the same.

Each option of a study is also a key in a [study file](study-files.md), an
[environment variable](study-files.md#environment-variables) and a keyword argument in [Python](python.md):
`--target-label` is `target_label`. Any command takes `--debug`, which shows the traceback of an error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | it could not be done; the message says why and what to do about it |
| 2 | the command was misused |
| 3 | the budget ran out first; what was found so far is in the report |
| 70 | a bug in weakspot: please report it, with the output of `--debug` |
| 130 | interrupted |
"""


def command_page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(words, command) for words, command in _commands(command_tree()))])


def _commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with its words; the one that a group runs when none is named has the group's words."""
    names = group.commands if words else command_names()
    for name in names:
        inner = group.commands[name]
        here = words if words and name == DEFAULT else (*words, name)
        if hasattr(inner, "commands"):
            yield from _commands(inner, here)
        else:
            yield here, inner


def _section(words: tuple[str, ...], command: Any) -> str:
    name = " ".join(words)
    study = find_study(name) if name in study_names() else None
    rows = [_row(field) for field in fields_of(study)] if study else []
    known = {row.split("`")[1] for row in rows}
    rows += [row for row in map(_option, command.params) if row and _keep(row, known, study)]
    table = ["| option | default | what it is for |", "|---|---|---|", *rows]
    return "\n".join(
        [f"## weakspot {name}", "", _about(command.help or ""), "", *(table if rows else []), ""]
    )


def _keep(row: str, known: set[str], study: Study | None) -> bool:
    """Of a study's command only what is no option of the study, such as --json."""
    return row.split("`")[1] in ("--json", "--dry-run") and row.split("`")[1] not in known if study else True


def _about(text: str) -> str:
    paragraphs = inspect.cleandoc(text.replace("\b", "")).split("\n\n")
    kept = [part for part in paragraphs if "Exit codes:" not in part]
    return "\n\n".join(textwrap.fill(_plain(" ".join(part.split())), 110) for part in kept)


def _row(field: Field) -> str:
    default = "needed" if field.required else ""
    if not field.required and field.default not in (None, "", ()):
        default = f"`{field.default}`"
    return f"| `{field.flag or field.shown}` | {default} | {_plain(field.option.help)} |"


def _option(param: Any) -> str:
    """A row of a command that is no study; empty for --help."""
    if "--help" in param.opts:
        return ""
    argument = param.param_type_name == "argument"
    flag = (param.metavar or param.name).strip("{}").upper() if argument else max(param.opts, key=len)
    default = "needed" if param.required else ""
    if not param.required and param.default not in (None, "", (), [], False) and not callable(param.default):
        default = f"`{param.default}`"
    return f"| `{flag}` | {default} | {_plain(param.help or '')} |"


def _plain(text: str) -> str:
    """Text whose signs mean nothing to Markdown."""
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")
