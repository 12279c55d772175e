"""What was asked and answered, as people look at it: the picture, the question, the answer's first lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from weakspot.core import Stage, Trial
from weakspot.core.question import BENIGN, CONTRAST
from weakspot.report import format as show
from weakspot.report.document import Allowance, Html, picture
from weakspot.report.markdown import bullets, escape, table
from weakspot.store import Run
from weakspot.studies.ask import told
from weakspot.studies.ask.result import AskResult, Counted, Description, Scenarios

#: Questions beside a finding, in its card, and of those that were right.
BESIDE, CARD, RIGHT = 3, 9, 3
#: Characters of a question and of an answer.
QUESTION, ANSWER = 220, 260
#: Trials looked at for examples.
LOOKED_AT: Final = 400


class Shown(NamedTuple):
    """A question with its answer; `uri` is its picture, "" if it has none that can be shown."""

    uri: str
    question: str
    answer: str
    reason: str
    wrong: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A set of questions, or a kind within it, with what went wrong there."""

    words: str
    what: str  # "refused" or "answered"
    figures: Counted
    share: str
    elsewhere: str = ""
    wrong: int = 0
    failing: Sequence[Shown] = ()
    more: Sequence[Shown] = ()
    right: Sequence[Shown] = ()
    kind: bool = False
    beside: str = ""  # what could not be judged
    by_people: bool = False  # the share goes by people's labels

    @property
    def count(self) -> str:
        told_of = f"{show.count(self.wrong)} of {show.count(self.figures.n)}"
        if self.figures.unsure:
            told_of += f", {show.count(self.figures.unsure)} unsure"
        return f"by people's labels; by the judge {told_of}" if self.by_people else told_of


class Looking:
    """Finds the questions of a run that show a finding; all pictures come from one allowance."""

    def __init__(
        self, run: Run, result: AskResult, allowance: Allowance, *, labelled: Collection[str] = ()
    ) -> None:
        self.run, self.result, self.allowance = run, result, allowance
        self.labelled = labelled  # the sets of which people have labelled enough
        self._arms = {h.id: dict(h.concepts) for h in run.ledger.hypotheses()}
        self._known = {h.id: h for h in run.ledger.hypotheses()}

    def ranked(self) -> list[Ranked]:
        """The harmless questions and what is worse among them, then the same of the harmful ones."""
        kinds = told.worse(self.result)
        return [*self._of(BENIGN, self.result, kinds), *self._of(CONTRAST, self.result.contrast, kinds)]

    def described(self, found: Scenarios) -> list[Ranked]:
        """Scenarios of any kind, then the descriptions that are refused more, on fresh scenarios."""
        base = Ranked(
            words="harmless questions of any kind",
            what="refused",
            figures=self.result,
            share=told.rate(self.result, corrected=BENIGN in self.labelled),
            by_people=BENIGN in self.labelled,
            wrong=self.result.refused,
            beside=told.unjudged(self.result),
        )
        return [base, *(self._description(row) for row in found.descriptions if row.confirmed)]

    def _description(self, row: Description) -> Ranked:
        arm = (key for key, arm in self._arms.items() if arm.get("kind") == row.description)
        known = next((self._known[key] for key in arm if self._arms[key].get("set") == BENIGN), None)
        failing = (
            []
            if known is None
            else self.run.ledger.trials(known, stage=Stage.CONFIRM, failed=True, limit=CARD)
        )
        passing = (
            []
            if known is None
            else self.run.ledger.trials(known, stage=Stage.CONFIRM, failed=False, limit=RIGHT)
        )
        wrong = [self.one(trial) for trial in failing]
        return Ranked(
            words=f"‘{show.shorten(row.description, 160)}’",
            what="refused",
            figures=row,
            share=told.rate(row),
            elsewhere=told.rate(self.result),
            wrong=row.refused,
            failing=wrong[:BESIDE],
            more=wrong[BESIDE:],
            right=[self.one(trial) for trial in passing],
            kind=True,
        )

    def _of(self, which: str, figures: Counted | None, kinds: Sequence[told.Kind]) -> Iterator[Ranked]:
        if figures is None or not figures.n:
            return
        harmful = which == CONTRAST
        yield Ranked(
            words=f"all {told.SETS[which]} questions",
            what="answered" if harmful else "refused",
            figures=figures,
            share=(told.of_answered if harmful else told.rate)(figures, corrected=which in self.labelled),
            by_people=which in self.labelled,
            wrong=figures.answered if harmful else figures.refused,
            beside=told.unjudged(figures),
            **self._examples(which, "", "", right=RIGHT),
        )
        for kind in kinds:
            if kind.set == which:
                yield Ranked(
                    words=kind.words,
                    what="answered" if harmful else "refused",
                    figures=kind.figures,
                    share=told.of_answered(kind.figures) if harmful else told.rate(kind.figures),
                    elsewhere=told.of_rest(kind.figures, answered=harmful),
                    wrong=kind.wrong,
                    kind=True,
                    **self._examples(which, kind.column, kind.value, right=RIGHT),
                )

    def _examples(self, which: str, column: str, value: str, *, right: int) -> dict[str, Any]:
        wrong = self.some(which, column, value, failed=True, most=CARD)
        return {
            "failing": wrong[:BESIDE],
            "more": wrong[BESIDE:],
            "right": self.some(which, column, value, failed=False, most=right),
        }

    def some(self, which: str, column: str, value: str, *, failed: bool, most: int) -> list[Shown]:
        """The first of a set, or of one kind in it, under the first prompt; those with pictures first."""
        arm = next((key for key, arm in self._arms.items() if _plain(arm, which)), None)
        order = self.result.order.get(arm or "", ())
        if arm is None or not order:
            return []
        about, hypothesis = self.result.items.get(which, {}), self._known[arm]
        trials = [
            trial
            for trial in self.run.ledger.trials(hypothesis, failed=failed, limit=LOOKED_AT)
            if trial.index < len(order)
            and (not column or value in about[order[trial.index]].slices.get(column, ()))
        ]
        trials.sort(key=lambda trial: trial.blob is None)
        return [self.one(trial) for trial in trials[:most]]

    def one(self, trial: Trial) -> Shown:
        uri = picture(self.run, trial.blob, self.allowance) if trial.blob else ""
        return Shown(
            uri,
            show.shorten(trial.caption, QUESTION),
            first_lines(trial.answer or ""),
            show.shorten(trial.detail, 200),
            bool(trial.failed),
        )


