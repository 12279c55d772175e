"""A map, its repair and the proof, on a world of colours in which the dark is taken for red."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from tests.studies.repair.results import result_of
from tests.studies.repair.watching import Watching
from tests.tuning import colours

import weakspot
from weakspot.cli import run as command
from weakspot.core import MODELS, WeakspotError
from weakspot.store import Run

pytest.importorskip("torch")
SPACE = "image:darken,saturation"
LEARN: dict[str, Any] = {"epochs": 10, "learning_rate": 0.3, "draws": 500, "device": "cpu", "distil": 0.3}


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the pictures, the module `colours` and the map `map`."""
    folder = tmp_path_factory.mktemp("colours")
    shutil.copy(colours.__file__, folder / "dark_colours.py")
    sys.path.insert(0, str(folder))
    images = colours.write(folder)
    target = f"torch:dark_colours:Colours?labels={folder / 'labels.txt'}&device=cpu"
    weakspot.map(
        target, images=images, space=SPACE, budget="images=1200", seed=3, out=folder / "map", above=0.2
    ).close()
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def repaired(mapped: Path) -> dict[str, Any]:
    with weakspot.repair(mapped / "map", modes="1", method="last-layer", out=mapped / "done", **LEARN) as run:
        result: dict[str, Any] = result_of(run)
        assert run.state == "finished"
    return result


def test_the_chosen_mode_fails_at_most_half_as_often_and_nothing_else_more(repaired: dict[str, Any]) -> None:
    assert repaired["verdict"] == "repaired"
    mode = repaired["chosen"][0]
    assert mode["reduced"]
    assert mode["halved"]
    assert mode["high"] < 0
    assert mode["removed"] - mode["made"] == mode["before"] - mode["after"]
    assert repaired["clean"]["after"] <= repaired["clean"]["before"] + 2
    guard = repaired["training"]["guard"]
    assert guard[-1]["plain"] <= guard[0]["plain"] + 0.005 + 1e-9
    landscape = repaired["landscape"]
    assert landscape["rate_after"] < landscape["rate_before"]
    assert landscape["removed"] > landscape["made"]
    assert len(landscape["before"]) == 25


def test_the_repaired_model_is_a_target_and_holds_on_pictures_from_elsewhere(
    repaired: dict[str, Any],
) -> None:
    old, new = MODELS.load(str(repaired["target"])), MODELS.load(repaired["model"])
    images, labels = colours.pictures(300, seed=77)

    class Shown:
        def __init__(self, image: np.ndarray) -> None:
            self.input = image

    dark = [Shown((image * 0.5).astype(np.uint8)) for image in images]
    wrong = [
        np.mean([o.answer != colours.LABELS[label] for o, label in zip(t.answer(dark), labels, strict=True)])
        for t in (old, new)
    ]
    assert wrong[1] <= wrong[0] / 2


def test_model_card_and_report_say_what_was_proved(mapped: Path, repaired: dict[str, Any]) -> None:
    card = (mapped / "done" / "model" / "README.md").read_text()
    assert "**repaired**" in card
    assert f"{100 * repaired['training']['way']:.0f} % of the way" in card
    assert "model.safetensors" in card
    assert not list((mapped / "done" / "model").glob("*.p*t*h*"))
    with Run.read(mapped / "done") as run:
        page = weakspot.write_report(run).read_text()
    for words in (
        "What was to be repaired",
        "What was looked at and not found",
        "Wasserstein",
        "before: rate by",
        "newly made",
    ):
        assert words in page


def test_pictures_of_the_parts_are_disjoint(mapped: Path) -> None:
    from weakspot.studies.repair.parts import job_of
    from weakspot.studies.repair.settings import RepairSettings

    with Run.read(mapped / "map") as run:
        job = job_of(run, RepairSettings(run=str(run.folder), modes="1"))
        proof = {
            case.caption
            for case in job.source.draw(
                job.clean.hypotheses[0], range(job.available(job.clean.hypotheses[0])), seed=job.seed
            )
        }
        drawn = {t.caption for h in run.ledger.hypotheses() for t in run.ledger.trials(h)}
        assert job.lessons is not None
        lessons = job.lessons(colours.LABELS)
    images, _ = colours.pictures(800)
    learnt = {next(i for i, image in enumerate(images) if np.array_equal(image, p)) for p in lessons.pictures}
    assert not proof & drawn
    assert not proof & {f"picture {i:05d}" for i in learnt}
    assert not drawn & {f"picture {i:05d}" for i in learnt}
    # How far the weights are moved is chosen on pictures of the map, never on those of the proof.
    asked = {next(i for i, im in enumerate(images) if np.array_equal(im, p)) for p in lessons.beside.pictures}
    assert len(asked) == 400
    assert not asked & learnt
    assert not proof & {f"picture {i:05d}" for i in asked}


