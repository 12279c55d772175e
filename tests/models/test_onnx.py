"""`onnx:` on graphs made here, where every answer is known, and on a real network."""

from __future__ import annotations

import hashlib
import logging
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from weakspot.core import MODELS, Case, Classifier, Hypothesis, Output, Target, WeakspotError
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.models.pictures import read_labels
from weakspot.models.pictures import to_probabilities as probabilities
from weakspot.testing import check_target

LABELS = ("red", "green", "blue")
FLOAT, BYTES = TensorProto.FLOAT, TensorProto.UINT8


def build(
    path: Path,
    *,
    shape: tuple[Any, ...] = ("n", 3, 4, 4),
    dtype: int = FLOAT,
    end: str = "",
    outputs: int | str = 3,
) -> Path:
    """A graph that answers with the mean of each channel, through `end` (Softmax, Log) if one is given."""
    last = shape[-1] == 3
    axes = numpy_helper.from_array(np.asarray([1, 2] if last else [2, 3], np.int64), "axes")
    nodes = [
        helper.make_node("Cast", ["image"], ["pixels"], to=FLOAT),
        helper.make_node("ReduceMean", ["pixels", "axes"], ["means"], keepdims=0),
        helper.make_node(end or "Identity", ["means"], ["answer"]),
    ]
    graph = helper.make_graph(
        nodes,
        "mean colour",
        [helper.make_tensor_value_info("image", dtype, shape)],
        [helper.make_tensor_value_info("answer", FLOAT, (shape[0], outputs))],
        [axes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def case(colour: tuple[int, int, int], size: tuple[int, int] = (4, 4)) -> Case:
    return Case(Hypothesis("a colour."), 0, 1, np.full((*size, 3), colour, np.uint8), "red")


CASES = [case((250, 10, 20)), case((0, 200, 30)), case((1, 2, 255)), case((255, 0, 0)), case((9, 99, 9))]
SAID = ["red", "green", "blue", "red", "green"]


def answers(outputs: list[Output]) -> list[str | None]:
    return [o.answer for o in outputs]


@pytest.mark.parametrize("end", ["", "Softmax"])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        (("n", 3, 4, 4), FLOAT),
        (("n", 3, "h", "w"), FLOAT),
        (("n", 4, 4, 3), FLOAT),
        (("n", "h", "w", 3), BYTES),
        (("n", 3, 4, 4), BYTES),
        (("n", 3, 4, 4), TensorProto.FLOAT16),
        ((1, 3, 4, 4), FLOAT),
        ((2, 4, 4, 3), BYTES),
    ],
)
def test_graphs_of_every_form(tmp_path: Path, shape: tuple[Any, ...], dtype: int, end: str) -> None:
    path = build(tmp_path / "m.onnx", shape=shape, dtype=dtype, end=end)
    model = OnnxClassifier(path, labels=LABELS)
    assert isinstance(model, Target)
    assert isinstance(model, Classifier)
    outputs = model.answer(CASES)
    assert answers(outputs) == SAID
    for output in outputs:
        assert output.scores is not None
        assert output.scores.labels == LABELS
        assert output.scores.values.sum() == pytest.approx(1, abs=1e-5)
    assert answers(model.answer(CASES[:1])) == SAID[:1]


def test_logits_become_probabilities_and_probabilities_stay(tmp_path: Path) -> None:
    logits = OnnxClassifier(build(tmp_path / "l.onnx"), labels=LABELS)
    soft = OnnxClassifier(build(tmp_path / "p.onnx", end="Softmax"), labels=LABELS)
    some = CASES[:3]  # the logits of pure red are 1, 0, 0: nobody could tell them from probabilities
    for a, b in zip(logits.answer(some), soft.answer(some), strict=True):
        assert a.scores is not None
        assert b.scores is not None
        np.testing.assert_allclose(a.scores.values, b.scores.values, atol=1e-6)


def test_pixels_are_scaled_and_normalised(tmp_path: Path) -> None:
    model = OnnxClassifier(
        build(tmp_path / "m.onnx"), labels=LABELS, mean=(0.5, 0.25, 0.0), std=(0.5, 0.25, 2.0)
    )
    [output] = model.answer([case((255, 51, 102))])
    expected = np.exp([(1 - 0.5) / 0.5, (0.2 - 0.25) / 0.25, 0.4 / 2])
    assert output.scores is not None
    np.testing.assert_allclose(output.scores.values, expected / expected.sum(), rtol=1e-5)


def test_images_are_resized_to_a_fixed_size_and_left_alone_otherwise(tmp_path: Path) -> None:
    mixed = [case((250, 0, 0), (9, 5)), case((0, 0, 250), (2, 2))]
    fixed = OnnxClassifier(build(tmp_path / "f.onnx"), labels=LABELS)
    assert answers(fixed.answer(mixed)) == ["red", "blue"]
    free = OnnxClassifier(build(tmp_path / "d.onnx", shape=("n", 3, "h", "w")), labels=LABELS)
    assert answers(free.answer(mixed[:1])) == ["red"]
    with pytest.raises(WeakspotError, match="differ in size"):
        free.answer(mixed)


def test_pictures_of_several_sizes_are_stretched_to_the_one_that_is_said(tmp_path: Path) -> None:
    file = build(tmp_path / "open.onnx", shape=("n", 3, "h", "w"))
    (tmp_path / "labels.txt").write_text("\n".join(LABELS))
    name = f"onnx:{file}?labels={tmp_path / 'labels.txt'}"
    mixed = [case((250, 10, 20)), case((0, 200, 30), (9, 5)), case((1, 2, 255), (30, 20))]
    with pytest.raises(WeakspotError, match="differ in size") as error:
        MODELS.load(name).answer(mixed)
    assert "size=224" in error.value.fix
    assert answers(MODELS.load(f"{name}&size=8x12").answer(mixed)) == SAID[:3]
    fixed = build(tmp_path / "fixed.onnx")
    with pytest.raises(WeakspotError, match="takes pictures of"):
        MODELS.load(f"onnx:{fixed}?labels={tmp_path / 'labels.txt'}&size=8")


def test_an_answer_does_not_depend_on_the_batch(tmp_path: Path) -> None:
    model = OnnxClassifier(build(tmp_path / "m.onnx", shape=(2, 3, 4, 4)), labels=LABELS)
    together, alone = model.answer(CASES), [model.answer([c])[0] for c in CASES]
    for a, b in zip(together, alone, strict=True):
        assert a.scores is not None
        assert b.scores is not None
        np.testing.assert_array_equal(a.scores.values, b.scores.values)


