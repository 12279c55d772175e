"""Reports of all studies in a real browser, from disk and without a network.

A test does all there is to do with a report, so that no run is made twice where tests are shared out.
"""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.report.report_parts import SEEN, STUDIES, make_run
from tests.web.browser import browser, watched
from tests.web.web_parts import make_ask, make_hunt

from weakspot.after.side_by_side import write_several
from weakspot.store import Run
from weakspot.study.reports import write

#: Figures that a study's report must have, by the end of their names.
FIGURES = {
    "hunt": ("findings",),
    "mine": ("similarities",),
    "map": ("queries", "findings", "rate-0-1-rotate-darken"),
    "ask": ("trade-off", "slices"),
    "rare": ("rate",),
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


def opened(chromium: Any, path: Path, **more: Any) -> tuple[Any, list[str], list[str]]:
    """A page without a network, what goes wrong on it, and what it asks for."""
    context = chromium.new_context(offline=True, accept_downloads=True, **more)
    page = context.new_page()
    errors, asked = watched(page), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.resolve().as_uri())
    return page, errors, asked


def saved(page: Any, figure: Any, kind: str) -> bytes:
    with page.expect_download() as waiting:
        figure.locator("button", has_text=kind).click()
    download = waiting.value
    assert download.suggested_filename.endswith(f".{kind.lower()}")
    return Path(download.path()).read_bytes()


def check_saved(page: Any, figure: Any) -> list[list[str]]:
    """Save a figure in every form; the rows of its data."""
    root = ET.fromstring(saved(page, figure, "SVG"))
    assert root.tag.endswith("svg")
    assert "var(" not in ET.tostring(root, encoding="unicode")  # it stands by itself
    assert not [e for e in root.iter() if e.tag.endswith(("script", "foreignObject", "image"))]
    with Image.open(io.BytesIO(saved(page, figure, "PNG"))) as picture:
        assert picture.width > 300
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 3  # something is drawn
    text = saved(page, figure, "CSV").decode("utf-8-sig")
    assert "\r\n" in text
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert len(rows) > 1
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t"))]
    return rows


@pytest.mark.parametrize("study", STUDIES)
def test_a_report_asks_for_nothing_and_saves_its_figures(chromium: Any, study: str, tmp_path: Path) -> None:
    path = make_run(study, tmp_path / "run") / "report.html"
    with Run.read(path.parent) as run:
        write(run)
    assert path.stat().st_size <= 5_000_000
    page, errors, asked = opened(chromium, path, viewport={"width": 1100, "height": 900})
    title = page.title()
    for summary in page.locator(".slides summary").all():  # what repeats a table opens by a click
        summary.click()
    names = page.locator("figure.plot").evaluate_all("all => all.map(f => f.dataset.name)")
    assert set(FIGURES[study]) <= set(names)
    for name in FIGURES[study]:
        figure = page.locator(f'figure.plot[data-name="{name}"]')
        figure.scroll_into_view_if_needed()
        figure.hover()
        rows = check_saved(page, figure)
        assert figure.locator("svg").first.get_attribute("aria-label")
        if name == "findings":
            assert any("<img src=x onerror=alert(1)>" in cell for row in rows for cell in row)
    check_clean(page, path, errors, asked)
    assert page.title() == title
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.context.close()

    inks = []  # without scripts the pictures are there, and right in the light and in the dark
    for scheme in ("light", "dark") if study == "map" else ():
        page, errors, asked = opened(chromium, path, java_script_enabled=False, color_scheme=scheme)
        picture = page.locator(f'figure.plot[data-name="{FIGURES[study][0]}"] svg')
        assert picture.bounding_box()["height"] > 30
        assert page.locator("figure.plot button").count() == 0
        inks.append(picture.locator("text").first.evaluate("t => getComputedStyle(t).fill"))
        page.context.close()
    assert len(set(inks)) == len(inks)


def check_clean(page: Any, path: Path, errors: list[str], asked: list[str]) -> None:
    assert SEEN in page.locator("body").inner_text()
    assert page.locator("img[src=x]").count() == 0
    assert errors == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.resolve().as_uri()]


def test_several_runs_in_one_page(chromium: Any, tmp_path: Path) -> None:
    folders = [
        make_hunt(tmp_path / "one"),
        make_hunt(tmp_path / "two", flower=24),
        make_ask(tmp_path / "ask"),
    ]
    with ExitStack() as stack:
        opened_runs = [stack.enter_context(Run.read(folder)) for folder in folders]
        path = write_several(opened_runs, tmp_path / "all.html")
    page, errors, asked = opened(chromium, path)
    ids = page.evaluate("Array.from(document.querySelectorAll('[id]'), e => e.id)")
    assert len(ids) == len(set(ids))
    check_saved(page, page.locator('figure.plot[data-name="compared-hunt-1"]'))
    page.get_by_role("link", name="two", exact=True).click()
    assert page.url.endswith("#run2")
    assert page.locator("#run2-finding-1").count() == 1
    assert errors == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.resolve().as_uri()]
    page.context.close()
