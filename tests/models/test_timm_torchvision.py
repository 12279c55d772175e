"""`timm:`, `torchvision:` and `torchscript:`: the real libraries where they import, else stand-ins."""

from __future__ import annotations

import enum
import json
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.models.preprocess import Preprocess
from weakspot.models.torch.classifier import timm_preprocess
from weakspot.testing import check_target
from weakspot.text.wordnet import WordNet

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
pytest.importorskip("transformers")  # it looks for timm when it is imported, which must not find a stand-in
CASES = [
    Case(Hypothesis("a square."), i, 0, np.random.default_rng(i).integers(0, 256, size, np.uint8), "cat")
    for i, size in enumerate([(20, 20, 3), (40, 24, 3), (20, 50, 3)])
]


def network(classes: int) -> Any:
    torch.manual_seed(3)
    made = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(),
        torch.nn.Linear(4, classes),
    )  # fmt: skip
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made


def reference(made: Any, prepare: Preprocess) -> Any:
    with torch.inference_mode():
        pixels = torch.from_numpy(prepare([case.input for case in CASES]))
        return torch.softmax(made.eval()(pixels), 1).numpy()


def scores(model: Any) -> Any:
    return np.stack([output.scores.values for output in check_target(model, CASES)])  # type: ignore[union-attr]


# -- timm -----------------------------------------------------------------------------------------------

IDS = {"n02123045": "tabby", "n02085620": "Chihuahua", "n01440764": "tench"}


