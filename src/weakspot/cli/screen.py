"""What a person sees: a live race on a terminal, plain lines elsewhere, and the last lines of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from weakspot.engine import Lane
    from weakspot.store import Run

from weakspot.engine.watch import State, Watch
from weakspot.report.format import count, interval, level, percent, seconds, shell, shorten, times
from weakspot.stats import confidence_sequence

#: Seconds between plain lines when the output is not a terminal.
PACE = 5.0
_MARK = {
    State.OPEN: ("·", "dim"),
    State.AHEAD: ("▲", "yellow"),
    State.BEHIND: ("▽", "dim"),
    State.CONFIRMED: ("●", "bold green"),
    State.UNDRAWN: ("✗", "red"),
}


def plain(text: str, most: int = 200) -> str:
    """Any text as it may be shown on a terminal: one line, control characters made visible, cut."""
    return shorten(text, most)


class Screen(Watch):
    """Shows a study's progress on standard error.

    Args:
        title: What is being done.
        budget: As the user wrote it.
        seed: Of the run.
    """

    def __init__(self, title: str, *, budget: str, seed: int) -> None:
        from rich.console import Console

        self._console: Console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._said = 0.0
        self._phase = ""
        self._base: Lane | None = None
        self.folder: str | None = None
        self.say(f"{plain(title)} · budget {plain(budget)} · seed {seed}")

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def began(self, folder: str) -> None:
        """See `Watch`."""
        self.folder = folder

    def say(self, line: str) -> None:
        """See `Watch`."""
        self._console.print(line, soft_wrap=True)

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """See `Watch`."""
        if phase == "baseline" and lanes:
            self._base = lanes[0]
        if self._live is not None:
            self._live.update(_table(phase, lanes, spent, self._base))
            return
        now = time.monotonic()
        if phase != self._phase or now - self._said >= PACE:
            self._phase, self._said = phase, now
            self.say(_line(phase, lanes, spent))


def _line(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    states = [lane.state for lane in lanes]
    if phase == "baseline":
        tally = lanes[0].tally
        ends = interval(*confidence_sequence(tally.failures, tally.n))
        about = f"{percent(tally.rate)} {ends} of {count(tally.n)}"
    elif phase == "race":
        about = f"{len(lanes)} captions · {states.count(State.OPEN)} open · {states.count(State.AHEAD)} ahead"
    else:
        about = f"{len(lanes)} candidates on fresh images · {states.count(State.CONFIRMED)} confirmed"
    return f"{phase:<10} {about} · {count(spent['images'])} images"


def _table(
    phase: str, lanes: Sequence[Lane], spent: Mapping[str, float], base: Lane | None
) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    shown = sorted(lanes, key=lambda lane: -(lane.tally.rate if lane.tally.n else -1.0))[:14]
    ends = {id(lane): confidence_sequence(lane.tally.failures, lane.tally.n) for lane in shown}
    scale = max((high for lane in shown for high in [ends[id(lane)][1]] if lane.tally.n), default=1.0)
    for lane in shown:
        mark, style = _MARK[lane.state]
        low, high = ends[id(lane)]
        words = lane.hypothesis.text
        if base is not None:
            words = words.removeprefix(base.hypothesis.text).strip() or words
        table.add_row(
            Text(mark, style),
            Text(plain(words, 60)),
            Text(percent(lane.tally.rate) if lane.tally.n else "–", style),
            Text(f"of {count(lane.tally.n)}", "dim"),
            Text(_bar(low, high, scale), style),
        )
    return Group(Text(_line(phase, lanes, spent), "bold"), table)


def _bar(low: float, high: float, scale: float, width: int = 28) -> str:
    """An interval drawn between 0 and the largest upper end on the screen."""
    start = min(int(low / scale * width), width - 1)
    stop = min(max(int(high / scale * width), start + 1), width)
    return " " * start + "━" * (stop - start)


@contextmanager
def interruptible(screen: Screen) -> Iterator[None]:
    """On Ctrl-C say that nothing is lost and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        screen.__exit__()
        if screen.folder is not None:
            screen.say(f"\nstopped; everything drawn is kept. go on with:\n  weakspot resume {screen.folder}")
        raise


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result; the exit code (3 when a budget ended the run)."""
    from weakspot.report import summary, write

    path = write(run)
    code = 3 if run.state.startswith("stopped") else 0
    if as_json:
        print(json.dumps(summary(run) | {"report": str(path), "exit_code": code}, indent=2))
    else:
        for line in _result(run):
            print(line)
        print(f"report   {path}")
        print(f"next     {_next(run)}")
    run.close()
    return code


def _result(run: Run) -> Iterator[str]:
    ledger, spent = run.ledger, run.ledger.spend()
    findings = run.findings
    confirmed = [f for f in findings if f.confirmed]
    tallies = ledger.tallies()
    base = tallies.get(str(ledger.fact("base")))
    if base is not None and base.n:
        low_high = interval(*confidence_sequence(base.failures, base.n))
        yield f"baseline {percent(base.rate)} {low_high} of {count(base.n)}: {plain(_base_text(run), 100)}"
    yield "─" * 96
    wide = max((len(plain(f.phrase, 60)) for f in confirmed), default=0)
    for rank, f in enumerate(confirmed, start=1):
        ends = interval(f.rate.low, f.rate.high)
        said = f"→ {plain(f.confusions[0][0], 30)} {percent(f.confusions[0][1])}" if f.confusions else ""
        yield (
            f"{rank:>2}  {plain(f.phrase, 60):<{wide}}  {percent(f.rate.value):>7}  {ends:<12}"
            f" of {count(f.rate.n):>5}  {times(f.lift):>6} baseline  {said}"
        )
    if run.state.startswith("stopped"):
        yield f"{run.state}; the list below may be incomplete" if confirmed else run.state
    held = f"{len(confirmed)} finding{'s' * (len(confirmed) != 1)} confirmed on fresh images"
    bound = level(float(run.config.settings.get("fdr", 0.05)))
    errors = sum(t.errors for t in tallies.values())
    yield (
        f"{held} (false-discovery rate ≤ {bound}) · {errors} errors · "
        f"{count(spent.get('images', 0))} images · {seconds(spent.get('seconds', 0.0))}"
    )
    for what, how_often in ledger.errors()[:3]:
        yield f"  error {how_often}×: {plain(what, 160)}"


def _base_text(run: Run) -> str:
    base = run.ledger.fact("base")
    return next((h.text for h in run.ledger.hypotheses() if h.id == base), "")


def _next(run: Run) -> str:
    if run.state.startswith("stopped"):
        return f"weakspot resume {run.folder} --budget …   (a larger one)"
    settings: dict[str, Any] = run.config.settings
    confirmed = [f for f in run.findings if f.confirmed and f.confusions]
    if confirmed and settings.get("target_label") is None:
        command = ["weakspot", "hunt", settings["target"], "--label", settings["label"]]
        return shell([*command, "--target-label", confirmed[0].confusions[0][0]])
    return f"weakspot report {run.folder} --open"
