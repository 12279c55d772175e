"""Findings as one HTML file that opens from disk, as Markdown, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from weakspot.core import WeakspotError
from weakspot.report import facts as _facts
from weakspot.store import Run, write_whole

__all__ = ["html", "markdown", "summary", "write"]


def write(run: Run, *, folder: Path | None = None) -> Path:
    """Write report.html, report.md and report.json; finished, stopped and running runs are all welcome.

    Args:
        run: Open, for reading or for writing.
        folder: Where to; by default the run's folder.

    Returns:
        The path of report.html.
    """
    from weakspot.report import page, plain, words

    folder = run.folder if folder is None else folder
    if run.config.study in ("ask", "map", "mine", "rare", "repair"):
        texts = {
            "report.json": _as_text(summary(run)),
            "report.md": markdown(run),
            "report.html": html(run),
        }
    else:
        gathered = _facts.gather(run)
        texts = {
            "report.json": _as_text(plain.summary(gathered)),
            "report.md": words.markdown(gathered),
            "report.html": page.html(run, gathered),
        }
    try:
        for name, text in texts.items():
            write_whole(folder / name, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise WeakspotError(
            f"the report cannot be written to {folder}: {error.strerror}",
            fix="free some space, or check the permissions",
        ) from error
    return folder / "report.html"


def summary(run: Run) -> dict[str, Any]:
    """The report as plain values under stable keys; what `--json` prints."""
    from weakspot.report import ask_words, map_page, mine_page, plain, rare_page, repair_page

    if run.config.study == "ask":
        return ask_words.summary(run)
    if run.config.study == "mine":
        return mine_page.summary(run)
    if run.config.study == "map":
        return map_page.summary(run)
    if run.config.study == "rare":
        return rare_page.summary(run)
    if run.config.study == "repair":
        return repair_page.summary(run)
    return plain.summary(_facts.gather(run))


def markdown(run: Run) -> str:
    """The report as Markdown, without pictures."""
    from weakspot.report import ask_page, map_page, mine_page, rare_page, repair_page, words

    if run.config.study == "ask":
        return ask_page.markdown(run)
    if run.config.study == "mine":
        return mine_page.markdown(run)
    if run.config.study == "map":
        return map_page.markdown(run)
    if run.config.study == "rare":
        return rare_page.markdown(run)
    if run.config.study == "repair":
        return repair_page.markdown(run)
    return words.markdown(_facts.gather(run))


def html(run: Run) -> str:
    """The report as one HTML page with everything inside: style, charts, pictures."""
    from weakspot.report import ask_page, map_page, mine_page, page, rare_page, repair_page

    if run.config.study == "ask":
        return ask_page.html(run)
    if run.config.study == "mine":
        return mine_page.html(run)
    if run.config.study == "map":
        return map_page.html(run)
    if run.config.study == "rare":
        return rare_page.html(run)
    if run.config.study == "repair":
        return repair_page.html(run)
    return page.html(run, _facts.gather(run))


def _as_text(values: dict[str, Any]) -> str:
    return json.dumps(values, indent=2, allow_nan=False) + "\n"
