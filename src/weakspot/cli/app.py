"""The commands and their flags. Nothing heavy is imported until a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from weakspot._version import __version__
from weakspot.cli import demo, doctor, hunt, listing, report, resume

app = typer.Typer(
    name="weakspot",
    help="Find where a vision or multimodal model fails, say it in words, prove it, help to fix it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="First steps: weakspot demo. Any command takes --debug, which shows the traceback of an error.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"weakspot {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    del version


app.command("hunt", short_help="Find captions under which a classifier fails.")(hunt.command)
app.command("resume", short_help="Go on after Ctrl-C, a crash or a spent budget.")(resume.command)
app.command("report", short_help="Write the report of a run again.")(report.command)
app.command("list", short_help="List the models, sources or judges there are.")(listing.command)
app.command("doctor", short_help="Say what is installed, and test the loop.")(doctor.command)
app.command("demo", short_help="See it work: no key, no GPU, no download.")(demo.command)
