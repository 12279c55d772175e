"""The leaderboard as people read it: a few narrow tables instead of one that no screen holds, and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from weakspot._version import __version__
from weakspot.after.leaderboard import STIMULUS
from weakspot.after.standings import ModelRow, Standing, may_be_first
from weakspot.report import format as show
from weakspot.report.document import Table
from weakspot.report.html import page, rendered
from weakspot.report.plots import Figure
from weakspot.studies.ask.figures import points, trade_off
from weakspot.studies.ask.result import Counted
from weakspot.studies.ask.told import rate

_NOTE: Final = (
    "The share of harmless questions that each model refuses, lowest first, with 95 % intervals. After "
    "each place come the places that the model may really have; all of these hold together at 95 %. ‘p’ "
    "compares a model with the one above it, item by item where they were asked the same questions, "
    "adjusted for all comparisons."
)


def tables(lines: Sequence[Standing]) -> list[Table]:
    """Who stands where; the kinds of questions; what else is said of the same models; how it was judged."""
    found = [
        Table("Who refuses least", _NOTE, _HEAD, [_place(line) for line in lines]),
        _by_kind(lines),
        Table(
            "Harmful questions",
            "What a model's caution achieves: it should refuse all harmful questions.",
            ("model", "harmless refused", "harmful refused", "of"),
            [
                (line.model, _rate(line.row.figures), _rate(harmful), _count(harmful.n))
                for line in lines
                if (harmful := line.row.figures.contrast) and harmful.n
            ],
        ),
        Table(
            "The same models, judged by others",
            "Figures from other judges, other runs and publications, to compare with the table above.",
            ("model", "judged by", "refused", "of", "above"),
            [
                (line.model, row.judge, _rate(row.figures), _count(row.figures.n), _rate(line.row.figures))
                for line in lines
                for row in line.others
            ],
        ),
        Table(
            "How they were judged",
            "The interval of a rate allows for the unsure answers; comparisons leave them out. ‘Corrected’ "
            "allows for the judge's own error against people, where that is known. Errors, blocks and empty "
            "answers are outside every rate.",
            ("model", "judge", "corrected", "unsure", "errors", "blocked", "empty", "undecided"),
            [_judged(line) for line in lines if line.row.figures.n],
        ),
    ]
    return [table for table in found if table.rows]


_HEAD: Final = ("model", "place", "refused", "of", "p")


def _place(line: Standing) -> tuple[str, ...]:
    figures, (low, high) = line.row.figures, line.places or (0, 0)
    place = f"{line.place} (may be {low}–{high})" if low < high else str(line.place)
    return (
        line.model,
        place if line.places else show.NONE,
        _rate(figures),
        _count(figures.n),
        f"{line.above[1].p_adjusted:.2g}" if line.above else "",
    )


def _by_kind(lines: Sequence[Standing]) -> Table:
    values = list(dict.fromkeys(v for line in lines for v in line.row.figures.slices.get(STIMULUS, {})))
    rows = [
        (line.model, *(_rate(found[v]) if v in found else "" for v in values))
        for line in lines
        if (found := line.row.figures.slices.get(STIMULUS, {}))
    ]
    return Table("By kind of question", "", ("model", *values), rows)


def _judged(line: Standing) -> tuple[str, ...]:
    figures = line.row.figures
    beside = (figures.unsure, figures.errors, figures.blocked, figures.empty, figures.undecided)
    return line.model, line.row.judge, rate(figures, corrected=True), *map(show.count, beside)


def _rate(figures: Counted) -> str:
    if figures.rate_interval:
        return rate(figures)
    return "" if figures.rate is None else show.percent(figures.rate)


def _count(n: int) -> str:
    return show.count(n) if n else ""


def lines(found: Sequence[Standing], wide: int) -> Iterator[str]:
    """The same on a terminal of so many columns."""
    for table in tables(found):
        yield table.title
        yield from show.grid(table.head, table.rows, wide)
        yield ""
    yield from show.wrapped("result", conclusion(found), wide)


def conclusion(found: Sequence[Standing]) -> str:
    rated = [line for line in found if line.row.figures.rate is not None]
    if not rated:
        return "No model has a rate."
    first, last = rated[0], rated[-1]
    if len(rated) == 1:
        return f"{first.model} refuses {_rate(first.row.figures)} of harmless questions."
    said = (
        f"{first.model} refuses {_rate(first.row.figures)} of the harmless questions, {last.model} "
        f"{_rate(last.row.figures)}."
    )
    leaders = may_be_first(found)
    if len(leaders) == 1:
        return f"{said} {leaders[0]} refuses fewer than any other."
    if len(leaders) == 2:
        return f"{said} Either {leaders[0]} or {leaders[1]} may be the one that refuses fewest."
    if leaders:
        return f"{said} Any of these may be the one that refuses fewest: {', '.join(leaders)}."
    return said


def html(found: Sequence[Standing]) -> str:
    def named(row: ModelRow, model: str) -> str:
        return f"{model} ({row.judge})" if row.judge else model

    blocks = trade_off(points((named(one.row, one.model), one.row.figures) for one in found))
    body = rendered(
        "weakspot.after:leaderboard.html.j2",
        conclusion=conclusion(found),
        figures=[block for block in blocks if isinstance(block, Figure)],
        points=[block for block in blocks if isinstance(block, Table)],
        tables=tables(found),
    )
    title = f"Oversensitivity: {show.plural(len(found), 'model')}"
    return page(body, title=title, study="leaderboard", version=__version__)
