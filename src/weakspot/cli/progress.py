"""How far something is, on standard error: a line that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Self


class Progress:
    """Called with what is being done, how much is done, and of how much.

    Args:
        title: What the command does; said first.
    """

    def __init__(self, title: str) -> None:
        self._title, self._began, self._said = title, time.monotonic(), 0.0
        self._live = sys.stderr.isatty()
        self._open = False

    def __enter__(self) -> Self:
        from weakspot.cli.screen import cut

        print(cut(self._title, 200), file=sys.stderr)
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._open = False

    def __call__(self, words: str, done: int, total: int) -> None:
        """Show it, unless something was shown just now."""
        from weakspot.cli.screen import PACE, columns, cut
        from weakspot.report.format import count

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
