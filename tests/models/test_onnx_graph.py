"""Graphs made here, where every answer is known: batches, memory, devices, files that are none."""

from __future__ import annotations

import hashlib
import io
import pickle
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import numpy_helper

from weakspot.core import WeakspotError
from weakspot.models.onnx.graph import BATCH, Graph

PRODUCT = """sums (float[n,3] a, float[n,3] b) => (float[n,3] sum, float[n,2] product) {
    sum = Add(a, b)
    product = MatMul(sum, w)
}"""
W = np.arange(6, dtype=np.float32).reshape(3, 2)
CUDA, CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


def parsed(text: str = PRODUCT, w: Any = W) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 17]> {text}')
    model.graph.initializer.append(numpy_helper.from_array(np.asarray(w), "w"))
    return model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "m.onnx").write_bytes(parsed().SerializeToString())
    return tmp_path / "m.onnx"


def feed(n: int) -> dict[str, Any]:
    random = np.random.default_rng(n)
    return {name: random.normal(size=(n, 3)).astype(np.float32) for name in "ab"}


@pytest.mark.parametrize("batch", [None, 1, 4, 7, 1000])
def test_several_inputs_and_outputs_in_batches(path: Path, batch: int | None) -> None:
    graph, given = Graph(path, batch=batch), feed(150)
    total, product = graph.run(given)
    np.testing.assert_allclose(total, given["a"] + given["b"], rtol=1e-6)
    np.testing.assert_allclose(product, (given["a"] + given["b"]) @ W, rtol=1e-4, atol=1e-5)
    [only] = graph.run(given, ["product"])
    np.testing.assert_array_equal(only, product)
    assert graph.batch == (batch or BATCH)
    assert [t.name for t in graph.inputs] == ["a", "b"]
    assert [t.shape for t in graph.outputs] == [(None, 3), (None, 2)]


def test_no_rows_give_no_rows(path: Path) -> None:
    assert [v.shape for v in Graph(path).run(feed(0))] == [(0, 3), (0, 2)]


