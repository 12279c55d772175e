"""`weakspot view`: look at runs in the browser, also while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from weakspot.cli.flags import argument, flag, option
from weakspot.core import WeakspotError

if TYPE_CHECKING:
    from weakspot.web.trying import Update


HOST: Any = option("127.0.0.1", "ADDRESS", "Listen here instead of on this machine only.")
PORT: Any = option(None, "NUMBER", "By default 8642, or any free one.", min=0, max=65535)
OPEN: Any = flag("--open", "Open the page in the browser.")


def view(
    runs: Path = argument("RUNS", "The folder of runs, or one run.", default=Path("runs")),
    host: str = HOST,
    port: int | None = PORT,
    open_: bool = OPEN,
) -> int:
    """Explore runs: progress, trials, one trial's story, two runs compared; and try your own words.

    The printed link holds a key; without it, no page opens. Ctrl-C ends it.
    """
    need_web()
    from weakspot.web.explorer import Explorer

    return served(Explorer(runs, measure=_measure).app(), host=host, port=port, open_=open_)


def need_web() -> None:
    """Say what to install if pages cannot be served."""
    from importlib.util import find_spec

    for library in ("starlette", "uvicorn"):
        if find_spec(library) is None:
            raise WeakspotError(f"pages in the browser need {library}", fix="pip install 'weakspot[web]'")


def served(app: Any, *, host: str, port: int | None, open_: bool, people: Sequence[str] = ()) -> int:
    """Serve pages until Ctrl-C, and say where; `people` get a link of their own each."""
    import webbrowser

    from weakspot.web.serve import is_loopback, serve

    if not is_loopback(host):
        typer.echo(
            f"warning: other machines can reach {host}, without encryption: anybody who has the "
            f"link, or listens on the network, can see and do everything on these pages",
            err=True,
        )

    def ready(link: str, links: Mapping[str, str]) -> None:
        typer.echo(f"open     {link}")
        for person, own in links.items():
            typer.echo(f"link     {own}  for {person} only")
        typer.echo("stop     Ctrl-C")
        if open_:
            webbrowser.open(link)

    try:
        serve(app, host=host, port=port, ready=ready, people=people)
    except KeyboardInterrupt:
        typer.echo("")
    return 0


def _measure(folder: Path, words: str, label: str | None, most: int, update: Update) -> Mapping[str, Any]:
    """Measure a person's words as `weakspot try` does."""
    from weakspot.after.tries import TryWatch, try_words
    from weakspot.store import Run
    from weakspot.study.reports import write

    found = try_words(folder, words, label=label, n=most, watch=TryWatch(update)).to_json()
    with Run.read(folder) as run:
        write(run)
    return found
