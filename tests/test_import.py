"""`import weakspot` and `weakspot --help` stay light; the package's names are what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import weakspot

HEAVY = (
    "scipy", "sklearn", "onnxruntime", "torch", "transformers", "diffusers", "peft", "accelerate",
    "sentence_transformers", "datasets", "timm", "open_clip", "inspect_ai", "starlette", "uvicorn", "ray",
    "gymnasium", "stable_baselines3", "safetensors", "PIL", "numpy", "joblib", "pyarrow", "openai",
)  # fmt: skip
WEAKSPOT = Path(sys.executable).with_name("weakspot")


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("command", [None, "--help", "hunt --help", "--version"])
def test_nothing_heavy_is_loaded(command: str | None) -> None:
    what = f"from weakspot.cli import run; run({command.split()})" if command else "import weakspot"
    code = f"{what}\nimport sys\nprint('loaded:', *(m for m in {HEAVY!r} if m in sys.modules))"
    assert _python(code).splitlines()[-1].split() == ["loaded:"]


def _best(command: list[str]) -> float:
    """Processor time of a command, which a busy machine does not change much.

    Of five together: it is counted in hundredths of a second.
    """
    times = []
    for _ in range(3):
        began = os.times()
        for _ in range(5):
            subprocess.run(command, check=True, capture_output=True)
        ended = os.times()
        times.append(
            ended.children_user + ended.children_system - began.children_user - began.children_system
        )
    return min(times) / 5


def test_help_answers_at_once() -> None:
    took, bare = _best([str(WEAKSPOT), "--help"]), _best([sys.executable, "-c", "pass"])
    assert took < 1
    assert took < 30 * bare


def test_python_runs_it_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "weakspot", "--version"], capture_output=True, text=True, check=True
    )
    assert weakspot.__version__ in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "weakspot", "hunt", "--hlp"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "see: weakspot hunt --help" in done.stderr


def test_every_public_name_is_there() -> None:
    for name in weakspot.__all__:
        assert getattr(weakspot, name) is not None
    assert dir(weakspot) == sorted(weakspot.__all__)
    assert weakspot.hunt.__name__ == "hunt"


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'hant'"):
        _ = weakspot.hant  # type: ignore[attr-defined]
