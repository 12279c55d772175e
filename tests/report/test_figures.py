"""Figures: what they draw, and what they are saved as."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest
from markupsafe import Markup

from weakspot.core import Rate
from weakspot.report import cells, plots
from weakspot.report.plots import Bins, Figure, Lanes, Mark, named, table
from weakspot.stats import wilson
from weakspot.studies.hunt.cards import ranking
from weakspot.studies.hunt.listing import Listing
from weakspot.study import reports as report

Build = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)> </pre></script><script>alert(2)</script> \x1b[31m\u202e\ufffe\ud800"


def rate(failures: int, n: int) -> Rate:
    return Rate(failures / n, *wilson(failures, n), n, failures)


LANES = Lanes([Mark("a", "", rate(10, 100)), Mark(HOSTILE, "", rate(50, 100))], ("",), {"a": rate(1, 100)})
BOTH = Lanes(
    [Mark(row, s, rate(i + 1, 20), g) for g in "gh" for row in "ab" for i, s in enumerate(("one", HOSTILE))],
    ("one", HOSTILE),
    bars=True,
)
AXES = [cells.Axis(f"{name}{HOSTILE}", ["1", HOSTILE, "3"]) for name in "abc"]
BINS = [Bins("random", [0, 3, 9, 1]), Bins(HOSTILE, [0, 0, 2, 5])]


PICTURES: dict[str, Callable[[], Markup]] = {
    "lanes": lambda: plots.lanes(LANES, HOSTILE),
    "bars": lambda: plots.lanes(BOTH, HOSTILE),
    "histograms": lambda: plots.histograms(BINS, low=-1, high=1, cut=0.5, title=HOSTILE),
    "no cut": lambda: plots.histograms(BINS, low=-1, high=1, cut=None, title=HOSTILE),
    "heat": lambda: cells.heat(AXES[0], AXES[1], [[0.0, 0.1, 0.2]] * 3, 0.2),
    "never": lambda: cells.heat(AXES[0], AXES[1], [[0.0] * 3] * 3, 0.0),
    "curve": lambda: plots.curves([plots.Curve("", [(0, 0), (10, 4)])], HOSTILE, across=HOSTILE, up=HOSTILE),
    "curves": lambda: plots.curves(
        [plots.Curve(HOSTILE, [(0, 0.2), (1, 0.1)], 1), plots.Curve("b", [(0, 0.0), (1, 0.0)])],
        "t", across="rounds", shares=True,
    ),
}  # fmt: skip


def plain(figure_rows: list[tuple[Any, ...]], *, columns: tuple[str, ...] = ("a", "b")) -> Figure:
    return Figure("f", "A figure", columns, figure_rows, Markup("<svg></svg>"))


# -- data ---------------------------------------------------------------------------------------------


def test_data_comes_back_from_the_csv() -> None:
    rows = [('it\'s, a "word"', 0.123456789), (HOSTILE, 3), ("=1+1", -2.5), ("@x", 1), (" =cmd()", 0)]
    back = list(csv.reader(io.StringIO(table(plain(rows)))))
    assert back[0] == ["a", "b"]
    assert back[1] == ['it\'s, a "word"', "0.123457"]
    assert back[2][0].startswith("<img src=x onerror=alert(1)> </pre></script>")
    assert "\x1b" not in back[2][0]
    assert [row[0][0] for row in back[3:6]] == ["'", "'", "'"]  # no formula
    assert back[3][1] == "-2.5"  # a number may be negative


def test_data_is_bounded() -> None:
    long = "w" * 1_000_000
    text = table(plain([(long, i) for i in range(6_000)]))
    assert text.count("\n") == 5_001
    assert len(text) < 5_001 * 400


@pytest.mark.parametrize(("words", "name"), [(("Rate", 0, "a/b\\..", "é"), "rate-0-a-b"), (("…",), "figure")])
def test_names_of_files(words: tuple[object, ...], name: str) -> None:
    assert named(*words) == name


# -- pictures ------------------------------------------------------------------------------------------


def test_points_lie_where_the_rates_say() -> None:
    root = ET.fromstring(str(plots.lanes(LANES, "title")))
    dots = [float(e.get("cx", "")) for e in root.iter("circle")]
    ticks = {
        (e.text or "").strip(): float(e.get("x", "")) for e in root.iter("text") if "%" in (e.text or "")
    }
    low, high = ticks["0 %"], ticks["60 %"]
    assert [(x - low) / (high - low) * 0.6 for x in dots] == pytest.approx([0.1, 0.5], abs=1e-3)
    assert root.get("aria-label") == "title"


def test_bars_are_as_long_as_the_rates() -> None:
    root = ET.fromstring(str(plots.lanes(BOTH, "title")))
    bars = [float(e.get("width", "")) for e in root.iter("rect") if e.get("height") == "9"]
    assert [bar / bars[1] for bar in bars] == pytest.approx([0.5, 1.0] * 4, abs=1e-2)


def test_red_in_a_histogram_is_what_failed(build: Build) -> None:
    bins = [Bins("random", [0, 3, 9, 1]), Bins("b", [0, 0, 2, 5], [0, 0, 1, 5])]
    picture = plots.histograms(bins, low=-1, high=1, cut=0.5, title="t")
    rects = [
        (e.get("fill") or "", float(e.get("height", "0"))) for e in ET.fromstring(str(picture)).iter("rect")
    ]
    red = [high for ink, high in rects if "fail" in ink]
    assert red == [pytest.approx(36 / 5, abs=0.1), pytest.approx(36, abs=0.1)]
    assert len(rects) == 3 + 3
    assert "7 pairs, 6 failed" in picture
    assert not Figure("f", "t", (), [], picture).broad  # a narrow screen holds it whole


def test_the_figure_of_the_findings_has_their_rates_and_the_baselines(build: Build) -> None:
    builder = build()
    builder.baseline(8)
    found = builder.finding("it is on a flower.", 63, 100, wrong="bee")
    rates = ranking(Listing(builder.finish()), [found]).figure()
    assert rates.rows[0] == ("1. it is on a flower", "failure rate", *found.rate[:3], 63, 100)
    assert rates.rows[1][5:] == (8, 1000)


def test_a_run_without_findings_has_no_figures(build: Build) -> None:
    builder = build()
    builder.baseline()
    assert 'class="plot' not in report.html(builder.finish())


@pytest.mark.parametrize("name", PICTURES)
def test_every_picture_is_safe(name: str) -> None:
    text = str(PICTURES[name]())
    root = ET.fromstring(text)
    kinds = {element.tag for element in root.iter()}
    assert kinds <= {"svg", "g", "line", "rect", "circle", "polyline", "polygon", "text", "title"}
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or a.endswith("href")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert root.get("aria-label")


def test_curves_begin_and_end_where_the_points_say() -> None:
    root = ET.fromstring(str(plots.curves([plots.Curve("", [(0, 0), (10, 4)])], "t", across="queries")))
    [line] = root.iter("polyline")
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line.get("points", "").split())
    assert (x1, y1) == (62, 194)
    assert x2 == 462
    assert y2 < y1


def test_a_page_needs_no_eval_and_has_one_script(build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.finding(HOSTILE, 63, 100, wrong=HOSTILE)
    text = report.html(builder.finish())
    assert text == report.html(builder.run)  # every time the same
    head = text.partition("</head>")[0]
    assert "unsafe-eval" not in head
    assert head.count("sha256-") == text.count("<script>") == 1
