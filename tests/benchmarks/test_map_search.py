"""The comparison of searches: all are measured alike, each once, and a run that was stopped goes on."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from tests.studies.map.map_parts import planted, small_space

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks.map_truth import Truth  # noqa: E402

from benchmarks import map_search  # noqa: E402


def test_a_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("stable_baselines3")
    space = small_space(values=4, axes=2)
    delta = planted(space, inputs=300)
    found = Truth("tiny-16", space, delta, np.random.default_rng(0).random((300, 3)).astype(np.float32))
    monkeypatch.setattr(map_search, "truth", lambda *_, **__: found)
    monkeypatch.setattr(map_search, "LANDSCAPES", {"tiny-16": ("", "", "", 300)})
    file = tmp_path / "rows.json"
    asked = ["--searches", "thompson,random,ppo", "--shares", "0.1,0.25", "--json", str(file)]

    def call(*more: str) -> list[dict[str, object]]:
        monkeypatch.setattr(sys, "argv", ["map_search.py", *more])
        map_search.main()
        return list(json.loads(file.read_text()))

    assert len(call(*asked, "--seeds", "1", "--seeds-of", "", "--most", "1000")) == 4  # no agent
    rows = call(*asked, "--seeds", "1", "--seeds-of", "thompson=2")  # an agent cannot learn from 480 queries
    assert len(rows) == len({(r["search"], r["share"], r["seed"]) for r in rows}) == 7
    assert all(0 <= row[key] <= 1 for row in rows for key in ("cells", "modes", "covered", "per_query"))  # type: ignore[operator]
    before = file.read_bytes()
    call(*asked, "--seeds", "1", "--seeds-of", "thompson=2")
    assert file.read_bytes() == before
    capsys.readouterr()
    call("--show", str(file), "--svg", str(tmp_path / "p.svg"))
    told = capsys.readouterr().out
    assert "| ppo | – | – | – | 0." in told
    assert "(2 of 2)" in told or "(1 of 2)" in told or "(0 of 2)" in told
    assert "| tiny-16 | ppo | 25% | 1, 120 |" in told
    ET.fromstring((tmp_path / "p.svg").read_text())
