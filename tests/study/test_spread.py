"""Studies on workers that have parts of their own: the same run; and which studies stay here, said in words.

The cluster here is this process, with parts made from their recipes as a worker makes them. tests/engine/
test_ray.py does the same with a real Ray.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_parts import content
from tests.studies.map.map_toy import SPACE, write_pictures

import weakspot
from weakspot.cli import main
from weakspot.core import WeakspotError
from weakspot.engine import ray as engine_ray
from weakspot.engine.identity import identify, must_agree
from weakspot.engine.ray_settings import POOLS, RaySettings
from weakspot.store import Run, RunConfig
from weakspot.studies.map import parts as map_parts
from weakspot.studies.map.settings import MapSettings
from weakspot.studies.map.workers import workers as workers_of
from weakspot.study.study import find_study

MODEL = "python:tests.studies.map.map_toy:Dim"


class Workers:
    """In place of Ray: one worker per pool. What would travel is packed, so nothing is shared with it."""

    def __init__(
        self,
        _: RaySettings,
        recipes: Mapping[str, Callable[[], Any]],
        *,
        many: bool,
        here: Mapping[str, Any],
    ) -> None:
        del many
        self._parts = [pickle.loads(pickle.dumps(recipes[pool]))() for pool in POOLS]
        for pool, part in zip(POOLS, self._parts, strict=True):
            must_agree(pool, identify(part), identify(here[pool]))

    def through(self, work: Iterable[Any], stages: Sequence[Callable[..., Any]]) -> Iterator[Any]:
        for piece in work:
            results: list[Any] = []
            for part, stage in zip(self._parts, stages, strict=True):
                results.append(stage(part, pickle.loads(pickle.dumps(piece)), *results))
            yield results[-1]

    def close(self) -> None: ...

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_ray, "RayExecutor", Workers)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("map")
    (folder / "dim.yaml").write_text(SPACE)
    return {
        "target": MODEL,
        "images": write_pictures(folder / "pictures"),
        "space": str(folder / "dim.yaml"),
        "seed": 1,
    }


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize(
    "study",
    [
        {"search": "auto", "budget": "images=600"},
        {"search": "dqn", "budget": "images=1230"},  # a policy chooses the pictures, and workers are told
        {"space": "world", "target": "world:classifier", "images": "", "budget": "images=60"},
        {"space": "text-16", "target": "python:tests.studies.map.map_tasks_toy:Reader", "images": "",
         "budget": "images=200"},
        {"space": "prompt-world", "target": "world:renderer", "images": "", "budget": "images=60"},
    ],
    ids=["pictures", "policy", "world", "texts", "prompts"],
)  # fmt: skip
def test_a_map_is_the_same_with_workers(study: dict[str, Any], toy: dict[str, Any], tmp_path: Path) -> None:
    if study.get("search") == "dqn":
        pytest.importorskip("stable_baselines3")
    for executor in ("local", "ray"):
        weakspot.map(**(toy | study), out=tmp_path / executor, executor=executor).close()
    local = content(tmp_path / "local")
    assert len(local["trials"]) >= 40
    assert content(tmp_path / "ray") == local
    with Run.read(tmp_path / "ray") as there, Run.read(tmp_path / "local") as here:
        assert there.config.settings == here.config.settings  # the executor is no part of the study


@pytest.mark.usefixtures("workers")
def test_a_map_begun_here_goes_on_there(toy: dict[str, Any], tmp_path: Path) -> None:
    whole = toy | {"budget": "images=600"}
    weakspot.map(**whole, out=tmp_path / "whole").close()
    with weakspot.map(**(toy | {"budget": "images=600,calls=200"}), out=tmp_path / "parted") as run:
        assert run.state.startswith("stopped")
    assert run_cli("resume", tmp_path / "parted", "--budget", "images=600", "--executor", "ray") == 0
    parted, expected = content(tmp_path / "parted"), content(tmp_path / "whole")
    assert parted["trials"] == expected["trials"]
    assert parted["findings"] == expected["findings"]


@pytest.mark.usefixtures("workers")
def test_other_pictures_on_another_machine_are_told(toy: dict[str, Any], tmp_path: Path) -> None:
    there = toy | {"images": str(write_pictures(tmp_path / "other", 120))}
    settings, other = (MapSettings.read(values) for values in (toy | {"images": str(toy["images"])}, there))
    recipes = workers_of(settings, map_parts.load(settings), {})
    assert recipes["source"]()
    changed = workers_of(other, map_parts.load(settings), {})
    with pytest.raises(WeakspotError, match="not those of the run"):
        changed["source"]()


def test_ratings_by_people_stay_here(toy: dict[str, Any], tmp_path: Path) -> None:
    judge = f"people?folder={tmp_path / 'ratings'}"
    with pytest.raises(WeakspotError, match="people rate outputs"):
        weakspot.map(**(toy | {"judge": judge}), out=tmp_path / "run", executor="ray")
    assert not (tmp_path / "run").exists()


# -- what stays here ----------------------------------------------------------------------------------


def run_cli(*words: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("study", ["ask", "mine", "rare", "repair"])
def test_why_a_study_is_not_spread(study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    find_study(study).check_executor(None)
    find_study(study).check_executor("local")
    words = {"ask": ["m", "--benchmark", "b"], "rare": ["m", "--label", "fly"], "repair": ["run"]}
    assert run_cli(study, *words.get(study, []), "--executor", "ray:auto") == 2
    typed = capsys.readouterr().err
    Run.create(RunConfig(study=study, subject="x", settings={}), folder=tmp_path / "run").close()
    with pytest.raises(WeakspotError, match=f"{study} is not spread over machines: ") as told:
        weakspot.resume(tmp_path / "run", executor="ray")
    assert told.value.what in typed
    assert "Traceback" not in typed


@pytest.mark.parametrize("study", ["hunt", "map"])
def test_a_wrong_executor_is_told_before_anything_is_loaded(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"hunt": ["--label", "fly"], "map": ["--images", "world:100"]}[study]
    file = tmp_path / "study.yaml"
    needed = {"hunt": "label: fly", "map": "images: world:100"}[study]
    file.write_text(f"study: {study}\ntarget: world:classifier\nexecutor: raay\n{needed}\n")
    for executor, said in (
        ("rai", "called 'rai'"),
        ("ray?sauce=2", "no option 'sauce'"),
        ("", "has no name"),
    ):
        code = run_cli(study, "onnx:nowhere.onnx", *words, "--executor", executor, "--out", tmp_path / "run")
        assert code == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert run_cli("validate", file) == 1
    assert "executor: no executor is called 'raay'" in capsys.readouterr().out
