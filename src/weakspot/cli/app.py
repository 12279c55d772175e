"""The commands: those of the studies, which follow from their options, and the few that are no study.

A command is imported when it is asked for; the list of commands needs only these lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Annotated, Any, Final

import typer

from weakspot._version import __version__
from weakspot.core.registry import study_entries, study_names

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
