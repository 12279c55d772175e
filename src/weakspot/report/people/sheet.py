"""A page with the failing inputs of each mode, for who compares modes on a terminal: modes.html of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from markupsafe import Markup

from weakspot.core import disk_errors
from weakspot.report import format as show
from weakspot.report.document import Allowance, picture
from weakspot.report.html import page
from weakspot.report.people.preferences import modes_of
from weakspot.report.people.tasks import mode_of
from weakspot.store import Run, write_whole

NAME: Final = "modes.html"
#: Characters of pictures in the page.
ROOM: Final = 3_000_000


def write_sheet(run: Run) -> Path:
    """Write the page; where it is."""
    allowance, parts = Allowance(ROOM), [Markup("<header><h1>Failure modes</h1></header>")]
    for number, mode in enumerate(modes_of(run), start=1):
        rate = f"{show.percent(mode.rate)} {show.interval(mode.low, mode.high)}"
        parts.append(
            Markup('<section><h2>{}. {}</h2><p class="intro">{} of such inputs fail.</p>').format(
                number, show.shorten(mode.words, 200), rate
            )
        )
        shown = mode_of(run, number, mode.words)
        uris = [picture(run, digest, allowance) for digest in shown.pictures]
        image = Markup('<img src="{}" alt="A failing input of mode {}"> ')
        parts += [image.format(uri, number) for uri in uris if uri]
        parts += [Markup("<p>{}</p>").format(show.shorten(text, 600)) for text in shown.texts]
        parts.append(Markup("</section>"))
    text = page(
        Markup("\n").join(parts),
        title="Failure modes",
        study="map",
        version=run.config.versions.get("weakspot", ""),
    )
    path = run.folder / NAME
    with disk_errors(f"{path} cannot be written", "free some space or check the permissions"):
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    return path
