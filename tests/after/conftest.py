"""The meadow with its other models, and a hunt on it that is over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.after.after_parts import OTHERS, hunted


@pytest.fixture
def others(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy's folder, with the module `others` in it."""
    (toy / "others.py").write_text(OTHERS)
    monkeypatch.delitem(sys.modules, "others", raising=False)
    return toy


@pytest.fixture
def run_folder(others: Path) -> Path:
    """A hunt with two findings, one of them confirmed."""
    return hunted(others / "run")
