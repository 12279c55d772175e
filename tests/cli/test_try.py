"""`weakspot try` as a person uses it, after a hunt on the toy meadow."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from weakspot.cli import run as cli
from weakspot.store import Run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def over(toy: Path, meadow: list[str], capsys: Capture) -> Path:
    """The current folder, with a finished hunt in `a run`."""
    assert cli([*meadow, "--budget", "images=1500", "--edits", "0", "--out", "a run"]) == 0
    capsys.readouterr()
    return toy


def test_a_try_from_first_to_last_line(over: Path, capsys: Capture) -> None:
    found = (over / "a run" / "report.json").read_text()
    assert cli(["try", "a run", "it is on a red flower."]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == "it is on a red flower"
    assert re.fullmatch(r"failed   \d+ % \[\d+, \d+\] of \d+", lines[1])
    assert re.fullmatch(r"baseline [\d.]+ % \[.*\] of [\d,]+: [\d.]+× as often", lines[2])
    assert lines[3].startswith("instead  bee ")
    assert re.fullmatch(r"verdict  shown worse than the baseline \(e-value .*\)", lines[4])
    assert re.fullmatch(r"trials   (\d+) new images · \1 in all · 0 errors", lines[5])
    assert lines[6] == "report   'a run/report.html'"
    assert len(lines) == 7
    assert said.err.startswith("trying 'it is on a red flower.' in a run\n")
    # The report tells of it, and of nothing else that is new.
    before, after = json.loads(found), json.loads((over / "a run" / "report.json").read_text())
    assert [t["phrase"] for t in after["tries"]] == ["it is on a red flower."]
    for key in ("findings", "race", "baseline", "state", "conclusion"):
        assert after[key] == before[key]
    assert "Tried by a person" in (over / "a run" / "report.html").read_text()
    assert cli(["resume", "a run"]) == 0
    capsys.readouterr()
    with Run.read(Path("a run")) as run:
        assert [f.to_json() for f in run.findings] == [
            {k: v for k, v in f.items() if k not in ("edits", "label")} for f in before["findings"]
        ]


def test_what_is_undecided_can_be_gone_on_with(over: Path, capsys: Capture) -> None:
    assert cli(["try", "a run", "it is on the left.", "--n", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "verdict  undecided after 20 images: neither shown worse nor shown alike" in lines
    again = shlex.split(lines[-1].removeprefix("next     "))
    assert again == ["weakspot", "try", "a run", "it is on the left.", "--n", "1024"]
    assert cli([*again[1:-1], "30"]) == 0
    assert "trials   30 new images · 50 in all · 0 errors" in capsys.readouterr().out


def test_json_and_a_spent_budget(over: Path, capsys: Capture) -> None:
    assert cli(["try", "a run", "it is on the left.", "--budget", "images=10", "--json"]) == 3
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["fresh"], told["exit_code"]) == ("undecided", 10, 3)
    assert told["limit"] == "the images budget of 10 is spent"
    assert told["text"] == "a realistic photograph of a fly (insect). it is on the left."
    assert told["report"] == "a run/report.html"


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["nowhere", "it is red."], "there is no run folder nowhere"),
        (["a run", ""], "there are no words to try"),
        (["a run", "it is red.", "--n", "0"], "0 images cannot be drawn"),
        (["a run", "it is red.", "--label", "cat"], "the run did not hunt for 'cat'"),
        (["a run", "it is red.", "--budget", "words=3"], "no budget is called 'words'"),
    ],
)
def test_what_cannot_be_tried(over: Path, capsys: Capture, args: list[str], what: str) -> None:
    assert cli(["try", *args]) == 1
    error, fix = capsys.readouterr().err.splitlines()[-2:]
    assert error == f"error: {what}"
    assert fix.startswith("  fix: ")


def test_hostile_words_are_shown_and_do_nothing(over: Path, capsys: Capture) -> None:
    words = "<script>alert(1)</script> \x1b[2J\u202e flower."
    assert cli(["try", "a run", words]) == 0
    said = capsys.readouterr()
    assert not {"\x1b", "\u202e"} & {*said.out, *said.err}
    assert "‹U+202E›" in said.out
    page = (over / "a run" / "report.html").read_text()
    assert "<script>alert" not in page
    assert not {"\x1b", "\u202e"} & {*page}
