"""`map` over a table of results: the landscape is that of its rows, and nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weakspot
from weakspot.after.compared import compare
from weakspot.cli import run as cli
from weakspot.core import Stage, WeakspotError
from weakspot.stats.landscape import Rates, fit, of_finite, rates, smoothness
from weakspot.store import Run
from weakspot.studies.map.result import CellRates, Landscape, MapResult
from weakspot.study.lifecycle import resume, settings_of
from weakspot.study.reports import html, markdown, summary, write

N = 1200
CONCEPTS = ("distance", "size", "light")


def rows(n: int = N, *, seed: int = 0) -> list[dict[str, Any]]:
    """Near things are missed at night; large ones are never seen in the fog, so that cells are empty."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        light = str(rng.choice(["day", "night", "fog"]))
        size = int(rng.integers(1, 3 if light == "fog" else 5))
        distance = float(rng.uniform(0, 1))
        chance = 0.85 if light == "night" and distance < 0.35 else 0.05
        said = "bee" if rng.random() < chance else "fly"
        found.append(
            {
                "id": i,
                "distance": round(distance, 3),
                "size": size,
                "light": light,
                "label": "fly",
                "pred": said,
            }
        )
    return found


def written(path: Path, some: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in some))
    return path


def mapped(table: object, out: Path, **more: Any) -> Run:
    options: dict[str, Any] = {"concepts": CONCEPTS, "out": out, "seed": 1} | more
    return weakspot.map(table, **options)


def known(run: Run) -> tuple[Landscape, CellRates]:
    found = MapResult.of(run)
    assert found is not None
    assert found.landscape is not None
    assert found.every_cell is not None
    return found.landscape, found.every_cell


def truth(some: list[dict[str, Any]], run: Run) -> np.ndarray:
    """The rate of all rows of each cell, by its words; nan where there is none."""
    space = settings_of(run).concept_space
    failures, n = np.zeros(space.size), np.zeros(space.size)
    cuts = space.axes[0].cuts
    for row in some:
        at = int(np.searchsorted(cuts, row["distance"], side="right"))
        others = [space.axes[1].values.index(str(row["size"])), space.axes[2].values.index(row["light"])]
        cell = space.number([at, *others])
        n[cell] += 1
        failures[cell] += row["pred"] != row["label"]
    return np.where(n > 0, failures / np.maximum(n, 1), np.nan)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    mapped(str(written(folder / "answers.jsonl", rows())), folder / "run").close()
    return folder / "run"


def test_the_landscape_of_the_rows_is_found_said_and_confirmed(finished: Path) -> None:
    with Run.read(finished) as run:
        assert run.state == "finished"
        found, every = known(run)
        true = truth(rows(), run)
        there = ~np.isnan(true)
        rate, low, high = (np.array(x, float) for x in (every.rate, every.low, every.high))
        assert (np.isnan(rate) == ~there).all()  # cells without a row are no part of it
        assert found.cells == there.sum() < len(true)
        assert (((low <= true + 1e-5) & (true - 1e-5 <= high))[there]).mean() >= 0.95
        assert found.rate == pytest.approx(true[there].mean(), abs=0.03)
        assert "light night" in found.modes[0].words
        assert "distance under" in found.modes[0].words
        confirmed = [f for f in run.findings if f.confirmed]
        assert any("light night" in f.phrase and "distance under" in f.phrase for f in confirmed)
        assert "cells have no row and are left out" in found.note
        assert "A failure is: pred differs from label." in found.note
        assert sum(run.ledger.fact("result")["parts"].values()) == N


def test_a_row_is_on_one_side_and_in_its_cell_once(finished: Path) -> None:
    with Run.read(finished) as run:
        seen: dict[Stage, set[str]] = {stage: set() for stage in Stage}
        for hypothesis in run.ledger.hypotheses():
            for stage in Stage:
                lines = [trial.caption for trial in run.ledger.trials(hypothesis, stage=stage)]
                assert len(lines) == len({*lines})
                seen[stage] |= {*lines}
        assert not seen[Stage.EXPLORE] & seen[Stage.CONFIRM]
        assert len(seen[Stage.EXPLORE]) == pytest.approx(0.6 * N, abs=40)  # all that may be searched


