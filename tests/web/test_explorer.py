"""The explorer's pages say what the ledger says, and no word of a stranger is more than a word."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.results import rare_result
from tests.web.web_parts import (
    BAD,
    BASE,
    FLOWER,
    HOSTILE,
    SCRIPT,
    Caller,
    caller,
    make_ask,
    make_hunt,
    make_map,
    make_pairs,
    trial,
)

from weakspot.core import Stage, Status, Trial, WeakspotError, case_seed
from weakspot.stats.contrast import mcnemar
from weakspot.store import Blobs, Run, RunConfig
from weakspot.studies.ask.result import AskResult, Item, Slice
from weakspot.web.compare import compared
from weakspot.web.explorer import Explorer
from weakspot.web.pictures import Pictures
from weakspot.web.runs import sight


@pytest.fixture
def view(hunt_folder: Path) -> Caller:
    return caller(Explorer(hunt_folder.parent, measure=measured).app()).open()


def measured(folder: Path, words: str, label: str | None, most: int, update: Any) -> Mapping[str, Any]:
    update(1, 10, 10)
    if "break" in words:
        raise WeakspotError(f"cannot: {words}", fix="other words")
    rate = {"value": 0.5, "low": 0.2, "high": 0.8, "n": 10, "failures": 5}
    return {
        "verdict": "undecided", "rate": rate, "baseline": rate, "lift": 1.0, "confusions": [[SCRIPT, 1.0]],
        "raced": False, "id": BASE.id, "drawn": most,
    }  # fmt: skip


def test_pages_escape_what_strangers_wrote(view: Caller, hunt_folder: Path) -> None:
    make_ask(hunt_folder.parent / "ask")
    make_pairs(hunt_folder.parent / "mine")
    make_map(hunt_folder.parent / "map")
    pages = [
        "/", "/run/hunt-fly", "/run/hunt-fly/live", "/run/hunt-fly/trials", "/run/hunt-fly/try",
        f"/run/hunt-fly/trials?hypothesis={BAD.id}&order=answer", f"/run/hunt-fly/trial/{BAD.id}/0",
        "/compare?a=hunt-fly&b=hunt-fly", "/run/ask", "/run/ask/trials",
        "/run/mine", "/run/mine/trials", "/run/map", "/run/map/try",
        "/run/hunt-fly/trials?answer=%3Cscript%3Ealert(1)%3C/script%3E",
        "/run/hunt-fly/trials?slice=%22%3E%3Cscript%3E",
    ]  # fmt: skip
    for path in pages:
        got = view(path)
        assert got.status == 200, path
        assert "<img src=x" not in got.text, path
        assert "alert(1)</script>" not in got.text, path
        assert "document.title='owned'</script>" not in got.text, path
        assert re.findall(r"<script(?! src=\"/static/\w+\.js\" defer></script>)", got.text) == [], path
        assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:", re.sub(r"&lt;.*?&gt;", "", got.text)), (
            path
        )
        shown = re.sub(r'value="[^"]*"', "", got.text)  # a form gives back what it filters by, unseen
        assert "\x1b" not in shown, path
        assert "\u202e" not in shown, path
    assert HOSTILE.split(" =")[0] in unescape(view("/run/hunt-fly").text)


def test_run_page_says_what_the_ledger_says(view: Caller, hunt_folder: Path) -> None:
    text = view("/run/hunt-fly").text
    assert "it is on a flower." in text
    assert ">102</b>" in text.replace(",", "")  # trials
    assert "1 weak spot confirmed" in text
    assert 'data-state="finished"' in text
    with Run.open(hunt_folder) as run:
        run.ledger.set_fact("state", "running")
        run.ledger.record([trial(run, BASE, 900 + i, failed=True) for i in range(7)], {"images": 7})
        live = view("/run/hunt-fly/live").text  # the writer holds the run
    assert 'data-state="running"' in live
    assert ">109</b>" in live
    assert "<html" not in live


def test_a_trial_tells_its_whole_story(view: Caller) -> None:
    index = Stage.CONFIRM.start + 1
    text = unescape(view(f"/run/hunt-fly/trial/{FLOWER.id}/{index}").text)
    for told in (
        FLOWER.text, "failed", "bee", "90\u00a0%", "caption", str(case_seed(7, FLOWER, index)), FLOWER.id,
        "weakspot hunt python:toy:Classifier --label fly", f"[{index}], seed=7", "20 of 30 failed",
        "not kept",
        f"/trial/{FLOWER.id}/{index - 1}", f"/trial/{FLOWER.id}/{index + 1}",
    ):  # fmt: skip
        assert told in text, told
    assert "<img" in view(f"/run/hunt-fly/trial/{FLOWER.id}/0").text


def test_pictures_are_made_anew_and_kept(view: Caller, hunt_folder: Path) -> None:
    with Run.read(hunt_folder) as run:
        kept = run.ledger.trial(BASE, 0)
        assert kept is not None
        digest = kept.blob
        page = run.blobs.put(f"{SCRIPT}".encode())
        odd = run.blobs.put(b"\x00\xff\xfe" * 100)
    small = view(f"/run/hunt-fly/small/{digest}")
    assert (small.status, small.header("content-type")) == (200, "image/png")
    assert "immutable" in small.header("cache-control")
    text = view(f"/run/hunt-fly/picture/{page}")
    assert text.header("content-type").startswith("text/plain")
    assert view(f"/run/hunt-fly/picture/{odd}").status == 404
    (hunt_folder / "blobs" / str(digest)[:2] / str(digest)).write_bytes(b"changed")
    fresh = caller(Explorer(hunt_folder.parent).app()).open()
    assert fresh(f"/run/hunt-fly/small/{digest}").status == 404  # not what its digest says


def test_the_memory_of_pictures_is_bounded(hunt_folder: Path) -> None:
    pictures = Pictures(room=5_000)
    with Run.read(hunt_folder) as run:
        digests = [t.blob for t in run.ledger.trials(FLOWER, kept=True) if t.blob]
    for digest in digests:
        assert pictures.get((Blobs(hunt_folder / "blobs"),), digest, 192) is not None
    assert sum(len(made.content) for made in pictures._made.values()) <= 5_000
    assert 0 < len(pictures._made) < len(digests)


def test_two_runs_are_compared_case_by_case(tmp_path: Path) -> None:
    first, second = make_hunt(tmp_path / "a"), make_hunt(tmp_path / "b", flower=60)
    other = make_hunt(tmp_path / "c", seed=8)
    with Run.open(second) as run:
        run.ledger.record([trial(run, BASE, 100 + i, failed=True) for i in range(10)], {})
    with Run.open(first) as run:
        run.ledger.record([trial(run, BASE, 100 + i, failed=i < 2) for i in range(10)], {})
    found = compared(first, second)
    line = next(one for one in found.lines if one.hypothesis == BASE)
    assert line.paired is not None
    assert (line.paired.n, line.paired.only_first, line.paired.only_second) == (50, 0, 8)
    assert line.paired.exact == mcnemar(0, 8)
    assert line.paired.low < line.paired.difference == 8 / 50 < line.paired.high
    assert found.both == ("it is on a flower",)
    assert compared(first, other).same_seed is False
    assert all(one.paired is None for one in compared(first, other).lines)
    friend = caller(Explorer(tmp_path).app()).open()
    assert "case by case" in friend("/compare?a=a&b=b").text
    assert friend("/compare?a=a&b=..").status == 200


def test_a_comparison_shows_the_intervals_of_the_runs_page(tmp_path: Path) -> None:
    """Draws that were planned, as ask's are, have a narrower interval than those that were watched."""
    make_ask(tmp_path / "a"), make_ask(tmp_path / "b")
    make_hunt(tmp_path / "c"), make_hunt(tmp_path / "d")
    for one, two in (("a", "b"), ("c", "d")):
        shown = {line.hypothesis.id: line.rate for line in sight(one, tmp_path / one).lines}
        lines = compared(tmp_path / one, tmp_path / two).lines
        assert lines
        assert all(line.first == line.second == shown[line.hypothesis.id] for line in lines)


