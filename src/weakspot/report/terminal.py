"""Text for a terminal: one line, nothing in it that does anything, no wider than the screen."""

from __future__ import annotations

import shutil
import sys

from weakspot.report.format import clean

#: Columns where the output is not a terminal, and the least that are used on one.
WIDE, NARROW = 120, 60


def cut(text: str, most: int) -> str:
    """Any text as it may be shown on a terminal: one line, no control characters, at most so many columns."""
    from rich.cells import cell_len, set_cell_size

    shown = clean(text[: 4 * most])
    whole = len(text) <= 4 * most and cell_len(shown) <= most
    return shown if whole else f"{set_cell_size(shown, most - 1).rstrip()}…"


def row(name: str, text: str, wide: int) -> str:
    """A line of the result: a name, and what it is."""
    return f"{name:<8} {cut(text, max(wide - 9, 20))}"


def columns() -> int:
    """How wide the result may be: the terminal's width, or `WIDE` where there is none."""
    return max(NARROW, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDE
