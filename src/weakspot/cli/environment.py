"""Environment variables mirror flags: `weakspot hunt --target-label bee` is WEAKSPOT_HUNT_TARGET_LABEL=bee.

The name is WEAKSPOT, the command and the flag, in capitals, with _ between words. A flag on the command line
comes first, then a study's file (`weakspot run`), then the environment, then the default.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

PREFIX: Final = "WEAKSPOT"
#: Flags that ask for something else than the command does: they have no variable.
_NOT_MIRRORED: Final = ("help", "version")


@cache
def command_tree(only: str | None = None) -> Any:
    """The commands as click has them, with the variable of every flag entered; the same each time.

    With `only` one of them ("" for none) the others are names with a line of help: a tenth of the time.
    """
    from typer.main import get_command

    from weakspot.cli.app import build

    tree: Any = get_command(build(only))
    for words, command in _commands(tree, ()):
        for option, name in variables(words, command).items():
            option.envvar, option.show_envvar = name, False
    return tree


def tell_typos(environment: Mapping[str, str]) -> None:
    """Tell variables that begin like one of a command and are none: they would be ignored in silence."""
    from weakspot.cli.app import command_names

    prefixes = tuple(f"{PREFIX}_{name}_".replace("-", "_").upper() for name in command_names())
    if not any(name.startswith(prefixes) for name in environment):
        return
    from weakspot.core.errors import nearest

    known = {n for words, c in _commands(command_tree(), ()) for n in variables(words, c).values()}
    for name in sorted(environment):
        if name.startswith(prefixes) and name not in known:
            hint = nearest(name, known)
            print(f"note: {name[:100]} mirrors no flag{f'; {hint}' if hint else ''}", file=sys.stderr)


def variables(words: tuple[str, ...], command: Any) -> dict[Any, str]:
    """The variable of each option of a click command, by how it is called; `mine run` is called `mine`."""
    found = {}
    for option in command.params:
        flags = [flag for flag in getattr(option, "opts", ()) if flag.startswith("--")]
        if flags and option.name not in _NOT_MIRRORED:
            parts = (PREFIX, *words, flags[0].removeprefix("--"))
            found[option] = "_".join(parts).replace("-", "_").upper()
    return found


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    from weakspot.cli.flags import DEFAULT

    for name, inner in getattr(command, "commands", {}).items():
        here = words if words and name == DEFAULT else (*words, name)
        if hasattr(inner, "commands"):
            yield from _commands(inner, here)
        else:
            yield here, inner
