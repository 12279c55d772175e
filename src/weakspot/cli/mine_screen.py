"""What a person sees while an encoder is mined: how far it is, then the categories as they race."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from weakspot.cli.screen import PACE, Screen, _table, cut, limits
from weakspot.engine.watch import State
from weakspot.report.format import count, plural

if TYPE_CHECKING:
    from weakspot.engine import Lane


class MineScreen(Screen):
    """As `Screen`, in the words of `mine`; also told of what happens before anything is measured."""

    def began(self, folder: str) -> None:
        """See `Watch`."""
        self.folder = folder
        told = limits(self._budget).replace("calls", "pairs")
        self.say(f"{cut(self._title, 200)} · {told} · seed {self._seed}")
        if self._console.is_terminal:
            from rich.live import Live
            from rich.text import Text

            first = Text("reading …", "dim")
            self._live = Live(first, console=self._console, refresh_per_second=8, transient=True)
            self._live.start()

    def progress(self, words: str, done: int, total: int) -> None:
        """See `MineWatch`."""
        line = f"{cut(words, 80)} · {count(done)} of {count(total)}"
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
            return
        now = time.monotonic()
        if now - self._said >= PACE:
            self._said, self._shown = now, (words, False)
            self.say(line)

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        if phase == "baseline" and lanes and self._base is None:
            self._base = lanes[0]
        if self._live is not None:
            from rich.console import Group
            from rich.text import Text

            shown_now = _table(line_of(phase, lanes, spent), lanes, self._base, self._console.width)
            if isinstance(shown_now, Group):
                head = Text(line_of(phase, lanes, spent), "bold", no_wrap=True, overflow="ellipsis")
                shown_now = Group(head, *shown_now.renderables[1:])
            self._live.update(shown_now)
            return
        now, shown = time.monotonic(), (phase, any(lane.state is State.CONFIRMED for lane in lanes))
        if shown != self._shown or now - self._said >= PACE:
            self._shown, self._said = shown, now
            self.say(line_of(phase, lanes, spent))


def line_of(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    """How it stands, in one line."""
    states = {state: sum(lane.state is state for lane in lanes) for state in State}
    if phase == "baseline":
        tally = lanes[0].tally
        about = f"{count(tally.failures)} of {count(tally.n)} pairs are taken for alike"
    elif phase == "race":
        some = f"{len(lanes)} categories" if len(lanes) != 1 else "1 category"
        about = f"{some} · {states[State.OPEN]} still open · {states[State.AHEAD]} ahead"
    else:
        about = f"{plural(len(lanes), 'candidate')} on fresh pairs · {states[State.CONFIRMED]} confirmed"
    return f"{phase:<8} {about} · {count(spent['calls'])} pairs so far"
