"""A watch made of one function, which is told of the progress."""

from __future__ import annotations

from collections.abc import Callable

from weakspot.engine import Watch


class Watching(Watch):
    """Calls a function with what is being done, how much is done, and of how much."""

    def __init__(self, told: Callable[[str, int, int], None]) -> None:
        self._told = told

    def progress(self, words: str, done: int, total: int) -> None:
        """See `Watch`."""
        self._told(words, done, total)
