"""The repair of a map over attributes of scenes: everything is drawn anew, with seeds of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.studies.repair.results import result_of

import weakspot
from weakspot.store import Run
from weakspot.studies.map import repair as repair_job
from weakspot.studies.repair.parts import job_of
from weakspot.studies.repair.settings import RepairSettings

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A map of the world's classifier by where things are, in what and how large."""
    folder = tmp_path_factory.mktemp("scenes")
    (folder / "space.yaml").write_text(
        "name: places\ntask: world\naxes:\n"
        "  - {name: size, values: [small, large], metric: ordered, words: 'it is {value}.'}\n"
        "  - {name: behind, values: [nothing, grass], metric: categorical, words: 'it is behind {value}.'}\n"
    )
    weakspot.map(
        "world:classifier", space=str(folder / "space.yaml"), budget="images=400", seed=2, out=folder / "map",
    ).close()  # fmt: skip
    return folder


def test_scenes_are_repaired_and_proved_on_scenes_drawn_anew(
    mapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_job, "SCENES", 120)
    monkeypatch.setattr(repair_job, "GUARDS", 60)
    given: dict[str, Any] = {"epochs": 3, "draws": 80, "most": 120, "device": "cpu", "seed": 4}
    with weakspot.repair(
        mapped / "map", modes="1", method="last-layer", out=tmp_path / "done", **given
    ) as run:
        result = result_of(run)
        assert run.state == "finished"
        assert "Nothing that was to stay got worse" in weakspot.write_report(run).read_text()
    assert result["chosen"][0]["n"] == 120
    assert result["clean"]["n"] == 120
    assert result["landscape"]["n"] == 80
    assert result["elsewhere"]["n"] <= 80
    assert result["training"]["pictures"] == 120
    assert len(result["training"]["curve"]) > 1
    assert result["errors"] == 0
    assert result["model"].startswith("onnx:")


def test_no_scene_of_the_proof_was_mapped_or_learnt_from(
    mapped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair_job, "SCENES", 40)
    monkeypatch.setattr(repair_job, "GUARDS", 20)
    with Run.read(mapped / "map") as past:
        job = job_of(past, RepairSettings(run=str(mapped / "map"), modes="1"))
        seen = {t.caption for h in past.ledger.hypotheses() for t in past.ledger.trials(h)}
    spot = job.chosen[0].hypotheses[0]
    proof = job.source.draw(spot, range(40), seed=job.seed)
    assert job.lessons is not None
    assert job.cluster is None
    target: Any = job.target
    lessons = job.lessons(target.labels)
    learnt = {image.tobytes() for image, _ in [*lessons._weak, *lessons._usual, *lessons.beside._weak]}
    assert not learnt & {case.input.tobytes() for case in proof}
    assert len({image.tobytes() for image, _ in lessons._weak}) == 40
    assert seen


def test_the_data_set_alone(mapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair_job, "SCENES", 40)
    with weakspot.repair(mapped / "map", modes="1", method="data", rate=0.5, out=tmp_path / "data") as run:
        assert result_of(run)["data"]["pictures"] == 40
