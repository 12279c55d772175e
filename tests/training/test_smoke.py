"""Every training script runs from top to bottom on the CPU, tiny, and writes what it promises."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(script: str, *options: str, smoke: bool = True) -> str:
    """What a script prints; its failure is the test's."""
    pytest.importorskip("torch")
    tiny = ["--smoke"] if smoke else []
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(ROOT / "training" / script), *tiny, *options],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def outputs(path: Path, **feed: np.ndarray) -> list[np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return list(session.run(None, feed))


@pytest.mark.long
@pytest.mark.parametrize("arch", ["resnet", "vit", "fair"])
def test_classifier(tmp_path: Path, arch: str) -> None:
    options = ["--scenes", "layers", "--cache", str(tmp_path)] if arch == "fair" else ["--scenes", "natural"]
    run("classifier.py", "--arch", arch, *options, "--mirror", "--out", str(tmp_path / "c.onnx"))
    made = outputs(tmp_path / "c.onnx", image=np.zeros((3, 3, 64, 64), np.float32))
    assert made[0].shape == (3, 16)
    assert len(made) == (3 if arch == "fair" else 1)
    results = json.loads((tmp_path / "c.json").read_text())
    assert 0 <= results["held_out"] <= 1
    assert results["curve"]


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("encoder.py", "Length of the shared vectors."),
        ("truth.py", "Scenes per cell."),
        ("predictions.py", "Pictures; the subjects take turns."),
        ("refusal.py", "Folder of XSTest's completions"),
        ("pictures.py", "kind:first:n:texts"),
        ("layers.py", "folder for the layers"),
        ("curves.py", "the picture's file"),
    ],
)
def test_help_says_what_the_settings_are(script: str, told: str) -> None:
    assert told in " ".join(run(script, "--help", smoke=False).split())


def test_missing_layers_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    classifier = import_module("classifier")

    def wait(until: Any, what: str) -> None:
        assert not until()
        raise TimeoutError(what)

    monkeypatch.setattr(classifier, "wait", wait)
    with pytest.raises(TimeoutError, match=rf"python training/layers\.py --cache {tmp_path}/layers"):
        classifier.Stacked(classifier.Settings(cache=str(tmp_path)), "cpu")


