"""`weakspot rare` as a person uses it: a rate, a report, a kill in the middle, and what cannot be asked."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from weakspot.cli import run as cli

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))

#: Pictures of four pixels' worth of noise, and a classifier that errs where the first is very bright.
DEEP = """
import time

import numpy as np

from weakspot.core import Case, Output, Scores, case_seed
from weakspot.sources.spaces import Gaussian

LABELS = ("fly", "bee", "cat")


class Noise(Gaussian):
    def __init__(self, hypothesis):
        super().__init__(4)
        self.hypothesis = hypothesis

    def to_cases(self, states, indices):
        return [case_of(self.hypothesis, i, 1, s) for s, i in zip(states, indices, strict=True)]


def case_of(hypothesis, index, own, state):
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[0, :4, 0] = np.clip(100 + 25 * state, 0, 255)
    far = " it is <b>bright</b>." if state[0] > 3 else ""
    return Case(hypothesis, index, own, picture, "fly", f"{hypothesis.text}{far}")


class Source:
    def draw(self, hypothesis, indices, *, seed):
        seeds = [case_seed(seed, hypothesis, i) for i in indices]
        return [
            case_of(hypothesis, i, s, np.random.default_rng(s).standard_normal(4))
            for i, s in zip(indices, seeds, strict=True)
        ]

    def space(self, hypothesis):
        return Noise(hypothesis)


class Classifier:
    labels, parents, pause = LABELS, {"fly": "insect"}, 0.0

    def answer(self, cases):
        time.sleep(self.pause)
        return [self.one(int(c.input[0, 0, 0])) for c in cases]

    def one(self, bright):
        p = 1 / (1 + np.exp(-(190.5 - bright) / 8))
        return Output("fly" if p > 0.5 else "bee", Scores(LABELS, np.array([p, 1 - p, 0], np.float32)))


class Slow(Classifier):
    pause = 0.05
"""
ASK = ["rare", "python:deep:Classifier", "--label", "fly", "--source", "python:deep:Source", "--seed", "3"]
#: P(100 + 25 z ≥ 191): the classifier errs from there on.
TRUTH = 1.36e-4


@pytest.fixture
def deep(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (toy / "deep.py").write_text(DEEP)
    monkeypatch.delitem(sys.modules, "deep", raising=False)
    return toy


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    return found


def test_a_rate_and_its_report(weakspot: Shell, deep: Path) -> None:
    done = weakspot(*ASK, "--budget", "images=8k", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "per million [" in done.stdout
    assert "said     bee 100 %" in done.stdout
    assert "8,000 images" in done.stderr
    found = told(deep / "run")["result"]
    assert found["low"] <= TRUTH <= found["high"]
    page = (deep / "run" / "report.html").read_text()
    assert "data:image/png" in page
    assert "<b>bright" not in page
    again = weakspot("report", "run", "--json")
    assert json.loads(again.stdout)["result"] == found
    # What is over is over: nothing is drawn again.
    assert weakspot("resume", "run").returncode == 0
    assert told(deep / "run")["result"] == found


def test_killed_and_resumed(weakspot: Shell, deep: Path) -> None:
    assert weakspot(*ASK, "--budget", "images=3k", "--out", "whole").returncode == 0
    slow = ["python:deep:Slow" if word == "python:deep:Classifier" else word for word in ASK]
    process = subprocess.Popen(
        [WEAKSPOT, *slow, "--budget", "images=3k", "--out", "run"], cwd=deep,
        env={**os.environ, "NO_COLOR": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and images(deep / "run") < 600:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = images(deep / "run")
    assert 600 <= before < 3000
    assert weakspot("report", "run").returncode == 0
    done = weakspot("resume", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"] == told(deep / "whole")["result"]


def images(folder: Path) -> int:
    """How many the run has recorded."""
    try:
        with sqlite3.connect(f"file:{folder / 'ledger.db'}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT COUNT(*) FROM trials").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_without_a_space_it_counts_and_says_so(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--label", "fly", "--source", "python:toy:Meadow", "--budget", "images=500", "--json"]
    assert cli(["rare", "python:toy:Classifier", *words, "--out", str(toy / "run")]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["method"] == "plain"
    assert "no space to move in" in found["note"]
    assert found["common"][0]["words"].startswith("it is on a")


@pytest.mark.parametrize(
    ("more", "what", "code"),
    [
        (["--label", "fyl"], "has no label 'fyl'", 1),
        (["--budget", "images=50"], "too few", 1),
        (["--budget", "seconds=5"], "no number of images", 1),
        (["--target-label", "fly"], "the target label is the right label", 1),
        (["--seed", "x"], "seed", 2),
    ],
)
def test_what_cannot_be_asked(
    deep: Path, capsys: pytest.CaptureFixture[str], more: list[str], what: str, code: int
) -> None:
    assert cli([*ASK, *more, "--out", str(deep / "run")]) == code
    assert what in capsys.readouterr().err
    assert not (deep / "run").exists()
