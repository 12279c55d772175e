"""The matrix of a transfer: its values, and how they are computed from verdicts on the same pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from weakspot.core import Finding, Hypothesis, Rate
from weakspot.report import format as show
from weakspot.report.document import plain
from weakspot.report.html import rendered
from weakspot.report.markdown import escape
from weakspot.report.plots import Bar, axis, brief
from weakspot.stats import adjusted_holm, fisher, mcnemar, paired_difference, wilson
from weakspot.text.clauses import legible

#: Colours that are told apart by people who see few (Okabe and Ito 2008), then again from the start.
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
#: A p-value below this is called evidence.
ALPHA: Final = 0.05


class CaptionRow(NamedTuple):
    """A caption that is measured: a baseline, or a finding; perhaps for one wrong answer alone."""

    hypothesis: Hypothesis
    phrase: str
    label: str
    finding: Finding | None
    answer: str = ""


class Versus(NamedTuple):
    """A model and the hunted one on the same pictures."""

    n: int  # pictures on which both have a verdict
    both: int  # misread by both
    only_own: int  # misread by the hunted model only
    only_other: int  # misread by the other only
    difference: float  # the other's rate minus the hunted model's
    low: float  # of its 95 % interval
    high: float  # of its 95 % interval
    p: float  # McNemar's
    adjusted: float = math.nan  # the same after Holm, over all such comparisons


class Cell(NamedTuple):
    """One model under one caption from one source."""

    row: int  # place of the caption among the rows
    source: str  # name
    target: str  # name
    rate: Rate  # with Wilson's interval
    errors: int  # pictures that ended in an error, outside the rate
    undecided: int  # pictures without a verdict, or not valid; outside the rate
    lift: float = math.nan  # how many times the model's own baseline rate; nan for the baseline itself
    p: float = math.nan  # Fisher's, that it fails more often than on its own baseline
    adjusted: float = math.nan  # the same after Holm, over all findings, models and sources
    versus: Versus | None = None  # the hunted model on the same pictures; None for itself


class Shared(NamedTuple):
    """Of the pictures that the hunted model misreads, those that another misreads too."""

    row: int | None  # place of the caption among the rows; None for all findings together
    target: str  # name of the other
    rate: Rate  # with Wilson's interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The matrix."""

    folder: str  # of the run
    targets: tuple[str, ...]  # names; the hunted model comes first
    sources: tuple[str, ...]  # names; the run's own comes first
    rows: tuple[CaptionRow, ...]  # the baselines, then the findings
    cells: tuple[Cell, ...]  # source by source, row by row, target by target
    shared: tuple[Shared, ...]  # target by target, row by row and then for all findings
    n: int  # pictures that were wanted of each caption
    images: int  # pictures drawn
    errors: tuple[tuple[str, int], ...] = ()  # what went wrong and how often, most frequent first
    limit: str = ""  # the budget that cut it short; "" if none did

    def cell(self, source: str, target: str, hypothesis: str, answer: str = "") -> Cell:
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
            "cells": [_plain(cell) for cell in self.cells],
            "shared": [_plain(share) for share in self.shared],
            "errors": [{"what": what, "times": times} for what, times in self.errors],
        }


def _plain(value: Cell | Shared) -> Any:
    return plain({k: v._asdict() if isinstance(v, Rate | Versus) else v for k, v in value._asdict().items()})


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


# -- told, from the values of transfer.json --------------------------------------------------------------


def rate_of(cell: Mapping[str, Any]) -> Rate:
    found = cell["rate"]
    value = found["value"] if found["value"] is not None else float("nan")
    return Rate(value, found["low"], found["high"], found["n"], found["failures"])


def cells_of(data: Mapping[str, Any], source: str, row: int) -> list[Mapping[str, Any]]:
    """The cells of one row and source, target by target."""
    found = {c["target"]: c for c in data["cells"] if c["source"] == source and c["row"] == row}
    return [found[target] for target in data["targets"]]


def worse(cell: Mapping[str, Any]) -> bool:
    """Whether a model is shown to fail more often under a caption than on its own baseline."""
    return cell["adjusted"] is not None and cell["adjusted"] < ALPHA


