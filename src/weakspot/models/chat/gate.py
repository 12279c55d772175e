"""How many calls are under way at once: as many as the provider stands, found by trying.

The limit doubles with every round of clean answers until the provider first says "too many requests"; from
then on each such reply takes three tenths of it away, and each clean round adds one. Replies to calls that
were sent before the last cut are no news.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Self


class Gate:
    """Lets in as many as the limit says; used as `async with gate:` within one event loop.

    Args:
        most: The limit never grows beyond this.

    Attributes:
        limit: How many may be inside now.
        cuts: How often the limit was cut; a call remembers it from when it was sent.
    """

    def __init__(self, *, start: int, most: int) -> None:
        self.limit, self.most, self.inside = min(start, most), most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.cuts, self._clean, self._doubling = 0, 0, True

    async def __aenter__(self) -> Self:
        if self.inside >= self.limit or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # let in and cancelled at once
                    self._leave()
                raise
        else:
            self.inside += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self.inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)

    def clean(self) -> None:
        """An answer came at the first attempt."""
        self._clean += 1
        if self._clean >= self.limit:
            self._clean = 0
            self.limit = min(self.limit * 2 if self._doubling else self.limit + 1, self.most)
            self._let_in()

    def busy(self, cuts: int) -> None:
        """The provider said "too many requests" to a call that was sent after so many cuts."""
        self._clean, self._doubling = 0, False
        if cuts == self.cuts:
            self.cuts += 1
            self.limit = max(self.limit * 7 // 10, 1)