def test_words_are_tried_one_at_a_time(view: Caller) -> None:
    for words, n in (("", "10"), ("x" * 3000, "10"), ("fine", "0"), ("fine", "-3"), ("fine", "many")):
        assert view("/run/hunt-fly/try", method="POST", form={"words": words, "n": n}).status == 422
    assert (
        view("/run/hunt-fly/try", method="POST", form={"words": f"break {HOSTILE}", "n": "9"}).status == 303
    )
    assert "cannot: break" in _until(view, "cannot: break")
    assert view("/run/hunt-fly/try", method="POST", form={"words": "it is red.", "n": "9"}).status == 303
    text = _until(view, "undecided")
    assert "it is red." in text
    assert SCRIPT not in text


def _until(view: Caller, words: str) -> str:
    for _ in range(200):
        text = view("/run/hunt-fly/try/live").text
        if words in text:
            return text
        time.sleep(0.02)
    return text


def test_damaged_and_old_runs_are_said_and_the_others_shown(view: Caller, hunt_folder: Path) -> None:
    broken = make_hunt(hunt_folder.parent / "broken")
    (broken / "ledger.db").write_bytes(b"no ledger")
    (hunt_folder.parent / "empty").mkdir()
    text = view("/").text
    assert "is not a ledger, or it is damaged" in unescape(text)
    assert "hunt-fly" in text
    assert view("/run/broken").status == 500
    with pytest.raises(WeakspotError, match="there is no folder"):
        Explorer(hunt_folder / "nowhere")
    assert "none here yet" in caller(Explorer(hunt_folder.parent / "empty").app()).open()("/").text


