"""Reports of the studies that have no document of their own yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weakspot.core import WeakspotError
from weakspot.store import Run, write_whole

if TYPE_CHECKING:
    from weakspot.report.shell import Part, Place

__all__ = ["html", "markdown", "part", "summary", "write"]


def write(run: Run, *, folder: Path | None = None) -> Path:
    """Write report.html, report.md and report.json; finished, stopped and running runs are all welcome.

    Args:
        run: Open, for reading or for writing.
        folder: Where to; by default the run's folder.

    Returns:
        The path of report.html.
    """
    folder = run.folder if folder is None else folder
    texts = {
        "report.json": _as_text(summary(run)),
        "report.md": markdown(run),
        "report.html": html(run, beside=folder == run.folder),
    }
    for name, text in texts.items():
        _write(folder / name, text)
    return folder / "report.html"


def summary(run: Run) -> dict[str, Any]:
    """The report as plain values under stable keys; what `--json` prints.

    Where people have labelled items of the run, `people` holds what follows, a value per task.
    """
    from weakspot.report import map_page
    from weakspot.report.people.tables import scores

    by_study = {
        "map": map_page.summary,
    }
    found = by_study[run.config.study](run)
    said = scores(run)
    return found | {"people": said} if said else found


def markdown(run: Run) -> str:
    """The report as Markdown, without pictures."""
    from weakspot.report import map_page
    from weakspot.report.people import tables as people

    by_study = {
        "map": map_page.markdown,
    }
    text = by_study[run.config.study](run)
    said = people.markdown(run)
    return f"{text}\n{said}" if said else text


def html(run: Run, *, beside: bool = False) -> str:
    """The report as one HTML page with everything inside: style, charts, pictures, scripts.

    Args:
        run: Open, for reading or for writing.
        beside: The page will lie in the run's folder, and links what it does not hold itself.
    """
    from weakspot.report.shell import Rest, page

    one = part(run)
    version = run.config.versions.get("weakspot", "")
    rest = Rest(run.folder, blobs=(run.folder / "blobs").is_dir()) if beside else None
    return page([one], title=one.title, study=run.config.study, version=version, rest=rest)


def part(run: Run, *, place: Place | None = None) -> Part:
    """A run's part of a page, by itself or among others."""
    from weakspot.report import map_page
    from weakspot.report.shell import ALONE

    place = ALONE if place is None else place
    by_study = {
        "map": map_page.part,
    }
    return by_study[run.config.study](run, place=place)


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"the report cannot be written to {path.parent}: {error.strerror}",
            fix="free some space, or check the permissions",
        ) from error


def _as_text(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"
