"""Figures of `rare`: a rate and its interval stand where they belong on a logarithmic axis."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from weakspot.report import plots
from weakspot.report.document import Allowance, Table
from weakspot.report.html import html
from weakspot.store import Run, RunConfig
from weakspot.studies.rare.document import RareDocument, lines, rate_figure
from weakspot.studies.rare.result import RareResult

HOSTILE = "<img src=x onerror=alert(1)> </script><script>alert(2)</script> \x1b[31m\u202e"
_PLAIN: dict[str, Any] = {
    "rate": 1e-3, "low": 1e-4, "high": 1e-2, "ceiling": 1e-2, "method": "plain", "agree": True,
    "note": HOSTILE, "images": 5000, "independent": {"n": 5000, "failures": 5}, "repeats": [], "ladder": [],
    "roots": 0.0, "hypothesis": "none", "found": 5, "answers": [[HOSTILE, 0.8], ["", 0.2]], "examples": [],
    "common": [{"words": HOSTILE, "failing": 0.6, "usual": 0.01}],
}  # fmt: skip
_SPLIT = _PLAIN | {
    "rate": 2e-5, "low": 1e-6, "high": 4e-5, "ceiling": 1e-3, "method": "splitting",
    "repeats": [1e-5, 0.0, 3e-5], "ladder": [2.0, 1.0], "roots": 1.5,
    "independent": {"n": 4000, "failures": 0},
}  # fmt: skip
_NEVER = _PLAIN | {
    "rate": 0.0,
    "low": 0.0,
    "high": 8e-4,
    "ceiling": 8e-4,
    "common": [],
    "answers": [],
    "found": 0,
}
PLAIN, SPLIT, NEVER = (RareResult.model_validate(one) for one in (_PLAIN, _SPLIT, _NEVER))


def drawn(result: RareResult) -> ET.Element:
    return ET.fromstring(str(rate_figure(result).picture))


def test_the_rate_lies_between_its_ends_by_powers_of_ten() -> None:
    root = drawn(PLAIN)
    (circle,) = root.iter("circle")
    arm = next(e for e in root.iter("rect"))
    low, wide = float(arm.attrib["x"]), float(arm.attrib["width"])
    # From 1e-4 to 1e-2, with 1e-3 in the middle of them.
    assert float(circle.attrib["cx"]) == pytest.approx(low + wide / 2, abs=0.2)
    marks = [e.text for e in root.iter("text") if e.text and e.text[0].isdigit()]
    assert [m.split()[0].rstrip("0").rstrip(".") for m in marks] == ["1", "0.1", "1"]  # per million, %, %


def test_repeats_and_the_bound_of_independent_draws_have_rows_of_their_own() -> None:
    rate, repeats, alone = lines(SPLIT)
    assert (rate.points, rate.low, rate.high) == ((2e-5,), 1e-6, 4e-5)
    assert repeats.points == (1e-5, 3e-5)
    assert "1 saw no failure" in repeats.words
    assert (alone.points, alone.low, alone.high) == ((), None, 1e-3)
    assert len(list(drawn(SPLIT).iter("circle"))) == 3
    span = [float(e.attrib["x"]) for e in drawn(SPLIT).iter("rect")]
    assert all(plots.NAMES <= x <= plots.WIDE for x in span)


def test_without_a_failure_there_is_an_arm_and_no_point() -> None:
    assert lines(NEVER)[0].words.startswith("at most")
    assert [e.tag for e in drawn(NEVER).iter() if e.tag in ("rect", "circle")] == ["rect"]


def test_shares_have_intervals_where_draws_are_independent_and_none_where_they_are_not(
    tmp_path: Path,
) -> None:
    config = RunConfig(study="rare", subject="s", settings={"target": "t", "label": "l"})
    for name, result, told in (("plain", PLAIN, "60 % [19, 92]"), ("split", SPLIT, "60 %")):
        with Run.create(config, folder=tmp_path / name) as run:
            result.keep(run)
            found = {s.title: s for s in RareDocument(run).sections(Allowance(0))}
            common = found["What the failures have in common"].blocks[0]
        assert isinstance(common, Table)
        assert common.rows[0][1] == told


@pytest.mark.parametrize("result", [PLAIN, SPLIT, NEVER], ids=["plain", "split", "never"])
def test_hostile_words_are_words_in_the_page_and_in_the_pictures(result: RareResult, tmp_path: Path) -> None:
    config = RunConfig(study="rare", subject=HOSTILE, settings={"target": "t", "label": HOSTILE})
    with Run.create(config, folder=tmp_path / "run") as run:
        result.keep(run)
        run.ledger.set_fact("state", "finished")
        page = html(RareDocument(run))
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert page.count('data-name="rate"') == 1
    ET.fromstring(str(rate_figure(result).picture))
