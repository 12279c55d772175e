"""What makes a report readable: differences that are marked, cells that fit, pictures that are pictures."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.report import document
from weakspot.report.document import Allowance, Html, Section
from weakspot.report.html import PICTURES, _kinds, html
from weakspot.report.plots import Figure, svg
from weakspot.report.ranking import Stretch, marked
from weakspot.store import Run, RunConfig, png
from weakspot.studies.repair.document import RepairDocument
from weakspot.study import reports as report


def luminance(colour: str) -> float:
    """As the accessibility guidelines define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_contrast_in_the_light_and_in_the_dark() -> None:
    style = (files("weakspot.report") / "templates" / "report.css").read_text()
    light, _, dark = style.partition("* { box-sizing")[0].partition("@media (prefers-color-scheme: dark)")
    for name, text in (("light", light), ("dark", dark)):
        found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6}|#fff)\b", text))
        ink = {key: value if len(value) == 7 else "#ffffff" for key, value in found.items()}
        words = [(a, b) for a in ("ink", "soft", "fail", "pass", "base") for b in ("paper", "card")]
        words += [("soft", "wash"), ("fail", "fail-wash"), ("warn", "warn-wash"), ("paper", "ink")]
        words += [("ink", f"heat-{i}") for i in range(6)] + [("heat-ink", f"heat-{i}") for i in (6, 7, 8)]
        for a, b in words:
            assert contrast(ink[a], ink[b]) >= 4.5, (name, a, b, contrast(ink[a], ink[b]))
        for bar in ("fail-bar", "base-bar"):
            assert contrast(ink[bar], ink["paper"]) >= 3, (name, bar, contrast(ink[bar], ink["paper"]))


def joined(stretches: list[Stretch]) -> str:
    return "".join(s.words + (" " if s.gap else "") for s in stretches)


@pytest.mark.parametrize(
    ("first", "second", "lost", "new"),
    [
        ("a cat in the snow.", "a dog in the snow.", ["cat"], ["dog"]),
        ("a boat on the sea.", "a boat on the sea next to a dog.", [], ["next to a dog"]),
        ("it is clear", "it is not clear", [], ["not"]),
        ("the same", "the same", [], []),
        ("", "all new, all of it", [], ["all new, all of it"]),
        ('<b> & "x"', '<i> & "x"', ["b"], ["i"]),
    ],
)
def test_what_differs_is_marked_and_nothing_is_lost(
    first: str, second: str, lost: list[str], new: list[str]
) -> None:
    one, other = marked(first, second)
    assert ([s.words for s in one if s.changed], [s.words for s in other if s.changed]) == (lost, new)
    assert (joined(one), joined(other)) == (first, second)


def test_short_columns_stay_on_one_line() -> None:
    rows = [("mode 1", "rotated by ten degrees and darkened by half", "1.2e-73"), ("mode 2", "as is", "0.5")]
    assert _kinds(rows) == ["few", "long", "few"]
    assert _kinds([]) == []


def test_wide_pictures_are_scrolled_and_narrow_ones_shrink() -> None:
    figures = [Figure("f", "t", ("a",), [(1,)], svg(wide, 10, "t", [])) for wide in (920, 400)]
    assert [one.broad for one in figures] == [True, False]


def test_pictures_of_a_repair_can_be_seen(tmp_path: Path) -> None:
    """They are longer than any text may be, and were once cut like text."""
    noise = np.random.default_rng(1).integers(0, 255, (96, 96, 3)).astype(np.uint8)
    config = RunConfig(study="repair", subject="image-125", settings={"target": "t"})
    with Run.create(config, folder=tmp_path / "run") as run:
        row: dict[str, Any] = {
            "blob": run.blobs.put(png(noise)),
            "expected": "fly",
            "before": "bee",
            "after": "fly",
        }
        row |= {"made": False, "words": "darkened 50 %"}
        shown = {**row, "uris": [document.picture(run, row["blob"], Allowance(PICTURES))]}

        class Changed(RepairDocument):
            def sections(self, allowance: Allowance) -> Iterable[Section]:
                yield Section("Changed", [Html("weakspot.studies.repair:changed.html.j2", {"rows": [shown]})])

        page = html(Changed(run))
    sources = re.findall(r'<img src="([^"]+)"', page)
    assert len(sources) == 1
    head, _, body = sources[0].partition(",")
    assert head == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(body, validate=True))) as picture:
        assert picture.size == (96, 96)
        picture.load()


def test_what_a_report_does_not_hold_is_linked_where_it_lies(tmp_path: Path) -> None:
    config = RunConfig(study="hunt", subject="fly", settings={"target": "t", "label": "fly"})
    with Run.create(config, folder=tmp_path / "run") as run:
        run.blobs.put(b"x")
        inside, elsewhere = report.write(run), report.write(run, folder=tmp_path / "mail")
    links = re.findall(r'<a href="([^"#]+)"', inside.read_text())
    assert links == ["report.json", "report.md", "blobs/"]
    assert all((inside.parent / link).exists() for link in links)
    assert re.findall(r'<a href="([^"#]+)"', elsewhere.read_text()) == []
