"""The report of any run: the document of its study, written in every form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from weakspot.core import Hypothesis, disk_errors
from weakspot.core.registry import study_names
from weakspot.report import format as show
from weakspot.report import html as pages
from weakspot.report import markdown as texts
from weakspot.report.document import Document
from weakspot.report.people.labels import NAME as LABELS
from weakspot.store import Run, write_whole
from weakspot.study.options import Field
from weakspot.study.study import find_study

#: Options that are said even where they are as by default: what is drawn depends on them.
ALWAYS: Final = ("source", "seed", "budget")


def document_of(run: Run) -> Document:
    """A run as it is told."""
    document: Document = find_study(run.config.study).find("document")(run)
    document.again = command_of(run) or python_of(run)
    if (run.folder / LABELS).is_file():
        from weakspot.report.people.tables import people

        document.people = lambda: people(run)
    return document


def summary(run: Run, document: Document | None = None) -> dict[str, Any]:
    """What report.json holds and `--json` prints; `people` where somebody has labelled items of the run."""
    said = []
    if (run.folder / LABELS).is_file():
        from weakspot.report.people.tables import scores

        said = scores(run)
    return (document or document_of(run)).summary() | ({"people": said} if said else {})


def write(run: Run, *, folder: Path | None = None) -> Path:
    """Write report.html, report.md and report.json, by default into the run's folder.

    Finished, stopped and running runs are all welcome. Gives the path of report.html.
    """
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
    return pages.html(document_of(run), beside=beside)


def markdown(run: Run) -> str:
    return texts.markdown(document_of(run))


def write_text(path: Path, text: str) -> None:
    """Write a file of a report, whole or not at all."""
    fix = "free some space, or check the permissions"
    with disk_errors(f"the report cannot be written to {path.parent}", fix):
        write_whole(path, text.encode("utf-8", "backslashreplace"))


def command_of(run: Run) -> str:
    """The command that makes the same run again; "" where a shell cannot say it."""
    words = ["weakspot", run.config.study]
    for field, value in _asked(run):
        if field.listed and isinstance(value, tuple):
            if any("," in one or one != one.strip() for one in value):
                return ""
            value = f"{','.join(value)}{',' * (len(value) == 1)}"
        for one in value if isinstance(value, tuple) else (value,):
            if str(one).startswith("object:"):
                return ""
            words += _flagged(field, one)
    return show.shell(words) if len(words) > 2 else ""


def python_of(run: Run) -> str:
    """The same in Python, where objects may take the place of names."""
    values = [(field, show.literal(value)) for field, value in _asked(run)]
    arguments = [text if field.option.argument else f"{field.name}={text}" for field, text in values]
    return f"import weakspot; run = weakspot.{run.config.study}({', '.join(arguments)})" if values else ""


def _asked(run: Run) -> Iterator[tuple[Field, Any]]:
    """The options of a run that are not as by default, and those that say what is drawn."""
    if run.config.study not in study_names():
        return
    for field in find_study(run.config.study).fields.values():
        value = run.config.settings.get(field.name)
        if field.name == "budget":
            value = run.ledger.fact("budget", value)
        value = tuple(value) if isinstance(value, list) else value
        if value not in (None, "", ()) and (value != field.default or field.required or field.name in ALWAYS):
            yield field, value


def redraw(run: Run, hypothesis: Hypothesis, index: int) -> str:
    """Python that draws a case of a run again; "" where that cannot be."""
    return document_of(run).redraw(hypothesis, index)


def _flagged(field: Field, value: Any) -> list[str]:
    if field.kind is bool:
        return [field.flag if value else f"--no-{field.flag.removeprefix('--')}"]
    return [str(value)] if field.option.argument else [field.flag, str(value)]
