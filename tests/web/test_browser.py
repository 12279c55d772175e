"""As a person uses the pages: a real browser, real servers, keys. Few and whole, since a browser is heavy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.browser import Server, browser, watched
from tests.web.web_parts import BAD, BASE, FLOWER, SCRIPT, make_ask, make_hunt, make_pairs, trial

from weakspot.core import Case, Hypothesis, Output
from weakspot.judges.people import PeopleJudge
from weakspot.report.people.labels import Labels
from weakspot.report.people.tasks import task_of, trial_of
from weakspot.store import Run, RunConfig
from weakspot.studies.hunt.result import Tries
from weakspot.study.reports import write


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as opened:
        yield opened


def test_explore_a_live_run(chromium: Any, toy: Path) -> None:
    folder = make_hunt(toy / "runs" / "hunt-fly", state="running")
    make_hunt(toy / "runs" / "other")
    with Server("view", "runs", cwd=toy) as server:
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        errors = watched(page)
        page.goto(server.link)
        page.wait_for_url(f"{server.base}/")
        page.get_by_role("link", name="running").click()
        page.get_by_text("Running: what is shown grows").wait_for()
        assert page.locator(".figures b").first.inner_text() == "102"
        with Run.open(folder) as run:  # what a hunt does, while the page is open
            run.ledger.record([trial(run, BASE, 500 + i, failed=True) for i in range(20)], {"images": 20})
            page.locator(".figures b", has_text="122").first.wait_for()
            run.ledger.set_fact("state", "finished")
            page.get_by_text("1 weak spot confirmed").wait_for()
        page.get_by_role("link", name="Trials").click()
        page.wait_for_url("**/trials**")  # loaded, its script too
        page.get_by_label("Verdict").select_option("failed")
        page.wait_for_url("**verdict=failed**")
        assert page.locator(".tile.failed").count() == page.locator(".tile").count() == 60
        assert page.locator(".tile img").first.evaluate("i => i.decode().then(() => i.naturalWidth)") == 24
        page.keyboard.press("n")
        page.wait_for_url("**after=**")
        assert page.locator(".tile").count() == 4 + 20 + 20 + 20 + 1 - 60
        page.keyboard.press("p")
        page.wait_for_url("**before=**")
        assert page.locator(".tile").count() == 60
        page.locator(".tile").first.focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_url("**/trial/**")
        assert "draw" in page.locator("pre").first.inner_text()

        page.goto(f"{server.base}/run/hunt-fly/trial/{BAD.id}/0")  # hostile words are words
        assert SCRIPT in page.locator(".facts").inner_text()
        page.goto(f"{server.base}/run/hunt-fly/trials?hypothesis={BAD.id}")
        assert page.locator(".tile").count() == 1
        assert page.title() == "Trials of hunt-fly – weakspot"

        page.goto(f"{server.base}/run/hunt-fly/try")
        page.get_by_label("Words to add").fill("it is on a yellow flower.")
        page.get_by_label("At most").fill("64")
        page.get_by_role("button", name="Draw and measure").click()
        page.get_by_text("shown worse than the baseline").first.wait_for(timeout=60_000)
        with Run.read(folder) as run:
            mine = [h for h in run.ledger.hypotheses() if h.text.endswith("yellow flower.")]
            assert mine[0].origin == "person"
            tries = Tries.of(run)
            assert tries is not None
            assert tries.rows[0].hypothesis == mine[0].id

        page.set_viewport_size({"width": 360, "height": 740})
        for path in (
            "/?all=1",
            "/run/hunt-fly",
            "/run/hunt-fly/trials",
            f"/run/hunt-fly/trial/{FLOWER.id}/0",
            "/compare",
        ):
            page.goto(server.base + path)
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, (path, wide)
        assert errors == []
        page.close()


def test_label_by_keys_be_killed_and_resume(chromium: Any, tmp_path: Path) -> None:
    folder = make_pairs(tmp_path / "mine", pairs=12)
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    errors = watched(page)
    order: dict[str, list[str]] = {"Ann": [], "Bob": []}

    def begin(server: Server, name: str) -> None:
        page.goto(server.link)
        page.get_by_label("Your name").fill(name)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/as/{name}")

    def answer(name: str, key: str) -> None:
        order[name].append(page.locator("input[name=item]").get_attribute("value"))
        done = len(order[name])
        page.keyboard.press(key)
        page.get_by_text(f"{done} of 24 done").wait_for()
        page.locator("body[data-ready]").wait_for()

    with Server("label", str(folder)) as server:
        begin(server, "Ann")
        page.locator("body[data-ready]").wait_for()
        assert page.locator(".shown img").evaluate("i => i.decode().then(() => i.naturalWidth)") == 24
        for number in range(11):
            answer("Ann", "1234"[number % 4])
        page.keyboard.press("u")  # the last one was wrong
        page.wait_for_url("**item=**")
        page.locator("body[data-ready]").wait_for()
        assert page.locator("input[name=item]").get_attribute("value") == order["Ann"].pop()
        answer("Ann", "4")
        assert errors == []
        server.kill()
    page.goto("about:blank")
    page.wait_for_timeout(500)
    errors.clear()  # of a picture that the server did not live to send
    with Server("label", str(folder)) as server:
        begin(server, "Ann")
        assert page.title().startswith("11 of 24")
        page.locator("body[data-ready]").wait_for()
        for _ in range(9):
            answer("Ann", "2")
        begin(server, "Bob")
        assert page.title().startswith("0 of 24")
        page.locator("body[data-ready]").wait_for()
        for _ in range(5):
            answer("Bob", "1")
        page.goto(f"{server.base}/")
        assert page.get_by_text("20 of 24").count() == page.get_by_text("5 of 24").count() == 1
    page.close()
    said = Labels(folder).current("pairs")
    assert len(said) == 25
    assert {one.item for one in said if one.annotator == "Ann"} == set(order["Ann"])
    assert [one.label for one in said if one.annotator == "Ann"][10] == "same"
    assert order["Ann"][:5] != order["Bob"]
    assert errors == []


def test_a_report_opens_from_disk_without_a_request(chromium: Any, tmp_path: Path) -> None:
    with Run.read(make_hunt(tmp_path / "hunt")) as run:
        path = write(run)
    context = chromium.new_context(offline=True)
    page = context.new_page()
    errors, asked = watched(page), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.resolve().as_uri())
    page.get_by_role("heading", name="Weak spots").wait_for()
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [path.resolve().as_uri()]
    assert errors == []
    assert "weakspot hunt" in page.title()
    context.close()


def test_answers_of_models_stay_text_on_the_label_page(chromium: Any, tmp_path: Path) -> None:
    page = chromium.new_page()
    errors = watched(page)
    with Server("label", str(make_ask(tmp_path / "ask", n=2))) as server:
        page.goto(server.link)
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        page.get_by_text("0 of 2 done").wait_for()
        page.locator("body[data-ready]").wait_for()
        shown = page.locator(".shown").inner_text()
        page.get_by_role("button", name="Refuses", exact=False).last.click()
        page.get_by_text("1 of 2 done").wait_for()
        shown += page.locator(".shown").inner_text()
    assert SCRIPT in shown
    assert "<img src=x onerror=alert(1)>" in shown
    assert errors == []
    page.close()


def test_outputs_are_rated_by_keys(chromium: Any, tmp_path: Path) -> None:
    folder = tmp_path / "ratings"
    words = Hypothesis("a fly")
    inputs = np.random.default_rng(1).integers(0, 255, (3, 8, 8, 3)).astype(np.uint8)
    cases = [Case(words, i, i, one, SCRIPT, "") for i, one in enumerate(inputs)]
    outputs = [Output("a picture") for _ in cases]
    PeopleJudge(folder).judge(cases, outputs)
    config = RunConfig(study="map", subject="s", settings={"judge": f"people?folder={folder}"})
    Run.create(config, folder=tmp_path / "run").close()
    page = chromium.new_page(viewport={"width": 360, "height": 740})
    errors = watched(page)
    with Server("label", str(tmp_path / "run")) as server:
        page.goto(server.link)
        page.get_by_label("Your name").fill("Ann")
        page.keyboard.press("Enter")
        for done, key in enumerate("01u5"):
            page.get_by_text(f"{done - 2 * (key == '5')} of 3 done").wait_for()
            page.locator("body[data-ready]").wait_for()
            assert page.locator(".shown img").evaluate("i => i.decode().then(() => i.naturalWidth)") == 8
            assert SCRIPT in page.locator(".shown").inner_text()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            page.keyboard.press(key)
        page.get_by_text("2 of 3 done").wait_for()
    scores = sorted(v.score for v in PeopleJudge(folder).judge(cases, outputs) if v.score is not None)
    assert set(scores) <= {4 / 9, 1.0}
    assert sorted(one.label for one in Labels(tmp_path / "run").current("ratings")) == ["10", "5"]
    assert errors == []
    page.close()


def test_keys_label_only_what_is_on_the_screen(chromium: Any, tmp_path: Path) -> None:
    folder = make_pairs(tmp_path / "mine", pairs=12)
    page = chromium.new_page()
    errors = watched(page)
    with Server("label", str(folder), "--annotator", "Ann", "--annotator", "Bob") as server:
        page.goto(server.links["Ann"])
        page.wait_for_url("**/as/Ann")
        page.locator("body[data-ready]").wait_for()
        first = page.locator("input[name=item]").get_attribute("value")
        page.evaluate(
            """() => { for (const key of "12341")
                 document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }"""
        )
        page.get_by_text("1 of 24 done").wait_for()
        page.get_by_text("4 keys came before the question was on the screen").wait_for()
        assert [(one.item, one.label) for one in Labels(folder).current("pairs")] == [(first, "prompt 1")]
        page.locator("body[data-ready]").wait_for()
        page.keyboard.press("2")
        page.get_by_text("2 of 24 done").wait_for()
        page.locator("body[data-ready]").wait_for()
        assert page.locator("#told").inner_text() == ""
        assert page.goto(f"{server.base}/as/Bob").status == 404  # the link is Ann's
        page.goto(f"{server.base}/")
        page.wait_for_url("**/as/Ann")
        page.locator("body[data-ready]").wait_for()
        assert [error for error in errors if "404" not in error] == []
        server.kill()
        page.keyboard.press("3")  # not lost without a word
        page.get_by_text("That was not saved").wait_for()
    assert len(Labels(folder).current("pairs")) == 2
    page.close()


def test_labels_of_two_people_change_the_headline(chromium: Any, tmp_path: Path) -> None:
    """Two people look at a dozen pictures; half of the finding's failing ones show no fly."""
    folder = make_hunt(tmp_path / "runs" / "hunt-fly")
    with Run.read(folder) as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        items = task_of(run, most=None).items
        trials = {i.id: run.ledger.trial(known[trial_of(i.id)[0]], trial_of(i.id)[1]) for i in items}
    page = chromium.new_page()
    errors = watched(page)

    def headline() -> str:
        with Server("view", str(folder)) as server:
            page.goto(server.link)
            page.wait_for_url("**/run/hunt-fly")
            said = str(page.locator(".lede").inner_text()).replace("\xa0", " ")
            page.get_by_role("link", name="Report").first.click()
            page.wait_for_url("**/report")
            assert said.split(":")[1][:60] in page.locator("body").inner_text().replace("\xa0", " ")
            page.get_by_role("link", name="Explorer").click()
            page.wait_for_url("**/run/hunt-fly")
            page.goto("about:blank")
            return said

    assert "67 % of fly pictures are misread" in headline()
    with Server("label", str(folder), "--items", "12") as server:
        for name in ("Ann", "Bob"):
            page.goto(f"{server.link}")
            page.get_by_label("Your name").fill(name)
            page.keyboard.press("Enter")
            for done in range(12):
                page.get_by_text(f"{done} of 12 done").wait_for()
                page.locator("body[data-ready]").wait_for()
                seen = trials[page.locator("input[name=item]").get_attribute("value")]
                assert seen is not None
                assert seen.hypothesis == FLOWER.id  # the finding's pictures come first
                page.keyboard.press("2" if seen.failed and seen.index % 2 else "1")
            page.get_by_text("Thank you").wait_for()
        page.goto("about:blank")
    after = headline()
    assert "67 % of fly pictures" not in after
    assert "according to 2 people; without this correction it was 67 %" in after
    assert [error for error in errors if "ERR_CONNECTION" not in error] == []  # of a server that is gone
    page.close()


