"""`weakspot view`: look at runs in the browser, also while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from weakspot.engine.watch import Lane
    from weakspot.web.tries import Update


def command(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of runs, or one run.")] = Path(
        "runs"
    ),
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Listen here instead of on this machine only.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, max=65535, help="By default 8642, or any that is free."),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> int:
    """Explore runs: progress, trials, one trial's story, two runs compared; and try your own words.

    The link that is printed holds a key; without it nothing is answered. Ctrl-C ends it.
    """
    need_web()
    from weakspot.web.explorer import Explorer

    app = Explorer(runs, measure=measured).app()
    return served(app, host=host, port=port, path="/", show=show)


def need_web() -> None:
    """Say what to install if pages cannot be served."""
    from importlib.util import find_spec

    from weakspot.core import WeakspotError

    for library in ("starlette", "uvicorn"):
        if find_spec(library) is None:
            raise WeakspotError(f"pages in the browser need {library}", fix="pip install 'weakspot[web]'")


def served(app: Any, *, host: str, port: int | None, path: str, show: bool) -> int:
    """Serve pages until Ctrl-C, and say where."""
    import webbrowser

    from weakspot.web.serve import is_loopback, serve

    if not is_loopback(host):
        typer.echo(
            f"warning: {host} can be reached from other machines, without encryption: who reads the link, "
            "or the network, sees and may do everything that these pages can",
            err=True,
        )

    def ready(link: str) -> None:
        typer.echo(f"open     {link}")
        typer.echo("stop     Ctrl-C")
        if show:
            webbrowser.open(link)

    try:
        serve(app, host=host, port=port, path=path, ready=ready)
    except KeyboardInterrupt:
        typer.echo("")
    return 0


def measured(folder: Path, words: str, label: str | None, most: int, update: Update) -> Mapping[str, Any]:
    """Measure a person's words as `weakspot try` does."""
    from weakspot.after.tries import try_words
    from weakspot.engine.watch import Watch
    from weakspot.store import Run
    from weakspot.study.reports import write

    class Drawn(Watch):
        def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
            del phase
            update(lanes[0].tally.failures, lanes[0].tally.n, int(spent["images"]))

    found = try_words(folder, words, label=label, n=most, watch=Drawn()).to_json()
    with Run.read(folder) as run:
        write(run)
    return found