def test_a_run_without_findings_says_what_it_found(view: Caller, hunt_folder: Path) -> None:
    home = hunt_folder.parent
    make_ask(home / "ask")
    settings = {"target": "world:classifier", "label": "fly"}
    rare = {"version": 1} | rare_result(1e-4, 5e-5, 2e-4).plain()
    for name, fact in (("rare", rare), ("odd", {"rate": "x"})):
        with Run.create(RunConfig(study="rare", subject="fly", settings=settings), folder=home / name) as run:
            run.ledger.set_fact("result", fact)
            run.ledger.set_fact("state", "finished")
    said = "100 per million [50, 200] of the time"
    assert said in view("/").text
    page = view("/run/rare").text
    assert said in page
    assert "Findings" not in page
    assert "0 trials" not in page
    assert "failures seen" in page or "<table" in page  # what it measured
    assert 'href="/run/rare/report"' in page
    assert view("/run/odd").status == 200  # a fact that is not as we know it
    assert "weak spot" not in view("/run/ask").text
    assert "Try words" in view("/run/hunt-fly").text
    assert "Try words" not in view("/run/ask/trials").text


def test_questions_are_their_own_input_and_nothing_found_has_a_way_on(
    view: Caller, hunt_folder: Path
) -> None:
    folder = make_ask(hunt_folder.parent / "ask")
    with Run.read(folder) as run:
        first = next(iter(run.ledger.hypotheses()))
        index = next(iter(run.ledger.trials(first))).index
        caption = next(iter(run.ledger.trials(first))).caption
    page = unescape(view(f"/run/ask/trial/{first.id}/{index}").text)
    assert "not kept" not in page
    assert caption[:20] in page
    empty = view("/run/hunt-fly/trials?verdict=undecided").text
    assert "No trial matches" in empty
    assert 'href="/run/hunt-fly/trials"' in empty


def test_the_report_is_beside_the_explorer(view: Caller, hunt_folder: Path) -> None:
    assert 'href="/run/hunt-fly/report"' in view("/run/hunt-fly").text
    (hunt_folder / "report.html").write_text("<script>alert(1)</script>")  # whatever lies there is not served
    got = view("/run/hunt-fly/report")
    assert got.status == 200
    assert "alert(1)" not in got.text
    assert 'href="/run/hunt-fly"' in got.text
    assert 'href="/run/hunt-fly/trials"' in got.text
    policy = got.header("content-security-policy")
    assert "script-src 'sha256-" in policy
    assert "frame-ancestors 'none'" in policy
    assert view("/run/hunt-fly/report").text == got.text
    assert view("/run/nowhere/report").status == 404


