"""A group of commands of which one needs no name: `weakspot mine X` is `weakspot mine run X`."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

#: The command that is meant where none is named.
DEFAULT: Final = "run"


class OneIsMeant(TyperGroup):
    """Puts the default command before arguments that begin with no command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click."""
        asked_for_help = args and args[0] in ctx.help_option_names
        if args and not asked_for_help and args[0] not in self.commands and DEFAULT in self.commands:
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)
