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
    epilog="Any command takes --debug, which shows the traceback of an error. First steps: weakspot demo",
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


app.command("hunt")(hunt.command)
app.command("resume")(resume.command)
app.command("report")(report.command)
app.command("list")(listing.command)
app.command("doctor")(doctor.command)
app.command("demo")(demo.command)