def markdown(data: Mapping[str, Any], *, picture: str = "") -> str:
    """The matrix, what is proven of it, and the shares; with the picture of this name, if there is one."""
    own, *others = data["targets"]
    heads = [escape(name, 60) for name in data["targets"]]
    blocks = [
        f"# How the weak spots of {escape(own, 120)} transfer",
        f"{show.count(data['images'])} fresh pictures, {show.count(data['n'])} for each caption and source "
        "(or as many as there are), each shown to every model. Rates with Wilson's 95 % interval; **bold** "
        "where the model fails more often than on its own baseline (Fisher's exact test, Holm-adjusted p < "
        f"{ALPHA}).",
    ]
    if data["state"] != "finished":
        blocks.append(f"{escape(data['state'])}.")
    if picture:
        blocks.append(f"![failure rates by caption and model]({picture})")
    for source in data["sources"]:
        rows = [
            [escape(legible(row["phrase"]), 200), *(_reading(c) for c in cells_of(data, source, at))]
            for at, row in enumerate(data["rows"])
        ]
        blocks += [f"## Pictures of {escape(source, 200)}", _table(["caption", *heads], rows)]
    blocks += [
        f"## Against {escape(own, 120)}",
        "The other model's rate minus this one's, on the same pictures, in percentage points with Tango's "
        f"95 % interval; **bold** where McNemar's exact test shows a difference (Holm-adjusted p < {ALPHA}).",
        _table(
            ["source", "caption", *heads[1:]],
            [
                [escape(source, 60), escape(legible(row["phrase"]), 120), *map(_difference, cells[1:])]
                for source in data["sources"]
                for at, row in enumerate(data["rows"])
                for cells in [cells_of(data, source, at)]
            ],
        ),
        "## Failures that transfer",
        f"The share of the pictures misread by {escape(own, 120)} that another model misreads too: "
        f"among the draws above from the run's own source, and among the pictures the run kept.",
        _table(["caption", *heads[1:]], _shares(data, others)),
    ]
    if data["errors"]:
        rows = [[show.count(error["times"]), escape(error["what"], 200)] for error in data["errors"][:20]]
        blocks += ["## Errors", "None of these counts as a failure.", _table(["times", "what"], rows)]
    return "\n\n".join(blocks) + "\n"


def svg(data: Mapping[str, Any]) -> str:
    """The rates as a picture: a group of lines per caption, a line per model, a panel per source."""
    scale = axis(map(rate_of, data["cells"]))

    def bars(source: str, row: int) -> list[Bar | None]:
        return [scale.bar(rate) if rate.n else None for rate in map(rate_of, cells_of(data, source, row))]

    drawn = rendered(
        "weakspot.after:transfer.svg.j2",
        data=data,
        marks=[[bars(source, at) for at in range(len(data["rows"]))] for source in data["sources"]],
        ticks=scale.ticks,
        colours=_COLOURS,
        brief=brief,
        x=lambda percent: round(300 + 4.2 * percent, 1),
    )
    return f"{drawn}\n"


def _reading(cell: Mapping[str, Any]) -> str:
    rate = rate_of(cell)
    text = escape(show.rate(rate))
    return f"**{text}**" if worse(cell) else text


def _difference(cell: Mapping[str, Any]) -> str:
    versus = cell["versus"]
    if not versus or not versus["n"]:
        return show.NONE
    low, high = (100 * versus[end] for end in ("low", "high"))
    text = f"{100 * versus['difference']:+.1f} \\[{low:+.1f}, {high:+.1f}\\]"
    return f"**{text}**" if versus["adjusted"] is not None and versus["adjusted"] < ALPHA else text


def _shares(data: Mapping[str, Any], others: Sequence[str]) -> Iterator[list[str]]:
    found = {(share["target"], share["row"]): rate_of(share) for share in data["shared"]}
    captions: list[tuple[int | None, str]] = [
        (at, legible(row["phrase"])) for at, row in enumerate(data["rows"]) if not row["baseline"]
    ]
    for at, phrase in [*captions, (None, "all findings")]:
        yield [escape(phrase, 200), *(escape(show.rate(found[name, at])) for name in others)]


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