class Configuration:
    hf_hub_id, tag = "timm/", "a1_in1k"


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What of the library is used, and nothing more."""
    library, data = types.ModuleType("timm"), types.ModuleType("timm.data")

    class Info:
        def __init__(self, subset: str) -> None:
            assert subset == "imagenet-tiny"

        def label_names(self) -> list[str]:
            return list(IDS)

        def label_name_to_description(self, name: str) -> str:
            return IDS[name]

    library.is_model = lambda name: name in ("tiny", "tinier")  # type: ignore[attr-defined]
    library.list_models = lambda: ["tiny", "tinier"]  # type: ignore[attr-defined]
    library.get_pretrained_cfg = lambda name: Configuration()  # type: ignore[attr-defined]
    library.create_model = (  # type: ignore[attr-defined]
        lambda name, *, pretrained, num_classes, **more: network(num_classes)
    )
    data.infer_imagenet_subset = lambda said: "imagenet-tiny" if said["num_classes"] == 3 else None  # type: ignore[attr-defined]
    data.ImageNetInfo = Info  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "timm", library)
    monkeypatch.setitem(sys.modules, "timm.data", data)
    return library


SETTINGS = {
    "input_size": [3, 16, 16],
    "crop_pct": 0.8,
    "interpolation": "bicubic",
    "mean": [0.5] * 3,
    "std": [0.2] * 3,
}


def folder(where: Path, **more: Any) -> Path:
    where.mkdir(exist_ok=True, parents=True)
    config = {"architecture": "tiny", "num_classes": 3, "pretrained_cfg": SETTINGS, **more}
    (where / "config.json").write_text(json.dumps(config))
    safetensors.save_file(network(config["num_classes"]).state_dict(), where / "model.safetensors")
    return where


@pytest.mark.usefixtures("timm")
def test_timm_from_a_folder(tmp_path: Path) -> None:
    model = MODELS.load(f"timm:{folder(tmp_path / 'm')}?batch=2&device=cpu")
    assert model.labels == ("n02123045 tabby", "n02085620 Chihuahua", "n01440764 tench")
    prepare = Preprocess((16, 16), shortest=20, mean=(0.5,) * 3, std=(0.2,) * 3)
    np.testing.assert_allclose(scores(model), reference(network(3), prepare), atol=1e-5)
    assert "cpu · float32 · batch 2" in model.about
    try:
        wordnet = WordNet.find()
    except WeakspotError:
        return
    assert [*wordnet.covered(wordnet.choose("dog", "canine"), model.labels)] == ["n02085620 Chihuahua"]


@pytest.mark.usefixtures("timm")
def test_timm_labels_of_its_own(tmp_path: Path) -> None:
    names = {"label_names": ["a", "b"], "label_descriptions": {"a": "first letter"}, "num_classes": 2}
    assert MODELS.load(f"timm:{folder(tmp_path / 'm', **names)}").labels == ("a first letter", "b")
    file = tmp_path / "labels.txt"
    file.write_text("x\ny\n")
    assert MODELS.load(f"timm:{tmp_path / 'm'}?labels={file}").labels == ("x", "y")
    file.write_text("x\ny\nz\n")
    with pytest.raises(WeakspotError, match="2 outputs, and there are 3 labels"):
        MODELS.load(f"timm:{tmp_path / 'm'}?labels={file}")
    with pytest.raises(WeakspotError, match="does not say what its 7 labels are"):
        MODELS.load(f"timm:{folder(tmp_path / 'seven', num_classes=7)}")


@pytest.mark.usefixtures("timm")
def test_timm_short_names_are_the_hubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    asked = []
    cached = folder(tmp_path / "snapshots" / ("ab" * 20))

    def snapshot(name: str, **how: Any) -> str:
        asked.append((name, how["revision"]))
        return str(cached)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    assert MODELS.load("timm:tiny?revision=v2").revision == "ab" * 20
    MODELS.load("timm:someone/else")
    assert asked == [("timm/tiny.a1_in1k", "v2"), ("someone/else", None)]
    with pytest.raises(WeakspotError, match="no model 'tinny'") as error:
        MODELS.load("timm:tinny")
    assert "tiny" in error.value.fix


@pytest.mark.usefixtures("timm")
@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"), "only as a pickle"),
        (lambda f: (f / "model.safetensors").write_bytes(b"broken"), "cannot be read"),
        (lambda f: folder(f, architecture="huge"), "not an architecture of timm"),
        (
            lambda f: safetensors.save_file({"0.weight": torch.zeros(1)}, f / "model.safetensors"),
            "do not fit",
        ),
        (lambda f: folder(f, pretrained_cfg={**SETTINGS, "crop_mode": "border"}), "weakspot does not know"),
        (lambda f: folder(f, pretrained_cfg={**SETTINGS, "input_size": [1, 8, 8]}), "1 channels"),
    ],
)
def test_timm_folders_that_cannot_be_used(spoil: Callable[[Path], Any], what: str, tmp_path: Path) -> None:
    made = folder(tmp_path / "m")
    spoil(made)
    with pytest.raises(WeakspotError, match=what) as error:
        MODELS.load(f"timm:{made}")
    assert error.value.fix


def test_timm_defaults_are_the_librarys() -> None:
    assert timm_preprocess({}) == Preprocess(
        (224, 224), shortest=256, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)
    )
    assert timm_preprocess({"crop_mode": "squash", "crop_pct": 1.0}).shortest is None


def test_timm_itself(tmp_path: Path) -> None:
    library = pytest.importorskip("timm", reason="timm does not import here", exc_type=ImportError)
    made = library.create_model("resnet10t", num_classes=3)
    safetensors.save_file(
        made.state_dict(), folder(tmp_path / "m", architecture="resnet10t") / "model.safetensors"
    )
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    check_target(MODELS.load(f"timm:{tmp_path / 'm'}?labels={tmp_path / 'labels.txt'}"), CASES)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("timm", "torchvision"):
        there = [module for module in sys.modules if module.startswith(f"{name}.")]
        for module in (name, *there):  # a part that was imported earlier would be found without the whole
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(WeakspotError, match=name) as error:
            MODELS.load(f"{name}:resnet50")
        assert "weakspot[vision]" in error.value.fix


@pytest.mark.usefixtures("timm")
def test_timm_reads_pickles_on_the_users_word_alone(tmp_path: Path) -> None:
    where = folder(tmp_path / "tiny")
    wanted = scores(MODELS.load(f"timm:{where}?device=cpu"))
    torch.save(network(3).state_dict(), where / "pytorch_model.bin")
    (where / "model.safetensors").unlink()
    with pytest.raises(WeakspotError, match="only as a pickle") as error:
        MODELS.load(f"timm:{where}")
    assert "add pickle=yes" in error.value.fix
    np.testing.assert_allclose(scores(MODELS.load(f"timm:{where}?pickle=yes&device=cpu")), wanted, atol=1e-6)
    (where / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'exit 3'\ntR.")
    with pytest.raises(WeakspotError, match="not a pickle of tensors only"):
        MODELS.load(f"timm:{where}?pickle=yes")


# -- torchvision ----------------------------------------------------------------------------------------


class Preset:
    crop_size, resize_size, mean, std = [16], [18], [0.4] * 3, [0.3] * 3
    interpolation = types.SimpleNamespace(name="BILINEAR")


class Weights:
    def __init__(self, categories: list[str]) -> None:
        self.meta, self.asked = {"categories": categories}, {}  # type: ignore[var-annotated]

    def transforms(self) -> Preset:
        return Preset()

    def get_state_dict(self, **how: Any) -> Any:
        self.asked.update(how)
        if self.meta["categories"][0] == "gone":
            raise OSError("no route to host")
        return network(3).state_dict()


class Every(enum.Enum):
    V1 = Weights(["gone", "b", "c"])
    V2 = Weights(["cat", "crane", "crane"])
    DEFAULT = V2

    @property
    def meta(self) -> Any:
        return self.value.meta

    @property
    def url(self) -> str:
        return "https://weights.example/models/tiny-0123.pth"

    def transforms(self) -> Preset:
        return self.value.transforms()

    def get_state_dict(self, **how: Any) -> Any:
        return self.value.get_state_dict(**how)


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    library, models = types.ModuleType("torchvision"), types.ModuleType("torchvision.models")
    models.list_models = lambda module: ["tiny"]  # type: ignore[attr-defined]
    models.get_model_weights = lambda name: Every  # type: ignore[attr-defined]
    models.get_model = lambda name, *, weights, num_classes: network(num_classes)  # type: ignore[attr-defined]
    library.models = models  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", library)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.mark.usefixtures("torchvision")
def test_torchvision_reads_its_pickles_on_the_users_word_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(WeakspotError, match="as a pickle, which can run code") as error:
        MODELS.load("torchvision:tiny")
    assert "pickle=yes" in error.value.fix
    model = MODELS.load("torchvision:tiny?pickle=yes&device=cpu")
    assert Every.DEFAULT.value.asked["weights_only"] is True
    assert Every.DEFAULT.value.asked["check_hash"] is True
    assert model.labels == ("cat", "crane", "crane #2")
    prepare = Preprocess((16, 16), shortest=18, resample="BILINEAR", mean=(0.4,) * 3, std=(0.3,) * 3)
    np.testing.assert_allclose(scores(model), reference(network(3), prepare), atol=1e-5)


@pytest.mark.usefixtures("torchvision")
def test_torchvision_fetches_nothing_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    monkeypatch.setattr(Every.DEFAULT.value, "asked", {})
    with pytest.raises(WeakspotError, match="HF_HUB_OFFLINE is set, so nothing is fetched") as error:
        MODELS.load("torchvision:tiny?pickle=yes")
    assert "unset HF_HUB_OFFLINE" in error.value.fix
    assert Every.DEFAULT.value.asked == {}
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "tiny-0123.pth").write_bytes(b"")
    assert MODELS.load("torchvision:tiny?pickle=yes&device=cpu").labels[0] == "cat"


@pytest.mark.usefixtures("torchvision")
def test_torchvision_with_weights_of_ones_own(tmp_path: Path) -> None:
    file, labels = tmp_path / "own.safetensors", tmp_path / "labels.txt"
    safetensors.save_file(network(2).state_dict(), file)
    labels.write_text("yes\nno\n")
    model = MODELS.load(f"torchvision:tiny?weights={file}&labels={labels}")
    assert model.labels == ("yes", "no")
    assert scores(model).shape == (3, 2)
    with pytest.raises(WeakspotError, match="do not fit"):
        MODELS.load(f"torchvision:tiny?weights={file}")


@pytest.mark.usefixtures("torchvision")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("torchvision:tinny?pickle=yes", "no classifier 'tinny'"),
        ("torchvision:tiny?weights=V3&pickle=yes", "no weights 'V3'"),
        ("torchvision:tiny?weights=V1&pickle=yes", "could not be fetched: OSError: no route to host"),
    ],
)
def test_torchvision_names_that_are_wrong(name: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(WeakspotError, match=what) as error:
        MODELS.load(name)
    assert error.value.fix


def test_torchvision_itself(tmp_path: Path) -> None:
    """With weights of one's own, and pictures prepared by the library."""
    library = pytest.importorskip(
        "torchvision", reason="torchvision does not import here", exc_type=ImportError
    )
    torch.manual_seed(0)
    made = library.models.get_model("squeezenet1_1", weights=None, num_classes=3).eval()
    file, labels = tmp_path / "own.safetensors", tmp_path / "labels.txt"
    safetensors.save_file(made.state_dict(), file)
    labels.write_text("a\nb\nc\n")
    model = MODELS.load(f"torchvision:squeezenet1_1?weights={file}&labels={labels}&device=cpu")
    prepare = library.models.get_model_weights("squeezenet1_1").DEFAULT.transforms()
    with torch.inference_mode():
        pixels = torch.stack([prepare(Image.fromarray(case.input)) for case in CASES])
        wanted = torch.softmax(made(pixels), 1).numpy()
    np.testing.assert_allclose(scores(model), wanted, atol=2e-3)


