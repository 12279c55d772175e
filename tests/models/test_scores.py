"""Logits, probabilities, and what is neither; labels that an ONNX file brings along."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.models.compute import Batches
from weakspot.models.pictures import Reading, distinct, doubt, label_names, to_probabilities

RNG = np.random.default_rng(0)


def test_logits_become_probabilities() -> None:
    raw = RNG.normal(0, 5, (50, 7)).astype(np.float32)
    found = to_probabilities(raw, 7)
    np.testing.assert_allclose(found, np.exp(raw) / np.exp(raw).sum(1, keepdims=True), rtol=1e-4)
    assert doubt(raw) == ""


def test_probabilities_stay_and_rounded_ones_are_mended() -> None:
    given = RNG.dirichlet(np.ones(7), 50).astype(np.float32)
    assert np.array_equal(to_probabilities(given, 7), given)
    rounded = given.astype(np.float16).astype(np.float32) * 1.004
    np.testing.assert_allclose(to_probabilities(rounded, 7).sum(1), 1, atol=1e-3)
    np.testing.assert_allclose(to_probabilities(rounded, 7, outputs="probabilities"), given, atol=2e-3)
    assert doubt(given) == doubt(rounded) == ""


def test_what_is_neither_is_doubted_once_and_refused_if_it_should_be_probabilities(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sigmoids = np.array([[0.9, 0.8, 0.1], [0.2, 0.2, 0.2]], np.float32)
    read = Reading(("a", "b", "c"), of="my model")
    with caplog.at_level(logging.WARNING, "weakspot"):
        assert [o.answer for o in read(sigmoids)] == ["a", "a"]
        read(sigmoids)
    assert "sum to 1.8" in read.doubt
    assert caplog.text.count("my model") == 1
    with pytest.raises(
        WeakspotError, match=r"not probabilities: they lie between 0\.1 and 0\.9 and sum to 1\.8"
    ):
        to_probabilities(sigmoids, 3, outputs="probabilities")
    sure = Reading(("a", "b", "c"), outputs="logits")
    sure(sigmoids)
    assert sure.doubt == ""
    with pytest.raises(WeakspotError, match="outputs cannot be 'sigmoid'"):
        Reading(("a",), outputs="sigmoid")


def test_percentages_are_doubted() -> None:
    shares = np.random.default_rng(1).dirichlet(np.ones(4), size=6)
    for whole in (100.0, 255.0, 37.0):
        assert "percentages" in doubt(whole * shares)
    assert "percentages" in doubt(100 * shares[:1])
    assert doubt(np.round(100 * shares)) != ""  # rounded, they sum to 99 or 101
    assert doubt(37 * shares[:1]) == ""  # of one row alone nobody knows
    assert doubt(shares) == ""
    logits = np.random.default_rng(2).normal(size=(6, 4))
    for plain in (9 * logits, 5 + np.abs(logits), 9 + np.maximum(logits, 0), np.full((3, 1), 7.0)):
        assert doubt(plain) == ""


def test_an_answer_does_not_depend_on_the_batch() -> None:
    mixed = np.array([[0.2, 0.8], [3, -3], [0.5, 0.9]], np.float32)
    alone = np.concatenate([to_probabilities(row[None], 2) for row in mixed])
    assert np.array_equal(to_probabilities(mixed, 2), alone)


@pytest.mark.parametrize(
    "raw", [np.zeros((2, 3)), np.zeros(4), np.full((1, 4), np.nan), np.full((1, 4), np.inf)]
)
def test_wrong_shapes_and_numbers(raw: Any) -> None:
    with pytest.raises(WeakspotError):
        to_probabilities(raw, 4)


def test_labels_are_distinct_and_named() -> None:
    assert distinct(["crane", " crane ", "maillot", "crane"], of="x") == (
        "crane",
        "crane #2",
        "maillot",
        "crane #3",
    )
    for wrong in ([], ["a", " "]):
        with pytest.raises(WeakspotError):
            distinct(wrong, of="x")


def test_labels_in_metadata_are_read_and_never_run() -> None:
    assert label_names('["a", "b"]', of="x") == ("a", "b")
    assert label_names("{0: 'a', 1: 'b'}", of="x") == ("a", "b")  # as some exporters write it
    assert label_names('{"1": "b", "0": "a"}', of="x") == ("a", "b")
    assert label_names("a\nb", of="x") == ("a", "b")
    assert label_names("", of="x") == ()
    assert label_names("__import__('os').system('true')", of="x") == ("__import__('os').system('true')",)
    with pytest.raises(WeakspotError, match="not numbered from 0"):
        label_names('{"3": "b"}', of="x")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Logits that are 50 times the mean of each channel, after whatever was done to the pixels."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("ReduceMean", ["image", "axes"], ["means"], keepdims=0),
        helper.make_node("Mul", ["means", "times"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 3])],
        [
            helper.make_tensor("axes", TensorProto.INT64, [2], [2, 3]),
            helper.make_tensor("times", TensorProto.FLOAT, [1], [50.0]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, tmp_path / "plain.onnx")
    helper.set_model_props(
        model,
        {"labels": '["r", "g", "b"]', "mean": "[0.5, 0.5, 0.5]", "std": "0.5,0.5,0.5", "outputs": "logits"},
    )
    onnx.save(model, tmp_path / "told.onnx")
    return tmp_path


def case(height: int, width: int) -> Case:
    """Red in the middle half, blue at the sides."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 2] = 255
    image[:, width // 4 : -(width // 4), 0], image[:, width // 4 : -(width // 4), 2] = 255, 0
    return Case(Hypothesis("a square."), 0, 0, image, "r")


def test_onnx_files_that_say_it_themselves(file: Path) -> None:
    model = MODELS.load(f"onnx:{file / 'told.onnx'}")
    assert model.labels == ("r", "g", "b")
    [output] = model.answer([case(8, 8)])
    logits = 50 * (np.array([0.5, 0.0, 0.5]) - 0.5) / 0.5
    wanted = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(output.scores.values, wanted, atol=1e-5)
    assert model.doubt == ""
    (file / "labels.txt").write_text("x\ny\nz\n")
    assert MODELS.load(f"onnx:{file / 'told.onnx'}?labels={file / 'labels.txt'}").labels == ("x", "y", "z")
    with pytest.raises(WeakspotError, match="its labels must be given"):
        MODELS.load(f"onnx:{file / 'plain.onnx'}")


def test_onnx_beside_the_files_of_transformers(file: Path) -> None:
    (file / "config.json").write_text(json.dumps({"id2label": {"1": "g", "0": "r", "2": "b"}}))
    (file / "preprocessor_config.json").write_text(
        json.dumps(
            {"size": {"shortest_edge": 8}, "crop_size": 8, "do_center_crop": True, "resample": 2,
             "image_mean": [0, 0, 0], "image_std": [1, 1, 1]}
        )
    )  # fmt: skip
    model = MODELS.load(f"onnx:{file / 'plain.onnx'}?outputs=logits")
    assert model.labels == ("r", "g", "b")
    [output] = model.answer([case(16, 32)])  # only the red middle is left after the cut
    assert output.answer == "r"
    assert output.scores.of("r") > 0.99


def test_onnx_beside_a_processor_that_scales_otherwise_or_is_not_known(file: Path) -> None:
    (file / "config.json").write_text(json.dumps({"id2label": {"0": "r", "1": "g", "2": "b"}}))
    said = {"size": {"height": 8, "width": 8}, "resample": 2, "image_mean": [1, 1, 1], "image_std": [2, 2, 2]}
    settings = file / "preprocessor_config.json"
    settings.write_text(json.dumps(said | {"rescale_factor": 1 / 127.5}))
    [output] = MODELS.load(f"onnx:{file / 'plain.onnx'}?outputs=logits").answer([case(8, 8)])
    logits = 50 * (np.array([1.0, 0.0, 1.0]) - 1) / 2
    np.testing.assert_allclose(output.scores.values, np.exp(logits) / np.exp(logits).sum(), atol=1e-5)
    settings.write_text(json.dumps(said | {"image_processor_type": "MobileViTImageProcessor"}))
    with pytest.raises(WeakspotError, match="by MobileViTImageProcessor") as error:
        MODELS.load(f"onnx:{file / 'plain.onnx'}")
    assert "mean, std" in error.value.fix
    MODELS.load(f"onnx:{file / 'plain.onnx'}?mean=0,0,0&std=1,1,1")


def test_batches_halve_and_stay_so() -> None:
    seen = []

    def work(some: Any) -> list[int]:
        seen.append(len(some))
        if len(some) > 3:
            raise MemoryError
        return [2 * x for x in some]

    batches = Batches("m", 8)
    assert [x for part in batches.run(range(20), work) for x in part] == [2 * x for x in range(20)]
    assert batches.size == 2
    assert seen == [8, 4, *[2] * 10]
    assert batches.run([], work) == []
    with pytest.raises(WeakspotError, match="even with a batch of 1"):
        batches.run([1], lambda some: (_ for _ in ()).throw(MemoryError()))
