"""The figures of a run of `mine`: shares taken for alike, and how alike pairs are to the encoder."""

from __future__ import annotations

from typing import Final

from weakspot.report import format as show
from weakspot.report import plots, vega_charts
from weakspot.report.figure import Figure
from weakspot.report.mine_facts import BINS, Mined
from weakspot.report.plots import Bins, Lanes, Mark

#: Categories in a picture.
CATEGORIES: Final = 24
#: Categories with a histogram.
SHAPES: Final = 12


def mine_figures(told: Mined) -> list[Figure]:
    """The figures, as far as there are pairs."""
    return [*_rates(told), *_similarities(told)]


def _rates(told: Mined) -> list[Figure]:
    found = [row for row in told.rows if row.rate.n][:CATEGORIES]
    if not found:
        return []
    usual = told.bases[0].rate if told.bases and told.bases[0].rate.n else None
    names = [f"{i}. {show.shorten(row.name, 80)}" for i, row in enumerate(found, start=1)]
    data = Lanes(
        [Mark(name, "", row.rate) for name, row in zip(names, found, strict=True)],
        ("",),
        dict.fromkeys(names, usual) if usual is not None else {},
    )
    rows = [
        (row.name, row.state, row.rate.value, row.rate.low, row.rate.high, row.rate.failures, row.rate.n)
        for row in (*found, *told.bases)
    ]
    title = "New pairs taken for alike although they differ"
    note = "Shares with 95 % intervals; the blue band is the interval of captions with any word replaced."
    columns = ("category", "state", "share", "low", "high", "alike", "n")
    return [
        Figure("rates", title, columns, rows, plots.lanes(data, title), lambda: vega_charts.lanes(data), note)
    ]


def _similarities(told: Mined) -> list[Figure]:
    rows = [Bins("random pairs of the corpus", told.mined["random"])] if told.mined else []
    rows += [Bins(row.name, row.similarities) for row in (*told.bases[:1], *told.rows[:SHAPES])]
    rows = [row for row in rows if sum(row.counts)]
    if not rows:
        return []
    first = min(next(i for i, n in enumerate(row.counts) if n) for row in rows)
    first -= first % 5  # to a round number: bins are 0.04 wide
    low, high = 2 * first / BINS - 1, 1.0
    shapes = [Bins(row.name, row.counts[first:]) for row in rows]
    data = [
        (row.name, low + 2 * i / BINS, low + 2 * (i + 1) / BINS, n)
        for row in shapes
        for i, n in enumerate(row.counts)
        if n
    ]
    cut = told.threshold
    title = "Similarities of pairs to the encoder"
    note = "" if cut is None else f"Right of the dashed line, {cut:.3f}, pairs are taken for alike."
    return [
        Figure(
            "similarities", title, ("pairs", "from", "to", "count"), data,
            plots.histograms(shapes, low=low, high=high, cut=cut, title=title),
            lambda: vega_charts.histograms(shapes, low=low, high=high, cut=cut, unit="pair"), note,
        )
    ]  # fmt: skip
