"""`weakspot map` of texts and of a generator, as a person runs it, on embedded models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

Shell = Callable[..., "CompletedProcess[str]"]

SUMMARISERS = """
from weakspot.core import Output

class Silent:
    def answer(self, cases):
        return [Output("") for _ in cases]

class Shy:
    def answer(self, cases):
        return [Output("" if len(c.input) % 2 else c.expected) for c in cases]
"""


def test_texts_end_to_end(weakspot: Shell, tmp_path: Path) -> None:
    done = weakspot(
        "map",
        "extract:3",
        "--task",
        "text",
        "--budget",
        "images=300",
        "--seed",
        "3",
        "--out",
        "run",
        "--json",
    )
    assert done.returncode in (0, 3), done.stderr  # 3: the confirmation wanted more than there was
    told = json.loads(done.stdout)
    assert told["settings"]["space"] == "text-16"
    assert told["result"]["cells"] == 16
    assert told["trials"]["errors"] == 0
    assert told["bias"] is None
    assert "mistype characters" in (tmp_path / "run" / "report.html").read_text()
    again = weakspot("resume", "run")
    assert again.returncode == done.returncode, again.stderr


def test_texts_of_ones_own_and_a_silent_summariser(weakspot: Shell, tmp_path: Path) -> None:
    rows = [
        {"text": f"The town of Number {i} built a bridge. It is long.", "summary": f"Town {i} built."}
        for i in range(24)
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "summarisers.py").write_text(SUMMARISERS)
    more = ("--task", "text", "--documents", "own.jsonl", "--budget", "images=200", "--out")
    done = weakspot("map", "python:summarisers:Shy", *more, "shy")
    assert done.returncode == 0, done.stderr
    assert "most often: empty: the summariser returned nothing" in done.stdout
    told = json.loads((tmp_path / "shy" / "report.json").read_text())
    assert told["result"]["failures"] == 0
    assert told["trials"]["errors"] == 0
    assert told["unjudged"][0]["times"] > 20
    assert told["parts"] == {"discovery": 6, "confirmation": 6, "repair": 6, "verification": 6}
    done = weakspot("map", "python:summarisers:Silent", *more, "silent")
    assert done.returncode == 1
    assert "not one answer to the inputs as they are could be judged" in done.stderr
    assert "20 × empty: the summariser returned nothing" in done.stderr
    done = weakspot("report", "silent")
    assert done.returncode == 0, done.stderr
    assert "%" not in done.stdout.splitlines()[0]


def test_a_generator_end_to_end(weakspot: Shell, tmp_path: Path) -> None:
    done = weakspot(
        "map", "world:renderer", "--task", "generator", "--space", "prompt-world", "--budget", "images=120",
        "--judge", "picture?encoder=world:encoder&attribute=it is day.|it is night.&wanted=0.5,0.5",
        "--out", "run",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "bias " in done.stdout
    assert "from the wanted shares" in done.stdout
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Bias" in page
    assert "it is night." in page


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["extract:3", "--task", "txt"], "no task is called 'txt'"),
        (["extract:3", "--task", "text", "--documents", "none"], "cannot be read"),
        (["diffusers:none", "--task", "generator"], "picture?encoder="),
    ],
)
def test_misuse_is_told_in_two_lines(weakspot: Shell, args: list[str], said: str) -> None:
    done = weakspot("map", *args, "--out", "run")
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
