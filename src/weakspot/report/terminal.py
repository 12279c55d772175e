"""Text for a terminal: one line, nothing in it that does anything, no wider than the screen."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Self

from weakspot.report.format import clean, count

#: Columns where the output is not a terminal, and the least that are used on one.
WIDE, NARROW = 120, 60
#: Seconds between plain lines where the output is not a terminal.
PACE = 5.0


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


def grid(head: Sequence[str], rows: Sequence[Sequence[str]], wide: int) -> Iterator[str]:
    """A table as aligned lines; columns without anything but zeros or dashes are left out."""
    cells = [[cut(cell, 48) for cell in row] for row in rows]
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] not in ("", "0", "–") for row in cells)]
    lines = [[row[i] for i in kept] for row in [list(head), *cells]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        first, *rest = zip(line, widths, strict=True)
        shown = "  ".join([f"  {first[0].ljust(first[1])}", *(cell.rjust(width) for cell, width in rest)])
        yield shown.rstrip() if len(shown.rstrip()) <= wide else f"{shown[: wide - 1]}…"


class Progress:
    """Called with what is being done, how much is done, and of how much.

    Args:
        title: What the command does; said first.
    """

    def __init__(self, title: str) -> None:
        self._title, self._said = title, 0.0
        self._live = sys.stderr.isatty()
        self._open = False

    def __enter__(self) -> Self:
        print(cut(self._title, 200), file=sys.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False

    def __call__(self, words: str, done: int, total: int) -> None:
        """Show it, unless something was shown just now."""
        now = time.monotonic()
        if now - self._said < (0.1 if self._live else PACE) and done < total:
            return
        if not self._live and self._said == 0.0 and done < total:  # nothing to say of what is quick
            self._said = now
            return
        self._said = now
        line = f"{count(done)} of {count(total)} · {cut(words, 80)}"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{cut(line, columns() - 1)}")
            sys.stderr.flush()
            self._open = True
        else:
            print(line, file=sys.stderr)
