"""Figures: what they draw, what they are saved as, and what Vega-Lite makes of them."""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from weakspot.core import Rate, Stage
from weakspot.report import plots, shell, vega, vega_charts
from weakspot.report.figure import Figure, named, shown, table
from weakspot.report.plots import Bins, Lanes, Mark
from weakspot.stats import wilson
from weakspot.studies.hunt.figures import figures
from weakspot.studies.hunt.listing import Listing
from weakspot.study import reports as report

Build = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)> </pre></script><script>alert(2)</script> \x1b[31m\u202e\ufffe\ud800"
SVG = "{http://www.w3.org/2000/svg}"


def rate(failures: int, n: int) -> Rate:
    return Rate(failures / n, *wilson(failures, n), n, failures)


LANES = Lanes([Mark("a", "", rate(10, 100)), Mark(HOSTILE, "", rate(50, 100))], ("",), {"a": rate(1, 100)})
BOTH = Lanes(
    [Mark(row, s, rate(i + 1, 20), g) for g in "gh" for row in "ab" for i, s in enumerate(("one", HOSTILE))],
    ("one", HOSTILE),
    bars=True,
)
AXES = [{"name": f"{name}{HOSTILE}", "values": ["1", HOSTILE, "3"]} for name in "abc"]
CELLS = [((x, y, z), (x + y + z) / 6, HOSTILE) for x in range(3) for y in range(3) for z in range(3)]
BINS = [Bins("random", [0, 3, 9, 1]), Bins(HOSTILE, [0, 0, 2, 5])]


CHARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "lanes": lambda: vega_charts.lanes(LANES),
    "bars": lambda: vega_charts.lanes(BOTH),
    "histograms": lambda: vega_charts.histograms(BINS, low=-1, high=1, cut=0.5, unit="pair"),
    "no cut": lambda: vega_charts.histograms(BINS, low=-1, high=1, cut=None, unit="pair"),
    "heat": lambda: vega_charts.heat(AXES, {"axes": [0, 1], "rates": [[0.0, 0.1, 0.2]] * 3}, 0.2),
    "never": lambda: vega_charts.heat(AXES, {"axes": [0, 1], "rates": [[0.0] * 3] * 3}, 0.0),
    "curve": lambda: vega_charts.curve([(0, 0), (10, 4)], across="queries", up="failures"),
    "lines": lambda: vega_charts.lines([(0, "a", 0.2, False), (1, "a", 0.1, True)], across="rounds"),
    "scatter": lambda: vega_charts.scatter(AXES, CELLS, 1.0),
}


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


# -- pictures drawn without a library -----------------------------------------------------------------


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


def test_what_is_beyond_the_cut_is_red() -> None:
    root = ET.fromstring(str(plots.histograms(BINS, low=-1, high=1, cut=0.5, title="t")))
    inks = [e.get("fill") for e in root.iter("rect")]
    assert [("fail" in (ink or "")) for ink in inks] == [False, False, True, False, True]


def test_the_answers_of_a_hunt_are_those_of_the_ledger(build: Build) -> None:
    builder = build()
    builder.baseline(8)
    found = builder.finding("it is on a flower.", 63, 100, wrong="bee")
    run = builder.finish()
    rates, answers = figures(Listing(run))
    assert rates.rows[0][1:] == ("with these words", *found.rate[:3], 63, 100)
    assert rates.rows[1][5:] == (8, 1000)
    said = {(row[1], row[2]): row[6:] for row in answers.rows}
    before = run.ledger.answers(builder.base, Stage.EXPLORE, failed=True)
    assert said["bee", "with these words"] == (63, 100)
    assert said["bee", "baseline"] == (before.get("bee", 0), 1000)


def test_a_run_without_findings_has_no_figures(build: Build) -> None:
    builder = build()
    builder.baseline()
    assert 'class="plot' not in report.html(builder.finish())


# -- Vega-Lite ----------------------------------------------------------------------------------------


@pytest.fixture
def charts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Vega-Lite is used; its scripts are short and kept in a place of their own."""
    pytest.importorskip("altair")
    vl_convert = pytest.importorskip("vl_convert")
    monkeypatch.delenv(vega.SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "window.vegaEmbed = '</script><!--';")
    vega.bundle.cache_clear()


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_becomes_a_safe_picture(charts: None, name: str) -> None:
    spec = vega.themed(CHARTS[name]())
    assert "$schema" not in spec
    json.dumps(spec, allow_nan=False)
    text = str(vega.svg(spec, "A <title>"))
    root = ET.fromstring(text)
    assert root.get("aria-label") == "A <title>"
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "g", "path", "line", "rect", "text", "tspan", "title", "defs", "clipPath"}
    assert not [a for e in root.iter() for a in e.attrib if a.startswith("on") or a.endswith("href")]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert len(list(root.iter(f"{SVG}path"))) > 3


def test_a_page_with_charts(charts: None, build: Build) -> None:
    builder = build()
    builder.baseline()
    builder.finding(HOSTILE, 63, 100, wrong=HOSTILE)
    text = report.html(builder.finish())
    assert text == report.html(builder.run)  # every time the same
    specs = [json.loads(unescape(s)) for s in re.findall(r'<pre hidden class="spec">(.*?)</pre>', text, re.S)]
    assert len(specs) == 2
    assert HOSTILE.split(" \x1b")[0] in json.dumps(specs, ensure_ascii=False)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.S)
    assert len(scripts) == 2
    assert scripts[0].count("<\\/script><\\!--") == 1
    assert "'unsafe-eval'" in text.partition("</head>")[0]
    assert len(re.findall(r"sha256-", text.partition("</head>")[0])) == 2


def test_scripts_are_left_out_where_they_do_not_fit(
    charts: None, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = build()
    builder.baseline()
    builder.finding("it is on a flower.", 63, 100)
    run = builder.finish()
    size = len(report.html(run).encode())
    monkeypatch.setattr(shell, "LARGEST", size - 1)
    text = report.html(run)
    assert text.count("<script>") == 1
    assert "unsafe-eval" not in text
    assert 'class="marks"' not in text
    assert "var(--fail)" in text  # the static picture of the chart is there


def test_the_scripts_are_made_once(charts: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import vl_convert

    first = vega.bundle()
    vega.bundle.cache_clear()
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: pytest.fail("made again"))
    assert vega.bundle() == first
    (kept,) = (tmp_path / "cache" / "weakspot").iterdir()
    kept.write_text(first[:20])  # half a file
    vega.bundle.cache_clear()
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: "1;")
    assert vega.bundle() == "(() => {1;\n})();\n"
    vega.bundle.cache_clear()


def test_without_the_libraries_pictures_are_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(vega.SWITCH, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    figure = plain([("x", 1)])._replace(spec=lambda: pytest.fail("not wanted"))
    (one,) = shown([figure])
    assert (one.picture, one.spec) == (figure.plain, "")
