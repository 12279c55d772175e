"""What a person sees while a rare failure is looked for: how far it is, and what failed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weakspot.cli.screen import PACE, Screen
from weakspot.engine.budget import Budget
from weakspot.report.format import count, plural

if TYPE_CHECKING:
    from weakspot.engine import Lane

_DOING = {"look": "first look", "split": "moving towards failures", "plain": "counting"}


class RareScreen(Screen):
    """As `Screen`, in the words of `rare`."""

    def began(self, folder: str) -> None:
        """See `Watch`."""
        super().began(folder)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text("drawing the first images …", "dim"))

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        limit = Budget.parse(self._budget)["images"]
        failing = plural(sum(lane.tally.failures for lane in lanes), "failing image")
        line = f"{_DOING.get(phase, phase)} · {count(spent['images'])} of {count(limit)} images · {failing}"
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
            return
        now = time.monotonic()
        if now - self._said >= PACE or self._shown[0] != phase:
            self._shown, self._said = (phase, False), now
            self.say(line)
