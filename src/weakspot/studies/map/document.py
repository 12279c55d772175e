"""How a map is told: the confirmed weak spots, the modes, the landscape, what was not found, the search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

from weakspot.core import Finding, Stage
from weakspot.engine.stop import Budget
from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
    Document,
    Ending,
    Html,
    Section,
    Table,
    Text,
    errors,
    examples,
    pairs,
    picture,
    spent,
)
from weakspot.report.people.preferences import Preferences
from weakspot.report.ranking import FAILING, Failing, Ranked, Ranking, failing
from weakspot.store import Run, unjudged
from weakspot.studies.map import figures, further
from weakspot.studies.map.result import Estimate, Landscape, MapResult
from weakspot.text.clauses import listed


class Words(NamedTuple):
    """What the same things are called where a model is asked, and where a table is read."""

    query: str
    queries: str
    asked: str  # what rates rest on
    usual: str  # what findings are compared with
    fresh: str  # what they are confirmed on
    usual_short: str  # the same in the head of a column

    def many(self, number: int) -> str:
        """So many queries."""
        return f"{show.count(number)} {self.query if number == 1 else self.queries}"


ASKED: Final = Words(
    "query", "queries", "queries at random inputs", "inputs as they are", "inputs", "as they are"
)
READ: Final = Words("row", "rows", "rows read", "all rows", "rows", "all rows")

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

    @cached_property
    def found(self) -> list[Finding]:
        """The confirmed findings, those that fail most first."""
        return sorted((f for f in self.run.findings if f.confirmed), key=lambda f: -f.rate.value)

    @property
    def conclusion(self) -> str:
        landscape = self.landscape
        who = show.cut(self.who, 80)
        if landscape is None:
            reasons = unjudged(self.run)
            if reasons and not any(tally.n for tally in self.run.ledger.tallies().values()):
                times = show.count(sum(row.times for row in reasons))
                return f"None of {times} answers of {who} could be judged: {reasons[0]}."
            return f"The landscape of {who} is not known yet."
        seen = f"({show.count(landscape.whole.n)} {self.words.asked})"
        cells, rate = show.count(landscape.cells), believed(landscape.whole)
        overall = f"Over all {cells} cells it fails {rate} of the time {seen}."
        among = f"{who} fails most"
        if self.words is READ:
            overall = f"Over all {cells} cells together, {rate} fail {seen}."
            among = f"Of the {who}, most fail"
        if self.found:
            worst = self.found[0]
            text = f"{among} where {joined(worst.phrase)}: {show.percent(worst.rate.value)} of the time, "
            text += f"against {show.percent(worst.baseline.value)} for {self.words.usual}. "
            if more := len(self.found) - 1:
                text += f"{show.plural(more, 'more weak spot')} {'was' if more == 1 else 'were'} confirmed. "
            return text + overall
        if not landscape.modes:
            never = f"No cell is believed to fail {show.percent(landscape.above)} of the time."
            return f"No weak spot of {who} was found. {never} {overall}"
        first = landscape.modes[0]
        worst_cell = f"{believed(first)} in the worst cell"
        return (
            f"No weak spot of {who} was confirmed on {self.words.fresh} that the search never saw. It is "
            f"believed to fail most where {joined(first.words)}: {worst_cell}. {overall}"
        )

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        landscape = self.landscape
        if landscape is not None:
            yield self._weak_spots(allowance)
            yield from self._modes(landscape)
            if self.result.bias is not None:
                yield further.bias_section(self.result.bias)
            drawn = list(figures.landscapes(landscape, self.result.every_cell))
            worst = _estimates("Worst cells", "cell", landscape.worst, self.words)
            yield Section("The landscape", [*drawn, *worst], _LANDSCAPE if drawn else "")
            yield Section("What was looked at and not found", list(self._not_found(landscape)))
            how: list[Block] = [pairs(_known(landscape, self.words))]
            if landscape.compared is not None:
                how += [Text(further.learnt(landscape.compared)), further.arms(landscape.compared)]
            yield Section("How it was measured", [*how, figures.progress(landscape)], _MEASURED)
        yield from self._without_verdict()

    def _weak_spots(self, allowance: Allowance) -> Section:
        if not self.found:
            return Section("Weak spots", [Text("None was confirmed.", empty=True)])
        cards = [self._card(rank, f, allowance) for rank, f in enumerate(self.found, start=1)]
        drawn = Html("weakspot.report:cards.html.j2", {"cards": cards})
        blocks: list[Block] = [self._ranking(allowance).html(), drawn]
        note = (
            f"Regions and single concepts that fail more often than {self.words.usual}, measured again on "
            f"{self.words.fresh} that the search never saw."
        )
        return Section("Weak spots", blocks, note)

    def _ranking(self, allowance: Allowance) -> Ranking:
        rows = [
            Ranked(
                str(rank), joined(f.phrase), f.rate, f.baseline,
                self._shown(f, allowance)[:FAILING] or failing(self.run, f.hypothesis, f.failing, allowance),
                link=f"finding-{rank}",
            )
            for rank, f in enumerate(self.found, start=1)
        ]  # fmt: skip
        return Ranking(rows=rows, where="where", usual=self.words.usual_short)

    def _shown(self, finding: Finding, allowance: Allowance) -> list[Failing]:
        """Failing pictures beside what they were made of; [] where that was not kept, or cannot be shown."""
        before = {o.index: o.blob for o in self.result.originals if o.hypothesis == finding.hypothesis.id}
        some = [index for index in finding.failing if index in before]
        shown = examples(self.run, finding.hypothesis, some, most=SHOWN, allowance=allowance)
        found = []
        for one in shown:
            beside = picture(self.run, before[one.index], allowance) if one.uri else ""
            if beside:
                found.append(
                    Failing(
                        should=one.expected, said=one.said, uri=one.uri, beside=beside, alt=one.alt,
                        small=one.pixelated,
                    )
                )  # fmt: skip
        return found

    def _card(self, rank: int, f: Finding, allowance: Allowance) -> dict[str, Any]:
        shown = self._shown(f, allowance)
        kept = partial(examples, self.run, f.hypothesis, allowance=allowance)
        fresh = self.run.ledger.tally(f.hypothesis, Stage.CONFIRM)
        base = f.baseline
        words = joined(f.phrase)
        return {
            "place": rank,
            "link": f"finding-{rank}",
            "title": f"{words[:1].upper()}{words[1:]}",
            "rate": f.rate,
            "said": f"fail; of {self.words.usual} {show.rate(base)}",
            "lines": (),
            "lift": show.times(f.lift) if base.value else "",
            "beside": f"the rate of {self.words.usual}",
            "before": shown,
            "before_note": "as it was, and as it was shown",
            "failing": [] if shown else kept(f.failing, most=SHOWN),
            "passing": [] if shown else kept(f.passing, most=SHOWN // 2),
            "failures": fresh.failures,
            "passes": fresh.n - fresh.failures,
        }

    def _modes(self, landscape: Landscape) -> Iterable[Section]:
        chosen = () if self.preferences is None else self.preferences.chosen
        rows = [
            (
                f"{number}{' ★' if number in chosen else ''}",
                joined(mode.words),
                joined(mode.peak_words),
                believed(mode),
                _failed(mode),
                show.count(mode.cells),
            )
            for number, mode in enumerate(landscape.modes, start=1)
        ]
        blocks: list[Block] = []
        if rows:
            head = ("mode", "where", "worst cell", "believed rate there", "failed there", "cells")
            blocks.append(Table("", "", head, rows))
        if landscape.sets:
            sets = [(joined(one.words), believed(one), _failed(one)) for one in landscape.sets]
            columns = ("values", "believed rate", "failed there")
            blocks.append(Table("What is enough to make it fail", _ENOUGH, columns, sets))
        note = (
            f"Connected regions of cells believed to fail at least {show.percent(landscape.above)} of the "
            "time, worst first. weakspot prefer and weakspot repair call them by their numbers."
        )
        yield Section("Modes", blocks, note if landscape.modes else "")

    def _not_found(self, landscape: Landscape) -> Iterable[Block]:
        coverage, missed = landscape.coverage, _missed(landscape)
        yield Text(
            f"The chance that a cell outside these modes is clearly worse than all of theirs: {missed}. "
            f"{show.percent(coverage.asked)} of the cells were asked at least once; the rates of "
            f"{show.percent(coverage.known)} are known to within 5 points."
        )
        rows = [
            (joined(f.phrase), show.rate(f.rate), show.rate(f.baseline))
            for f in self.run.findings
            if not f.confirmed
        ]
        if rows:
            note = f"The search put them ahead; fresh {self.words.fresh} did not prove it."
            yield Table("Not confirmed", note, ("where", "fails", self.words.usual), rows)
        yield from _estimates("The cells known least", "cell", landscape.uncertain, self.words)

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
            "failed nor as passed. The reasons, without the names of inputs:"
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
        yield from show.folded(self.conclusion, wide)
        if self.landscape is None:
            yield from show.folded(self.run.state, wide)
        else:
            yield from self._landscape_lines(self.landscape, wide)
        if causes := unjudged(self.run):
            none = self.words.many(sum(c.times for c in causes))
            why = show.shorten(str(causes[0]), 300)
            yield from show.wrapped("verdict", f"none for {none}, most often: {why}", wide)
        known = self.values()
        seconds = show.seconds(float(known["spend"].get("seconds", 0.0)))
        wrong = show.plural(known["trials"]["errors"], "error")
        drawn = known["trials"]["drawn"]  # of a table, a row that lies in two findings is read for each
        asked = show.count(drawn) if self.words is READ else self.words.many(drawn)
        yield f"trials   {asked} · {wrong} · {seconds}"

    def _landscape_lines(self, landscape: Landscape, wide: int) -> Iterable[str]:
        if self.found:
            yield from self._ranking(Allowance(0)).lines(wide)
        others = [f for f in self.run.findings if not f.confirmed]
        for finding in others:
            held = f"{joined(finding.phrase)}: {show.rate(finding.rate)}, not confirmed"
            yield from show.wrapped("", held, wide)
        for number, mode in enumerate(landscape.modes, start=1):
            text = f"{joined(mode.words)}: {believed(mode)} in the worst cell"
            yield from show.wrapped(f"mode {number}", text, wide)
        known = f"{show.percent(landscape.coverage.known)} of the cells to within 5 points; chance that "
        yield from show.wrapped(
            "known", f"{known}something clearly worse was missed: {_missed(landscape)}", wide
        )
        if compared := landscape.compared:
            arms = {who: show.rate(rate) for who, rate in compared.rates.items()}
            line = "{agent} failures per query {trained}, untrained {untrained}, random {random}"
            won = "" if compared.won else " (no win beyond chance)"
            yield from show.wrapped("agent", line.format(agent=compared.agent, **arms) + won, wide)
        if self.result.bias is not None and self.result.bias.rows:
            row = self.result.bias.rows[0]
            text = f"{further.apart(row)} from the wanted shares, over {show.plural(row.n, 'picture')}"
            yield from show.wrapped("bias", text, wide)
        if landscape.note:
            yield from show.wrapped("note", show.shorten(landscape.note, 600), wide)

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


def joined(words: str) -> str:
    """Concepts in words: "rotated 10°, darkened 50 %" becomes "rotated 10° and darkened 50 %"."""
    return show.shorten(listed(words.rstrip(".").split(", ")), 200)


def _estimates(title: str, what: str, some: Iterable[Any], words: Words) -> Iterator[Table]:
    if rows := [(joined(one.words), believed(one), _failed(one)) for one in some]:
        note = f"Believed rates with intervals for 95 %; the counts are the {words.asked} in the cell itself."
        yield Table(title, note, (what, "believed rate", "failed there"), rows, folded=title)


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


_LANDSCAPE: Final = (
    "Believed failure rates, averaged over the axes that are not shown. All pictures share one scale: the "
    "stronger the colour, the worse."
)
_ENOUGH: Final = (
    "Values that suffice, whatever the other axes are; with any one of them left open they no longer do. The "
    "rate is the mean of all cells with these values."
)
_MEASURED: Final = (
    "Intervals are 95 %. The list of weak spots controls the false-discovery rate. Entropy is 0 if all "
    "failures lie in one cell and 1 if they are everywhere."
)
