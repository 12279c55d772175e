"""Makes `tests.world.world_parts` importable however pytest was started; a folder to ship weights from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from weakspot.world import shipped

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of the world's weights; call `rewrite()` when it is filled."""
    folder = tmp_path / "weights"
    folder.mkdir()
    monkeypatch.setattr(shipped, "FOLDER", folder)
    return folder
