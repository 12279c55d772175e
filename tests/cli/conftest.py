"""The command as a person runs it: a process of its own, in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WEAKSPOT = str(Path(sys.executable).with_name("weakspot"))
#: A hunt of a second or two (see `TOY` in tests/conftest.py).
MEADOW = [
    "hunt", "python:toy:Classifier", "--label", "fly", "--source", "python:toy:Meadow",
    "--budget", "images=6000", "--seed", "7",
]  # fmt: skip

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def weakspot(toy: Path) -> Shell:
    """Run `weakspot` with these arguments in the folder of the toy."""

    def run(*args: str, **more: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"cwd": toy, "timeout": 120, "env": {**os.environ, "NO_COLOR": "1"}}
        return subprocess.run(
            [WEAKSPOT, *args], capture_output=True, text=True, check=False, **(settings | more)
        )

    return run


@pytest.fixture
def meadow() -> list[str]:
    """The arguments of a quick hunt that finds "it is on a flower."."""
    return list(MEADOW)