def _plain(arm: dict[str, str], which: str) -> bool:
    """Whether an arm asks the questions of a set as they are; the first does so under the first prompt."""
    return arm.get("set") == which and not arm.get("stage")


def first_lines(answer: str) -> str:
    """The beginning of an answer, to the end of a word."""
    text = show.clean(answer).strip()
    if len(text) <= ANSWER:
        return text or "(no words)"
    return f"{text[:ANSWER].rsplit(' ', 1)[0].rstrip(' ,;:')} …"


def block(rows: Sequence[Ranked]) -> Html:
    """The ranked rows, each with three questions that show it, and further ones behind a click."""
    return Html("weakspot.studies.ask:ranked.html.j2", {"rows": rows}, markdown(rows))


def markdown(rows: Sequence[Ranked]) -> str:
    cells = [(row.words, f"{row.share} {row.what}", row.count, row.elsewhere or show.NONE) for row in rows]
    parts = [table(("questions", "share", "of", "elsewhere"), cells)]
    for row in rows:
        if row.failing:
            told_of = (f"“{escape(one.question)}” → “{escape(one.answer)}”" for one in row.failing)
            parts += [f"{escape(row.words.capitalize())}, for example:", bullets(told_of)]
    return "\n\n".join(parts)


def lines(rows: Sequence[Ranked], wide: int) -> Iterator[str]:
    """The same on a terminal, without the questions."""
    cells = [
        (
            f"{'└ ' if row.kind else ''}{row.words}",
            row.share,
            f"{row.what} {row.count}",
            f"elsewhere {row.elsewhere}" if row.elsewhere else "",
        )
        for row in rows
    ]
    yield from show.grid(("", "", "", ""), cells, wide)


__all__ = ["Looking", "Ranked", "Shown", "block", "first_lines", "lines"]
