"""A graph read as a torch module answers as onnxruntime does, before it is written again and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from weakspot.core import MODELS, WeakspotError
from weakspot.tuning.network import network_of
from weakspot.tuning.onnx_module import OnnxModule
from weakspot.world import shipped

FAMILY = ("classifier", "classifier-resnet-2", "classifier-vit-1", "classifier-vit-2", "classifier-vit-3")


def asked(path: Path, images: np.ndarray) -> np.ndarray:
    return np.asarray(onnxruntime.InferenceSession(str(path)).run(None, {"image": images})[0])


@pytest.mark.parametrize("name", FAMILY)
def test_the_worlds_classifiers_answer_alike_in_torch_and_when_written_again(
    name: str, tmp_path: Path
) -> None:
    path = shipped.file(f"{name}.onnx")
    images = np.random.default_rng(1).random((3, 3, 64, 64), np.float32)
    module = OnnxModule(path).eval()
    with torch.no_grad():
        np.testing.assert_allclose(module(torch.from_numpy(images)).numpy(), asked(path, images), atol=1e-4)
    module.write(tmp_path / "again.onnx")
    np.testing.assert_allclose(asked(tmp_path / "again.onnx", images), asked(path, images), atol=1e-5)


@pytest.mark.parametrize("name", ["classifier-resnet-2", "classifier-vit-1"])
def test_every_weight_that_learns_is_in_the_file_that_is_written(name: str, tmp_path: Path) -> None:
    images = np.random.default_rng(2).random((2, 3, 64, 64), np.float32)
    module = OnnxModule(shipped.file(f"{name}.onnx")).eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.02 * p.abs().mean() * torch.randn_like(p))
        wanted = module(torch.from_numpy(images)).numpy()
    module.write(tmp_path / "moved.onnx")
    np.testing.assert_allclose(asked(tmp_path / "moved.onnx", images), wanted, atol=1e-3)
    assert np.abs(wanted - asked(shipped.file(f"{name}.onnx"), images)).max() > 1e-3


def test_a_graph_that_ends_in_probabilities_gives_logits(data: Path) -> None:
    path = data / "models" / "resnet-cifar10" / "resnet20.onnx"
    images = np.random.default_rng(3).integers(0, 256, (4, 32, 32, 3), np.uint8)
    with torch.no_grad():
        logits = OnnxModule(path).eval()(torch.from_numpy(images))
    np.testing.assert_allclose(logits.softmax(1).numpy(), asked(path, images), atol=1e-5)
    assert float(logits.min()) < 0


def test_the_network_behind_a_name_is_kept_under_another_name(tmp_path: Path) -> None:
    target = MODELS.load("world:classifier")
    network = network_of(target, name="world:classifier")
    again = MODELS.load(network.keep(network.module, tmp_path))
    images = np.random.default_rng(4).integers(0, 256, (3, 64, 64, 3), np.uint8)

    class Shown:
        def __init__(self, image: np.ndarray) -> None:
            self.input = image

    shown: list[Any] = [Shown(i) for i in images]
    models: list[Any] = [target, network, again]
    rows = [[o.scores.values for o in model.answer(shown)] for model in models]
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-4)
    np.testing.assert_allclose(rows[2], rows[0], atol=1e-4)
    assert again.labels == target.labels


def test_an_operator_that_is_not_known_says_the_way_out(tmp_path: Path) -> None:
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Hardmax", ["image"], ["out"])
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 4])],
    )
    onnx.save(helper.make_model(graph), tmp_path / "odd.onnx")
    with pytest.raises(WeakspotError, match="Hardmax") as caught:
        OnnxModule(tmp_path / "odd.onnx")
    assert "torch:" in caught.value.fix


def test_a_copy_has_weights_of_its_own() -> None:
    import copy

    images = torch.rand(2, 3, 64, 64)
    module = OnnxModule(shipped.file("classifier.onnx")).eval()
    other = copy.deepcopy(module)
    with torch.no_grad():
        before = module(images)
        for p in other.parameters():
            p.zero_()
        assert torch.equal(module(images), before)
        assert not torch.equal(other(images), before)
