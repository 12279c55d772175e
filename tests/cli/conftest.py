"""The command as a person runs it, in a folder of its own.

`weakspot` runs it within this process, which spares the second that importing takes; `process` in one of its
own, for what only a process shows: what reaches its streams, signals, limits, a traceback.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from weakspot.cli import run as cli

WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))
#: A hunt of a second or two (see `TOY` in tests/conftest.py).
MEADOW = [
    "hunt", "python:toy:Classifier", "--label", "fly", "--source", "python:toy:Meadow",
    "--budget", "images=6000", "--seed", "7",
]  # fmt: skip

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def process(toy: Path) -> Shell:
    """Run `weakspot` with these arguments as a process, in the folder of the toy."""

    def run(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"cwd": toy, "timeout": 120, "env": {**os.environ, "NO_COLOR": "1"}}
        return subprocess.run(
            [WEAKSPOT, *args], capture_output=True, text=True, check=False, **(settings | more)
        )

    return run


@pytest.fixture
def weakspot(
    toy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shell]:
    """Run `weakspot` with these arguments in the folder of the toy, within this process."""
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        importlib.invalidate_caches()  # of modules that the test has just written
        capsys.readouterr()
        code = cli(list(args))
        return subprocess.CompletedProcess(args, code, *capsys.readouterr())

    yield run
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(toy)):
            del sys.modules[name]


@pytest.fixture
def meadow() -> list[str]:
    """The arguments of a quick hunt that finds "it is on a flower."."""
    return list(MEADOW)