def test_only_the_data_set(mapped: Path) -> None:
    with weakspot.repair(mapped / "map", modes="1", method="data", rate=0.5, out=mapped / "data") as run:
        result = result_of(run)
    rows = [
        json.loads(line) for line in (mapped / "data" / "data" / "metadata.jsonl").read_text().splitlines()
    ]
    assert result["data"]["pictures"] == len(rows) == 200
    assert {row["label"] for row in rows} == set(colours.LABELS)
    assert 0.3 < np.mean([row["what"] == "as it is" for row in rows]) < 0.7
    assert all((mapped / "data" / "data" / row["file_name"]).is_file() for row in rows)
    from weakspot.sources.labelled import labelled_images

    assert len(labelled_images(str(mapped / "data" / "data" / "train"))) == len(rows)


def test_a_repair_that_trades_is_called_so(mapped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained on wrong labels for what is light, the model gets the dark right and the light wrong."""
    from weakspot.tuning.lessons import Shown, TransformedLessons

    honest = TransformedLessons.show

    def spoilt(self: Any, which: Any, **how: Any) -> Shown:
        shown = honest(self, which, **how)
        light = np.array([float(image.mean()) > 55 for image in shown.changed])
        return shown._replace(labels=np.where(light, 0, shown.labels))

    monkeypatch.setattr(TransformedLessons, "show", spoilt)
    with weakspot.repair(
        mapped / "map",
        modes="1",
        method="full",
        out=mapped / "traded",
        **(LEARN | {"epochs": 15, "distil": 0.0}),
    ) as run:
        result = result_of(run)
    assert result["verdict"] in ("traded", "worse")
    assert result["clean"]["increased"]


def test_an_interrupted_repair_goes_on(mapped: Path) -> None:
    def stop(words: str, done: int, of: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weakspot.repair(
            mapped / "map", modes="1", method="full", out=mapped / "cut", watch=Watching(stop), **LEARN
        )
    with (
        weakspot.resume(mapped / "cut") as again,
        weakspot.repair(mapped / "map", modes="1", method="full", out=mapped / "whole", **LEARN) as whole,
    ):
        assert again.state == "finished"
        one, two = result_of(again), result_of(whole)
    assert one["chosen"] == two["chosen"]
    assert one["training"]["curve"] == two["training"]["curve"]


def test_an_interrupted_repair_goes_on_from_another_directory(
    mapped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("colours.npz", "labels.txt"):
        shutil.copy(mapped / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    weakspot.map(
        "torch:dark_colours:Colours?labels=labels.txt&device=cpu",
        images="colours.npz", space=SPACE, budget="images=600", seed=3, out="map", above=0.2,
    ).close()  # fmt: skip

    def stop(words: str, done: int, of: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        weakspot.repair(
            "map", modes="1", out="cut", watch=Watching(stop), **(LEARN | {"epochs": 3, "draws": 0})
        )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with weakspot.resume(Path("..") / "cut") as run:
        assert run.state == "finished"
        model = result_of(run)["model"]
    monkeypatch.chdir("/")
    assert MODELS.load(model).labels == colours.LABELS


@pytest.mark.parametrize(
    ("given", "said", "fix"),
    [
        ({"modes": "9"}, "no mode 9", "modes 1 to"),
        ({"modes": "one"}, "not numbers", "preferred"),
        ({"modes": "1,1"}, "twice", "once"),
        ({"method": "magic"}, "magic", "last-layer"),
        ({"rate": -0.1}, "rate", "from 0"),
        ({"seed": -1}, "a seed cannot be -1", "from 0"),
        ({"layer": "tail", "method": "last-layer"}, "tail", "head"),
        ({"layer": "hidden", "method": "last-layer"}, "6 numbers a picture", "head"),
        ({"layer": "hidden"}, "6 numbers a picture", "head"),
        ({"device": "banana"}, "'banana' is not a device", "cpu"),
        ({"device": "cuda:99"}, "there is no cuda:99 here", "cpu"),
        ({"distil": 3.0}, "distil cannot be 3", "0 to 1"),
        ({"learning_rate": float("nan")}, "learning rate", "at least 0"),
        ({"most": 3}, "too small", "at least 20"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_there_is_a_run(
    mapped: Path, given: dict[str, Any], said: str, fix: str
) -> None:
    with pytest.raises(WeakspotError, match=said) as caught:
        weakspot.repair(mapped / "map", out=mapped / "refused", **given)
    assert fix in caught.value.fix
    assert not (mapped / "refused").exists()


def test_a_last_layer_that_cannot_be_found_is_to_be_named(mapped: Path) -> None:
    headless = f"torch:dark_colours:Headless?labels={mapped / 'labels.txt'}"
    with pytest.raises(WeakspotError, match="cannot be found") as caught:
        weakspot.repair(
            mapped / "map", modes="1", method="last-layer", target=headless, out=mapped / "refused"
        )
    assert "--layer" in caught.value.fix


def test_a_target_that_is_no_network_is_refused_with_the_way_out(mapped: Path) -> None:
    class Guess:
        labels = colours.LABELS
        parents = MappingProxyType[str, str]({})

        def answer(self, cases: Any) -> Any:
            from weakspot.core import Output

            return [Output("red") for _ in cases]

    with pytest.raises(WeakspotError, match="cannot be trained") as caught:
        weakspot.repair(mapped / "map", modes="1", target=Guess(), out=mapped / "refused")
    assert "--method data" in caught.value.fix


def test_runs_of_other_studies_and_folders_that_are_none(mapped: Path, repaired: dict[str, Any]) -> None:
    with pytest.raises(WeakspotError, match="a run of repair"):
        weakspot.repair(mapped / "done")
    with pytest.raises(WeakspotError, match="no run folder"):
        weakspot.repair(mapped / "nothing")


def test_other_pictures_than_the_maps_are_refused(mapped: Path, tmp_path: Path) -> None:
    shutil.copytree(mapped / "map", tmp_path / "map")
    kept = (mapped / "colours.npz").read_bytes()
    try:
        colours.write(mapped, seed=5)
        with pytest.raises(WeakspotError, match="digest differs"):
            weakspot.repair(tmp_path / "map", modes="1", out=tmp_path / "refused")
    finally:
        (mapped / "colours.npz").write_bytes(kept)


def test_too_few_pictures_to_split(mapped: Path, tmp_path: Path) -> None:
    colours.write(tmp_path, n=60)
    target = f"torch:dark_colours:Colours?labels={tmp_path / 'labels.txt'}"
    weakspot.map(
        target,
        images=tmp_path / "colours.npz",
        space=SPACE,
        budget="images=300",
        out=tmp_path / "map",
        above=0.2,
    ).close()
    with pytest.raises(WeakspotError, match="too few") as caught:
        weakspot.repair(tmp_path / "map", out=tmp_path / "refused")
    assert "more pictures" in caught.value.fix


def test_the_command(
    mapped: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    arguments = ["repair", str(mapped / "map"), "--modes", "preferred", "--method", "full", "--epochs", "8"]
    arguments += [
        "--learning-rate",
        "0.3",
        "--draws",
        "100",
        "--distil",
        "0.3",
        "--device",
        "cpu",
        "--out",
        str(mapped / "cli"),
    ]
    assert command(arguments) == 0
    said = capsys.readouterr().out
    assert "mode 1" in said
    assert "clean" in said
    assert "newly made in" in said
    assert command(["report", str(mapped / "cli")]) == 0
    capsys.readouterr()
    assert command(["repair", str(mapped / "map"), "--modes", "7"]) == 1
    assert "no mode 7" in capsys.readouterr().err
