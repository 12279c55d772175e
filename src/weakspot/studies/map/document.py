"""How a map is told: what held, the modes in words, the landscape in pictures, how much of it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from weakspot.core import Rate
from weakspot.engine.stop import Budget
from weakspot.report import format as show
from weakspot.report.cells import Axis, Cell, axis_figure, heat_figure, space
from weakspot.report.document import (
    Allowance,
    Document,
    Ending,
    Pictures,
    Section,
    Table,
    errors,
    examples,
    pairs,
    spent,
)
from weakspot.report.format import cut
from weakspot.report.people.preferences import Preferences
from weakspot.report.plots import Curve, Figure, curves
from weakspot.store import Run, unjudged
from weakspot.studies.map.result import (
    BiasFound,
    BiasRow,
    CellRates,
    Compared,
    Estimate,
    Landscape,
    MapResult,
)


class Words(NamedTuple):
    """What the same things are called where a model is asked, and where a table is read."""

    query: str
    queries: str
    asked: str  # what rates rest on
    usual: str  # what findings are compared with
    fresh: str  # what they are confirmed on

    def many(self, number: int) -> str:
        """So many queries."""
        return f"{show.count(number)} {self.query if number == 1 else self.queries}"


ASKED: Final = Words("query", "queries", "queries at random inputs", "as they are", "inputs")
READ: Final = Words("row", "rows", "rows read", "all rows", "rows")

#: Pictures of one finding in the page.
SHOWN: Final = 6
#: Causes of missing verdicts that are listed; the others are counted together.
CAUSES: Final = 12


class MapDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = MapResult.of(run) or MapResult()
        self.landscape = self.result.landscape
        self.preferences = Preferences.of(run)
        settings = run.config.settings
        self.words, self.who = ASKED, str(settings.get("target", ""))
        if settings.get("concepts"):
            self.words, self.who = READ, str((settings.get("axes") or {}).get("about", self.who))

    @property
    def title(self) -> str:
        return f"{self.who} · {self.run.config.subject}"

    @property
    def conclusion(self) -> str:
        landscape = self.landscape
        who = show.shorten(self.who, 80)
        if landscape is None:
            reasons = unjudged(self.run)
            if reasons and not any(tally.n for tally in self.run.ledger.tallies().values()):
                times = show.count(sum(row.times for row in reasons))
                return f"None of {times} answers of {who} could be judged: {reasons[0]}."
            return f"The landscape of {who} is not known yet."
        cells, rate = show.count(landscape.cells), believed(landscape.whole)
        seen = f"({show.count(landscape.whole.n)} {self.words.asked})"
        if self.words is READ:
            text = f"Of the {who}, {rate} fail, over {cells} cells alike {seen}"
        else:
            text = f"Over {cells} cells {who} fails {rate} of the time {seen}"
        if not landscape.modes:
            return f"{text}, and no cell is believed to fail {show.percent(landscape.above)} of the time."
        first = landscape.modes[0]
        words = show.shorten(first.words.rstrip("."), 160)
        text += f"; most where {words}: {believed(first)} in the worst cell ({_failed(first)} failed there)."
        if confirmed := [f for f in self.run.findings if f.confirmed]:
            held = show.plural(len(confirmed), "finding")
            text += f" {held} held on {self.words.fresh} that the search never saw."
        return text

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        landscape = self.landscape
        if landscape is not None:
            yield from self._findings(allowance)
            yield from self._modes(landscape)
            note = (
                "Believed failure rates, averaged over the axes that are not shown. The stronger the colour, "
                "the worse; each picture has its own scale."
            )
            yield Section("The landscape", list(figures(landscape, self.result.every_cell)), note)
            note = "Intervals are for 95 %. Entropy is 0 if all failures lie in one cell, 1 if everywhere."
            yield Section("What is known", [pairs(_known(landscape, self.words))], note)
            if landscape.compared is not None:
                yield _compared(landscape.compared)
            if self.result.bias is not None:
                yield _bias(self.result.bias)
            note = f"Believed rates; n are the {self.words.asked} in the cell itself."
            yield _estimates("Worst cells", note, "cell", landscape.worst)
            note = f"The widest intervals: where more {self.words.queries} would tell most."
            yield _estimates("Uncertain cells", note, "cell", landscape.uncertain)
        yield from self._without_verdict()

    def _findings(self, allowance: Allowance) -> Iterable[Section]:
        if not self.run.findings:
            return
        rows, pictures = [], []
        for f in self.run.findings:
            phrase, held = show.shorten(f.phrase, 200), "yes" if f.confirmed else "no"
            rows.append((phrase, show.rate(f.rate), show.rate(f.baseline), held))
            shown = examples(self.run, f.hypothesis, f.failing, most=SHOWN, allowance=allowance)
            pictures.append(Pictures(phrase, "failing, with what was said instead", shown))
        table = Table("", "", ("where", "fails", self.words.usual, "confirmed"), rows)
        note = (
            f"Modes and the fewest concepts that are enough, drawn again on {self.words.fresh} that the "
            "search never saw. ‘Confirmed’ controls the false-discovery rate."
        )
        yield Section(f"Confirmed on fresh {self.words.fresh}", [table, *pictures], note)

    def _modes(self, landscape: Landscape) -> Iterable[Section]:
        chosen = () if self.preferences is None else self.preferences.chosen
        rows = [
            (
                f"{number}{' ★' if number in chosen else ''}",
                show.shorten(mode.words, 200),
                show.shorten(mode.peak_words, 200),
                believed(mode),
                _failed(mode),
                show.count(mode.cells),
            )
            for number, mode in enumerate(landscape.modes, start=1)
        ]
        if rows:
            head = ("mode", "where", "worst cell", "believed rate there", "failed there", "cells")
            note = (
                f"Connected regions of cells believed to fail at least {show.percent(landscape.above)} of "
                "the time, worst first. The number is for weakspot prefer and weakspot repair."
            )
            yield Section("Modes", [Table("", "", head, rows)], note)
        note = (
            "Values that are enough, whatever the other axes are; with any one set free it is no longer so. "
            "The rate is the mean of all cells with these values."
        )
        yield _estimates("Minimal failing sets", note, "values", landscape.sets)

    def _without_verdict(self) -> Iterable[Section]:
        causes = unjudged(self.run)
        if not causes:
            return
        rows = [(c.status, show.shorten(c.reason, 300), show.count(c.times)) for c in causes[:CAUSES]]
        if rest := sum(c.times for c in causes[CAUSES:]):
            rows.append(("", f"{show.count(len(causes) - CAUSES)} other causes", show.count(rest)))
        drawn = sum(tally.drawn for tally in self.run.ledger.tallies().values())
        note = (
            f"{show.count(sum(c.times for c in causes))} of {show.count(drawn)} queries count neither as "
            "failed nor as passed. What was said of them, without the names of inputs:"
        )
        yield Section("Without a verdict", [Table("", "", ("what", "cause", "queries"), rows)], note)

    def values(self) -> Mapping[str, Any]:
        tallies, known = self.run.ledger.tallies().values(), self.result.plain()
        return {
            "result": known["landscape"],
            "landscape": known["every_cell"],
            "parts": known["parts"],
            "preferences": None if self.preferences is None else self.preferences.plain(),
            "bias": known["bias"],
            "findings": [finding.to_json() for finding in self.run.findings],
            "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
            "errors": errors(self.run),
            "unjudged": [row.to_json() for row in unjudged(self.run)],
            "spend": spent(self.run),
        }

    def lines(self, wide: int) -> Iterable[str]:
        yield cut(self.conclusion, 3 * wide)
        if self.landscape is None:
            yield cut(self.run.state, wide)
        else:
            yield from self._landscape_lines(self.landscape, wide)
        if causes := unjudged(self.run):
            none = self.words.many(sum(c.times for c in causes))
            yield f"verdict  {cut(f'none for {none}, most often: {causes[0]}', 2 * wide)}"
        known = self.values()
        seconds = show.seconds(float(known["spend"].get("seconds", 0.0)))
        wrong = show.plural(known["trials"]["errors"], "error")
        drawn = known["trials"]["drawn"]  # of a table, a row that lies in two findings is read for each
        asked = show.count(drawn) if self.words is READ else self.words.many(drawn)
        yield f"trials   {asked} · {wrong} · {seconds}"

    def _landscape_lines(self, landscape: Landscape, wide: int) -> Iterable[str]:
        for number, mode in enumerate(landscape.modes, start=1):
            ends = f"{believed(mode)} in the worst cell"
            yield f"mode {number:<2}  {cut(mode.words, max(wide - len(ends) - 12, 20))}  {ends}"
        for finding in self.run.findings:
            mark = "●" if finding.confirmed else "·"
            yield f"{mark} {cut(finding.phrase, max(wide - 40, 20))}  {show.rate(finding.rate)}"
        known = show.percent(landscape.coverage.known)
        worse = _missed(landscape)
        yield f"known    {known} of the cells to ± 5 points; chance of something clearly worse: {worse}"
        if compared := landscape.compared:
            arms = {who: show.rate(rate) for who, rate in compared.rates.items()}
            line = "agent    {agent} failures per query {trained}, untrained {untrained}, random {random}"
            won = "" if compared.won else " (no win beyond chance)"
            yield line.format(agent=compared.agent, **arms) + won
        if self.result.bias is not None and self.result.bias.rows:
            row = self.result.bias.rows[0]
            yield f"bias     {_apart(row)} from the wanted shares, over {show.plural(row.n, 'picture')}"
        if landscape.note:
            yield f"note     {cut(landscape.note, 3 * wide)}"

    def ending(self) -> Ending:
        """Say which modes matter; the number of images cannot be raised, other limits can."""
        ending = super().ending()
        if ending.code:
            budget = Budget.parse(self.run.ledger.fact("budget", self.run.config.settings["budget"]))
            return Ending(ending.code, (*ending.next, "--budget", str(budget.larger(but="images"))))
        return Ending(0, ("prefer", str(self.run.folder), "--modes", "1")) if self.result.modes else ending


def believed(one: Estimate) -> str:
    """A believed rate with its interval: "43 % [19, 60]"."""
    return f"{show.percent(one.rate)} {show.interval(one.low, one.high)}"


def _failed(one: Estimate) -> str:
    return f"{show.count(one.failures)} of {show.count(one.n)}"


def _missed(landscape: Landscape) -> str:
    """The chance that something worse was missed; as few as no draw of so many are not none."""
    draws = landscape.missed_draws
    if not draws:
        return "none (every cell is in a mode)"
    return show.percent(landscape.missed) if landscape.missed else f"< {show.level(1 / draws)}"


def _estimates(title: str, note: str, what: str, some: Iterable[Any]) -> Section:
    rows = [(show.shorten(one.words, 200), believed(one), _failed(one)) for one in some]
    head = (what, "believed rate", "failed there")
    return Section(title, [Table("", "", head, rows)] if rows else [], note)


def _known(landscape: Landscape, words: Words) -> Iterable[tuple[str, str]]:
    found = f"{show.count(landscape.failures)} failures in {words.many(landscape.queries)}"
    yield "search", f"{landscape.search}, {found}"
    whole = landscape.whole
    yield "mean over all cells", f"{believed(whole)}, from {show.count(whole.n)} {words.asked}"
    yield "cells asked", show.percent(landscape.coverage.asked)
    yield "cells known to ± 5 points", show.percent(landscape.coverage.known)
    yield "cells in modes", show.percent(landscape.coverage.above)
    yield "chance that something clearly worse was missed", _missed(landscape)
    yield "entropy of the failures", f"{landscape.entropy:.3f}"
    if landscape.note:
        yield "note", landscape.note


def _apart(row: BiasRow) -> str:
    return f"{show.percent(row.apart)} {show.interval(row.low, row.high)}"


def _compared(compared: Compared) -> Section:
    said = "won against both beyond chance" if compared.won else "did not win beyond chance"
    shown = show.plural(compared.inputs, "input")
    if compared.paired:
        how = f"All three were shown the same {shown}, which no training saw, each once."
    else:
        how = f"Inputs cannot be chosen here: {shown} were drawn anew for each of the three."
    sees = "The agent sees nothing of an input: it can learn which cells fail, not for which input."
    if compared.sees:
        sees = f"Before it chooses, the agent sees {compared.sees}."
    rows = [
        (compared.agent, show.rate(compared.rates["trained"]), ""),
        ("its untrained copy", show.rate(compared.rates["untrained"]), f"{compared.p_untrained:.2g}"),
        ("random cells", show.rate(compared.rates["random"]), f"{compared.p_random:.2g}"),
    ]
    table = Table("", "", ("who", "failures per query", "p-value of ‘no better’"), rows)
    return Section("Did the agent learn?", [table], f"{compared.agent} {said}. {how} {sees}")


def _bias(bias: BiasFound) -> Section:
    values = [show.shorten(value, 60) for value in bias.attribute]
    wanted = ", ".join(f"{v} {show.percent(w)}" for v, w in zip(values, bias.wanted, strict=True))
    rows = []
    for row in bias.rows:
        shares = (show.percent(count / row.n) for count in row.counts)
        rows.append((show.shorten(row.where, 200), *shares, show.count(row.n), _apart(row)))
    note = (
        f"How often each value is seen, all cells alike; wanted are {wanted}. The distance is the total "
        "variation from these shares: 0 if they are met, at most 1."
    )
    return Section("Bias", [Table("", "", ("where", *values, "pictures", "distance"), rows)], note)


# -- figures: failures against queries, cells in space, rates by one axis or by two -----------------


#: Heat maps, and cells that are drawn in space.
HEATS, CELLS = 28, 200
_RATE: Final = "failure rate"


def figures(landscape: Landscape, every_cell: CellRates | None) -> Iterator[Figure]:
    axes = [Axis(axis.name, axis.values) for axis in landscape.axes]
    yield _found(landscape)
    rates = landscape.top
    if every_cell is not None:
        rates = tuple((cell, rate) for cell, rate in enumerate(every_cell.rate) if rate is not None)
    if rates and len(axes) >= 3:
        yield _cells(landscape, axes, rates, whole=every_cell is not None)
    if every_cell is not None and len(axes) == 1:
        known = every_cell
        columns = (known.rate, known.low, known.high, known.n, known.failures)
        note = "Believed rates with intervals for 95 %; values that were never asked are left out."
        # A value of an axis is there because a row has it, so its cell has a rate.
        by_value = [
            Rate(r or 0.0, low or 0.0, high or 0.0, *n) for r, low, high, *n in zip(*columns, strict=True)
        ]
        yield axis_figure(axes[0], {_RATE: by_value}, "axis", "Rate by {}", note)
    for one in landscape.heat[:HEATS]:
        top = max(rate for row in one.rates for rate in row if rate is not None)
        yield heat_figure(axes, one.axes, one.rates, top)


def _found(landscape: Landscape) -> Figure:
    points = [(0, 0), *landscape.trace]
    picture = curves([Curve("", points)], "failures found against queries", across="queries", up="failures")
    title = "Failures against queries"
    return Figure("queries", title, ("queries", "failures"), points, picture, wide=False)


def _cells(
    landscape: Landscape, axes: list[Axis], rates: tuple[tuple[int, float], ...], *, whole: bool
) -> Figure:
    shape = [len(axis.values) for axis in axes]
    cells, rows = [], []
    for number, rate in sorted(rates, key=lambda cell: -cell[1])[:CELLS]:
        place = [int(i) for i in np.unravel_index(number, shape)]
        values = [str(axis.values[i]) for axis, i in zip(axes, place, strict=True)]
        cells.append(Cell(place, rate, ", ".join(values)))
        rows.append((*values, rate))
    which = "All" if whole and len(cells) == len(rates) else "The worst"
    title = f"{which} {len(cells)} cells, by the first three axes"
    columns = (*(show.shorten(axis.name, 60) for axis in axes), _RATE)
    top = max((cell.rate for cell in landscape.worst), default=1.0)
    return Figure("cells", title, columns, rows, space(axes, cells, top), wide=False)