def test_a_trial_keeps_what_was_chosen(view: Caller) -> None:
    grid = unescape(view("/run/hunt-fly/trials?verdict=failed&search=caption&order=drawn").text)
    tiles = re.findall(r'href="(/run/hunt-fly/trial/[^"]+)"', grid)
    assert all("verdict=failed" in tile and "search=caption" in tile for tile in tiles)
    page = unescape(view(tiles[1]).text)
    assert re.findall(r'rel="prev" href="([^"]+)"', page) == [tiles[0]]
    assert re.findall(r'rel="next" href="([^"]+)"', page) == [tiles[2]]
    up = re.findall(r'data-up href="([^"]+)"', page)[0]
    back = unescape(view(up).text)
    assert re.findall(r'data-here\s+href="([^"]+)"', back) == [tiles[1]]
    assert re.findall(r'href="(/run/hunt-fly/trial/[^"]+)"', back) == tiles
    for odd in ("at=1.1.1.1", "at=9.9.9", "at=0.1.0", "search=%00%27%22%3Cb%3E", "slice=x&at=0.1.0"):
        assert view(f"/run/hunt-fly/trials?{odd}").status == 200, odd
        assert view(f"/run/hunt-fly/trial/{FLOWER.id}/0?{odd}").status == 200, odd


def test_failures_come_first(view: Caller) -> None:
    text = view("/run/hunt-fly/trials").text
    verdicts = re.findall(r'class="tile (\w+)"', text)
    assert verdicts == sorted(verdicts)  # failed before passed
    assert {"failed", "passed"} == set(verdicts)


def test_what_the_headline_speaks_of_can_be_seen(view: Caller, hunt_folder: Path) -> None:
    folder = make_ask(hunt_folder.parent / "ask")
    with Run.open(folder) as run:
        (arm,) = run.ledger.hypotheses()
        ids = tuple(f"item-{i}" for i in range(20))
        rows = {key: Item(slices={"kind": ("odd" if i % 2 else "even",)}) for i, key in enumerate(ids)}
        worse = {"kind": {"odd": Slice(n=10, refused=5, worse=True), "even": Slice(n=10)}}
        AskResult(model="x", items={"benign": rows}, order={arm.id: ids}, slices=worse).keep(run)
        long = "word " * 6_000  # longer than any page showed; the ledger keeps 32,768 characters
        run.ledger.record(
            [Trial(arm.id, 20, Status.OK, False, 0.5, "answer", f"{long} END", caption="a long one")], {}
        )
    page = unescape(view("/run/ask/trials").text)
    for words in ("harmless, refused", "harmless, answered", "harmless, kind: odd, refused"):
        assert words in page
    refused = view("/run/ask/trials?slice=set%3Dbenign&verdict=failed").text
    assert refused.count('class="tile ') == 5
    odd = view("/run/ask/trials?slice=harmless%2C+kind%3A+odd").text
    assert odd.count('class="tile ') == 10
    assert view("/run/ask/trials?search=may+I+12").text.count('class="tile ') == 1
    assert "END" in view(f"/run/ask/trial/{arm.id}/20").text  # the whole answer


def test_a_transfer_is_shown_beside_its_run(view: Caller, hunt_folder: Path) -> None:
    rate = {"value": 0.25, "low": 0.1, "high": 0.5, "n": 16, "failures": 4}
    cells = [{"source": "s", "row": row, "target": name, "rate": rate} for row in (0, 1) for name in "ab"]
    data = {
        "targets": ["a", "b"], "sources": ["s"], "n": 16, "cells": cells,
        "rows": [{"baseline": True, "phrase": ""}, {"baseline": False, "phrase": HOSTILE}],
    }  # fmt: skip
    (hunt_folder / "transfer.json").write_text(json.dumps(data))
    page = view("/run/hunt-fly").text
    assert "On other models, pictures of s" in page
    assert "<img src=x" not in page
    for odd in ("[]", "{", '{"targets": ["a"], "sources": ["s"], "rows": [{}], "n": 1, "cells": []}'):
        (hunt_folder / "transfer.json").write_text(odd)
        assert view("/run/hunt-fly").status == 200