def test_the_budget_counts_rows_read(tmp_path: Path) -> None:
    with mapped(rows(), tmp_path / "run", budget="images=300") as run:
        found, every = known(run)
        assert run.ledger.spend()["images"] <= 300
        assert sum(every.n) == found.queries == 240
        low, high, true = np.array(every.low, float), np.array(every.high, float), truth(rows(), run)
        there = ~np.isnan(true)
        assert ((low <= true + 1e-5) & (true - 1e-5 <= high))[there].mean() >= 0.9


def test_the_report_speaks_of_rows(finished: Path) -> None:
    with Run.read(finished) as run:
        write(run)
        text = markdown(run)
        page = html(run)
        lines = "\n".join(summary(run))
    assert "Of the rows of" in text
    assert "rows that the search never saw" in text
    assert "all rows" in text
    assert "queries" not in text.partition("## The landscape")[0]
    assert "distance under" in page
    assert "light night" in page
    assert "None" not in text
    assert "nan" not in lines


def test_pictures_of_the_table_are_kept_as_evidence(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8), "red").save(tmp_path / "red.png")
    some = [row | {"image": "red.png" if row["id"] % 2 else "gone.png"} for row in rows(400)]
    table = written(tmp_path / "answers.jsonl", some)
    with mapped(str(table), tmp_path / "run") as run:
        kept = [t for h in run.ledger.hypotheses() for t in run.ledger.trials(h, kept=True)]
        heads = {run.blobs.get(t.blob)[:4] for t in kept if t.blob}
    assert b"\x89PNG" in heads
    assert b"dist" in heads  # the words stand for a picture that is not there


def test_a_stopped_run_goes_on_with_the_same_table_only(tmp_path: Path) -> None:
    table = written(tmp_path / "answers.jsonl", rows(600))
    mapped(str(table), tmp_path / "run", budget="images=5000,calls=200").close()
    with resume(tmp_path / "run", budget="images=5000") as run:
        assert run.state == "finished"
        first = known(run)
    with mapped(str(table), tmp_path / "whole", budget="images=5000") as run:
        assert known(run) == first
    mapped(str(table), tmp_path / "other", budget="images=5000,calls=200").close()
    written(table, rows(600, seed=1))
    with pytest.raises(WeakspotError, match="differs"):
        resume(tmp_path / "other", budget="images=5000")


def test_frames_have_no_name_to_go_on_with(tmp_path: Path) -> None:
    some = rows(600)
    mapped(some, tmp_path / "run", budget="images=5000,calls=200").close()
    with pytest.raises(WeakspotError, match="no name"):
        resume(tmp_path / "run", budget="images=5000")
    with resume(tmp_path / "run", budget="images=5000", target=some) as run:
        assert run.state == "finished"


def test_groups_and_other_failures(tmp_path: Path) -> None:
    some = [
        row | {"loss": 3.0 if row["pred"] == "bee" else 0.1, "patient": f"p{row['id'] % 30}"}
        for row in rows(600)
    ]
    with mapped(some, tmp_path / "run", failed="loss > 2", group="patient") as run:
        sides: dict[Stage, set[int]] = {stage: set() for stage in Stage}
        for hypothesis in run.ledger.hypotheses():
            for trial in run.ledger.trials(hypothesis):
                sides[Stage.of(trial.index)].add((int(trial.caption.removeprefix("line ")) - 1) % 30)
        assert not sides[Stage.EXPLORE] & sides[Stage.CONFIRM]
        assert "A failure is: loss > 2." in known(run)[0].note


def test_two_models_are_compared_on_the_same_rows(tmp_path: Path) -> None:
    some = rows(600)
    better = [row | {"pred": "fly" if row["light"] == "night" else row["pred"]} for row in some]
    mapped(some, tmp_path / "old").close()
    mapped(better, tmp_path / "new").close()
    with Run.read(tmp_path / "old") as old, Run.read(tmp_path / "new") as new:
        assert old.config.digests["rows"] == new.config.digests["rows"]
        found = compare(old, new)
    assert found.separate == ""
    better_now = found.changed("better")
    assert better_now
    assert all(row.paired for row in better_now)


@pytest.mark.parametrize("search", ["thompson", "ucb", "gp", "tpe", "random", "exhaustive"])
def test_every_search_stops_where_the_rows_end(search: str, tmp_path: Path) -> None:
    with mapped(
        rows(150), tmp_path / "run", search=search, concepts="size,light", budget="images=400"
    ) as run:
        found, every = known(run)
        assert found.queries == sum(every.n) == MapResult.of(run).parts["discovery"]  # type: ignore[union-attr]


