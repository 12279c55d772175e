"""`onnx:DIR`: text and image towers with a tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from weakspot.core import MODELS, Encoder, TextEncoder, WeakspotError
from weakspot.models.onnx.models import OnnxEncoder, OnnxTextEncoder
from weakspot.testing import check_encoder

tokenizers = pytest.importorskip("tokenizers")
TEXTS = ["a dog", "two cats on a sofa", "dog", "a dog a dog a dog a dog a dog a dog"]
VOCABULARY = ["[PAD]", "[UNK]", "a", "dog", "two", "cats", "on", "sofa"]


def tokenizer(folder: Path) -> None:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_truncation(8)
    made.enable_padding()
    made.save(str(folder / "tokenizer.json"))


def text_graph(path: Path, *, pooled: bool, fixed: int | None = None, name: str = "input_ids") -> None:
    """Embeddings of tokens; averaged in the graph (with its mask) or left to us."""
    table = np.random.default_rng(0).normal(size=(len(VOCABULARY), 6)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", name], ["tokens"])]
    if pooled:
        nodes += [
            helper.make_node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["m", "last"], ["mask"]),
            helper.make_node("Mul", ["tokens", "mask"], ["masked"]),
            helper.make_node("ReduceSum", ["masked", "one"], ["text_embedding"], keepdims=0),
        ]
    else:
        nodes.append(helper.make_node("Identity", ["tokens"], ["last_hidden_state"]))
        nodes.append(helper.make_node("Identity", ["attention_mask"], ["unused"]))
    graph = helper.make_graph(
        nodes,
        "text",
        [
            helper.make_tensor_value_info(n, TensorProto.INT64, ["n", fixed or "t"])
            for n in (name, "attention_mask")
        ],
        [helper.make_tensor_value_info("text_embedding", TensorProto.FLOAT, ["n", 6])]
        if pooled
        else [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", 6])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.array([2]), "last"),
            numpy_helper.from_array(np.array([1]), "one"),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def image_graph(path: Path, *, kind: int = TensorProto.UINT8) -> None:
    """Six numbers by a linear map of the channels' means."""
    table = np.random.default_rng(1).normal(size=(3, 6)).astype(np.float32)
    nodes = [
        helper.make_node("Cast", ["image"], ["x"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["x"], ["means"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["means", "table"], ["image_embedding"]),
    ]
    graph = helper.make_graph(
        nodes,
        "image",
        [helper.make_tensor_value_info("image", kind, ["n", 3, 16, 16])],
        [helper.make_tensor_value_info("image_embedding", TensorProto.FLOAT, ["n", 6])],
        [numpy_helper.from_array(table, "table")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def pictures(n: int) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(2)
    return [rng.integers(0, 255, (20 + 3 * i, 30, 3), dtype=np.uint8) for i in range(n)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer(tmp_path)
    text_graph(tmp_path / "text.onnx", pooled=True)
    return tmp_path


def expected(texts: list[str]) -> NDArray[Any]:
    table = np.random.default_rng(0).normal(size=(len(VOCABULARY), 6)).astype(np.float32)
    rows = [table[[VOCABULARY.index(w) for w in t.split()][:8]].mean(0) for t in texts]
    return np.stack([row / np.linalg.norm(row) for row in rows])


@pytest.mark.parametrize(("pooled", "fixed"), [(True, None), (False, None), (True, 8), (False, 8)])
def test_texts_become_rows(tmp_path: Path, pooled: bool, fixed: int | None) -> None:
    tokenizer(tmp_path)
    text_graph(tmp_path / "text.onnx", pooled=pooled, fixed=fixed)
    model = MODELS.load(f"onnx:{tmp_path}")
    assert type(model) is OnnxTextEncoder
    np.testing.assert_allclose(check_encoder(model, TEXTS), expected(TEXTS), atol=1e-5)
    assert model.embed_texts([]).shape == (0, 6)


def test_both_towers(folder: Path) -> None:
    image_graph(folder / "image.onnx")
    model = MODELS.load(f"onnx:{folder}?batch=2&threads=1")
    assert isinstance(model, OnnxEncoder)
    assert isinstance(model, Encoder)
    check_encoder(model, TEXTS, pictures(5))
    assert model.embed_images([]).shape == (0, 6)
    assert model.digest == MODELS.load(f"onnx:{folder}").digest
    with pytest.raises(WeakspotError, match="cannot look at"):
        model.embed_images([np.zeros((8, 8), np.uint8)])
    assert model.about == f"{folder} · cpu · float32 · batch 2"
    model.release()
    for ask in (lambda: model.embed_texts(TEXTS), lambda: model.embed_images(pictures(1))):
        with pytest.raises(WeakspotError, match="was released"):
            ask()


class Small:
    """A session whose memory holds four rows."""

    def __init__(self, session: Any) -> None:
        self.session, self.tried = session, list[int]()

    def run(self, names: Any, given: dict[str, Any]) -> Any:
        self.tried.append(len(next(iter(given.values()))))
        if self.tried[-1] > 4:
            raise RuntimeError("bad allocation")
        return self.session.run(names, given)


@pytest.mark.parametrize("tower", ["_image", "_text"])
def test_short_memory_loses_no_row(folder: Path, tower: str, caplog: pytest.LogCaptureFixture) -> None:
    image_graph(folder / "image.onnx")
    model = MODELS.load(f"onnx:{folder}?batch=8")
    shown, texts = pictures(20), ["a dog"] * 13 + ["two cats"] * 7

    def rows() -> NDArray[np.float32]:
        return np.asarray(model.embed_images(shown) if tower == "_image" else model.embed_texts(texts))

    whole, graph = rows(), getattr(model, tower)
    graph.session = small = Small(graph.session)
    with caplog.at_level("WARNING", "weakspot.models"):
        halved = rows()
    assert halved.shape == (20, 6)
    np.testing.assert_allclose(halved, whole, atol=1e-6)
    assert small.tried[:3] == [8, 4, 4]
    assert graph.batch == 4
    assert f"{graph.path}: out of memory; batches of 4 from now on" in caplog.text


def test_floats_are_scaled_as_the_configuration_says(folder: Path) -> None:
    image_graph(folder / "image.onnx", kind=TensorProto.FLOAT)
    some = pictures(2)
    plain = MODELS.load(f"onnx:{folder}").embed_images(some)
    (folder / "preprocessor_config.json").write_text(
        '{"size": {"height": 16, "width": 16}, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.2, 0.2]}'
    )
    assert not np.allclose(MODELS.load(f"onnx:{folder}").embed_images(some), plain, atol=1e-3)
    (folder / "preprocessor_config.json").write_text('{"size": ')
    with pytest.raises(WeakspotError, match=r"preprocessor_config\.json cannot be read"):
        MODELS.load(f"onnx:{folder}")


def test_what_is_missing_is_said(folder: Path) -> None:
    def refused(name: str, what: str) -> None:
        with pytest.raises(WeakspotError, match=what) as error:
            MODELS.load(name)
        assert error.value.fix

    refused(f"onnx:{folder}?labels=l.txt", "is a folder, so an encoder")
    refused(f"onnx:{folder}?text=other.onnx", "has no graph for texts")
    refused(f"onnx:{folder}?text=../text.onnx", "has no graph for texts")
    refused(f"onnx:{folder / 'text.onnx'}", "is a classifier, so its labels must be given")
    refused(f"onnx:{folder}?threads=-1", "threads cannot be '-1'")
    (folder / "tokenizer.json").write_text("{}")
    refused(f"onnx:{folder}", "the tokenizer .* cannot be read")
    (folder / "tokenizer.json").unlink()
    refused(f"onnx:{folder}", "the tokenizer .* cannot be read")
    text_graph(folder / "text.onnx", pooled=True, name="words")
    refused(f"onnx:{folder}", "takes words, attention_mask; a text tower takes input_ids")


def test_the_digest_follows_the_files(folder: Path) -> None:
    before = MODELS.load(f"onnx:{folder}").digest
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "text.onnx", other)
    tokenizer(other)
    assert MODELS.load(f"onnx:{other}").digest == before
    text = (other / "tokenizer.json").read_text().replace('"sofa"', '"couch"')
    (other / "tokenizer.json").write_text(text)
    assert MODELS.load(f"onnx:{other}").digest != before


def test_a_real_encoder(data: Path) -> None:
    """Its read-me's figures: cosines of texts, and its own vectors of its test photographs."""
    where = data / "models" / "lit-flickr8k"
    model = OnnxTextEncoder(where, threads=1)
    texts = ["A dog is chasing a cat.", "A cat is chasing a dog.", "A table with two plates.",
             "A table with five plates.", "A street with cars.", "A street with no cars."]  # fmt: skip
    v = model.embed_texts(texts)
    np.testing.assert_allclose([v[0] @ v[1], v[2] @ v[3], v[4] @ v[5]], [0.98, 0.94, 0.88], atol=0.006)
    assert isinstance(model, TextEncoder)


def test_a_real_image_tower(data: Path) -> None:
    from weakspot.sources.folder import decode

    model = MODELS.load(f"onnx:{data / 'models' / 'lit-flickr8k'}")
    known = np.load(data / "models" / "lit-flickr8k" / "flickr8k-test-images.npz", allow_pickle=False)
    rows = {str(name): row for name, row in zip(known["names"], known["image_embedding"], strict=True)}
    files = sorted((data / "data" / "flickr8k").rglob("*.jpg"))
    some = [(f, f.name.replace("-", "_")) for f in files if f.name.replace("-", "_") in rows][:2]
    assert some
    vectors = model.embed_images([decode(f.read_bytes()) for f, _ in some])
    # The photographs here are smaller copies, so the rows are near those of the originals and not the same.
    assert all(v @ rows[name] > 0.9 for v, (_, name) in zip(vectors, some, strict=True))