@pytest.mark.parametrize("input", ["text", None, np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_what_is_no_image_is_refused(tmp_path: Path, input: Any) -> None:
    model = OnnxClassifier(build(tmp_path / "m.onnx"), labels=LABELS)
    with pytest.raises(WeakspotError, match="cannot look at") as error:
        model.answer([Case(Hypothesis("x"), 0, 1, input, "red")])
    assert "RGB" in error.value.fix


def test_numbers_that_are_not_finite_are_errors_of_their_cases_alone(tmp_path: Path) -> None:
    """The log of a black channel is -inf: an error trial, never a failure."""
    model = OnnxClassifier(build(tmp_path / "m.onnx", end="Log"), labels=LABELS)
    assert answers(model.answer([case((200, 9, 9))])) == ["red"]
    with pytest.raises(WeakspotError, match="not finite"):
        model.answer([case((0, 9, 9))])


@pytest.mark.parametrize("labels", [LABELS[:2], (*LABELS, "grey")])
def test_a_wrong_number_of_labels_is_said_before_any_work(tmp_path: Path, labels: tuple[str, ...]) -> None:
    with pytest.raises(WeakspotError, match=f"3 outputs, and there are {len(labels)} labels"):
        OnnxClassifier(build(tmp_path / "m.onnx"), labels=labels)


def test_a_wrong_number_of_labels_is_said_by_the_first_answer_where_the_graph_is_open(tmp_path: Path) -> None:
    model = OnnxClassifier(build(tmp_path / "m.onnx", shape=("n", "c", 4, 4), outputs="k"), labels=LABELS[:2])
    with pytest.raises(WeakspotError, match=r"shape .* for 2 labels"):
        model.answer(CASES)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x07garbage" * 100])
def test_not_an_onnx_file(tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(WeakspotError, match="not an ONNX model that can be run") as error:
        OnnxClassifier(path, labels=LABELS)
    assert error.value.fix
    assert "\n" not in error.value.what
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("shape", "dtype"), [(("n", 48), FLOAT), (("n", 1, 4, 4), FLOAT), (("n", 3, 4, 4), TensorProto.INT64)]
)
def test_a_graph_that_does_not_take_images(tmp_path: Path, shape: tuple[Any, ...], dtype: int) -> None:
    node = helper.make_node("Shape", ["image"], ["answer"])
    graph = helper.make_graph(
        [node],
        "no images",
        [helper.make_tensor_value_info("image", dtype, shape)],
        [helper.make_tensor_value_info("answer", TensorProto.INT64, (len(shape),))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(WeakspotError, match="does not take one batch of RGB images"):
        OnnxClassifier(tmp_path / "m.onnx", labels=LABELS)


def test_missing_file_folder_and_digest(tmp_path: Path) -> None:
    for path in (tmp_path / "none.onnx", tmp_path):
        with pytest.raises(WeakspotError, match="cannot be read"):
            OnnxClassifier(path, labels=LABELS)
    path = build(tmp_path / "m.onnx")
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert OnnxClassifier(path, labels=LABELS, digest=right).digest == right
    with pytest.raises(WeakspotError, match="SHA-256 differs"):
        OnnxClassifier(path, labels=LABELS, digest="0" * 64)


def several(path: Path, scores: str = "float[n,3]", dtype: str = "float") -> Path:
    """A graph with a number of a class first, then scores, then the opposite scores."""
    text = f"""<ir_version: 9, opset_import: ["": 18]>
        several (float[n,3,4,4] image) => (int64[n] label, {scores} scores, {dtype}[n,3] reversed) {{
            means = ReduceMean<keepdims=0>(image, axes)
            label = ArgMax<axis=1,keepdims=0>(means)
            scores = Cast<to={TensorProto.FLOAT16 if dtype == "float16" else FLOAT}>(means)
            reversed = Neg(scores)
        }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.asarray([2, 3], np.int64), "axes"))
    path.write_bytes(model.SerializeToString())
    return path


def test_another_output_is_named(tmp_path: Path) -> None:
    path = several(tmp_path / "m.onnx")
    assert answers(OnnxClassifier(path, labels=LABELS, output="scores").answer(CASES)) == SAID
    [least] = OnnxClassifier(path, labels=LABELS, output="reversed").answer(CASES[:1])
    assert least.answer == "green"
    with pytest.raises(WeakspotError, match=r"'label' of .* is tensor\(int64\), not one score") as error:
        OnnxClassifier(path, labels=LABELS)
    assert "output=" in error.value.fix
    assert "scores" in error.value.fix
    with pytest.raises(WeakspotError, match="no output 'score'") as error:
        OnnxClassifier(path, labels=LABELS, output="score")
    assert "did you mean 'scores'?" in error.value.fix


def test_half_precision_scores(tmp_path: Path) -> None:
    path = several(tmp_path / "m.onnx", "float16[n,3]", "float16")
    outputs = OnnxClassifier(path, labels=LABELS, output="scores").answer(CASES)
    assert answers(outputs) == SAID
    for output in outputs:
        assert output.scores is not None
        assert output.scores.values.dtype == np.float32
        assert output.scores.values.sum() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_the_largest_batch_changes_nothing(tmp_path: Path, batch: int) -> None:
    path = build(tmp_path / "m.onnx")
    expected = OnnxClassifier(path, labels=LABELS).answer(CASES)
    for a, b in zip(OnnxClassifier(path, labels=LABELS, batch=batch).answer(CASES), expected, strict=True):
        assert a.scores is not None
        assert b.scores is not None
        np.testing.assert_array_equal(a.scores.values, b.scores.values)


def test_short_memory_halves_the_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = OnnxClassifier(build(tmp_path / "m.onnx"), labels=LABELS, batch=4)
    session, tried = model.graph.session, []

    class Small:
        def run(self, names: list[str], feed: dict[str, Any]) -> Any:
            tried.append(len(feed["image"]))
            if tried[-1] > 1:
                raise RuntimeError("Failed to allocate memory for requested buffer of size 9")
            return session.run(names, feed)

    monkeypatch.setattr(model.graph, "session", Small())
    assert answers(model.answer(CASES)) == SAID
    assert tried == [4, 2, 1, 1, 1, 1, 1]


def test_it_says_where_it_runs_and_gives_its_memory_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = build(tmp_path / "model.onnx")
    with caplog.at_level(logging.INFO, "weakspot"):
        model = OnnxClassifier(file, labels=LABELS, device="cpu", batch=8)
    assert model.about == f"{file} · cpu · float32 · batch 8"
    assert model.about in caplog.text
    assert (model.device, model.dtype) == ("cpu", "float32")
    session = weakref.ref(model.graph.session)
    model.release()
    assert session() is None
    with pytest.raises(WeakspotError, match="was released"):
        model.answer(CASES)


def test_no_cases_no_answers(tmp_path: Path) -> None:
    assert OnnxClassifier(build(tmp_path / "m.onnx"), labels=LABELS).answer([]) == []


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_target(OnnxClassifier(build(tmp_path / "m.onnx"), labels=LABELS, device="cpu", threads=1), CASES)


def test_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    build(Path("m.onnx"))
    Path("labels.txt").write_text("red\n green \nblue\n")
    options = "device=cpu&batch=2&threads=1&output=answer"
    model = MODELS.load(f"onnx:m.onnx?labels=labels.txt&mean=0.5,0.5,0.5&std=0.2,0.2,0.2&{options}")
    assert answers(model.answer(CASES)) == SAID
    assert (model.device, model.graph.batch) == ("cpu", 2)
    assert model.labels == LABELS


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("onnx:m.onnx", "labels"),
        ("onnx:m.onnx?labels=none.txt", "labels file none.txt cannot be read"),
        ("onnx:m.onnx?labels=gap.txt", "has an empty line"),
        ("onnx:m.onnx?labels=empty.txt", "is empty"),
        ("onnx:m.onnx?labels=bytes.txt", "cannot be read"),
        ("onnx:m.onnx?labels=labels.txt&mean=1,2", "three numbers"),
        ("onnx:m.onnx?labels=labels.txt&mean=a,b,c", "three numbers"),
        ("onnx:m.onnx?labels=labels.txt&mean=nan,0,0", "three numbers"),
        ("onnx:m.onnx?labels=labels.txt&std=1,0,1", "three positive numbers"),
        ("onnx:m.onnx?labels=labels.txt&sdt=1,1,1", "no option 'sdt'"),
        ("onnx:b.onnx?labels=labels.txt&std=2,2,2", "mean and std mean nothing"),
        ("onnx:gone.onnx?labels=labels.txt", "gone.onnx cannot be read"),
        ("onnx:m.onnx?labels=labels.txt&batch=0", "batch cannot be '0'"),
        ("onnx:m.onnx?labels=labels.txt&batch=many", "batch cannot be 'many'"),
        ("onnx:m.onnx?labels=labels.txt&threads=-1", "threads cannot be '-1'"),
        ("onnx:m.onnx?labels=labels.txt&threads=" + "9" * 5000, "threads cannot be '999"),
        ("onnx:m.onnx?labels=labels.txt&device=gpu", "no device 'gpu'"),
        ("onnx:m.onnx?labels=labels.txt&output=logits", "no output 'logits'"),
        ("onnx:model.pt?labels=labels.txt", "pickles are not loaded"),
    ],
)
def test_wrong_names_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    build(Path("m.onnx"))
    build(Path("b.onnx"), dtype=BYTES)
    Path("labels.txt").write_text("red\ngreen\nblue\n")
    Path("gap.txt").write_text("red\n\nblue\n")
    Path("empty.txt").write_text("")
    Path("bytes.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(WeakspotError) as error:
        MODELS.load(name)
    assert what in error.value.what
    assert error.value.fix


def test_probabilities_of_large_logits_do_not_overflow() -> None:
    rows = probabilities(np.asarray([[1e4, -1e4, 0.0]], np.float32), 3)
    np.testing.assert_array_equal(rows, [[1, 0, 0]])


def test_the_real_resnet_has_its_stated_accuracy(data: Path, tmp_path: Path) -> None:
    images = np.load(data / "data" / "cifar10" / "cifar10-test-6000.npz")
    names = [str(n) for n in images["names"]]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    path = data / "models" / "resnet-cifar10" / "resnet20.onnx"
    model = MODELS.load(f"onnx:{path}?labels={tmp_path / 'labels.txt'}")
    assert read_labels(tmp_path / "labels.txt") == names
    cases = [Case(Hypothesis("x"), i, i, image, "") for i, image in enumerate(images["images"])]
    said = [o.answer for start in range(0, len(cases), 64) for o in model.answer(cases[start : start + 64])]
    right = np.mean([a == names[label] for a, label in zip(said, images["labels"], strict=True)])
    assert right == pytest.approx(0.9173, abs=0.01)
