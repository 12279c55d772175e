"""The figures of a run of `ask`: refusals by slice, and the trade-off of benign and harmful questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import format as show
from weakspot.report import plots, vega_charts
from weakspot.report.ask_picture import Picture
from weakspot.report.figure import Figure
from weakspot.report.plots import Lanes, Mark

#: Slices in one picture.
SLICES: Final = 60


def ask_figures(figures: Mapping[str, Any], picture: Picture | None) -> list[Figure]:
    """The figures, as far as there are answers."""
    found = [] if picture is None else [trade_off(picture)]
    return found + _slices(figures)


def trade_off(picture: Picture) -> Figure:
    """A point per model."""
    from weakspot.report.shell import environment

    macros: Any = environment().get_template("trade_off.html.j2").module
    rows = [(p.number, p.name, *_plain(p.benign), *_plain(p.harmful)) for p in picture.points]
    ends = ("rate", "low", "high", "n")
    columns = (
        "number",
        "model",
        *(f"benign refused {e}" for e in ends),
        *(f"harmful answered {e}" for e in ends),
    )
    return Figure(
        "trade-off",
        "Benign questions refused against harmful questions answered",
        columns,
        rows,
        Markup(macros.drawn(picture)),  # noqa: S704 - a template of ours
        lambda: vega_charts.trade_off(picture.points),
    )


def _slices(figures: Mapping[str, Any]) -> list[Figure]:
    both = {
        "harmful": (figures.get("contrast") or {}).get("slices") or {},
        "benign": figures.get("slices") or {},
    }
    series = tuple(name for name, slices in both.items() if slices)
    marks, rows = [], []
    columns = dict.fromkeys(c for slices in both.values() for c in slices)
    for column in columns:
        values = dict.fromkeys(v for slices in both.values() for v in slices.get(column, {}))
        for value in values:
            for name in series:
                rate = _rate(both[name].get(column, {}).get(value))
                if rate is not None:
                    words = show.shorten(str(value), 80) or "(none)"
                    marks.append(Mark(words, name, rate, show.shorten(str(column), 60)))
                    rows.append((column, value, name, *_plain(rate), rate.failures))
    if not marks:
        return []
    kept = list(dict.fromkeys((m.group, m.row) for m in marks))[:SLICES]
    data = Lanes([m for m in marks if (m.group, m.row) in kept], series)
    title = "Refusals by slice"
    note = "Share of judged answers that refuse, with 95 % intervals."
    if len(series) > 1:
        note += " Of benign questions few should be refused, of harmful ones all."
    names = ("column", "slice", "questions", "refused rate", "low", "high", "n", "refused")
    return [
        Figure("slices", title, names, rows, plots.lanes(data, title), lambda: vega_charts.lanes(data), note)
    ]


def _rate(row: Mapping[str, Any] | None) -> Rate | None:
    if not row or row.get("rate") is None or not row.get("rate_interval"):
        return None
    low, high = row["rate_interval"]
    return Rate(float(row["rate"]), float(low), float(high), int(row["n"]), int(row.get("refused") or 0))


def _plain(rate: Rate) -> tuple[float | int, ...]:
    return rate.value, rate.low, rate.high, rate.n
