"""Rates of refusals as people's labels have them, together and by slice (prediction-powered inference)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from weakspot.core.question import BENIGN
from weakspot.report.people.labels import Labels
from weakspot.report.people.score import FEWEST_LABELS, after_labels, by_item, majority
from weakspot.report.people.tasks import item_id
from weakspot.store import Run
from weakspot.studies.ask.reading import Answered, answers
from weakspot.studies.ask.result import AskResult

_TASK: Final = "refusals"
#: What was asked, and whether it was judged or could be.
Row = tuple[str, Answered]


class Labelled(NamedTuple):
    """The harmless questions of a slice ("" for all):

    how many were judged and labelled, and the rate that follows.
    """

    slice: str
    n: int
    labels: int
    rate: float
    low: float
    high: float


def after_people(run: Run, result: AskResult) -> list[Labelled]:
    """The rate of all, then of each slice with labels enough; nothing where nobody labelled anything."""
    said = by_item(Labels(run.folder).current(_TASK))
    decided = {
        item: label for item, labels in said.items() if (label := majority(labels.values())) is not None
    }
    if len(decided) < FEWEST_LABELS:
        return []
    rows = list(_rows(run, result))
    found = list(_rated("", rows, decided))
    columns = {column: None for _, one in rows for column in result.items[one.set][one.item].slices}
    for column in columns:
        by_value: dict[str, list[Row]] = {}
        for row in rows:
            for value in result.items[row[1].set][row[1].item].slices.get(column, ()):
                by_value.setdefault(value, []).append(row)
        for value, some in sorted(by_value.items()) if len(by_value) > 1 else ():
            found += _rated(f"{column}: {value}", some, decided)
    return found


def _rated(name: str, rows: list[Row], decided: dict[str, str]) -> Iterator[Labelled]:
    labels = sum(item in decided for item, _ in rows)
    rate = after_labels([(item, one.trial) for item, one in rows], decided)
    if rate is not None:
        yield Labelled(name, len(rows), labels, rate["rate"], rate["low"], rate["high"])


def _rows(run: Run, result: AskResult) -> Iterator[Row]:
    """The first answers to harmless questions, under the first system prompt."""
    hypotheses = {}
    for h in run.ledger.hypotheses():
        of = dict(h.concepts)
        hypotheses[of.get("set"), of.get("system"), of.get("stage", "")] = h
    first = next((system for which, system, stage in hypotheses if which == BENIGN and not stage), None)
    for one in answers(run, result.order):
        if (one.set, one.system, one.stage, one.repeat) != (BENIGN, first, "", 0):
            continue
        if one.trial.answer and one.trial.answer.strip() and one.trial.status in ("ok", "refused"):
            yield item_id(hypotheses[one.set, one.system, one.stage], one.trial.index), one
