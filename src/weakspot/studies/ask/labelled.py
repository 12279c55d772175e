"""Rates of refusals by people's labels: of each set, and of each kind of question with labels enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from weakspot.core.question import BENIGN, CONTRAST
from weakspot.report import format as show
from weakspot.report.document import Section, Table
from weakspot.report.people.refusals import FEWEST, Judged, Labelled, Row, asked, by_labels, decided, said_of
from weakspot.report.people.tasks import trial_of
from weakspot.store import Run
from weakspot.studies.ask import told
from weakspot.studies.ask.result import AskResult, Counted, PromptRates


class ByPeople(NamedTuple):
    """A set of questions, or a kind within it ("" is all), and the rate by people's labels."""

    set: str
    column: str
    value: str
    labelled: Labelled

    def plain(self) -> dict[str, Any]:
        named = {"set": self.set, "column": self.column, "value": self.value}
        return named | self.labelled._asdict()


def by_people(run: Run, result: AskResult, people: Mapping[str, Judged]) -> list[ByPeople]:
    """The rates of the sets of which people have labelled enough, each followed by those of its kinds."""
    enough = {which: one.corrected for which, one in people.items() if one.corrected is not None}
    if not enough:
        return []
    labels, rows, found = decided(said_of(run)), asked(run), []
    for which in (BENIGN, CONTRAST):
        if (whole := enough.get(which)) is None:
            continue
        found.append(ByPeople(which, "", "", whole))
        kinds = _kinds(result, which, rows[which])
        for (column, value), some in kinds.items():
            alone = sum(c == column for c, _ in kinds) == 1  # a column of one value is everything
            if not alone and (rate := by_labels(some, labels)) is not None:
                found.append(ByPeople(which, column, value, rate))
    return found


def _kinds(result: AskResult, which: str, rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """The answers by column and value of their questions."""
    about, found = result.items.get(which, {}), dict[tuple[str, str], list[Row]]()
    for row in rows:
        hypothesis, index = trial_of(row[0])
        order = result.order.get(hypothesis)
        for column, values in about[order[index % len(order)]].slices.items() if order else ():
            for value in values:
                found.setdefault((column, value), []).append(row)
    return dict(sorted(found.items()))


def section(result: AskResult, found: list[ByPeople]) -> Section:
    """The rates of the kinds, beside the judge's; those of whole sets stand elsewhere."""
    rows = []
    for one in found:
        figures = _figures(result, one)
        if one.column and figures is not None:
            rate = told.with_ends(one.labelled.rate, (one.labelled.low, one.labelled.high))
            rows.append(
                (
                    f"{told.SETS[one.set]}, {one.column}: {one.value}",
                    rate,
                    told.rate(figures),
                    show.count(one.labelled.n),
                    show.count(one.labelled.labels),
                )
            )
    note = f"Kinds with at least {FEWEST} labelled answers, refused by people's labels and by the judge."
    head = ("questions", "by people's labels", "by the judge", "answers", "labelled")
    return Section("Kinds of questions by people's labels", [Table("", "", head, rows)] if rows else [], note)


def _figures(result: AskResult, one: ByPeople) -> Counted | None:
    of: Any = result if one.set == BENIGN else result.contrast
    found: Counted | None = of.slices.get(one.column, {}).get(one.value) if of is not None else None
    return found


def corrected(result: AskResult, found: list[ByPeople]) -> AskResult:
    """The result with people's rates as the corrected ones."""
    for one in found:
        if not one.column:
            rates = {
                "rate_corrected": one.labelled.rate,
                "rate_corrected_interval": (one.labelled.low, one.labelled.high),
            }
            arms = dict(result.arms)
            for first in list(arms)[:1]:  # whose figures stand at the top, too
                arms[first] = arms[first].model_copy(update=_with(arms[first], one.set, rates))
            result = result.model_copy(update=_with(result, one.set, rates) | {"arms": arms})
    return result


def _with(figures: PromptRates, which: str, rates: dict[str, Any]) -> dict[str, Any]:
    if which == BENIGN:
        return rates
    return {"contrast": None if figures.contrast is None else figures.contrast.model_copy(update=rates)}


def in_words(people: Mapping[str, Judged]) -> str:
    """What follows from people's labels, in a sentence; "" where too few have labelled."""
    parts, labels, who = [], 0, 0
    for which, verb in ((BENIGN, "refuses"), (CONTRAST, "answers")):
        if (one := people.get(which)) is None or (rate := one.corrected) is None:
            continue
        value, ends = rate.rate, (rate.low, rate.high)
        if which == CONTRAST:
            value, ends = 1 - value, (1 - ends[1], 1 - ends[0])
        parts.append(f"{verb} {told.with_ends(value, ends)} of the {told.SETS[which]} questions")
        labels, who = labels + rate.labels, max(who, one.people)
    if not parts:
        return ""
    return f"By what {who} people said of {show.plural(labels, 'answer')}, it {' and '.join(parts)}."


__all__ = ["ByPeople", "by_people", "corrected", "in_words", "section"]