def test_who_waits_says_for_what(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    flags, answers = import_module("flags"), iter([False, False, True])
    monkeypatch.setattr(flags.time, "sleep", lambda _: None)
    flags.wait(lambda: next(answers), "figures")
    assert capsys.readouterr().out == "waiting for figures\n"
    flags.wait(lambda: True, "figures")
    assert capsys.readouterr().out == ""


def test_curves_are_drawn_inside_their_frames(tmp_path: Path) -> None:
    run("curves.py", "--out", str(tmp_path / "curves.svg"), smoke=False)
    drawn = (tmp_path / "curves.svg").read_text()
    assert drawn == (ROOT / "training" / "img" / "curves.svg").read_text()
    number = r'"(-?[\d.]+)"'
    frames = re.findall(rf"<rect x={number} y={number} width={number} height={number}", drawn)
    spots = re.findall(rf"<circle cx={number} cy={number}", drawn)
    assert len(frames) == 14
    assert len(spots) > 100
    for x, y in (map(float, spot) for spot in spots):
        inside = [a <= x <= a + w and b <= y <= b + h for a, b, w, h in (map(float, f) for f in frames)]
        assert any(inside)


@pytest.mark.parametrize("name", ["generator-first", "generator", "generator-small-first", "generator-small"])
def test_the_last_loss_is_a_mean_too(name: str) -> None:
    results = json.loads((ROOT / "training" / "results" / f"{name}.json").read_text())
    before, last = results["curve"][-2:]
    assert 0.5 * before["loss"] < last["loss"] < before["loss"]
    assert last["error"] < last["loss"] < 4 * last["error"]


def test_pictures_put_together_from_layers_are_those_that_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    layers = import_module("layers")
    from weakspot.world.render import render, stream
    from weakspot.world.scene import ATTRIBUTES, Scene

    scenes = [
        Scene(subject="cat", hidden="half", behind="fence", background="snow", weather="fog", light="dusk"),
        Scene(subject="crab", on="rock", companion="ball", companion_at="left", background="sea"),
        Scene(subject="fly", count="3", behind="grass", weather="rain", background="kitchen", light="night"),
        Scene(subject="fence", companion="dog", companion_at="behind", weather="snowfall", light="glare"),
        Scene(subject="duck", hidden="partly", position="right", background="underwater", behind="bars"),
    ]
    made: dict[str, tuple[list[np.ndarray], list[list[float]]]] = {name: ([], []) for name in layers.STORES}
    camera, left = [], []
    for seed, scene in enumerate(scenes):
        figures, reach = layers.figures(scene, seed)
        place, sun = layers.place(scene.background, scene.light, seed)
        where = [layers.PLACES.index(scene.background), layers.LIGHTS.index(scene.light), *sun]
        parts = {
            "figures": (figures, [*layers.encode(scene), *reach]),
            "places": (place, where),
            "screens": (layers.screen(scene.behind if scene.behind != "nothing" else "net", seed), [0]),
            "covers": (layers.covering(seed), [0]),
            "falls": (layers.falling(scene.weather, seed), [0]),
        }
        for name, (image, facts) in parts.items():
            made[name][0].append(image)
            made[name][1].append(facts)
        rng = stream(seed, "camera")
        camera.append([int(rng.random() * 32), int(rng.random() * 32), rng.uniform(0.94, 1.05)])
        left.append(sum(reach) / 2 < stream(seed, "cover").uniform(0.4, 0.6))
    for name, (images, facts) in made.items():
        np.save(tmp_path / f"{name}.npy", np.stack(images))
        np.save(tmp_path / f"{name}-facts.npy", np.array(facts, np.float32))
    (tmp_path / "ready").write_text(str(len(scenes)))
    stack = layers.Stack(tmp_path, "cpu")
    stack.take()

    rows, (across, down, exposure) = torch.arange(len(scenes)), torch.tensor(camera).T

    def values(name: str) -> Any:
        return torch.tensor([ATTRIBUTES[name].index(getattr(scene, name)) for scene in scenes])

    order = np.argsort([layers._ground(layers.PLACES.index(s.background)) for s in scenes], kind="stable")
    choice = layers.Choice(
        figure=rows, place=torch.from_numpy(np.argsort(order)), cover=rows, hidden=values("hidden"),
        left=torch.tensor(left), screen=torch.where(values("behind") > 0, rows, -1), fall=rows,
        weather=values("weather"), corner=torch.stack([across, down], 1).long(), exposure=exposure,
    )  # fmt: skip
    for seed, (scene, ours) in enumerate(zip(scenes, stack.picture(choice), strict=True)):
        off = np.abs(ours.numpy() * 255 - render(scene, seed).transpose(2, 0, 1)).mean()
        assert off < 2.5, scene
    assert stack.codes(choice)[:, layers.NAMES.index("hidden")].tolist() == values("hidden").tolist()


@pytest.mark.long
def test_encoder(tmp_path: Path) -> None:
    run("encoder.py", "--out", str(tmp_path))
    (seen,) = outputs(tmp_path / "encoder-image.onnx", image=np.zeros((2, 3, 64, 64), np.float32))
    (read,) = outputs(tmp_path / "encoder-text.onnx", tokens=np.array([[1, 40, 50, 2, 0, 0]]))
    assert np.allclose(np.linalg.norm(np.concatenate([seen, read]), axis=1), 1, atol=1e-4)
    assert {"natural", "balanced"} <= set(json.loads((tmp_path / "encoder.json").read_text()))


@pytest.mark.long
def test_captioner(tmp_path: Path) -> None:
    run("captioner.py", "--out", str(tmp_path))
    (memory,) = outputs(tmp_path / "captioner-image.onnx", image=np.zeros((2, 3, 64, 64), np.float32))
    past = np.zeros((*memory.shape[:4], 0, memory.shape[5]), np.float32)
    tokens = np.array([[1, 40, 50], [1, 41, 51]])
    words = tmp_path / "captioner-words.onnx"
    logits, present = outputs(words, tokens=tokens, past=past, memory=memory)
    assert logits.shape[:2] == (2, 3)
    assert present.shape[4] == 3
    assert len(json.loads((tmp_path / "captioner.json").read_text())["per_attribute"]) == 16


@pytest.mark.long
def test_generator_and_its_measurement(tmp_path: Path, smoke_generator: Path) -> None:
    index = json.loads((smoke_generator / "model_index.json").read_text())
    assert index["_class_name"] == "StableDiffusionPipeline"
    assert list(smoke_generator.rglob("*.safetensors"))
    assert not list(smoke_generator.rglob("*.bin"))
    [last] = json.loads(smoke_generator.with_suffix(".json").read_text())["curve"]
    assert (
        last["error"] < last["loss"] < 4 * last["error"]
    )  # a mean, in which a place counts one to four times
    fair = str(tmp_path / "classifier-fair.onnx")
    run("classifier.py", "--arch", "fair", "--scenes", "balanced", "--out", fair)
    generated = ["--generator", str(smoke_generator), "--weights", str(tmp_path)]
    run("generated.py", *generated, "--out", str(tmp_path / "generated"))
    results = json.loads((tmp_path / "generated.json").read_text())
    assert {"fid", "kid", "by_guidance", "drawn"} <= set(results)


def test_the_table_of_predictions_is_the_shipped_one(tmp_path: Path) -> None:
    made = tmp_path / "predictions.csv.gz"
    run("predictions.py", "--rows", "64", "--out", str(made), smoke=False)
    shipped = ROOT / "src" / "weakspot" / "world" / "predictions.csv.gz"
    texts = [gzip.decompress(path.read_bytes()).decode() for path in (made, shipped)]
    tables = [csv.DictReader(text.splitlines()) for text in texts]
    ours, theirs = list(tables[0]), list(tables[1])[:64]
    assert len(ours) == 64
    for one, other in zip(ours, theirs, strict=True):
        assert float(one.pop("confidence")) == pytest.approx(float(other.pop("confidence")), abs=0.001)
        assert one == other
    assert made.read_bytes()[4:8] == b"\0\0\0\0"  # no time in it, so that the same table is the same file


@pytest.mark.long
def test_truth_goes_on_where_it_stopped(tmp_path: Path) -> None:
    model = ROOT / "src" / "weakspot" / "world" / "weights" / "classifier.onnx"
    options = ["--models", str(model), "--workers", "1", "--out", str(tmp_path)]
    assert run("truth.py", *options).startswith("2 cells")
    whole = (tmp_path / "truth.csv").read_text()
    (tmp_path / "truth.csv").write_text("".join(whole.splitlines(keepends=True)[:2]))
    assert run("truth.py", *options).startswith("1 cells")
    assert (tmp_path / "truth.csv").read_text() == whole


@pytest.mark.long
def test_refusal(tmp_path: Path) -> None:
    from weakspot.judges.refusal.model import RefusalModel

    assert "right among decided" in run("refusal.py", "--out", str(tmp_path))
    with np.load(tmp_path / "wording.npz", allow_pickle=False) as tables:
        model = RefusalModel.from_json(json.loads((tmp_path / "refusal.json").read_text()), dict(tables))
    assert sorted(model.without) == ["model-0", "model-1", "model-2"]
    assert len(model.seen) == 15
    for name in ("refusal.json", "wording.npz"):
        listed = json.loads((tmp_path / "manifest.json").read_text())["files"][name]
        assert listed["bytes"] == (tmp_path / name).stat().st_size


@pytest.mark.parametrize("model", ["classifier", "classifier-fair"])
def test_graphs_by_torch_say_what_onnxruntime_says(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(ROOT / "training"))
    from weakspot.world import shipped

    path, images = shipped.file(f"{model}.onnx"), np.random.default_rng(1).integers(0, 256, (5, 64, 64, 3))
    by_torch = import_module("graphs").OnDevice(path, "cpu")(images.astype(np.uint8), batch=2)
    wanted = outputs(path, image=images.transpose(0, 3, 1, 2).astype(np.float32) / 255)
    for one, other in zip(by_torch, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
