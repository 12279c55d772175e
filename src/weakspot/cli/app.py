"""The commands: those of the studies, which follow from their options, and the few that are no study.

A command is imported when it is asked for; the list of commands needs only these lines.

Environment variables mirror flags: `weakspot hunt --target-label bee` is WEAKSPOT_HUNT_TARGET_LABEL=bee.
The name is WEAKSPOT, the command and the flag, in capitals, with _ between words. A flag on the command
line comes first, then a study's file (`weakspot run`), then the environment, then the default.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from weakspot._version import __version__
from weakspot.core.errors import nearest
from weakspot.core.registry import study_entries, study_names

PREFIX: Final = "WEAKSPOT"
#: Flags that ask for something else than the command does: they have no variable.
_NOT_MIRRORED: Final = ("help", "version")
#: By name: the command, or the group of commands, in this package; and the line in the list.
_OTHERS: Final = {
    "prefer": ("people:prefer", "Say which modes of a map matter."),
    "leaderboard": ("between_runs:leaderboard", "Many runs of ask in one table."),
    "init": ("study_files:init", "Print a study as YAML, with every option."),
    "validate": ("study_files:validate", "Check a study in YAML; nothing is spent."),
    "run": ("study_files:run", "Run a study in YAML."),
    "resume": ("study_files:resume", "Go on after Ctrl-C, a crash or a spent budget."),
    "report": ("between_runs:report", "Write the report of a run again."),
    "try": ("after_hunt:try_", "Measure your own words against a hunt's baseline."),
    "view": ("view:view", "Explore runs in the browser, also while they run."),
    "export": ("after_hunt:export", "Write the misread pictures of a hunt as a data set."),
    "compare": ("between_runs:compare", "Two runs: what is new, gone, worse, better."),
    "gate": ("between_runs:gate", "Fail a build when a run breaks its limits."),
    "transfer": ("after_hunt:transfer", "Try a hunt's findings on other models and pictures."),
    "realism": ("after_hunt:realism", "Say how far pictures are from others: FID and KID."),
    "list": ("doctor:list_", "List the models, sources or judges there are."),
    "doctor": ("doctor:doctor", "Say what is installed; check a model."),
    "demo": ("demo:demo", "See it work: no key, no GPU, no download."),
    "bench": ("bench:app", "Measure the methods where the truth is known."),
    "judge": ("people:judges", "Measure a judge against people's labels."),
    "label": ("people:labels", "Have people label items in the browser; score them."),
}


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weakspot {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


def build(only: str | None = None) -> typer.Typer:
    """All commands; or `only` one ("" for none), with the others as names with a line of help."""
    app = typer.Typer(
        name="weakspot",
        help="Find where a vision or multimodal model fails, say it in words, prove it, help to fix it.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="First steps: weakspot demo. Any command takes --debug, which shows an error's traceback.",
    )
    app.callback()(_main)
    for name, about in _lines():
        found = _stub if only not in (None, name) else _command(name)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, short_help=about)
        else:
            app.command(name, short_help=about)(found)
    return app


def command_names() -> tuple[str, ...]:
    """The names of all commands; none is imported."""
    return (*study_names(), *_OTHERS)


def _lines() -> Iterator[tuple[str, str]]:
    for name, entry in study_entries().items():
        yield name, entry.about or _about(name)
    for name, (_, about) in _OTHERS.items():
        yield name, about


def _about(name: str) -> str:
    """The line of a study of another package, which must be imported for it."""
    from weakspot.study.study import find_study

    return find_study(name).about


def _stub() -> None: ...


def _command(name: str) -> Any:
    if name not in _OTHERS:
        from weakspot.cli.studies import commands_of

        return commands_of(name)
    module, _, command = _OTHERS[name][0].partition(":")
    return getattr(import_module(f"weakspot.cli.{module}"), command)


@cache
def command_tree(only: str | None = None) -> Any:
    """The commands as click has them, with the variable of every flag entered; the same each time.

    With `only` one of them ("" for none) the others are names with a line of help: a tenth of the time.
    """
    from typer.main import get_command

    tree: Any = get_command(build(only))
    for words, command in _commands(tree, ()):
        for option, name in variables(words, command).items():
            option.envvar, option.show_envvar = name, False
    return tree


def tell_typos(environment: Mapping[str, str]) -> None:
    """Tell variables that begin like one of a command and are none: they would be ignored in silence."""
    prefixes = tuple(f"{PREFIX}_{name}_".replace("-", "_").upper() for name in command_names())
    if not any(name.startswith(prefixes) for name in environment):
        return
    known = {n for words, c in _commands(command_tree(), ()) for n in variables(words, c).values()}
    for name in sorted(environment):
        if name.startswith(prefixes) and name not in known:
            hint = nearest(name, known)
            print(f"note: {name[:100]} matches no flag{f'; {hint}' if hint else ''}", file=sys.stderr)


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
