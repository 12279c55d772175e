"""What commands share: how a flag is declared, the flags that several have, and how a result is printed.

A flag that is called like its metavar is spelt out (`"--label"`): typer 0.27 takes the metavar's capitals for
the flag's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

#: The command of a group that is meant where none is named.
DEFAULT: Final = "run"


class OneIsMeant(TyperGroup):
    """A group of commands of which one needs no name: `weakspot mine X` is `weakspot mine run X`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command before arguments that begin with no command."""
        asked_for_help = args and args[0] in ctx.help_option_names
        if args and not asked_for_help and args[0] not in self.commands and DEFAULT in self.commands:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)


def argument(metavar: str | None, help: str, *, default: Any = ...) -> Any:
    """What is given without a flag; without a default it must be given."""
    return typer.Argument(default, metavar=metavar, help=help)


def option(default: Any, metavar: str | None, help: str, *names: str, **more: Any) -> Any:
    """A flag with a value, called like its parameter unless it has names; a default of ... is none."""
    return typer.Option(default, *names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """A flag without a value."""
    return typer.Option(False, name, help=help)


#: The flags that the studies' commands share.
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what would be sent where, and what it may cost; send nothing.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")]


def show(values: Any, lines: Iterable[str], *, as_json: bool, code: int = 0, allow_nan: bool = True) -> int:
    """Print a result, as JSON or in lines; the exit code."""
    if as_json:
        typer.echo(json.dumps(values, indent=2, allow_nan=allow_nan))
    else:
        for line in lines:
            typer.echo(line)
    return code