def test_a_row_does_not_depend_on_the_others(path: Path) -> None:
    graph, given = Graph(path), feed(9)
    together = graph.run(given)[1]
    alone = [graph.run({k: v[i : i + 1] for k, v in given.items()})[1][0] for i in range(9)]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_fixed_batch_is_filled_up(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(parsed(PRODUCT.replace("[n,", "[4,")).SerializeToString())
    graph, given = Graph(path), feed(10)
    np.testing.assert_allclose(graph.run(given)[0], given["a"] + given["b"], rtol=1e-6)
    assert graph.batch == 4
    assert Graph(path, batch=9).batch == 4
    with pytest.raises(WeakspotError, match="cannot be run in batches of 3") as error:
        Graph(path, batch=3)
    assert "4 or more" in error.value.fix


@pytest.mark.parametrize("kind", ["float16", "double"])
def test_other_floats_go_in_and_come_out_as_float32(tmp_path: Path, kind: str) -> None:
    text = PRODUCT.replace("float", kind)
    path = tmp_path / "m.onnx"
    path.write_bytes(parsed(text, W.astype(kind)).SerializeToString())
    given = feed(5)
    values = Graph(path).run(given)
    assert {v.dtype for v in values} == {np.dtype(np.float32)}
    np.testing.assert_allclose(values[0], given["a"] + given["b"], atol=1e-2)


# -- memory -----------------------------------------------------------------------------------------


class Small:
    """A session whose memory holds so many rows."""

    def __init__(self, session: Any, rows: int, message: str | Exception) -> None:
        self.session, self.rows, self.message = session, rows, message
        self.tried: list[int] = []

    def run(self, names: Sequence[str], given: dict[str, Any]) -> Any:
        n = len(given["a"])
        self.tried.append(n)
        if n > self.rows:
            raise self.message if isinstance(self.message, Exception) else RuntimeError(self.message)
        return self.session.run(names, given)


@pytest.mark.parametrize(
    "message",
    [
        "[ONNXRuntimeError] : 6 : Non-zero status code returned while running Conv node. Status Message: "
        "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 2830172160",
        "CUDA failure 2: out of memory ; GPU=0",
        "CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED",
        "bad allocation",
        "std::bad_alloc",
        MemoryError(),
    ],
)
def test_short_memory_halves_the_batch_for_good(path: Path, message: str | Exception) -> None:
    graph, given = Graph(path), feed(100)
    expected = graph.run(given)
    graph.session = small = Small(graph.session, 10, message)
    for value, other in zip(graph.run(given), expected, strict=True):
        np.testing.assert_allclose(value, other, atol=1e-5)
    assert small.tried == [64, 32, 16, *[8] * 12, 4]
    assert graph.batch == 8
    small.tried.clear()
    graph.run(given)
    assert small.tried == [*[8] * 12, 4]


def test_one_row_that_does_not_fit_is_an_error(path: Path, tmp_path: Path) -> None:
    graph = Graph(path)
    graph.session = Small(graph.session, 0, "out of memory")
    with pytest.raises(WeakspotError, match="does not fit into memory, even with a batch of 1") as error:
        graph.run(feed(5))
    assert "memory" in error.value.fix
    graph.device = "cuda"
    with pytest.raises(WeakspotError) as error:
        graph.run(feed(1))
    assert "device=cpu" in error.value.fix
    fixed = tmp_path / "f.onnx"
    fixed.write_bytes(parsed(PRODUCT.replace("[n,", "[4,")).SerializeToString())
    graph = Graph(fixed)
    graph.session = Small(graph.session, 3, "out of memory")
    with pytest.raises(WeakspotError, match="even with a batch of 4"):
        graph.run(feed(5))


def test_other_errors_are_told_and_shrink_nothing(path: Path) -> None:
    graph = Graph(path)
    with pytest.raises(WeakspotError, match=r"could not be run: .*INVALID_ARGUMENT") as error:
        graph.run({"a": np.zeros((2, 4), np.float32), "b": np.zeros((2, 4), np.float32)})
    assert error.value.fix
    assert "\n" not in error.value.what
    assert graph.batch == BATCH


# -- devices ----------------------------------------------------------------------------------------


class Recorded:
    """An onnxruntime that offers CUDA and works on the CPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, works: bool | Exception) -> None:
        self.asked: list[list[str]] = []
        self.threads: list[int] = []
        real = onnxruntime.InferenceSession

        def session(model: Any, options: Any, providers: list[str]) -> Any:
            self.asked.append(providers)
            self.threads.append(options.intra_op_num_threads)
            if CUDA in providers and isinstance(works, Exception):
                raise works
            made = real(model, options, providers=[CPU])
            if works is True and CUDA in providers:
                made.get_providers = lambda: providers
            return made

        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CUDA, CPU])
        monkeypatch.setattr(onnxruntime, "InferenceSession", session)


def test_cuda_is_taken_if_it_is_offered(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Recorded(monkeypatch, works=True)
    assert [Graph(path, device=d).device for d in ("auto", "cuda", "cpu")] == ["cuda", "cuda", "cpu"]
    assert made.asked == [[CUDA, CPU], [CUDA, CPU], [CPU]]


@pytest.mark.parametrize("works", [False, RuntimeError("no driver")])
def test_cuda_that_does_not_start(path: Path, monkeypatch: pytest.MonkeyPatch, works: Any) -> None:
    Recorded(monkeypatch, works=works)
    assert Graph(path).device == "cpu"
    with pytest.raises(WeakspotError, match=r"could not start .* on CUDA") as error:
        Graph(path, device="cuda")
    assert "device=cpu" in error.value.fix


def test_without_cuda(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])
    assert Graph(path).device == Graph(path, device="cpu").device == "cpu"
    with pytest.raises(WeakspotError, match="cannot use CUDA") as error:
        Graph(path, device="cuda")
    assert "onnxruntime-gpu" in error.value.fix
    with pytest.raises(WeakspotError, match="no device 'tpu'"):
        Graph(path, device="tpu")


def test_threads_are_passed_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Recorded(monkeypatch, works=True)
    Graph(path, device="cpu")
    Graph(path, device="cpu", threads=3)
    assert made.threads == [0, 3]


# -- what a graph must be ---------------------------------------------------------------------------


def test_what_is_expected_is_there(path: Path) -> None:
    inputs = {"a": (None, 3), "b": (None, None)}
    graph = Graph(path)
    graph.expect(inputs, {"product": (None, 2)})
    graph.expect(inputs, {"sum": (None, 3), "product": (None, None)})
    assert len(graph.run(feed(3))) == 2


@pytest.mark.parametrize(
    ("inputs", "outputs", "what"),
    [
        ({"a": (None, 3)}, {}, "has the inputs a, b; wanted: a"),
        ({"a": (None, 3), "c": (None, 3)}, {}, "has the inputs a, b; wanted: a, c"),
        ({"a": (None, 4), "b": (None, 3)}, {}, r"'a' has the shape \(any, 3\); wanted: \(any, 4\)"),
        ({"a": (None, 3), "b": (3,)}, {}, r"'b' has the shape \(any, 3\); wanted: \(3\)"),
        ({"a": (None, 3), "b": (None, 3)}, {"x": (None, 3)}, "has the outputs sum, product; wanted: x"),
        ({"a": (None, 3), "b": (None, 3)}, {"sum": (None, 3, 3)}, r"wanted: \(any, 3, 3\)"),
    ],
)
def test_what_is_not_as_expected_is_told(path: Path, inputs: Any, outputs: Any, what: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        Graph(path).expect(inputs, outputs, fix="do this")
    assert error.value.fix == "do this"


def test_a_graph_that_does_not_say_its_shape_is_checked_when_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(parsed("g (float[n,c] a) => (float[n,c] out) { out = Abs(a) }").SerializeToString())
    graph = Graph(path)
    graph.expect({"a": (None, None)}, {"out": (None, 7)}, fix="do this")
    assert graph.run({"a": np.zeros((5, 7), np.float32)})[0].shape == (5, 7)
    with pytest.raises(WeakspotError, match=r"'out' has the shape \(5, 2\); wanted: \(5, 7\)") as error:
        graph.run({"a": np.zeros((5, 2), np.float32)})
    assert error.value.fix == "do this"


def test_an_output_that_is_not_one_row_for_each_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = "g (float[n,3] a) => (float[m,k] out) { turned = MatMul(a, w) out = Transpose(turned) }"
    path.write_bytes(parsed(text).SerializeToString())
    with pytest.raises(WeakspotError, match=r"'out' has the shape \(2, 5\); wanted: \(5, 5\)"):
        Graph(path).run({"a": np.zeros((5, 3), np.float32)})


# -- files ------------------------------------------------------------------------------------------


def test_the_digest_is_that_of_the_file(path: Path, tmp_path: Path) -> None:
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    assert Graph(path, digest=right).digest == right
    with pytest.raises(WeakspotError, match="SHA-256 differs"):
        Graph(path, digest="0" * 64)
    for wrong in (tmp_path / "none.onnx", tmp_path):
        with pytest.raises(WeakspotError, match="cannot be read"):
            Graph(wrong)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_truncated_file_is_told(path: Path, share: float, capfd: pytest.CaptureFixture[str]) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(WeakspotError, match="not an ONNX model that can be run") as error:
        Graph(path)
    assert "export it again" in error.value.fix
    assert capfd.readouterr() == ("", "")


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"cos\nsystem\n")
    return file.getvalue()


class Trap:
    """A pickle of this would write a file when loaded."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return open, ("loaded", "w")


@pytest.mark.parametrize("content", [_zip(), *(pickle.dumps(Trap(), protocol=p) for p in (2, 3, 4, 5))])
@pytest.mark.parametrize("name", ["m.onnx", "m.pt", "m.PTH", "m.pkl", "pytorch_model.bin"])
def test_pickles_are_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(WeakspotError, match="pickles are not loaded") as error:
        Graph(Path(name))
    assert "torch.onnx.export" in error.value.fix
    assert not Path("loaded").exists()


def test_weights_without_a_graph_are_told(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="weights but no graph"):
        Graph(tmp_path / "model.safetensors")


@pytest.fixture
def in_pieces(tmp_path: Path) -> Path:
    """A model that keeps its weights in a file beside it, as torch writes them by default."""
    path = tmp_path / "pieces" / "m.onnx"
    path.parent.mkdir()
    onnx.save(parsed(), path, save_as_external_data=True, location="m.onnx.data", size_threshold=0)
    return path


def test_weights_in_a_file_beside_the_model_are_found(
    in_pieces: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(in_pieces.read_bytes()) < len(path.read_bytes()) + 100
    given = feed(4)
    monkeypatch.chdir(path.parent)  # not where the weights are
    np.testing.assert_array_equal(Graph(in_pieces).run(given)[1], Graph(path).run(given)[1])
    monkeypatch.chdir(in_pieces.parent)
    np.testing.assert_array_equal(Graph(Path("m.onnx")).run(given)[1], Graph(path).run(given)[1])


def test_the_digest_covers_the_weights_beside_the_model(in_pieces: Path) -> None:
    before = Graph(in_pieces).digest
    assert Graph(in_pieces).digest == before
    data = in_pieces.with_name("m.onnx.data")
    data.write_bytes(data.read_bytes()[:-1] + b"?")
    assert Graph(in_pieces).digest != before


def test_weights_that_are_elsewhere_are_told(in_pieces: Path) -> None:
    in_pieces.with_name("m.onnx.data").rename(in_pieces.parent.parent / "m.onnx.data")
    with pytest.raises(
        WeakspotError, match=r"keeps its weights in 'm\.onnx\.data', which is not beside"
    ) as error:
        Graph(in_pieces)
    assert "same folder" in error.value.fix
    for outside in ("../m.onnx.data", str(in_pieces.parent.parent / "m.onnx.data"), "*/_ORT_MEM_ADDR_/*"):
        model = onnx.load(in_pieces, load_external_data=False)
        for entry in model.graph.initializer[0].external_data:
            if entry.key == "location":
                entry.value = outside
        in_pieces.write_bytes(model.SerializeToString())
        with pytest.raises(WeakspotError, match="which is not beside it"):
            Graph(in_pieces)


def test_a_long_name_of_a_file_beside_the_model_is_read(tmp_path: Path) -> None:
    """Lengths from 128 on take two bytes in the file."""
    name = "w" * 150
    onnx.save(parsed(), tmp_path / "m.onnx", save_as_external_data=True, location=name, size_threshold=0)
    assert Graph(tmp_path / "m.onnx").run(feed(2))[1].shape == (2, 2)
    (tmp_path / name).unlink()
    with pytest.raises(WeakspotError, match="keeps its weights in 'wwww"):
        Graph(tmp_path / "m.onnx")
