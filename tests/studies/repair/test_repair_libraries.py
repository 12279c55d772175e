"""Classifiers of transformers, timm and torchvision are repaired and kept as their libraries read them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.repair.results import result_of
from tests.tuning.colours import LABELS, SIDE, pictures, write

import weakspot
from weakspot.core import MODELS, WeakspotError
from weakspot.models.preprocess import Preprocess

torch: Any = pytest.importorskip("torch")
transformers: Any = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny ViT that has seen colours in the light only, and a map of it."""
    folder = tmp_path_factory.mktemp("vit")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        image_size=SIDE, patch_size=6, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)},
    )  # fmt: skip
    model = transformers.ViTForImageClassification(config)
    images, labels = pictures(300, seed=5)
    pixels = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float() / 127.5 - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(25):
        optimizer.zero_grad()
        model(pixels, labels=torch.from_numpy(labels)).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder / "vit")
    prepared = {"size": {"height": SIDE, "width": SIDE}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "vit" / "preprocessor_config.json").write_text(
        json.dumps({"image_processor_type": "ViTImageProcessor", "resample": 2, **prepared})
    )
    weakspot.map(
        f"hf:{folder / 'vit'}?device=cpu", images=write(folder), space="image:darken,saturation",
        budget="images=800", seed=3, out=folder / "map", above=0.02,
    ).close()  # fmt: skip
    return folder


@pytest.mark.parametrize(
    ("method", "epochs", "peak"), [("last-layer", 30, 0.3), ("full", 4, 0.01), ("lora", 4, 0.01)]
)
def test_a_classifier_of_transformers_is_repaired_and_is_a_folder_again(
    mapped: Path, method: str, epochs: int, peak: float
) -> None:
    if method == "lora":
        pytest.importorskip("peft")
    out = mapped / method
    given: dict[str, Any] = {
        "epochs": epochs,
        "learning_rate": peak,
        "draws": 100,
        "device": "cpu",
        "distil": 0.3,
    }
    with weakspot.repair(mapped / "map", modes="1", method=method, out=out, **given) as run:
        result = result_of(run)
        assert run.state == "finished"
    assert result["model"] == f"hf:{out / 'model'}?device=cpu"
    assert result["training"]["best"] > 0
    assert result["training"]["layer"] == ("classifier" if method == "last-layer" else "")
    assert result["chosen"][0]["after"] <= result["chosen"][0]["before"]
    old, new = MODELS.load(result["target"]), MODELS.load(result["model"])
    assert new.labels == LABELS
    assert new.prepare == old.prepare
    weights = [model.network.state_dict() for model in (old, new)]
    assert set(weights[0]) == set(weights[1])
    changed = {key for key in weights[0] if not torch.equal(weights[0][key], weights[1][key])}
    assert changed
    if method == "last-layer":
        assert changed == {"classifier.weight", "classifier.bias"}
    assert {path.suffix for path in (out / "model").iterdir()} <= {".json", ".safetensors", ".md"}


def stand_in(**given: Any) -> Any:
    from weakspot.models.torch.classifier import ImageClassifier

    module = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 3))
    return ImageClassifier(module, name="x", labels=LABELS, prepare=Preprocess((SIDE, SIDE)), **given)


def test_weights_of_timm_and_torchvision_are_kept_with_how_to_load_them(tmp_path: Path) -> None:
    from weakspot.models.torch.classifier import read_weights
    from weakspot.tuning.network import network_of

    source, kept = tmp_path / "source", tmp_path / "model"
    for folder in (source, kept):
        folder.mkdir()
    (source / "config.json").write_text('{"architecture": "tiny"}')
    names = {
        "timm:tiny.a1?revision=abc&device=cpu": f"timm:{kept}?device=cpu",
        "torchvision:resnet18?pickle=yes": (
            f"torchvision:resnet18?weights={kept}/model.safetensors&labels={kept}/labels.txt"
        ),
        "object:x.Y": "",
    }
    for name, wanted in names.items():
        target = stand_in(folder=source)
        network = network_of(target, name=name)
        bias = network.module.get_parameter("2.bias")
        with torch.no_grad():
            bias.add_(1)
        assert network.keep(network.module, kept) == wanted
        assert not torch.equal(target.network[2].bias, bias)
        read_weights(target.network, kept / "model.safetensors")
        assert torch.equal(target.network[2].bias, bias)
    assert (kept / "config.json").read_text() == '{"architecture": "tiny"}'
    assert (kept / "labels.txt").read_text().split() == list(LABELS)


def test_a_torchscript_file_is_refused_with_the_way_out() -> None:
    from weakspot.tuning.network import network_of

    target = stand_in()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target.network = torch.jit.trace(target.network, torch.rand(1, 3, SIDE, SIDE))
    with pytest.raises(WeakspotError, match="TorchScript") as caught:
        network_of(target, name="torchscript:x.pt")
    assert "--method data" in caught.value.fix
