"""A gate that passes only what a run certifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.studies.hunt.dull import dull

from weakspot.after.gate import CERTIFIED, Limits, check_limits, gate
from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies.table.result import TableResult


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gate") / "run"
    dull(0.02, folder, budget=30_000, certify=0.15).close()
    return folder


def test_a_certified_run_passes_and_says_what_was_seen(hunted: Path, capsys: Any) -> None:
    assert cli(["gate", str(hunted), "--certified", "0.15"]) == 0
    said = capsys.readouterr().out
    assert "ok  any other caption that was tried  at most 15 % (of " in said
    assert "--certified passes only if the run shows it (at 95 %)" in said
    assert cli(["gate", str(hunted), "--certified", "0.05"]) == 1
    assert "FAIL  any other caption that was tried" in capsys.readouterr().out
    assert cli(["gate", str(hunted), "--certified", "0.05", "--max-rate", "0.5", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [(check["what"], check["passed"]) for check in told["checks"]] == [
        ("certified", False),
        ("rate", True),
    ]
    assert told["level"] == 0.95  # of the one interval: a certificate has its own


def test_a_run_without_a_certificate_fails_and_says_so(hunted: Path, capsys: Any) -> None:
    with Run.open(hunted) as run:
        values = run.ledger.fact("result")
        run.ledger.set_fact("result", values | {"certified": None})
        [check] = gate(run, Limits(certified=0.15)).checks
        assert (check.what, check.passed) == (CERTIFIED, False)
    assert cli(["gate", str(hunted), "--certified", "0.15"]) == 1
    said = capsys.readouterr().out
    assert "no certificate: the run does not say how often anything else may fail" in said
    with Run.open(hunted) as run:
        run.ledger.set_fact("result", values)


def test_a_hunt_of_a_table_is_checked_by_its_bound(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "run"
    assert cli(["hunt", "world:predictions", "--out", str(out)]) == 0
    capsys.readouterr()
    with Run.read(out) as run:
        result = TableResult.of(run)
        assert result is not None
        assert result.bound is not None
        bound = result.bound.rate
    assert cli(["gate", str(out), "--certified", f"{bound + 0.001:.4f}"]) == 0
    assert "any other word or value with at least " in capsys.readouterr().out
    assert cli(["gate", str(out), "--certified", f"{bound - 0.001:.4f}"]) == 1


def test_a_share_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(WeakspotError, match="--certified cannot be 8"):
        check_limits(Limits(certified=8), against=False)
