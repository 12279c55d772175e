"""What a person sees while a chat model is asked: how far each set is, and what was refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weakspot.cli.screen import PACE, Screen, cut
from weakspot.report.format import count, percent

if TYPE_CHECKING:
    from weakspot.engine import Lane


#: Arms or descriptions in one line.
MOST = 4


class AskScreen(Screen):
    """As `Screen`, in the words of `ask`."""

    def began(self, folder: str) -> None:
        """See `Watch`."""
        super().began(folder)
        threading.Thread(target=_needed_later, daemon=True).start()
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text("asking the first questions …", "dim"))

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        line = _line(lanes, spent)
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
            return
        now = time.monotonic()
        if now - self._said >= PACE or self._shown[0] != phase:
            self._shown, self._said = (phase, False), now
            self.say(line)


def _needed_later() -> None:
    """Import what figures and report take, while the first answers are waited for."""
    from weakspot.report import ask_page
    from weakspot.stats import wilson

    del ask_page
    wilson(1, 2)


def _line(lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    parts = []
    begun = [lane for lane in lanes if lane.tally.drawn]
    if len(begun) > MOST:  # descriptions of scenarios: the worst
        begun = sorted(begun, key=lambda lane: -lane.tally.rate if lane.tally.n else 0.0)[:MOST]
    for lane in begun:
        concepts = dict(lane.hypothesis.concepts)
        name = concepts.get("kind") or concepts.get("stage") or concepts.get("set", "")
        system = concepts.get("system", "none")
        name += "" if system == "none" else f" ({system})"
        failing = "refused" if concepts.get("set") == "benign" else "answered"
        rate = f"{percent(lane.tally.rate)} {failing}" if lane.tally.n else "nothing judged"
        beside = f", {count(lane.tally.errors)} errors" if lane.tally.errors else ""
        parts.append(f"{cut(name, 40)} {count(lane.tally.drawn)}: {rate}{beside}")
    cost = f" · ${spent['dollars']:,.2f}" if spent.get("dollars") else ""
    return (
        f"asking   {' · '.join(parts) or 'the first questions'} · {count(spent['calls'])} calls so far{cost}"
    )
