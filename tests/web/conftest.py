"""Runs made by hand, one of each study."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.web.web_parts import make_ask, make_hunt, make_map, make_pairs


@pytest.fixture
def hunt_folder(tmp_path: Path) -> Path:
    return make_hunt(tmp_path / "runs" / "hunt-fly")


@pytest.fixture
def pairs_folder(tmp_path: Path) -> Path:
    return make_pairs(tmp_path / "mine-run")


@pytest.fixture
def ask_folder(tmp_path: Path) -> Path:
    return make_ask(tmp_path / "ask-run")


@pytest.fixture
def map_folder(tmp_path: Path) -> Path:
    return make_map(tmp_path / "map-run")
