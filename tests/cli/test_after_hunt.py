"""export, transfer and realism as a person runs them, after a hunt on the toy meadow."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.after.after_parts import OTHERS, hunted

from weakspot.cli import run as cli

MILDER = "python:others:milder?labels=labels.txt"


@pytest.fixture
def over(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a finished hunt in `run`."""
    (toy / "others.py").write_text(OTHERS)
    monkeypatch.delitem(sys.modules, "others", raising=False)
    hunted(Path("run"))
    return toy


def test_export_says_what_it_wrote_and_what_comes_next(over: Path, capsys: Any) -> None:
    assert cli(["export", "run", "--draw", "40", "--per-caption", "60", "--out", "my set"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split(maxsplit=1) == ["60", "it is on a flower"]
    assert lines[2].startswith("120 misread pictures: ")
    assert lines[-2:] == ["written  'my set'", "next     weakspot realism 'my set' --reference FOLDER"]
    assert said.err.startswith("export of run\n")
    assert cli(["export", "run", "--out", "my set"]) == 1
    assert "my set already exists" in capsys.readouterr().err


def test_export_as_json_into_the_runs_folder(over: Path, capsys: Any) -> None:
    assert cli(["export", "run", "--format", "jsonl", "--json", "--only-confirmed"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == "run/export-jsonl"
    assert [f["phrase"] for f in told["findings"]] == ["it is on a flower."]
    assert told["pictures"] == len(Path("run/export-jsonl/test.jsonl").read_text().splitlines())


def test_a_budget_that_ends_the_drawing_is_exit_code_3(over: Path, capsys: Any) -> None:
    assert cli(["export", "run", "--draw", "500", "--per-caption", "500", "--budget", "images=9"]) == 3
    assert "stopped: the images budget of 9 is spent" in capsys.readouterr().out


def test_transfer_prints_and_writes_the_matrix(over: Path, capsys: Any) -> None:
    assert cli(["transfer", "run", "--target", MILDER, "--source", "python:others:Rocks", "--n", "80"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pictures of python:others:Varied"
    assert "pictures of python:others:Rocks" in lines
    [own, milder] = lines[5:7]
    assert own.endswith("of 80  ▲ worse than its baseline")
    assert "of 80" in milder
    assert any(line.startswith("of ") and f"{MILDER} shares" in line for line in lines)
    assert lines[-2] == "trials   480 images · 2 models · 0 errors"
    assert lines[-1] == "written  run/transfer.md"
    assert all(len(line) <= 120 for line in lines)
    assert "transfer.svg" in Path("run/transfer.md").read_text()
    assert Path("run/transfer.svg").read_text().startswith("<svg")
    assert json.loads(Path("run/transfer.json").read_text())["state"] == "finished"


def test_transfer_as_json_with_a_budget(over: Path, capsys: Any) -> None:
    assert cli(["transfer", "run", "--target", MILDER, "--budget", "images=30", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert told["exit_code"] == 3
    assert {cell["rate"]["n"] for cell in told["cells"]} == {10}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--target", "python:others:Renamed"], "has no label 'fly'"),
        (["--target", "python:others:Renamed", "--same", "fly"], "does not say which labels are the same"),
        (["--target", "wurld:classifier"], "no model is called 'wurld:classifier'"),
        (["--target", "python:toy:classify?labels=labels.txt"], "no other model"),
        (["--target", MILDER, "--n", "0"], "too few to measure"),
        (["--target", MILDER, "--budget", "images=1"], "less than one picture"),
    ],
)
def test_transfer_explains_what_is_wrong(over: Path, capsys: Any, given: list[str], says: str) -> None:
    assert cli(["transfer", "run", *given]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert "  fix: " in said


def test_transfer_to_a_head_with_other_names(over: Path) -> None:
    same = ["--same", "fly=house fly"]
    assert cli(["transfer", "run", "--target", "python:others:Renamed", *same, "--n", "20"]) == 0


def test_what_is_no_hunt_is_refused(over: Path, capsys: Any) -> None:
    for command in (["export", "nowhere"], ["transfer", "nowhere", "--target", MILDER]):
        assert cli(command) == 1
        assert "there is no run folder nowhere" in capsys.readouterr().err
    text = Path("run/run.yaml").read_text().replace("study: hunt", "study: rare")
    Path("run/run.yaml").write_text(text)
    assert cli(["transfer", "run", "--target", MILDER]) == 1
    assert "not of hunt" in capsys.readouterr().err


def test_realism_of_an_exported_set(over: Path, capsys: Any) -> None:
    Path("mine.py").write_text("def means(images):\n    return images.astype(float).mean((1, 2))\n")
    for out in ("a", "b"):
        assert cli(["export", "run", "--out", out]) == 0
    capsys.readouterr()
    assert cli(["realism", "a", "--reference", "b", "--features", "python:mine:means"]) == 0
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == [
        "fid",
        said.out.splitlines()[1].split()[0],
        "kid",
    ]
    assert said.err.startswith("realism of a against b by python:mine:means\n")
    assert cli(["realism", "a", "--reference", "b", "--features", "python:mine:means", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fid"] == pytest.approx(0, abs=1e-6)
    assert told["kid_low"] <= 0 <= told["kid_high"]
    assert cli(["realism", "a", "--reference", "nowhere"]) == 1
    assert "there is no folder" in capsys.readouterr().err


def test_the_process_itself(over: Path, process: Callable[..., Any]) -> None:
    done = process("export", "run", "--format", "parquet")
    assert done.returncode == 0, done.stderr
    assert "next     weakspot transfer run --target MODEL" in done.stdout
    assert process("export", "run", "--format", "parkett").returncode == 2


def test_ctrl_c_says_that_nothing_is_lost(over: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("weakspot.engine.Engine.draw_at", stopped)
    assert cli(["export", "run", "--draw", "9", "--per-caption", "99", "--out", "set"]) == 130
    assert "run the same command again to go on" in capsys.readouterr().err
    assert not Path("set").exists()
