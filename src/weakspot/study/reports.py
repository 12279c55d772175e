"""The report of any run: the document of its study, written in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.report import format as show
from weakspot.report import html as pages
from weakspot.report import markdown as texts
from weakspot.report.document import Document
from weakspot.report.people import tables as people
from weakspot.report.shell import ALONE, Part, Place
from weakspot.store import Run, write_whole
from weakspot.study.options import Field
from weakspot.study.registry import find_study


def document_of(run: Run) -> Document:
    """A run as it is told."""
    document: Document = find_study(run.config.study).find("document")(run)
    document.again = command_of(run)
    return document


def summary(run: Run, document: Document | None = None) -> dict[str, Any]:
    """What report.json holds and `--json` prints; `people` where somebody has labelled items of the run."""
    if _old(run):
        from weakspot.report import old

        return old.summary(run)
    said = people.scores(run)
    return (document or document_of(run)).summary() | ({"people": said} if said else {})


def write(run: Run, *, folder: Path | None = None) -> Path:
    """Write report.html, report.md and report.json; finished, stopped and running runs are all welcome.

    Args:
        folder: Where to; by default the run's folder.

    Returns:
        The path of report.html.
    """
    if _old(run):
        from weakspot.report import old

        return old.write(run, folder=folder)
    folder = run.folder if folder is None else folder
    found = {
        "report.json": json.dumps(summary(run), indent=2, allow_nan=False) + "\n",
        "report.md": markdown(run),
        "report.html": html(run, beside=folder == run.folder),
    }
    for name, text in found.items():
        write_text(folder / name, text)
    return folder / "report.html"


def html(run: Run, *, beside: bool = False) -> str:
    """The report as one page with everything inside; `beside` links the files of the run's folder."""
    if _old(run):
        from weakspot.report import old

        return old.html(run, beside=beside)
    return pages.html(document_of(run), beside=beside)


def markdown(run: Run) -> str:
    """The report as Markdown, without pictures."""
    if _old(run):
        from weakspot.report import old

        return old.markdown(run)
    return "\n".join(filter(None, (texts.markdown(document_of(run)), people.markdown(run))))


def write_text(path: Path, text: str) -> None:
    """Write a file of a report, whole or not at all."""
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"the report cannot be written to {path.parent}: {error.strerror}",
            fix="free some space, or check the permissions",
        ) from error


def part_of(run: Run, *, place: Place = ALONE) -> Part:
    """A run's part of a page of several runs."""
    if _old(run):
        from weakspot.report import old

        return old.part(run, place=place)
    return pages.body(document_of(run), place=place)


def command_of(run: Run) -> str:
    """The command that makes the same run again; "" where a part of it was an object without a name."""
    study, settings = find_study(run.config.study), run.config.settings
    words = ["weakspot", study.name]
    for field in study.fields.values():
        value = settings.get(field.name)
        value = tuple(value) if isinstance(value, list) else value
        if value in (None, "", ()) or (value == field.default and not field.required):
            continue
        if field.listed and isinstance(value, tuple):
            if any("," in one or one != one.strip() for one in value):
                return ""  # a shell cannot say it
            value = ",".join(value)
        for one in value if isinstance(value, tuple) else (value,):
            if str(one).startswith("object:"):
                return ""
            words += _flagged(field, one)
    return show.shell(words)


def _flagged(field: Field, value: Any) -> list[str]:
    if field.kind is bool:
        return [field.flag if value else f"--no-{field.flag.removeprefix('--')}"]
    return [str(value)] if field.option.argument else [field.flag, str(value)]


def _old(run: Run) -> bool:
    """Studies whose document still lives in the room of reports."""
    from importlib.util import find_spec

    from weakspot.core.studies import study_names

    if run.config.study not in study_names():
        return True
    document = find_study(run.config.study).document
    if not isinstance(document, str):
        return False
    home, module = find_study(run.config.study).home, document.partition(":")[0]
    return find_spec(module if module.startswith("weakspot.") else f"{home}.{module}") is None
