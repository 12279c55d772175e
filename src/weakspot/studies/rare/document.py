"""How a run of `rare` is told: the rate and its interval, what the failures have in common, pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from weakspot.engine.budget import Budget
from weakspot.report import format as show
from weakspot.report.document import (
    Allowance,
    Block,
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
from weakspot.store import Run
from weakspot.studies.rare.figures import answers_figure, common_figure, interval, rate_figure, size
from weakspot.studies.rare.result import RareResult

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
        who = show.shorten(str(settings.get("target")), 80)
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
            words = show.shorten(first.words, 120)
            text += f" {show.percent(first.failing)} of the failures, but {usual}: {words}"
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
        note = (
            "With a 95 % interval. Failures behind pictures that the model is very sure of can be missed by "
            "splitting; the bound by independent draws holds for them too."
        )
        yield Section("Result", [rate_figure(result), pairs(_numbers(result))], note)
        if result.common:
            rows = [
                (show.shorten(c.words, 160), show.percent(c.failing), show.percent(c.usual))
                for c in result.common
            ]
            table = Table("", "", ("words", "of the failures", "of all pictures"), rows)
            note = (
                "Said of the failing pictures more often than of others. Guesses from these very pictures; "
                "weakspot hunt tests such words."
            )
            yield Section("What the failures have in common", [common_figure(result), table], note)
        if result.answers:
            said = [(show.shorten(a, 80) or "(nothing)", show.percent(share)) for a, share in result.answers]
            blocks: list[Block] = [answers_figure(result), Table("", "", ("answer", "share"), said)]
            yield Section("Said instead", blocks, "Of the failures found.")
        if result.examples:
            found = f"Some of the {show.count(result.found)} that were found."
            yield Section("Failing pictures", [self._pictures(result, allowance)], found)

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
        return Pictures("Failing", "with what was said instead", shown or [], instead=listed)

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
        result, told = self.result, self.values()
        yield cut(f"drawn from: {self._text}", wide)
        if result is None:
            yield cut(self.run.state, wide)
        else:
            yield f"rate     {size(result.rate)} {interval(result.low, result.high)}"
            bare = result.independent
            yield (
                f"bound    at most {size(result.ceiling)} by independent draws alone "
                f"({bare.failures:,} of {bare.n:,} failed)"
            )
            yield f"method   {result.method}, {show.plural(result.images, 'image')}"
            if result.note:
                yield cut(f"note     {result.note}", 2 * wide)
            for answer, share in result.answers[:3]:
                yield f"said     {cut(answer, 40) or '(nothing)'} {show.percent(share)}"
            for common in result.common:
                numbers = f"{show.percent(common.failing)} of failures, {show.percent(common.usual)} of all"
                yield f"common   {cut(common.words, max(wide - len(numbers) - 12, 20))}  {numbers}"
        drawn, wrong = told["trials"]["drawn"], told["trials"]["errors"]
        seconds = show.seconds(float(told["spend"].get("seconds", 0.0)))
        yield f"trials   {show.plural(drawn, 'image')} · {show.plural(wrong, 'error')} · {seconds}"

    def ending(self) -> Ending:
        """The number of images cannot be raised; other limits can."""
        ending = super().ending()
        if ending.code == 0:
            return ending
        budget = Budget.parse(self.run.ledger.fact("budget", self.run.config.settings["budget"]))
        larger = str(budget.larger(but="images"))
        return Ending(ending.code, ("resume", str(self.run.folder), "--budget", larger))


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