# -- torchscript ----------------------------------------------------------------------------------------


def test_torchscript_is_run_on_the_users_word_alone(tmp_path: Path) -> None:
    file, labels = tmp_path / "model.pt", tmp_path / "labels.txt"
    labels.write_text("a\nb\nc\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.trace(network(3).eval(), torch.zeros(1, 3, 16, 16)), file)
    name = f"torchscript:{file}?labels={labels}&size=16&mean=0.5,0.5,0.5&std=0.2,0.2,0.2"
    with pytest.raises(WeakspotError, match="is a program") as error:
        MODELS.load(name)
    assert "code=yes" in error.value.fix
    prepare = Preprocess((16, 16), resample="BILINEAR", mean=(0.5,) * 3, std=(0.2,) * 3)
    np.testing.assert_allclose(
        scores(MODELS.load(f"{name}&code=yes&device=cpu")), reference(network(3), prepare), atol=1e-5
    )
    labels.write_text("a\nb\n")
    with pytest.raises(WeakspotError, match="3 outputs, and there are 2 labels"):
        MODELS.load(f"{name}&code=yes").answer(CASES)
    torch.save({"a": 1}, file)
    with pytest.raises(WeakspotError, match="is not a TorchScript file"):
        MODELS.load(f"{name}&code=yes")
    with pytest.raises(WeakspotError, match="cannot be read"):
        MODELS.load(f"torchscript:{tmp_path / 'gone.pt'}?labels={labels}&code=yes")
