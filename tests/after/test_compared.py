"""What is compared between two runs: estimates, cells, claims about one answer; and how often luck shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.results import rare_result

from weakspot.after.compared import (
    BETTER,
    OPEN,
    UNMEASURED,
    WORSE,
    MeasureRow,
    adjusted_rows,
    compare_folders,
)
from weakspot.after.comparison_text import markdown, sentences, strip, to_json
from weakspot.core import Finding, Hypothesis, Stage, Status, Trial, WeakspotError
from weakspot.stats.contrast import contrast_paired
from weakspot.store import Run, RunConfig, rate
from weakspot.study.rates import Measure, rates_of

BASE = Hypothesis("as they are", (("outside", "dim"),), origin="baseline")
CELLS = [Hypothesis(f"darkened {i}0 %", (("darken", str(i)),), origin="cell") for i in range(4)]


def make(folder: Path, study: str, facts: dict[str, Any] | None = None, **settings: Any) -> Path:
    config = RunConfig(study=study, subject="x", settings={"target": "m", "seed": 1, **settings})
    with Run.create(config, folder=folder) as run:
        for key, value in ({"state": "finished"} | (facts or {})).items():
            run.ledger.set_fact(key, value)
    return folder


def record(
    folder: Path,
    hypothesis: Hypothesis,
    failed: Sequence[bool | None],
    *,
    stage: Stage = Stage.EXPLORE,
    **more: Any,
) -> None:
    with Run.open(folder) as run:
        run.ledger.add_hypotheses([hypothesis])
        rows = [
            Trial(
                hypothesis.id,
                stage.start + i,
                Status.ERROR if bad is None else Status.OK,
                bad,
                None,
                "fly",
                more.get("answer", "bee") if bad else "fly",
            )
            for i, bad in enumerate(failed)
        ]
        run.ledger.record(rows, {})


def rare(low: float, value: float, high: float) -> dict[str, Any]:
    result = rare_result(low=low, rate=value, high=high, method="splitting", hypothesis=BASE.id)
    return {"base": BASE.id, "result": {"version": 1} | result.plain()}


def test_estimates_of_rare_failures(tmp_path: Path) -> None:
    one = make(tmp_path / "one", "rare", rare(1e-5, 2e-5, 4e-5))
    two = make(tmp_path / "two", "rare", rare(2e-4, 4e-4, 8e-4))
    same = make(tmp_path / "same", "rare", rare(1e-5, 3e-5, 9e-5))
    found = compare_folders(one, two)
    assert found.rows[0].change == WORSE
    assert not found.rows[0].paired
    assert "estimates" in found.separate
    assert "intervals of the two estimates" in to_json(found)["method"]
    assert compare_folders(two, one).rows[0].change == BETTER
    assert compare_folders(one, same).rows[0].change == OPEN


def test_cells_of_a_map(tmp_path: Path) -> None:
    one, two = (make(tmp_path / name, "map", {"base": BASE.id}) for name in ("one", "two"))
    policy = Hypothesis("darkened 30 %", (("darken", "3"), ("policy", "dqn")), origin="cell")
    for folder, bad in ((one, False), (two, True)):
        record(folder, BASE, [False] * 40)
        record(folder, CELLS[0], [bad] * 40)
        record(folder, CELLS[1], [bad] * 4)
        record(folder, policy, [True] * 40)
    record(one, CELLS[2], [True] * 40)
    found = compare_folders(one, two)
    assert [(row.measure.words, row.change) for row in found.rows] == [
        ("as they are", OPEN),
        ("darkened 00 %", WORSE),
    ]
    assert any("fewer than 10 cases" in note for note in found.notes)
    assert found.rows[1].contrast is not None
    assert found.rows[1].contrast.only_second == 40
    assert "●" in strip(found.rows[1], 1.0)
    assert "**▲ worse**" in markdown(found)


def test_rates_of_all_draws_beside_a_difference_of_shared_cases_are_said(tmp_path: Path) -> None:
    one, two, three = (make(tmp_path / name, "map", {"base": BASE.id}) for name in ("one", "two", "three"))
    record(one, BASE, [True] * 10 + [False] * 50)
    record(two, BASE, [True] * 10 + [False] * 10)
    record(three, BASE, [True] * 12 + [False] * 8)
    found = compare_folders(one, two)
    [row] = found.rows
    assert row.contrast is not None
    assert (row.first.n, row.second.n, row.contrast.n) == (60, 20, 20)  # type: ignore[union-attr]
    assert row.contrast.difference == 0
    said = "need not be the difference of the two rates"
    assert said in to_json(found)["method"]
    assert said in markdown(found)
    assert said not in to_json(compare_folders(two, three))["method"]


def test_another_verifier_leaves_the_draws_the_same(tmp_path: Path) -> None:
    both = []
    for name, digest in (("one", "a"), ("two", "b")):
        config = RunConfig(
            study="map", subject="x", settings={"target": "m", "seed": 1},
            digests={"verify": digest, "verify 2": digest},
        )  # fmt: skip
        with Run.create(config, folder=tmp_path / name) as run:
            run.ledger.set_fact("base", BASE.id)
        record(tmp_path / name, BASE, [False] * 20)
        both.append(tmp_path / name)
    assert compare_folders(*both).rows[0].paired


def test_errors_are_in_no_denominator(tmp_path: Path) -> None:
    one, two = (make(tmp_path / name, "map", {"base": BASE.id}) for name in ("one", "two"))
    record(one, BASE, [False, None, True, False])
    record(two, BASE, [None, False, True, True])
    [row] = compare_folders(one, two).rows
    assert row.first is not None
    assert row.second is not None
    assert (row.first.n, row.second.n) == (3, 3)
    assert row.contrast is not None
    assert (row.contrast.n, row.contrast.only_first, row.contrast.only_second) == (2, 0, 1)


def test_a_finding_about_one_answer_counts_that_answer_on_fresh_draws(tmp_path: Path) -> None:
    folder = make(tmp_path / "one", "hunt", {"base": BASE.id})
    record(folder, CELLS[0], [True] * 50)  # the search's own draws, which it picked
    record(folder, CELLS[0], [True] * 6 + [False] * 14, stage=Stage.CONFIRM, answer="bee")
    with Run.open(folder) as run:
        measured = rate(run.ledger.tally(CELLS[0], Stage.CONFIRM))
        found = [
            Finding(CELLS[0], "on a flower", measured, measured, 9.0, True, answer=answer)
            for answer in ("", "bee", "wasp")
        ]
        run.ledger.set_findings(found)
    with Run.read(folder) as run:
        rates = rates_of(run)
        samples = {m.answer: rates.sample(m) for m in rates.measures() if m.kind == "finding"}
    counted = {
        answer: sample and (sample.tally.failures, sample.tally.n) for answer, sample in samples.items()
    }
    assert counted == {"": (6, 20), "bee": (6, 20), "wasp": (0, 20)}
    other = make(tmp_path / "two", "hunt", {"base": BASE.id})
    told = compare_folders(folder, other)
    assert {row.change for row in told.rows} == {UNMEASURED}
    assert "Nothing was measured in both runs, so nothing can be compared." in sentences(told)
    assert len(told.gone) == 3


def test_runs_that_have_no_rates(tmp_path: Path) -> None:
    one, two = (make(tmp_path / name, "repair") for name in ("one", "two"))
    with pytest.raises(WeakspotError, match="already compares before and after"):
        compare_folders(one, two)


def test_luck_shows_a_difference_once_in_twenty_at_most_over_all_rows() -> None:
    """Two models that are equally good, ten slices: how often is any of them called changed?"""
    rng = np.random.default_rng(4)
    shown = 0
    for _ in range(200):
        rows = []
        for i in range(10):
            differ = rng.binomial(60, 0.2)
            first = int(rng.binomial(differ, 0.5))
            contrast = contrast_paired(first, int(differ) - first, 60)
            measure = Measure(str(i), "slice", str(i))
            rows.append(MeasureRow(measure, None, None, contrast, True, None, (False, False), UNMEASURED))
        shown += any(row.change in (WORSE, BETTER) for row in adjusted_rows(rows, "holm", 0.05))
    assert shown <= 0.05 * 200 + 6  # two standard errors
