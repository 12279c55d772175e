"""Ctrl-C in the middle: everything is kept, and going on ends where an undisturbed run ends."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import weakspot as ws
from weakspot.cli import run as cli

Shell = Callable[..., "subprocess.CompletedProcess[str]"]
WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))


def interrupted(args: list[str], folder: Path, *, after: str, group: bool) -> tuple[int, str, str]:
    """Run the command, press Ctrl-C when a line of its progress begins with `after`; code, stdout, stderr."""
    process = subprocess.Popen(
        [WEAKSPOT, *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if line.startswith(after):
            break
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, seen + err


@pytest.mark.parametrize("after", ["hunting", "baseline", "race"])
def test_a_hunt_goes_on_after_ctrl_c(weakspot: Shell, meadow: list[str], toy: Path, after: str) -> None:
    slow = [*meadow, "--source", "python:toy:Slow", "--budget", "images=2000"]
    code, out, err = interrupted([*slow, "--out", "a run"], toy, after=after, group=False)
    assert code == 130
    assert out == ""
    assert "Traceback" not in err
    said, command = err.splitlines()[-2:]
    assert said == "stopped; everything drawn is kept. go on with:"
    assert command == "  weakspot resume 'a run'"
    with ws.open_run("a run") as run:
        kept = sum(t.drawn for t in run.ledger.tallies().values())
        assert run.state == "running"
        assert kept == run.ledger.spend().get("images", 0)
    assert kept > 0 or after == "hunting"

    report = weakspot("report", "a run", "--json")
    assert json.loads(report.stdout)["trials"]["drawn"] == kept
    rest = weakspot(*shlex.split(command)[1:], "--json")
    whole = weakspot(*meadow, "--budget", "images=2000", "--out", "whole", "--json")
    assert rest.returncode == whole.returncode == 0, rest.stderr
    a, b = json.loads(rest.stdout), json.loads(whole.stdout)
    assert a["findings"] == b["findings"]
    assert a["trials"] == b["trials"]
    assert [f["phrase"] for f in a["findings"] if f["confirmed"]] == ["it is on a flower."]


@pytest.mark.long
def test_ctrl_c_reaches_the_drawing_processes_too(weakspot: Shell, toy: Path) -> None:
    """A terminal sends the signal to the whole group of processes."""
    args = ["hunt", "world:classifier", "--label", "fly", "--budget", "images=1200", "--seed", "7"]
    code, _, err = interrupted([*args, "--out", "run"], toy, after="baseline", group=True)
    assert code == 130
    assert "Traceback" not in err
    assert "  weakspot resume run" in err.splitlines()
    rest, whole = weakspot("resume", "run", "--json"), weakspot(*args, "--out", "whole", "--json")
    assert rest.returncode == whole.returncode
    a, b = json.loads(rest.stdout), json.loads(whole.stdout)
    for key in ("findings", "race", "trials", "state", "baseline"):
        assert a[key] == b[key]


def test_ctrl_c_before_anything_began(
    toy: Path, meadow: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("weakspot.studies.hunt.parts.load", interrupt)
    assert cli([*meadow, "--out", "run"]) == 130
    assert capsys.readouterr().err.strip() == "stopped before anything was drawn"
    assert not (toy / "run").exists()


def test_ctrl_c_while_starting_leaves_no_traceback(toy: Path) -> None:
    code = (
        "import sys, builtins\n"
        "from weakspot.cli import main\n"
        "real = builtins.__import__\n"
        "def stop(name, *rest, **more):\n"
        "    if name == 'weakspot.cli.app': raise KeyboardInterrupt\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = stop\n"
        "main(['--help'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_second_process_does_not_write_the_same_run(weakspot: Shell, meadow: list[str], toy: Path) -> None:
    slow = [*meadow, "--source", "python:toy:Slow", "--out", "run"]
    first = subprocess.Popen(
        [WEAKSPOT, *slow], cwd=toy, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert first.stderr is not None
    assert first.stderr.readline().startswith("hunting")
    try:
        second = weakspot("resume", "run")
        assert second.returncode == 1
        assert second.stderr.splitlines() == [
            "error: another process is writing run",
            "  fix: wait for it, or stop it",
        ]
        assert weakspot("report", "run").returncode == 0
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert first.returncode == 130
