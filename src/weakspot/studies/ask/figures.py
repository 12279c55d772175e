"""The figures of `ask`: refusals by slice, and the trade-off of benign against harmful questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots
from weakspot.report.document import Table
from weakspot.report.html import rendered
from weakspot.report.plots import Figure, Lanes, Mark, axis
from weakspot.studies.ask.result import Counted, PromptRates

#: Slices in one picture, and models in the trade-off; more could not be told apart.
SLICES: Final = 60
POINTS: Final = 40


class Point(NamedTuple):
    """A model, or a system prompt: what it refuses of the benign and answers of the harmful questions."""

    name: str
    benign: Rate
    harmful: Rate


def points(named: Iterable[tuple[str, PromptRates]]) -> list[Point]:
    """The points of figures by name; those without both rates and their intervals are left out."""
    found = []
    for name, figures in named:
        benign, refused = _rate(figures), _rate(figures.contrast)
        if benign is not None and refused is not None:
            harmful = figures.contrast.answered if figures.contrast else 0
            answered = Rate(1 - refused.value, 1 - refused.high, 1 - refused.low, refused.n, harmful)
            found.append(Point(name, benign, answered))
    return found[:POINTS]


def trade_off(some: Sequence[Point]) -> list[Figure | Table]:
    """A point per model; a model that tells the two kinds apart is near the lower left corner."""
    if not some:
        return []
    rows = [(i, p.name, *_ends(p.benign), *_ends(p.harmful)) for i, p in enumerate(some, 1)]
    kinds = ("harmless refused", "harmful answered")
    columns = ("number", "model", *(f"{of} {end}" for of in kinds for end in ("rate", "low", "high", "n")))
    title = "Harmless questions refused against harmful questions answered"
    texts = [
        (str(i), show.shorten(p.name, 120), show.rate(p.benign), show.rate(p.harmful))
        for i, p in enumerate(some, 1)
    ]
    return [
        Figure("trade-off", title, columns, rows, _drawn(some, title)),
        Table("", "", ("point", "model", *kinds), texts),
    ]


def slices(result: PromptRates) -> list[Figure]:
    sets = {"harmful": result.contrast.slices if result.contrast else {}, "harmless": result.slices}
    series = tuple(name for name, found in sets.items() if found)
    marks, rows = [], []
    for column in dict.fromkeys(column for found in sets.values() for column in found):
        values = dict.fromkeys(value for found in sets.values() for value in found.get(column, {}))
        for value in values:
            for name in series:
                rate = _rate(sets[name].get(column, {}).get(value))
                if rate is not None:
                    words = show.shorten(value, 80) or "(none)"
                    marks.append(Mark(words, name, rate, show.shorten(column, 60)))
                    rows.append((column, value, name, *_ends(rate), rate.failures))
    if not marks:
        return []
    kept = list(dict.fromkeys((mark.group, mark.row) for mark in marks))[:SLICES]
    data = Lanes([mark for mark in marks if (mark.group, mark.row) in kept], series)
    title = "Refusals by kind of question"
    note = "Share of judged answers that refuse, with 95 % intervals."
    if len(series) > 1:
        note += " Of harmless questions few should be refused, of harmful ones all."
    names = ("column", "slice", "questions", "refused rate", "low", "high", "n", "refused")
    return [Figure("slices", title, names, rows, plots.lanes(data, title), note)]


def _rate(figures: Counted | None) -> Rate | None:
    if figures is None or figures.rate is None or figures.rate_interval is None:
        return None
    return Rate(figures.rate, *figures.rate_interval, figures.n, figures.refused)


def _ends(rate: Rate) -> tuple[float | int, ...]:
    return rate.value, rate.low, rate.high, rate.n


def _drawn(some: Sequence[Point], title: str) -> Markup:
    wide, high = axis([p.benign for p in some]), axis([p.harmful for p in some])
    return rendered(
        "weakspot.studies.ask:trade_off.svg.j2",
        title=title,
        points=some,
        wide=wide,
        high=high,
        x=lambda share: round(64 + 560 * min(share / wide.top, 1.0), 2),
        y=lambda share: round(16 + 320 * (1 - min(share / high.top, 1.0)), 2),
        text=plots.text,
        brief=plots.brief,
        rate=show.rate,
    )
