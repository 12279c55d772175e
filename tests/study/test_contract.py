"""Every study keeps what the frame promises, those of other packages too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from weakspot.cli.app import command_tree
from weakspot.core import registry
from weakspot.study import study as study_module
from weakspot.testing import check_study

PLUGINS = Path(__file__).resolve().parents[1] / "plugins"
#: Small runs of our own studies; without values `Study.example` is run.
SMALL: dict[str, dict[str, Any]] = {
    "hunt": {"target": "world:classifier", "label": "fly", "budget": "images=900", "seed": 1},
    "rare": {"target": "world:classifier", "label": "fly", "budget": "images=600"},
    "map": {"target": "world:classifier", "images": "world:200", "budget": "images=600", "seed": 2},
    "mine": {
        "encoder": "world:encoder", "reference": "world:scenes", "corpus": "world?texts=400",
        "budget": "pairs=1200",
    },
    "ask": {"target": "world:guide", "benchmark": "world:questions", "limit": 12},
    "table": {"target": "world:predictions"},
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_our_studies(name: str, tmp_path: Path) -> None:
    check_study(name, tmp_path, values=SMALL[name], kills=1).close()


@pytest.fixture
def another_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its folder is on the path, as an installed package's is; nothing else names the study."""
    monkeypatch.syspath_prepend(PLUGINS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PLUGINS), *sys.path]))
    caches = (registry.study_entries, study_module.find_study, command_tree)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.usefixtures("another_package")
@pytest.mark.parametrize("executor", ["", pytest.param("ray?source=1", marks=pytest.mark.long)])
def test_a_study_of_another_package(tmp_path: Path, executor: str) -> None:
    files = sorted((PLUGINS / "toy_study").glob("*.py"))
    assert sum(len(file.read_text().splitlines()) for file in files) <= 150
    if executor:
        pytest.importorskip("ray")
    with check_study("toy", tmp_path, executor=executor) as run:
        assert run.state == "finished"
        assert run.ledger.fact("result")["counted"][1]["rate"][0] > 0.3
