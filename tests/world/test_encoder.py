"""`world:encoder` on a toy network, and the shipped one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.world import world_parts as parts
from tests.world.world_parts import pictures
from training.manifest import rewrite

from weakspot.core import MODELS, Encoder, Hypothesis, WeakspotError
from weakspot.testing import ContractError, check_encoder
from weakspot.world.encoder import LENGTH, WorldEncoder
from weakspot.world.grammar import base_sentence
from weakspot.world.renderer import Renderer
from weakspot.world.scene import SUBJECTS

TEXTS = ["it is on a flower.", "it is night.", "a photo of a bee.", "fly", "", "bee", "it is night. " * 60]


@pytest.fixture
def toy(weights: Path) -> WorldEncoder:
    parts.encoder(weights)
    rewrite()
    return WorldEncoder()


def test_it_keeps_the_contract_and_is_registered(toy: WorldEncoder) -> None:
    assert isinstance(toy, Encoder)
    assert check_encoder(toy, TEXTS, pictures(5)).shape == (len(TEXTS), 256)
    loaded = MODELS.load("world:encoder?device=cpu")
    assert loaded.digest == toy.digest
    np.testing.assert_array_equal(loaded.embed_texts(TEXTS), toy.embed_texts(TEXTS))


def test_vectors_are_those_of_the_graph(toy: WorldEncoder, weights: Path) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(weights / "encoder-text.onnx", providers=["CPUExecutionProvider"])
    tokens = toy.tokens(TEXTS)  # padded, which the toy masks
    [expected] = session.run(None, {"tokens": tokens})
    np.testing.assert_allclose(toy.embed_texts(TEXTS), expected, atol=1e-6)


def test_a_batch_holds_texts_of_one_length(toy: WorldEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nothing is padded, and a graph that forgot its mask would do no harm."""
    seen: list[NDArray[np.int64]] = []
    run = toy._text.run

    def spy(inputs: dict[str, NDArray[Any]], outputs: Sequence[str]) -> list[NDArray[Any]]:
        seen.append(inputs["tokens"])
        return run(inputs, outputs)

    monkeypatch.setattr(toy._text, "run", spy)
    toy.embed_texts(TEXTS * 3)
    assert not any((tokens == toy._words.pad).any() for tokens in seen)
    assert sum(map(len, seen)) == 3 * len(TEXTS)
    assert max(tokens.shape[1] for tokens in seen) == LENGTH


def test_pictures_of_any_size_are_welcome_and_batches_do_not_matter(toy: WorldEncoder) -> None:
    mixed = [*pictures(3), *pictures(2, size=128, seed=1)]
    vectors = toy.embed_images(mixed)
    toy._image.batch = 2
    np.testing.assert_allclose(toy.embed_images(mixed), vectors, atol=1e-6)


def test_nothing_gives_no_rows(toy: WorldEncoder) -> None:
    assert toy.embed_texts([]).shape == toy.embed_images([]).shape == (0, 256)


def test_other_networks_are_refused(weights: Path) -> None:
    def refused(what: str) -> None:
        rewrite()
        with pytest.raises(WeakspotError, match=what) as error:
            WorldEncoder()
        assert error.value.fix == "reinstall weakspot"

    parts.encoder(weights, text_width=128)
    refused(r"'vector' has the shape \(any, 128\); wanted: \(any, 256\)")
    parts.encoder(weights)
    parts.classifier(weights / "encoder-image.onnx")
    refused("has the outputs logits; wanted: vector")
    parts.encoder(weights)
    (weights / "encoder-text.onnx").unlink()
    refused("has no file 'encoder-text.onnx'")


def test_what_is_no_picture_is_refused(toy: WorldEncoder) -> None:
    with pytest.raises(WeakspotError, match="cannot look at") as error:
        toy.embed_images([np.zeros((64, 64, 3), np.float32)])
    assert "RGB" in error.value.fix


class Texts:
    """An encoder of texts whose vectors a function makes."""

    def __init__(self, change: Any) -> None:
        self.change = change

    def embed_texts(self, texts: Sequence[str]) -> Any:
        random = [np.random.default_rng(len(text)).normal(size=4) for text in texts]
        return self.change(np.stack([row / np.linalg.norm(row) for row in random]).astype(np.float32))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda v: v.tolist(), "returned list"),
        (lambda v: v.astype(np.float64), "returned float64"),
        (lambda v: v[1:], "returned the shape"),
        (lambda v: v[:, 0], "returned the shape"),
        (lambda v: v * np.float32("nan"), "not finite"),
        (lambda v: v * 2, "of length 2.000"),
        (lambda v: np.roll(v, 1, 0), "in another order"),
        (lambda v: v if len(v) > 1 else -v, "differs alone"),
    ],
)
def test_a_broken_encoder_is_told(change: Any, complaint: str) -> None:
    some = ["a", "bb", "cccc"]
    check_encoder(Texts(lambda v: v), some)
    with pytest.raises(ContractError, match=complaint):
        check_encoder(Texts(change), some)
    with pytest.raises(ContractError, match="no method embed_images"):
        check_encoder(Texts(lambda v: v), some, pictures(2))
    with pytest.raises(ContractError, match="no method embed_texts"):
        check_encoder(object(), some)  # type: ignore[arg-type]


def test_half_precision_may_round() -> None:
    """In a batch of its own a row can be computed in another order; float32 shows it less than bfloat16."""
    some = ["a", "bb", "cccc"]

    def rounded(v: Any) -> Any:
        rough = v if len(v) > 1 else v + np.float32(0.004)
        return (rough / np.linalg.norm(rough, axis=1, keepdims=True)).astype(np.float32)

    encoder = Texts(rounded)
    with pytest.raises(ContractError, match="differs alone"):
        check_encoder(encoder, some)
    encoder.dtype = "bfloat16"  # type: ignore[attr-defined]
    check_encoder(encoder, some)


def test_the_shipped_encoder_keeps_the_contract() -> None:
    texts = [base_sentence("fly"), "it is on a flower.", "a dog."]
    assert check_encoder(MODELS.load("world:encoder"), texts, pictures(3)).shape == (3, 256)


def test_the_shipped_encoder_finds_the_subject() -> None:
    cases = [
        case
        for subject in SUBJECTS
        for case in Renderer().draw(Hypothesis(base_sentence(subject)), range(4), seed=77)
    ]
    model = MODELS.load("world:encoder")
    near = (
        model.embed_images([c.input for c in cases])
        @ model.embed_texts([base_sentence(subject) for subject in SUBJECTS]).T
    )
    right = [SUBJECTS[int(row.argmax())] == case.expected for row, case in zip(near, cases, strict=True)]
    assert np.mean(right) > 0.8
