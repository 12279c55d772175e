"""axe-core finds nothing serious on any kind of page, in the light and in the dark, wide and narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.browser import Server, axe, browser
from tests.web.web_parts import BASE, FLOWER, make_ask, make_hunt, make_map, make_pairs

from weakspot.report.people.labels import Labels
from weakspot.report.people.tasks import task_of
from weakspot.store import Run

#: What axe-core calls a finding that keeps somebody from using a page, or makes it hard.
SERIOUS = ("serious", "critical")
WAYS = ((1440, "light"), (390, "dark"))

EXPLORER = (
    "/?all=1", "/run/hunt", "/run/ask", "/run/map", "/run/mine", "/run/hunt/trials", "/run/ask/trials",
    f"/run/hunt/trial/{FLOWER.id}/0", f"/run/hunt/trial/{BASE.id}/1?verdict=failed", "/run/hunt/try",
    "/compare?a=hunt&b=other", "/run/hunt/report", "/run/ask/report", "/run/map/report", "/run/nowhere",
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    axe()
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("accessible") / "runs"
    for name, make in (("hunt", make_hunt), ("other", make_hunt), ("ask", make_ask), ("map", make_map)):
        make(home / name)
    make_pairs(home / "mine")
    return home


#: What is cut at its right edge, and neither ends in an ellipsis nor has a shadow there.
CUT = """() => [...document.body.querySelectorAll("*")].filter((one) => {
  const look = getComputedStyle(one), over = one.scrollWidth > one.clientWidth + 1;
  if (one.closest("svg") || !over || look.overflowX === "visible" || look.display === "inline") return false;
  const clamped = look.webkitLineClamp !== "none" || look.textOverflow === "ellipsis";
  return look.overflowX === "hidden" ? !clamped : look.backgroundImage === "none";
}).map((one) => `cut without a hint: ${one.outerHTML.slice(0, 200)}`)"""


def faults(page: Any) -> list[str]:
    """Serious findings on a page, and what is cut at its right edge without a hint."""
    page.wait_for_load_state()
    page.evaluate(f"{axe()}; undefined")
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)")
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    told = [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}: {one['nodes'][0]['failureSummary'][:300]}"
        for one in found
        if one["impact"] in SERIOUS
    ]
    return told + list(page.evaluate(CUT)) + (["the page is wider than the window"] if wide else [])


@pytest.mark.parametrize(("wide", "scheme"), WAYS)
def test_the_explorer_and_reports(chromium: Any, runs: Path, wide: int, scheme: str) -> None:
    page = chromium.new_page(viewport={"width": wide, "height": 900}, color_scheme=scheme)
    with Server("view", str(runs)) as server:
        page.goto(server.link)
        page.wait_for_url(f"{server.base}/")
        wrong = {}
        for path in EXPLORER:
            page.goto(f"{server.base}{path}")
            if some := faults(page):
                wrong[path] = some
        page.goto("about:blank")
    page.close()
    assert wrong == {}


@pytest.mark.parametrize("name", ["hunt", "ask", "map", "mine"])
def test_labelling(chromium: Any, runs: Path, name: str) -> None:
    wide, scheme = WAYS[name in ("hunt", "mine")]
    page = chromium.new_page(viewport={"width": wide, "height": 900}, color_scheme=scheme)
    with Run.read(runs / name) as run:
        task = task_of(run, most=2)
    for item in task.items[1:]:
        Labels(runs / name).add(task.name, item.id, "Ann", item.choices[0].value)
    with Server("label", str(runs / name), "--items", "2") as server:
        wrong = {}
        page.goto(server.link)
        page.wait_for_url(f"{server.base}/")
        for path in ("/", "/as/Ann", "/as/Bob"):
            page.goto(f"{server.base}{path}")
            if path != "/":
                page.locator("body[data-ready]").wait_for()
            if some := faults(page):
                wrong[path] = some
        page.locator("button[data-key]").first.click()
        page.get_by_text("1 of").wait_for()
        if some := faults(page):
            wrong["after an answer"] = some
        page.goto("about:blank")
    page.close()
    assert wrong == {}
