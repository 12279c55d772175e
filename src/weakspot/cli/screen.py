"""What a person sees: a live race on a terminal, plain lines elsewhere, and the last lines of a run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live
    from rich.text import Text

    from weakspot.engine import Lane
    from weakspot.store import Run
    from weakspot.study import Study, StudySettings

from weakspot.cli import program
from weakspot.engine.stop import Budget
from weakspot.engine.watch import State, Watch
from weakspot.report.format import PACE, columns, count, cut, interval, percent, plural, shell, wrapped
from weakspot.stats import confidence_sequence

#: A line from a phase, its hypotheses and what was spent.
Line = Callable[[str, "Sequence[Lane]", Mapping[str, float]], str]
_MARK: Final = {
    State.OPEN: ("·", "dim"),
    State.AHEAD: ("▲", "yellow"),
    State.BEHIND: ("▽", "dim"),
    State.CONFIRMED: ("●", "bold red"),
    State.UNDRAWN: ("✗", "dim"),
}


def limits(budget: str, unit: str = "") -> str:
    """A budget in words: "up to 20,000 images, 600 seconds"; with what a study counts as calls."""
    names = {"calls": unit or "calls"}
    words = [
        f"${amount:,.2f}" if kind == "dollars" else f"{amount:,.10g} {names.get(kind, kind)}"
        for kind, amount in Budget.parse(budget).limits
    ]
    return f"up to {', '.join(words)}"


class Screen(Watch):
    """Shows a study's progress on standard error, from the moment its run has a folder; see `Watch`.

    On Ctrl-C it says that nothing is lost and how to go on.
    """

    def __init__(self, study: Study, settings: StudySettings, *, title: str = "") -> None:
        """With a title in place of the study's own, if there is one."""
        from rich.console import Console

        own, values = study.find("title"), dict(settings)
        self._console: Console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._title = title or (own(settings) if own is not None else study.name)
        self._budget, self._seed = str(values.get("budget", "")), int(values.get("seed", 0))
        self._line: Line = study.find("progress") or _line
        self._as_table, self._unit = study.race, "" if study.budget == "images" else study.budget
        self._live: Live | None = None
        self._said = 0.0
        self._shown: tuple[str, bool] = ("", False)
        self._base: Lane | None = None
        self.folder: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            if self.folder is None:
                self.say("\nstopped before anything was drawn")
            else:
                command = shell([program(), "resume", self.folder])
                self.say(f"\nstopped; everything drawn is kept. go on with:\n  {command}")

    def began(self, folder: str) -> None:
        self.folder = folder
        budget = f"{limits(self._budget, self._unit)} · " if self._budget else ""
        self.say(f"{cut(self._title, 200)} · {budget}seed {self._seed}")
        if self._console.is_terminal:
            from rich.live import Live
            from rich.text import Text

            first = Text("beginning …", "dim")
            self._live = Live(first, console=self._console, refresh_per_second=8, transient=True)
            self._live.start()

    def say(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        if phase == "baseline" and lanes:
            self._base = lanes[0]
        line = self._line(phase, lanes, spent)
        if self._live is not None:
            table = _table(line, lanes, self._base, self._console.width) if self._as_table else _text(line)
            self._live.update(table)
            return
        now, shown = time.monotonic(), (phase, any(lane.state is State.CONFIRMED for lane in lanes))
        if shown != self._shown or now - self._said >= PACE:
            self._shown, self._said = shown, now
            self.say(line)

    def progress(self, words: str, done: int, total: int) -> None:
        line = f"{cut(words, 80)} · {count(done)} of {count(total)}"
        if self._live is not None:
            self._live.update(_text(line))
            return
        now = time.monotonic()
        if now - self._said >= PACE:
            self._said, self._shown = now, (words, False)
            self.say(line)


def _line(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    states = {state: len({x.hypothesis.id for x in lanes if x.state is state}) for state in State}
    captions = len({lane.hypothesis.id for lane in lanes})  # several claims may be about one
    if phase == "baseline":
        tally = lanes[0].tally
        ends = interval(*confidence_sequence(tally.failures, tally.n))
        about = f"{percent(tally.rate)} {ends} of {count(tally.n)} fail"
    elif phase == "race":
        about = (
            f"{plural(captions, 'caption')} · {states[State.OPEN]} still open · {states[State.AHEAD]} ahead"
        )
    elif phase == "asked":
        n, failures = (sum(some) for some in zip(*(lane.tally[:2] for lane in lanes), strict=True))
        return f"{phase:<8} {plural(n, 'photograph')} · {count(failures)} misread"
    elif phase == "edits":
        about = "the same words with one thing changed"
    elif phase == "certify":
        about = "the captions that are hardest to exclude"
    else:
        confirmed = sum(lane.state is State.CONFIRMED for lane in lanes)
        about = f"{plural(len(lanes), 'candidate')} on fresh images · {confirmed} confirmed"
    return f"{phase:<8} {about} · {count(spent['images'])} images so far"


def _text(line: str) -> Text:
    from rich.text import Text

    return Text(line, no_wrap=True, overflow="ellipsis")


def _table(line: str, lanes: Sequence[Lane], base: Lane | None, columns: int) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    bar = 28 if columns >= 100 else 16
    words_wide = max(20, columns - bar - 30)
    table = Table.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    shown = sorted(lanes, key=lambda lane: -(lane.tally.rate if lane.tally.n else -1.0))[:14]
    ends = {id(lane): confidence_sequence(lane.tally.failures, lane.tally.n) for lane in shown}
    scale = max((ends[id(lane)][1] for lane in shown if lane.tally.n), default=1.0)
    for lane in shown:
        mark, style = _MARK[lane.state]
        words = lane.hypothesis.beyond(lane.against or (base.hypothesis if base else None))
        words = f"{words} → {lane.answer}" if lane.answer else words
        table.add_row(
            Text(mark, style),
            Text(cut(words, min(words_wide, 60))),
            Text(percent(lane.tally.rate) if lane.tally.n else "–", style),
            Text(f"of {count(lane.tally.n)}", "dim"),
            Text(_bar(*ends[id(lane)], scale, bar) if lane.tally.n else "", style),
        )
    now = Text(line, "bold", no_wrap=True, overflow="ellipsis")
    rows: list[RenderableType] = [now, table]
    if len(lanes) > len(shown):
        rows.append(Text(f"   and {len(lanes) - len(shown)} that fail less", "dim"))
    return Group(*rows)


def _bar(low: float, high: float, scale: float, width: int) -> str:
    """An interval drawn between 0 and the largest upper end on the screen."""
    start = min(int(low / scale * width), width - 1)
    stop = min(max(int(high / scale * width), start + 1), width)
    return " " * start + "━" * (stop - start)


def judged_nothing(run: Run) -> str:
    """What to say of a run of which every call failed; "" of any other."""
    tallies = list(run.ledger.tallies().values())
    errors = sum(tally.errors for tally in tallies)
    if not errors or any(tally.n for tally in tallies):
        return ""
    calls = f"all {count(errors)} calls" if errors > 1 else "the only call"
    return f"nothing could be judged, since {calls} ended in an error; mend the cause and run it again"


def conclude(run: Run, *, as_json: bool = False) -> int:
    """Write the report and print the result.

    The exit code is 3 when a budget ended the run, and 1 when every single call failed.
    """
    from weakspot.report.document import Ending
    from weakspot.study.reports import document_of, summary, write

    with run:
        path, document = write(run), document_of(run)
        ending = document.ending()
        if nothing := judged_nothing(run):
            ending = Ending(1, ending.next)
        if as_json:
            found = summary(run, document) | {"report": str(path), "exit_code": ending.code}
            print(json.dumps(found, indent=2))
            return ending.code
        for line in document.lines(columns()):
            print(line)
        if nothing:
            print(*wrapped("failed", nothing, columns()), sep="\n")
        print(f"report   {shell([str(path)])}")
        print(f"next     {shell([program(), *ending.next])}")
    return ending.code
