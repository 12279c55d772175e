"""How a run of `rare` is told: the rate and its interval, what the failures have in common, pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.engine.stop import Budget
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.document import (
    Allowance,
    Document,
    Ending,
    Pictures,
    Section,
    Table,
    Text,
    errors,
    examples,
    pairs,
    spent,
)
from weakspot.report.plots import Figure
from weakspot.stats import wilson
from weakspot.store import Run
from weakspot.studies.rare.result import RareResult
from weakspot.text import clauses

#: Pictures shown.
SHOWN: Final = 24


class RareDocument(Document):
    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.result = RareResult.of(run)

    @property
    def title(self) -> str:
        return f"{self.run.config.settings.get('target', '')} · ‘{self.run.config.subject}’"

    @property
    def conclusion(self) -> str:
        result, settings = self.result, self.run.config.settings
        who = show.cut(str(settings.get("target")), 80)
        what = f"‘{show.shorten(str(settings.get('label')), 60)}’"
        if settings.get("target_label"):
            what += f" as ‘{show.shorten(str(settings['target_label']), 60)}’"
        if result is None:
            return f"How often {who} misreads {what} is not known yet."
        rate, ends = size(result.rate), interval(result.low, result.high)
        if result.rate == 0:
            text = f"No failure was seen: {who} misreads {what} at most {size(result.high)} of the time."
        elif result.method == "plain" and not result.repeats:
            text = f"{who} misreads {what} {rate} {ends} of the time."
        else:
            once = show.count(round(1 / result.rate))
            text = f"{who} misreads {what} about once in {once} pictures: {rate} {ends}."
        if result.common:
            first = result.common[0]
            usual = f"{show.percent(first.usual)} of all pictures"
            if not first.usual:
                usual = f"none of {show.count(result.independent.n)} drawn at random"
            words = clauses.title(show.shorten(first.words, 120))
            text += f" In {show.percent(first.failing)} of the failures, but {usual}, {words}."
        return text

    def about(self) -> Sequence[str]:
        return [f"Drawn from: “{show.shorten(self._text, 300)}”"]

    @property
    def _text(self) -> str:
        return next((h.text for h in self.run.baselines), "")

    def sections(self, allowance: Allowance) -> Iterable[Section]:
        result = self.result
        if result is None:
            return
        if result.examples:
            found = f"Some of the {show.plural(result.found, 'picture')} that were found to fail."
            yield Section("Failing pictures", [self._pictures(result, allowance)], found)
        if result.common:
            rows = [
                (
                    clauses.title(show.shorten(c.words, 160)),
                    _told(_share(c.failing, result.found, certain=not result.repeats)),
                    _told(_share(c.usual, result.independent.n, certain=True)),
                )
                for c in result.common
            ]
            table = Table("", "", ("words", FAILING, USUAL), rows)
            yield Section("What the failures have in common", [table], _COMMON)
        if result.answers:
            said = [
                (
                    show.shorten(a, 80) or "(nothing)",
                    _told(_share(share, result.found, certain=not result.repeats)),
                )
                for a, share in result.answers
            ]
            found = show.plural(result.found, "failure")
            yield Section(
                "Said instead", [Table("", "", ("answer", "share"), said)], f"Of the {found} found."
            )
        yield Section("What was looked at and not found", [Text(_bound(result))])
        note = "The rate has a 95 % interval."
        yield Section("How it was measured", [pairs(_numbers(result)), rate_figure(result)], note)

    def _pictures(self, result: RareResult, allowance: Allowance) -> Pictures:
        indices = [one.index for one in result.examples if one.blob]
        known = {h.id: h for h in self.run.ledger.hypotheses()}.get(result.hypothesis)
        shown = known and examples(self.run, known, indices, most=SHOWN, allowance=allowance)
        captions = (show.shorten(one.caption, 200) or "(no caption)" for one in result.examples)
        rows = [
            (caption, show.shorten(one.answer or "", 60), str(one.index))
            for caption, one in zip(captions, result.examples, strict=True)
        ]
        listed = Table("", "", ("caption", "answer", "trial"), rows)
        label = show.shorten(str(self.run.config.settings.get("label")), 60)
        note = f"should be {label}; below each, what was said"
        return Pictures("Failing", note, shown or [], instead=listed)

    def values(self) -> Mapping[str, Any]:
        tallies = self.run.ledger.tallies().values()
        return {
            "text": self._text,
            "result": None if self.result is None else self.result.plain(),
            "trials": {"drawn": sum(t.drawn for t in tallies), "errors": sum(t.errors for t in tallies)},
            "errors": errors(self.run),
            "spend": spent(self.run),
        }

    def lines(self, wide: int) -> Iterable[str]:
        result, values = self.result, self.values()
        yield from show.wrapped("from", self._text, wide)
        if result is None:
            yield from show.folded(self.run.state, wide)
        else:
            yield f"rate     {size(result.rate)} {interval(result.low, result.high)}"
            bare = result.independent
            alone = f"by independent draws alone ({bare.failures:,} of {bare.n:,} failed)"
            yield from show.wrapped("bound", f"at most {size(result.ceiling)} {alone}", wide)
            yield f"method   {result.method}, {show.plural(result.images, 'image')}"
            if result.note:
                yield from show.wrapped("note", result.note, wide)
            said = (
                f"{show.cut(answer, 60) or '(nothing)'} {show.percent(p)}" for answer, p in result.answers[:3]
            )
            if result.answers:
                yield from show.wrapped("said", ", ".join(said), wide)
            for common in result.common:
                numbers = f"{show.percent(common.failing)} of failures, {show.percent(common.usual)} of all"
                yield from show.wrapped("common", f"{clauses.title(common.words)}: {numbers}", wide)
        drawn, wrong = values["trials"]["drawn"], values["trials"]["errors"]
        seconds = show.seconds(float(values["spend"].get("seconds", 0.0)))
        yield f"trials   {show.plural(drawn, 'image')} · {show.plural(wrong, 'error')} · {seconds}"

    def ending(self) -> Ending:
        """The number of images cannot be raised; other limits can."""
        ending = super().ending()
        if ending.code == 0:
            return ending
        budget = Budget.parse(self.run.ledger.fact("budget", self.run.config.settings["budget"]))
        larger = str(budget.larger(but="images"))
        return Ending(ending.code, ("resume", str(self.run.folder), "--budget", larger))


def _bound(result: RareResult) -> str:
    bare = result.independent
    return (
        f"By the {show.count(bare.n)} independent draws alone, of which {show.count(bare.failures)} failed, "
        f"the failure happens at most {size(result.ceiling)} of the time. This bound also covers failures "
        "that splitting cannot reach: pictures of which the model is very sure."
    )


def _numbers(result: RareResult) -> Iterable[tuple[str, str]]:
    bare, method = result.independent, result.method
    if result.repeats:
        agree = "which agree" if result.agree else "which disagree"
        method = f"splitting: {len(result.repeats)} repeats over {len(result.ladder)} levels, {agree}; the "
        method += f"failures of each descend from {result.roots:.1f} first draws"
    yield "rate", f"{size(result.rate)} {interval(result.low, result.high)}"
    bound = f"at most {size(result.ceiling)}; {bare.failures:,} of {bare.n:,} failed"
    yield "by independent draws alone", bound
    yield "method", method
    yield "images", show.count(result.images)
    if result.note:
        yield "note", show.shorten(result.note, 300)


# -- how rare it is, on a logarithmic axis ------------------------------------------------------------


_COMMON: Final = (
    "True of the failing pictures more often than of others. These are guesses from the same "
    "pictures; weakspot hunt can test them."
)
FAILING, USUAL = "of the failures", "of all pictures"
#: Of the picture: one row, and what is above and below all of them.
_ROW, _HEAD, _FOOT = 30.0, 8.0, 30.0
_SMALL: Final = 1e-3


class RateRow(NamedTuple):
    """A row of the picture of the rate: points, and an interval; `low` is None where it has no lower end."""

    name: str
    points: tuple[float, ...]
    low: float | None
    high: float | None
    words: str


def size(rate: float) -> str:
    """A rate in percent, or per million where it is very small."""
    return f"{1e6 * rate:.3g} per million" if 0 < rate < _SMALL else show.percent(rate)


def interval(low: float, high: float) -> str:
    """An interval in the unit of `size`: of the high end."""
    if high < _SMALL:
        return f"[{1e6 * low:.3g}, {1e6 * high:.3g}]"
    return f"[{size(low)} to {size(high)}]" if low < _SMALL else show.interval(low, high)


def lines(result: RareResult) -> list[RateRow]:
    """The rate with its interval; below it what it is made of, and what independent draws alone bound."""
    rate, low, high = result.rate, result.low, result.high
    ends = f"[{size(low)} to {size(high)}]" if low > 0 else f"at most {size(high)}"
    first = f"{size(rate)} {ends}" if rate > 0 else ends
    found = [RateRow("the rate", (rate,) if rate > 0 else (), low or None, high, first)]
    repeats = tuple(float(r) for r in result.repeats)
    if repeats:
        seen = tuple(sorted(r for r in repeats if r > 0))
        empty = len(repeats) - len(seen)
        words = f"{size(seen[0])} to {size(seen[-1])}" if seen else "none saw a failure"
        words += f"; {empty} saw no failure" if empty and seen else ""
        found.append(RateRow(f"its {show.plural(len(repeats), 'repeat')}", seen, None, None, words))
        alone, n = result.independent.failures, result.independent.n
        seen = (alone / n,) if alone and n else ()
        words = f"at most {size(result.ceiling)}; {show.count(alone)} of {show.count(n)} failed"
        found.append(RateRow("independent draws alone", seen, None, result.ceiling, words))
    return found


def rate_figure(result: RareResult) -> Figure:
    rows = lines(result)
    title = "How rare the failure is"
    data = [
        (row.name, point, "" if row.low is None else row.low, "" if row.high is None else row.high)
        for row in rows
        for point in row.points or ("",)
    ]
    note = "On a logarithmic axis: every mark is ten times the one before it."
    if result.repeats:
        note += " The repeats are independent estimates of the same rate."
    return Figure("rate", title, ("what", "rate", "low", "high"), data, _drawn(rows, title), note)


def _told(rate: Rate) -> str:
    """A share, with its interval where it has one."""
    known = rate.low == rate.high
    return show.percent(rate.value) if known else f"{show.percent(rate.value)} {show.interval(*rate[1:3])}"


def _share(share: float, n: int, *, certain: bool) -> Rate:
    """A share of n as a rate; without an interval where the n are not independent."""
    times = round(share * n)
    ends = wilson(times, n) if certain and n else (share, share)
    return Rate(share, *ends, n, times)


# -- the rate on a logarithmic axis ------------------------------------------------------------------


def _range(rows: Sequence[RateRow]) -> tuple[int, int]:
    some = [v for row in rows for v in (*row.points, row.low, row.high) if v]
    if not some:
        return -6, 0
    low, high = math.floor(math.log10(min(some)) + 1e-9), math.ceil(math.log10(max(some)) - 1e-9)
    low = low - 1 if any(row.high and not row.low for row in rows) else low  # an arm without a lower end
    return max(min(low, high - 1), -12), min(high, 0)


def _mark(power: int) -> str:
    return f"{10 ** (power + 6):g} per million" if power < -3 else show.level(10.0**power)


def _drawn(rows: Sequence[RateRow], title: str) -> Markup:
    first, last = _range(rows)
    span = plots.WIDE - plots.NAMES - 60

    def x(rate: float) -> float:
        share = (math.log10(rate) - first) / (last - first) if rate > 0 else 0.0
        return round(plots.NAMES + span * min(max(share, 0.0), 1.0), 1)

    bottom = _HEAD + _ROW * len(rows)
    parts = []
    for power in range(first, last + 1):
        at = x(10.0**power)
        line = Markup('<line x1="{0}" x2="{0}" y1="{1}" y2="{2}" stroke="var(--line)"/>')
        parts.append(line.format(at, _HEAD, bottom))
        parts.append(plots.text(at, bottom + 18, _mark(power), "middle"))
    for i, row in enumerate(rows):
        y, ink = _HEAD + _ROW * (i + 0.5), "var(--fail)" if i == 0 else "var(--base)"
        parts.append(plots.text(plots.NAMES - 10, y + 4, row.name, "end", "var(--ink)"))
        if row.high is not None:
            arm = Markup('<rect x="{}" y="{}" width="{}" height="2" fill="{}"><title>{}</title></rect>')
            left = x(row.low or 0.0)
            parts.append(arm.format(left, y - 1, round(x(row.high) - left, 1), ink, row.words))
        dot = Markup('<circle cx="{}" cy="{}" r="{}" fill="{}"><title>{}</title></circle>')
        many = len(row.points) > 1
        parts += [
            dot.format(x(p), y, 3.5 if many else 5, ink, size(p) if many else row.words) for p in row.points
        ]
    return plots.svg(plots.WIDE, bottom + _FOOT, title, parts)
