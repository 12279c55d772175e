"""What is refused before any work, and how a run ends that could judge nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from weakspot.cli import run as cli

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
MINE = ("mine", "world:encoder", "--reference", "world:scenes", "--corpus", "world?texts=40")
DEAD = """
class Dead:
    def answer(self, cases):
        raise ConnectionError("the port is closed")
"""


@pytest.fixture
def dead(toy: Path) -> str:
    (toy / "gone.py").write_text(DEAD)
    return "python:gone:Dead"


def test_a_run_of_which_every_call_failed_is_not_a_success(weakspot: Shell, dead: str) -> None:
    """36 questions are fewer than the errors in a row that stop a run, so it comes to its end."""
    asked = ("ask", dead, "--benchmark", "world:questions", "--out", "run")
    done = weakspot(*asked)
    assert done.returncode == 1
    assert "nothing could be judged, since all 36 calls ended in an error" in done.stdout
    told = json.loads(weakspot(*asked[:-1], "again", "--json").stdout)
    assert told["exit_code"] == 1


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (
            ("--downstream", "world:renderer", "--matcher", "world:classifier"),
            "cannot say which text a picture",
        ),
        (("--matcher", "world:verifier"), "a matcher is of no use where nothing is drawn"),
        (("--reference", "world:classifier"), "is not a TextEncoder"),
        (("--validity", "no-such-judge"), "no-such-judge"),
    ],
)
def test_a_wrong_part_is_refused_before_any_work(
    more: tuple[str, ...], what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli([*MINE, *more, "--out", str(tmp_path / "run")]) in (1, 2)
    assert what in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_budget_below_what_was_spent_is_refused(weakspot: Shell, meadow: list[str]) -> None:
    assert weakspot(*meadow, "--budget", "images=30", "--out", "run").returncode == 3
    done = weakspot("resume", "run", "--budget", "images=10")
    assert done.returncode == 1
    assert "a budget of 10 images is less than the" in done.stderr
    assert "--budget images=" in done.stderr
