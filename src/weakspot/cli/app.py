"""The commands and their flags. Nothing heavy is imported until a command runs."""

from __future__ import annotations

from typing import Annotated

import typer

from weakspot._version import __version__
from weakspot.cli import (
    ask,
    bench,
    compare,
    demo,
    doctor,
    export,
    gate,
    hunt,
    init,
    judge,
    label,
    leaderboard,
    listing,
    mine,
    prefer,
    rare,
    realism,
    repair,
    report,
    resume,
    run_,
    transfer,
    try_,
    validate,
    view,
)
from weakspot.cli import map as map_

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
app.command("ask", short_help="Find which harmless questions a chat model refuses.")(ask.command)
app.command("rare", short_help="Measure failures that plain sampling hardly sees.")(rare.command)
app.command("map", short_help="Map which concepts make a model fail.")(map_.command)
app.command("prefer", short_help="Say which modes of a map matter.")(prefer.command)
app.command("repair", short_help="Train weak spots away, and prove what moved.")(repair.command)
app.command("leaderboard", short_help="Many runs of ask in one table.")(leaderboard.command)
app.command("init", short_help="Print a study as YAML, with every option.")(init.command)
app.command("validate", short_help="Check a study in YAML; nothing is spent.")(validate.command)
app.command("run", short_help="Run a study in YAML.")(run_.command)
app.command("resume", short_help="Go on after Ctrl-C, a crash or a spent budget.")(resume.command)
app.command("report", short_help="Write the report of a run again.")(report.command)
app.command("try", short_help="Measure your own words against a hunt's baseline.")(try_.command)
app.command("view", short_help="Explore runs in the browser, also while they run.")(view.command)
app.command("export", short_help="Write the misread pictures of a hunt as a data set.")(export.command)
app.command("compare", short_help="Two runs: what is new, gone, worse, better.")(compare.command)
app.command("gate", short_help="Fail a build when a run breaks its limits.")(gate.command)
app.command("transfer", short_help="Try a hunt's findings on other models and pictures.")(transfer.command)
app.command("realism", short_help="Say how far pictures are from others: FID and KID.")(realism.command)
app.command("list", short_help="List the models, sources or judges there are.")(listing.command)
app.command("doctor", short_help="Say what is installed; check a model.")(doctor.command)
app.command("demo", short_help="See it work: no key, no GPU, no download.")(demo.command)
app.add_typer(mine.app, name="mine", short_help="Find pairs that an image–text encoder confuses.")
app.add_typer(bench.app, name="bench", short_help="Measure the methods where the truth is known.")
app.add_typer(judge.app, name="judge", short_help="Measure a judge against people's labels.")
app.add_typer(label.app, name="label", short_help="Have people label items in the browser; score them.")
