"""What a person sees while a landscape is mapped: how far it is, and the cells that fail most so far."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weakspot.cli.screen import PACE, Screen, _table, cut
from weakspot.engine.budget import Budget
from weakspot.report.format import count, percent

if TYPE_CHECKING:
    from weakspot.engine import Lane

_DOING = {"baseline": "inputs as they are", "search": "searching", "confirm": "confirming on fresh inputs"}


class MapScreen(Screen):
    """As `Screen`, in the words of `map`."""

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        if self._live is not None and phase != "search":
            super().update(phase, lanes, spent)
            return
        limit = Budget.parse(self._budget)["images"]
        line = f"{_DOING.get(phase, phase)} · {count(spent['images'])} of {count(limit)} queries"
        worst = max((lane for lane in lanes if lane.tally.n), key=lambda lane: lane.tally.rate, default=None)
        if worst is not None:
            line += (
                f" · {percent(worst.tally.rate)} of {count(worst.tally.n)}: {cut(worst.hypothesis.text, 60)}"
            )
        if self._live is not None:
            from rich.console import Group
            from rich.text import Text

            table = _table(line, lanes, None, self._console.width)
            self._live.update(
                Group(
                    Text(line, no_wrap=True, overflow="ellipsis"), *getattr(table, "renderables", [table])[1:]
                )
            )
            return
        now = time.monotonic()
        if now - self._said >= PACE or self._shown[0] != phase:
            self._shown, self._said = (phase, False), now
            self.say(line)
