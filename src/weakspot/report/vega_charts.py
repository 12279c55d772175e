"""The charts of the report in Vega-Lite, written with altair. Each returns a specification without a look."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from weakspot.report import format as show
from weakspot.report.chart import axis
from weakspot.report.figure import CELL, Spec, values
from weakspot.report.plots import BARS, INKS, Bins, Lanes, Mark, brief

#: Steps of the scale of rates, from never to the worst of a picture.
HEATS: Final = tuple(f"var(--heat-{i})" for i in range(9))
_PERCENT: Final = "format(100 * datum.value, '~g') + ' %'"
#: Of the rates in rows: the rates, and the names at their left.
_WIDE, _NAMES = 600, 310


def lanes(data: Lanes) -> Spec:
    """Rates with intervals in rows, as points or as bars; several series below one another.

    Rows are placed by hand, since names of rows may repeat from group to group.
    """
    import altair as alt

    many, y, group = len(data.series) > 1, 0.0, ""
    series = [show.shorten(name, CELL) for name in data.series]  # as the data has them
    step = 13.0 * len(data.series) + 5 if many else 24.0
    marks: list[Sequence[Any]] = []
    names: list[Sequence[Any]] = []
    bands: list[Sequence[Any]] = []
    rows: dict[tuple[str, str], list[Mark]] = {}
    for mark in data.marks:
        rows.setdefault((mark.group, mark.row), []).append(mark)
    for (heading, row), several in rows.items():
        if heading != group:
            group, y = heading, y + (30 if y else 20)
            names.append((brief(heading, 120), y - 6, True))
        names.append((brief(row, 44), y + step / 2, False))
        if (band := data.bands.get(row)) is not None:
            bands.append((band.low, band.high, y + 1, y + step - 1))
        for m in several:
            at = y + (9 + 13 * data.series.index(m.series) if many else step / 2)
            if m.rate.n:
                told = (m.row, m.series, show.rate(m.rate))
                marks.append((*told, 0.0, m.rate.value, m.rate.low, m.rate.high, at, at - 4.5, at + 4.5))
        y += step
    columns = ("row", "series", "told", "zero", "rate", "low", "high", "y", "above", "below")
    base = alt.Chart(alt.Data(values=values(columns, marks)))
    scale = alt.Scale(domain=[0, axis([m.rate for m in data.marks] + list(data.bands.values())).top])
    down = alt.Scale(domain=[0, y], range=[0, y], nice=False, zero=False)
    percent = {"title": None, "axis": alt.Axis(labelExpr=_PERCENT, tickCount=5)}
    pool = BARS if data.bars else INKS
    inks = list(pool[: len(data.series)]) if many else [pool[1]]
    colour = alt.Color("series:N").scale(domain=series, range=inks)
    colour = colour.sort(None) if many else colour.legend(None)
    tips = [alt.Tooltip("row:N").title("where"), alt.Tooltip("told:N").title("rate")]
    tips += [alt.Tooltip("series:N").title("of")] if many else []

    def at_y(name: str) -> Any:
        return alt.Y(f"{name}:Q").scale(down).axis(None)

    def at_x(name: str) -> Any:
        return alt.X(f"{name}:Q", **percent).scale(scale)

    layers = []
    if bands:
        shade = alt.Chart(alt.Data(values=values(("low", "high", "above", "below"), bands)))
        shade = shade.mark_rect(color="var(--base-bar)", opacity=0.55, aria=False)
        layers.append(shade.encode(x=at_x("low"), x2="high:Q", y=at_y("above"), y2="below:Q"))
    ink: Any = alt.value("var(--ink)") if data.bars else colour
    line = base.mark_rule(strokeWidth=1.6, aria=False).encode(
        x=at_x("low"), x2="high:Q", y=at_y("y"), color=ink
    )
    if data.bars:
        bar = base.mark_rect(aria=False).encode(
            x=at_x("zero"), x2="rate:Q", y=at_y("above"), y2="below:Q", color=colour, tooltip=tips
        )
        layers += [bar, line]
    else:
        point = base.mark_circle(size=75, opacity=1, aria=False)
        layers += [line, point.encode(x=at_x("rate"), y=at_y("y"), color=colour, tooltip=tips)]
    for is_heading in (False, True):
        some = [row[:2] for row in names if row[2] is is_heading]
        if some:
            how = {"align": "left", "limit": 800, "fontWeight": 600}
            how = how if is_heading else {"align": "right", "limit": 255}
            text = alt.Chart(alt.Data(values=values(("name", "y"), some)))
            text = text.mark_text(aria=False, baseline="middle", **how)
            place = alt.value(-_NAMES if is_heading else -10)
            layers.append(text.encode(x=place, y=at_y("y"), text="name:N"))
    chart = alt.layer(*layers).properties(width=_WIDE, height=y)
    # Browsers may have wider letters than vl-convert, which measured the names.
    return dict(chart.to_dict()) | {"padding": {"left": 40, "right": 8, "top": 2, "bottom": 2}}


def histograms(rows: Sequence[Bins], *, low: float, high: float, cut: float | None, unit: str) -> Spec:
    """Histograms above one another on one axis, each with its own height."""
    import altair as alt

    columns = ("name", "from", "to", "count", "beyond", "cut")
    found: list[Sequence[Any]] = []
    for row in rows:
        wide = (high - low) / len(row.counts)
        name = f"{show.shorten(row.name, 60)} · {show.plural(sum(row.counts), unit)}"
        for i, n in enumerate(row.counts):
            a = low + i * wide
            if n:
                found.append((name, a, a + wide, n, cut is not None and a + wide > cut + 1e-9, cut))
    names = list(dict.fromkeys(row[0] for row in found))
    base = alt.Chart()
    x = (
        alt.X("from:Q")
        .scale(domain=[low, high], nice=False)
        .title("similarity to the encoder")
        .axis(tickCount=8, grid=False, format="~g")
    )
    bars = base.mark_rect(aria=False, stroke="var(--paper)", strokeWidth=0.6).encode(
        x=x,
        x2="to:Q",
        y=alt.Y("count:Q").title(None).axis(None),
        y2=alt.datum(0),
        color=alt.condition("datum.beyond", alt.value("var(--fail-bar)"), alt.value("var(--base-bar)")),
        tooltip=[alt.Tooltip("from:Q").format(".2f"), alt.Tooltip("to:Q").format(".2f"), "count:Q"],
    )
    layers = [bars]
    if cut is not None:
        rule = base.mark_rule(color="var(--fail)", strokeDash=[4, 3], strokeWidth=1.5, aria=False)
        layers.append(rule.encode(x=alt.X("max(cut):Q").scale(domain=[low, high], nice=False)))
    head = alt.Header(labelOrient="top", labelAnchor="start", title=None, labelPadding=2)
    chart = alt.layer(*layers, data=alt.Data(values=values(columns, found))).properties(width=900, height=42)
    faceted = chart.facet(row=alt.Row("name:N").sort(names).header(head), spacing=8)
    return dict(faceted.resolve_scale(y="independent").to_dict())


def heat(axes: Sequence[dict[str, Any]], pair: dict[str, Any], top: float) -> Spec:
    """Rates over two axes, the rate written into every cell."""
    import altair as alt

    a, b = (axes[i] for i in pair["axes"])
    one, two = ([show.shorten(str(v), CELL) for v in axis["values"]] for axis in (a, b))
    rows = [
        (r, c, float(pair["rates"][i][j]), show.percent(float(pair["rates"][i][j])))
        for i, r in enumerate(one)
        for j, c in enumerate(two)
    ]
    base = alt.Chart(alt.Data(values=values(("a", "b", "rate", "told"), rows))).encode(
        x=alt.X("b:O")
        .sort(two)
        .title(show.shorten(b["name"], 40))
        .axis(labelAngle=0, domain=False, ticks=False),
        y=alt.Y("a:O").sort(one).title(show.shorten(a["name"], 40)).axis(domain=False),
        tooltip=[
            alt.Tooltip("a:N").title(show.shorten(a["name"], 40)),
            alt.Tooltip("b:N").title(show.shorten(b["name"], 40)),
            alt.Tooltip("told:N").title("fails"),
        ],
    )
    cells = base.mark_rect(cornerRadius=3, aria=False, stroke="var(--paper)", strokeWidth=2).encode(
        color=alt.Color("rate:Q")
        .scale(type="quantize", domain=[0, top or 1.0], range=list(HEATS))
        .legend(None)
    )
    strong = alt.datum.rate >= 2 / 3 * (top or 1.0)
    words = base.mark_text(fontSize=11, aria=False).encode(
        text="told:N", color=alt.condition(strong, alt.value("var(--heat-ink)"), alt.value("var(--ink)"))
    )
    size = {"width": alt.Step(64), "height": alt.Step(38)}
    return dict((cells + words).properties(**size).to_dict())


def curve(points: Sequence[tuple[float, float]], *, across: str, up: str) -> Spec:
    """A line that only grows."""
    import altair as alt

    data = alt.Data(values=values((across, up), points))
    x = alt.X(f"{across}:Q").axis(format="~s", tickCount=6, grid=False)
    y = alt.Y(f"{up}:Q").axis(tickCount=4)
    line = alt.Chart(data).mark_line(color="var(--fail)", strokeWidth=2, aria=False).encode(x=x, y=y)
    area = alt.Chart(data).mark_area(color="var(--fail-bar)", opacity=0.15, aria=False).encode(x=x, y=y)
    dots = (
        alt.Chart(data)
        .mark_circle(size=60, opacity=0, aria=False)
        .encode(x=x, y=y, tooltip=[f"{across}:Q", f"{up}:Q"])
    )
    return dict((area + line + dots).properties(width=400, height=180).to_dict())


def lines(rows: Sequence[tuple[float, str, float, bool]], *, across: str) -> Spec:
    """Shares by round, a line per series; the marked ones are points."""
    import altair as alt

    series = list(dict.fromkeys(row[1] for row in rows))
    data = alt.Data(values=values(("round", "series", "share", "chosen"), rows))
    base = alt.Chart(data).encode(
        x=alt.X("round:Q").title(across).axis(tickMinStep=1, grid=False),
        y=alt.Y("share:Q").title(None).axis(labelExpr=_PERCENT, tickCount=4),
        color=alt.Color("series:N").sort(series).scale(domain=series, range=[INKS[1], INKS[0]]),
        tooltip=["round:Q", "series:N", alt.Tooltip("share:Q").format(".1%")],
    )
    chosen = base.transform_filter("datum.chosen").mark_circle(size=90, opacity=1, aria=False)
    return dict(
        (base.mark_line(strokeWidth=2, aria=False) + chosen).properties(width=400, height=180).to_dict()
    )


def scatter(
    axes: Sequence[dict[str, Any]], cells: Sequence[tuple[Sequence[int], float, str]], top: float
) -> Spec:
    """Cells by their first three axes, in a space that can be turned and tilted; the larger the worse."""
    import altair as alt

    three = list(axes[:3])
    half = [(len(axis["values"]) - 1) / 2 or 0.5 for axis in three]

    def centred(place: Sequence[float]) -> list[float]:
        return [(p - h) / h for p, h in zip(place, half, strict=False)]

    points = [(*centred(place[:3]), rate, f"{words}: {show.percent(rate)}") for place, rate, words in cells]
    ends: list[Sequence[Any]] = []
    for i, one in enumerate(three):
        begin, end, beyond = [-1.0] * 3, [-1.0] * 3, [-1.0] * 3
        end[i], beyond[i] = 1.0, 1.25
        name = show.shorten(one["name"], 30)
        ends += [(*begin, name, 0, ""), (*end, name, 1, ""), (*beyond, name, 2, name)]
    turn, tilt = (
        alt.param(name=name, value=value, bind=alt.binding_range(min=low, max=high, step=1, name=f"{name} "))
        for name, value, low, high in (("turn", 35, 0, 360), ("tilt", 25, 0, 90))
    )
    reach = math.sqrt(2) * 1.45
    scale = alt.Scale(domain=[-reach, reach])

    def projected(chart: alt.Chart) -> alt.Chart:
        return chart.transform_calculate(
            across="datum.x * cos(turn * PI / 180) - datum.y * sin(turn * PI / 180)",
            depth="datum.x * sin(turn * PI / 180) + datum.y * cos(turn * PI / 180)",
        ).transform_calculate(up="datum.z * cos(tilt * PI / 180) + datum.depth * sin(tilt * PI / 180)")

    at = {"x": alt.X("across:Q").scale(scale).axis(None), "y": alt.Y("up:Q").scale(scale).axis(None)}
    frame = projected(alt.Chart(alt.Data(values=values(("x", "y", "z", "name", "at", "label"), ends))))
    arms = frame.mark_line(color="var(--soft)", strokeWidth=1.2, aria=False).transform_filter("datum.at < 2")
    names = frame.mark_text(color="var(--ink)", fontSize=12, aria=False).transform_filter("datum.at == 2")
    dots = projected(alt.Chart(alt.Data(values=values(("x", "y", "z", "rate", "told"), points))))
    drawn = dots.mark_circle(opacity=0.9, stroke="var(--paper)", strokeWidth=0.7, aria=False).encode(
        **at,
        size=alt.Size("rate:Q").scale(domain=[0, top or 1.0], range=[12, 260]).legend(None),
        color=alt.Color("rate:Q")
        .scale(type="quantize", domain=[0, top or 1.0], range=list(HEATS))
        .legend(None),
        order=alt.Order("depth:Q").sort("descending"),
        tooltip=alt.Tooltip("told:N").title("cell"),
    )
    chart = alt.layer(
        arms.encode(**at, detail="name:N", order="at:Q"), names.encode(**at, text="label:N"), drawn
    )
    return dict(chart.add_params(turn, tilt).properties(width=400, height=360).to_dict())
