"""The matrix of a transfer: its values, and how they are computed from verdicts on the same pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate
from weakspot.stats import adjusted_holm, fisher, mcnemar, paired_difference, wilson


class Row(NamedTuple):
    """A caption that is measured: a baseline, or a finding; perhaps for one wrong answer alone."""

    hypothesis: Hypothesis
    phrase: str
    label: str
    finding: Finding | None
    answer: str = ""


class Versus(NamedTuple):
    """A model and the hunted one on the same pictures.

    Attributes:
        n: Pictures on which both have a verdict.
        both: Misread by both.
        only_own: Misread by the hunted model only.
        only_other: Misread by the other only.
        difference: The other's rate minus the hunted model's.
        low: Of its 95 % interval.
        high: Of its 95 % interval.
        p: McNemar's.
        adjusted: The same after Holm, over all such comparisons.
    """

    n: int
    both: int
    only_own: int
    only_other: int
    difference: float
    low: float
    high: float
    p: float
    adjusted: float = math.nan


class Cell(NamedTuple):
    """One model under one caption from one source.

    Attributes:
        row: Place of the caption among the rows.
        source: Name.
        target: Name.
        rate: With Wilson's interval.
        errors: Pictures that ended in an error, outside the rate.
        undecided: Pictures without a verdict, or not valid; outside the rate.
        lift: How many times the model's own baseline rate; nan for the baseline itself.
        p: Fisher's, that it fails more often than on its own baseline.
        adjusted: The same after Holm, over all findings, models and sources.
        versus: The hunted model on the same pictures; None for itself.
    """

    row: int
    source: str
    target: str
    rate: Rate
    errors: int
    undecided: int
    lift: float = math.nan
    p: float = math.nan
    adjusted: float = math.nan
    versus: Versus | None = None


class Shared(NamedTuple):
    """Of the pictures that the hunted model misreads, those that another misreads too.

    Attributes:
        row: Place of the caption among the rows; None for all findings together.
        target: Name of the other.
        rate: With Wilson's interval.
    """

    row: int | None
    target: str
    rate: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The matrix.

    Attributes:
        folder: Of the run.
        targets: Names; the hunted model comes first.
        sources: Names; the run's own comes first.
        rows: The baselines, then the findings.
        cells: Source by source, row by row, target by target.
        shared: Target by target, row by row and then for all findings.
        n: Pictures that were wanted of each caption.
        images: Pictures drawn.
        errors: What went wrong and how often, most frequent first.
        limit: The budget that cut it short; "" if none did.
    """

    folder: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]
    rows: tuple[Row, ...]
    cells: tuple[Cell, ...]
    shared: tuple[Shared, ...]
    n: int
    images: int
    errors: tuple[tuple[str, int], ...] = ()
    limit: str = ""

    def cell(self, source: str, target: str, hypothesis: str, answer: str = "") -> Cell:
        """One of the cells, by names and by the id of the hypothesis."""
        for cell in self.cells:
            row = self.rows[cell.row]
            if (cell.source, cell.target) == (source, target) and (row.hypothesis.id, row.answer) == (
                hypothesis,
                answer,
            ):
                return cell
        raise KeyError((source, target, hypothesis, answer))

    def to_json(self) -> dict[str, Any]:
        """Plain values: what transfer.json holds. Numbers that are not finite are None."""
        return {
            "format": 1,
            "run": self.folder,
            "state": f"stopped: {self.limit}" if self.limit else "finished",
            "n": self.n,
            "images": self.images,
            "targets": list(self.targets),
            "sources": list(self.sources),
            "rows": [
                {
                    "hypothesis": row.hypothesis.id,
                    "text": row.hypothesis.text,
                    "phrase": row.phrase,
                    "label": row.label,
                    "answer": row.answer,
                    "baseline": row.finding is None,
                    "confirmed": None if row.finding is None else row.finding.confirmed,
                }
                for row in self.rows
            ],
            "cells": [_plain(cell._asdict()) for cell in self.cells],
            "shared": [_plain(share._asdict()) for share in self.shared],
            "errors": [{"what": what, "times": times} for what, times in self.errors],
        }


#: A model's verdict on a picture, and its answer.
Heard = tuple[bool | None, str | None]


def verdict(heard: Heard, answer: str) -> bool | None:
    """Whether it is a failure that a row is about: any, or one with this answer."""
    failed, said = heard
    return failed and said == answer if answer and failed is not None else failed


def rate(verdicts: Sequence[bool | None]) -> Rate:
    """Failures among those with a verdict, with Wilson's interval: their number was fixed beforehand."""
    known = [v for v in verdicts if v is not None]
    failures = sum(known)
    low, high = wilson(failures, len(known))
    return Rate(failures / len(known) if known else math.nan, low, high, len(known), failures)


def versus(own: Sequence[bool | None], other: Sequence[bool | None]) -> Versus:
    """A model against the hunted one, on the pictures on which both have a verdict."""
    pairs = [(a, b) for a, b in zip(own, other, strict=True) if a is not None and b is not None]
    both = sum(1 for a, b in pairs if a and b)
    only_own, only_other = sum(1 for a, b in pairs if a and not b), sum(1 for a, b in pairs if b and not a)
    low, high = paired_difference(only_other, only_own, len(pairs))
    difference = (only_other - only_own) / len(pairs) if pairs else math.nan
    p = mcnemar(only_own, only_other)
    return Versus(len(pairs), both, only_own, only_other, difference, low, high, p)


def above(here: Rate, usual: Rate) -> tuple[float, float]:
    """How many times the baseline's rate, and Fisher's p that it is more; nan where nothing was judged."""
    if not here.n or not usual.n:
        return math.nan, math.nan
    lift = here.value / usual.value if usual.failures else math.inf if here.failures else math.nan
    return lift, fisher(here.failures, here.n, usual.failures, usual.n)


def adjusted(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells with both families of p-values adjusted, each by itself."""
    found = list(cells)
    tested = [i for i, cell in enumerate(found) if math.isfinite(cell.p)]
    for i, p in zip(tested, adjusted_holm([found[i].p for i in tested]), strict=True):
        found[i] = found[i]._replace(adjusted=p)
    paired = [(i, cell.versus) for i, cell in enumerate(found) if cell.versus is not None and cell.versus.n]
    for (i, against), p in zip(paired, adjusted_holm([v.p for _, v in paired]), strict=True):
        found[i] = found[i]._replace(versus=against._replace(adjusted=p))
    return tuple(found)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    return value