def test_one_concept_and_no_failure_at_all(tmp_path: Path) -> None:
    some = [row | {"pred": "fly"} for row in rows(100)]
    with mapped(some, tmp_path / "run", concepts="light") as run:
        found, _ = known(run)
        assert not found.modes
        assert html(run)


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("answers.jsonl"), rows(400))
    assert (
        cli(["map", "answers.jsonl", "--concepts", "distance,light", "--prediction", "pred", "--out", "run"])
        == 0
    )
    assert "Of the rows of answers.jsonl" in capsys.readouterr().out
    Path("study.yaml").write_text(
        "study: map\ntarget: answers.jsonl\nconcepts: [distance, light]\nbudget: images=200\nout: again\n"
    )
    assert cli(["run", "study.yaml"]) == 0
    assert (
        cli(["map", "answers.jsonl", "--concepts", "distance,light", "--budget", "images=200", "--json"]) == 0
    )
    with Run.read(Path("again")) as run:
        assert "rows of answers.jsonl" in run.config.settings["axes"]["about"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"concepts": ()}, "no column of it is named"),
        ({"concepts": "distanc"}, "no column 'distanc'"),
        ({"concepts": "distance,pred"}, "says whether a row failed"),
        ({"images": "world:100"}, "'images' does not go with"),
        ({"space": "world"}, "'space' does not go with"),
        ({"source": "world:cells"}, "'source' does not go with"),
        ({"search": "dqn", "budget": "images=5000"}, "only its own rows"),
        ({"label": "lable"}, "no column 'lable'"),
        ({"concepts": "id"}, None),
    ],
)
def test_what_cannot_be_meant_is_refused(
    options: dict[str, Any], complaint: str | None, tmp_path: Path
) -> None:
    if complaint is None:
        mapped(rows(60), tmp_path / "run", **options).close()
        return
    with pytest.raises(WeakspotError, match=complaint):
        mapped(rows(60), tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_a_model_has_no_columns(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="is not a table of results"):
        mapped("world:classifier", tmp_path / "run")
    with pytest.raises(WeakspotError, match=r"there is no 'nope\.csv' here"):
        mapped("nope.csv", tmp_path / "run")
    with pytest.raises(WeakspotError, match="no column of a table is named"):
        weakspot.map("world:classifier", images="world:100", group="patient", out=tmp_path / "run")


# -- intervals of a finite number of rows ------------------------------------------------------------


def test_what_was_seen_is_known() -> None:
    """Cells of which all, none and some rows were seen; and one without rows."""
    before = Rates(np.full(4, 0.3), np.full(4, 0.1), np.full(4, 0.6))
    found = of_finite(before, [3, 0, 2, 0], [10, 0, 5, 0], [10, 20, 9, 0])
    assert (found.rate[0], found.low[0], found.high[0]) == (0.3, 0.3, 0.3)
    assert found.rate[1] == pytest.approx(0.3)
    assert found.low[1] < 0.1  # chance adds to doubt
    assert found.high[1] > 0.6
    assert 2 / 9 <= found.low[2] <= found.rate[2] <= found.high[2] <= 6 / 9
    assert np.isnan([x[3] for x in found]).all()
    counts = np.array([found.low[1], found.high[1]]) * 20
    assert counts == pytest.approx(np.round(counts))  # ends are counts that there can be


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_intervals_hold_the_rate_of_all_rows(share: float) -> None:
    rng, covered, wide = np.random.default_rng(0), [], []
    axis = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4
    prior = smoothness([axis, axis])
    for _ in range(20):
        logit = -2 + 2.5 * np.exp(-axis[0])[:, None] * rng.random() + 0.5 * rng.standard_normal((5, 5))
        total = rng.integers(1, 40, 25)
        failures = rng.binomial(total, 1 / (1 + np.exp(-logit.ravel())))
        n = np.round(share * total).astype(int)
        seen = rng.hypergeometric(failures, total - failures, n)
        found = of_finite(rates(fit(prior, np.arange(25), seen, n), np.arange(25)), seen, n, total)
        covered.append((found.low <= failures / total + 1e-9) & (failures / total - 1e-9 <= found.high))
        wide.append(found.high - found.low)
    assert np.mean(covered) >= 0.95
    assert np.mean(wide) <= {0.2: 0.75, 0.6: 0.4, 0.95: 0.1}[share]
