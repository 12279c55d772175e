"""Real landscapes: what is measured of a map on part of the rows, and BlindTest itself."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from weakspot.bench import landscapes
from weakspot.bench.landscapes import BUDGETS, FILE, LandscapeRow, lines_of
from weakspot.core import WeakspotError


def write(folder: Path, *, n: int = 600) -> Path:
    """A model that cannot count deep squares when they are thin."""
    rng = np.random.default_rng(0)
    with gzip.open(folder / FILE, "wt", newline="") as file:
        out = csv.writer(file)
        out.writerow(["task", "image", "prompt", "model", "correct", "parameters"])
        for i in range(n):
            depth, thickness = int(rng.integers(2, 6)), int(rng.integers(2, 5))
            failed = rng.random() < (0.8 if depth == 5 and thickness == 2 else 0.1)
            drawn = json.dumps({"depth": str(depth), "thickness": str(thickness)})
            prompt = ("count-prompt", "how-many-prompt")[i % 2]
            out.writerow(["NestedSquares", f"{i}.webp", prompt, "toy", int(not failed), drawn])
    return folder


def test_a_map_is_measured_against_all_rows(tmp_path: Path) -> None:
    rows = landscapes.landscapes(write(tmp_path), seeds=1)
    assert [(row.method, row.share) for row in rows] == [(m, s) for s in BUDGETS for m in ("map", "random")]
    for row in rows:
        assert (row.task, row.model, row.rows, row.cells) == ("NestedSquares", "toy", 600, 24)
        assert row.read <= round(row.share * 600)
        assert 0 <= row.worst <= 1
        assert row.covered >= 0.9
        assert 0 < row.width < 1
        assert (row.in_modes is None) == (row.method == "random")
    most = rows[-2]
    assert most.order > 0.5
    assert most.worst >= 0.4  # two cells fail often, and three are bad luck
    lines = list(lines_of(rows, 120))
    assert len(lines) == 1 + len(rows) + 2 * len(BUDGETS)
    assert lines[0].split()[:3] == ["task", "·", "model"]
    assert "mean of 1" in lines[-1]


def test_what_it_needs_is_said(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="vision-llms-are-blind"):
        landscapes.landscapes(tmp_path, seeds=1)


@pytest.mark.long
def test_blindtest(data: Path) -> None:
    """With a tenth of the rows a map names more of the worst cells than a random sample."""
    rows = landscapes.landscapes(data / "data", seeds=4)

    def mean(method: str, share: float, what: str) -> float:
        some = [getattr(row, what) for row in rows if (row.method, row.share) == (method, share)]
        return float(np.mean(some))

    assert all(isinstance(row, LandscapeRow) for row in rows)
    assert mean("map", 0.1, "worst") > mean("random", 0.1, "worst")
    assert mean("map", 0.5, "worst") >= 0.75
    for share in BUDGETS:
        assert mean("map", share, "covered") >= 0.95
        assert mean("map", share, "width") < mean("random", share, "width")