def test_a_reader_keeps_the_place(chromium: Any, toy: Path) -> None:
    make_hunt(toy / "runs" / "hunt-fly")
    with Server("view", "runs/hunt-fly", cwd=toy) as server:
        page = chromium.new_page(viewport={"width": 1200, "height": 900})
        errors = watched(page)
        page.goto(server.link)
        page.wait_for_url("**/run/hunt-fly")
        page.goto(f"{server.base}/run/hunt-fly/trials?verdict=failed&kept=1&order=drawn")
        hrefs = [one.get_attribute("href") for one in page.locator(".tile").all()]
        told = page.locator(".tile").nth(3).inner_text()
        assert "should be fly" in told
        assert "said bee" in told
        assert "0.5" in told
        page.keyboard.press("ArrowRight")  # at once: nothing had to be focused before
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_url("**/trial/**")
        seen = [page.url.removeprefix(server.base)]
        for key in ("n", "ArrowRight", "p"):
            before = page.url
            page.keyboard.press(key)
            page.wait_for_function("was => location.href !== was", arg=before)
            page.wait_for_load_state()
            seen.append(page.url.removeprefix(server.base))
        assert seen == [hrefs[3], hrefs[4], hrefs[5], hrefs[4]]
        page.keyboard.press("u")
        page.wait_for_url("**/trials?**")
        page.locator(".tile[data-here]:focus").wait_for()
        assert page.locator(".tile[data-here]").get_attribute("href") == hrefs[4]
        assert page.get_by_label("Verdict").input_value() == "failed"
        assert page.get_by_label("Order").input_value() == "drawn"
        assert page.get_by_label("with input kept").is_checked()
        page.keyboard.press("/")
        page.keyboard.type("caption 13")
        page.keyboard.press("Enter")
        page.wait_for_url("**search=caption**")
        assert page.locator(".tile").count() == 1
        assert errors == []
        page.close()
