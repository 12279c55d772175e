"""Several runs in one page: set against each other where they are of one study, else one after the other."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.web.web_parts import HOSTILE, make_ask, make_hunt

from weakspot.after.side_by_side import MOST, comparisons, write_several
from weakspot.cli import run as cli
from weakspot.store import Run


def page_of(*folders: Path) -> str:
    runs = [Run.read(folder) for folder in folders]
    try:
        return write_several(runs, folders[0].parent / "all.html").read_text()
    finally:
        for run in runs:
            run.close()


def test_runs_with_the_same_cases_are_paired(tmp_path: Path) -> None:
    text = page_of(make_hunt(tmp_path / "one"), make_hunt(tmp_path / "two", flower=24))
    assert "2 runs side by side" in text
    assert "on the same cases" in text
    row = re.search(r"<bdi>it is on a flower</bdi></th>(.*?)</tr>", text.partition("Run 2 against")[2], re.S)
    assert row is not None
    told = re.sub(r"<[^>]+>", " ", row[1])
    assert "the same cases, 24" in told
    assert told.count("67") == 2  # both rates, and no difference on the cases that both have
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert {"run1", "run2", "run1-finding-1", "run2-finding-1"} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert "<img src=x" not in text
    assert len(text.encode()) < 5_000_000


def test_the_folder_of_each_run_is_linked(tmp_path: Path) -> None:
    text = page_of(make_hunt(tmp_path / "one"), make_hunt(tmp_path / 'a "quoted" & <b>two</b>', seed=8))
    links = re.findall(r'<a href="([^"#]+)/">all of its files</a>', text)
    assert [unquote(link) for link in links] == ["one", 'a "quoted" & <b>two</b>']


def test_runs_with_other_cases_are_not(tmp_path: Path) -> None:
    text = page_of(make_hunt(tmp_path / "one"), make_hunt(tmp_path / "two", seed=8))
    assert "separate cases" in text
    assert "their seed differs" in text
    assert "the same cases" not in text


def test_three_runs_stand_against_the_first(tmp_path: Path) -> None:
    folders = [make_hunt(tmp_path / str(i), seed=i) for i in range(3)]
    runs = [Run.read(folder) for folder in folders]
    assert [(a, b) for a, b, _ in comparisons(runs)] == [(1, 2), (1, 3)]
    for run in runs:
        run.close()


def test_runs_of_different_studies_stand_one_after_the_other(tmp_path: Path) -> None:
    text = page_of(make_hunt(tmp_path / "one"), make_ask(tmp_path / "two"))
    assert "they are only shown one after the other" in text
    assert "against run" not in text
    assert text.count('<article class="run"') == 2


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    one, two = str(make_hunt(tmp_path / "one")), str(make_hunt(tmp_path / "two"))
    shown: list[str] = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    assert cli(["report", one, two, "--open"]) == 0
    assert capsys.readouterr().out.split() == ["compared.html"]
    assert shown == [(tmp_path / "compared.html").resolve().as_uri()]
    assert cli(["report", one, two, "--out", "there.html", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (tmp_path / "there.html").is_file()
    assert [len(data["runs"]), len(data["compared"])] == [2, 1]
    assert not (tmp_path / "one" / "report.html").exists()
    assert cli(["report", one]) == 0
    assert (tmp_path / "one" / "report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["one", "one"], "a run is named twice"),
        (["one", "./one/"], "a run is named twice"),
        (["one", "--out", "x.html"], "--out is for several runs"),
        (["one", "nowhere"], "nowhere"),
        (["one", "two", "--out", "one/run.yaml/x.html"], "cannot be written"),
        ([f"many/{i}" for i in range(MOST + 1)], "too many for one page"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["one", "two", *(a for a in arguments if a.startswith("many"))]
    for name in names:
        make_hunt(tmp_path / name, n=2, flower=1)
    assert cli(["report", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_hostile_settings(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "two")
    config = folder / "run.yaml"
    config.write_text(
        config.read_text().replace("python:toy:Meadow", HOSTILE.replace("\x1b", "").split(" =")[0])
    )
    text = page_of(make_hunt(tmp_path / "one"), folder)
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    assert "<img src=x" not in text
