"""`weakspot map` and `weakspot prefer`, as a person uses them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studies.map.map_toy import SPACE, write_pictures

from weakspot.cli import run as cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_pictures(tmp_path / "pictures", 120)
    (tmp_path / "dim.yaml").write_text(SPACE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_map_then_prefer_then_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["map", "python:tests.studies.map.map_toy:Dim", "--images", "pictures", "--space", "dim.yaml"]
    assert cli([*command, "--budget", "images=500", "--out", "run"]) == 0
    printed = capsys.readouterr()
    assert "mode 1" in printed.out
    assert "darkened 60 %" in printed.out
    assert "prefer run --modes 1" in printed.out
    assert "searching" in printed.err
    assert cli(["prefer", "run", "--modes", "1", "--rate", "1=8"]) == 0
    printed = capsys.readouterr()
    assert "preferred  1" in printed.out
    assert Path(printed.out.split("sample  ")[1].split()[0]).is_file()
    assert cli(["prefer", "run", "--clear", "--rate", "1=0"]) == 0
    assert "preferred  none" in capsys.readouterr().out
    assert cli(["prefer", "run", "--clear", "--modes", "1", "--rate", "1=8"]) == 0
    assert capsys.readouterr().out
    assert cli(["prefer", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["chosen"] == [1]
    assert cli(["report", "run", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["study"] == "map"
    assert told["preferences"]["ratings"] == [[1, 8.0]]
    assert cli(["resume", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "finished"


def test_misuse(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = "python:tests.studies.map.map_toy:Dim"
    assert cli(["map", target, "--images", "pictures", "--space", "dim.yml"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert cli(["map", target, "--images", "pictures", "--search", "dqm", "--json"]) == 1
    assert "dqn" in json.loads(capsys.readouterr().out)["fix"]
    assert cli(["prefer", "nowhere"]) == 1
    assert cli(["prefer", "nowhere", "--modes", "one"]) == 2
    assert "not numbers of modes" in capsys.readouterr().err
    assert cli(["prefer", "nowhere", "--worse", "1=2"]) == 2
