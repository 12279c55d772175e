"""`world:captioner` on a toy network, beside a slow reference that knows no cache; and the shipped one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.world import world_parts as parts
from tests.world.world_parts import pictures
from training.manifest import rewrite

from weakspot.core import Captioner, Hypothesis, WeakspotError
from weakspot.testing import ContractError, check_captioner
from weakspot.world.captioner import LENGTH, WorldCaptioner
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.renderer import Renderer
from weakspot.world.scene import SUBJECTS
from weakspot.world.words import Words

SAID = ["it is on a flower.", "it is night.", "it is behind a net.", "fly", "a photo of a bee."]


@pytest.fixture
def toy(weights: Path) -> WorldCaptioner:
    parts.captioner(weights)
    rewrite()
    return WorldCaptioner()


class Reference:
    """The whole text from its beginning for every question, one picture at a time."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime

        self.image, self.words = (
            onnxruntime.InferenceSession(
                folder / f"captioner-{what}.onnx", providers=["CPUExecutionProvider"]
            )
            for what in ("image", "words")
        )
        self.tokens = Words.load(folder / "words.json")

    def logits(self, image: NDArray[np.uint8], ids: list[int]) -> NDArray[np.float64]:
        pixels = image.transpose(2, 0, 1)[None].astype(np.float32) / 255
        feed: dict[str, Any] = {
            "tokens": np.array([ids]),
            "past": np.zeros((1, parts.LAYERS, 2, parts.HEADS, 0, parts.D), np.float32),
            "memory": self.image.run(None, {"image": pixels})[0],
        }
        return np.asarray(self.words.run(["logits"], feed)[0][0], np.float64)

    def log_probability(self, image: NDArray[np.uint8], prefix: list[int], ids: list[int]) -> float:
        rows = self.logits(image, [*prefix, *ids])[len(prefix) - 1 : -1]
        logs = rows - np.log(np.exp(rows).sum(1, keepdims=True))
        return float(sum(logs[i, token] for i, token in enumerate(ids)))


@pytest.mark.parametrize("prefix", ["", "a photo of a bee."])
@pytest.mark.parametrize("end", [False, True])
def test_log_probabilities_are_those_of_the_whole_text(
    toy: WorldCaptioner, weights: Path, prefix: str, end: bool
) -> None:
    reference, images = Reference(weights), pictures(3)
    begun = [Words.bos, *reference.tokens.encode(prefix)]
    expected = [
        [
            reference.log_probability(image, begun, reference.tokens.encode(s) + [Words.eos] * end)
            for s in SAID
        ]
        for image in images
    ]
    np.testing.assert_allclose(
        toy.log_probabilities(images, SAID, prefix=prefix, end=end), expected, atol=1e-5
    )


def test_probabilities_of_all_that_can_come_next_sum_to_one(toy: WorldCaptioner, weights: Path) -> None:
    images, reference = pictures(2), Reference(weights)
    begun = [Words.bos, *reference.tokens.encode("it is")]
    each = [t.removeprefix("#") for t in parts.TOKENS[4:]]
    said = np.exp(toy.log_probabilities(images, each, prefix="it is")).sum(1)
    ends = np.exp(toy.log_probabilities(images, [""], prefix="it is", end=True)[:, 0])
    never = (Words.pad, Words.bos, Words.unknown)
    rest = [sum(np.exp(reference.log_probability(i, begun, [token])) for token in never) for i in images]
    np.testing.assert_allclose(said + ends + rest, 1, atol=1e-6)


def test_captions_are_greedy(toy: WorldCaptioner, weights: Path) -> None:
    reference, images = Reference(weights), pictures(6)
    for prefix in ("", "a photo of a bee."):
        for image, text in zip(images, toy.captions(images, prefix=prefix), strict=True):
            ids = [Words.bos, *reference.tokens.encode(prefix)]
            while ids[-1] != Words.eos and len(ids) < LENGTH:
                last = reference.logits(image, ids)[-1]
                last[[Words.pad, Words.bos, Words.unknown]] = -np.inf
                ids.append(int(last.argmax()))
            assert text == reference.tokens.decode(ids)
            assert text.startswith(prefix)


def test_a_caption_without_end_stops(weights: Path) -> None:
    parts.captioner(weights, ends=-1e6)
    rewrite()
    endless = WorldCaptioner()
    for text in endless.captions(pictures(2)):
        assert len(endless._tokens.encode(text)) == LENGTH - 1  # the beginning is the first


def test_a_prefix_stays_as_it_was_written(toy: WorldCaptioner) -> None:
    [text] = toy.captions(pictures(1), prefix="A photo  of a WX ")
    assert text.startswith("A photo  of a WX")


def test_it_keeps_the_contract(toy: WorldCaptioner) -> None:
    assert isinstance(toy, Captioner)
    check_captioner(toy, pictures(5), SAID)
    assert WorldCaptioner().digest == toy.digest


def test_memory_is_bounded(toy: WorldCaptioner, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pictures and sentences there are, a run of the graph sees a batch of them."""
    images, sentences = pictures(37), SAID * 7
    expected = toy.log_probabilities(images, sentences)
    seen: list[int] = []
    run = toy._words.run

    def spy(inputs: dict[str, NDArray[Any]], outputs: tuple[str, ...]) -> list[NDArray[Any]]:
        seen.append(len(inputs["tokens"]))
        return run(inputs, outputs)

    monkeypatch.setattr(toy._words, "run", spy)
    toy._words.batch = 20
    np.testing.assert_allclose(toy.log_probabilities(images, sentences), expected, atol=1e-5)
    assert max(seen) <= 20


def test_nothing_asked_is_nothing_told(toy: WorldCaptioner) -> None:
    assert toy.captions([]) == []
    assert toy.log_probabilities([], SAID).shape == (0, len(SAID))
    assert toy.log_probabilities(pictures(2), []).shape == (2, 0)
    assert toy.log_probabilities(pictures(2), ["", " "]).tolist() == [[0, 0], [0, 0]]


def test_what_cannot_be_done_is_told(toy: WorldCaptioner) -> None:
    images, long = pictures(2), "it is night. " * 40
    for attempt, what in (
        (lambda: toy.captions(images, prefix=long), "the prefix has 161 tokens"),
        (lambda: toy.log_probabilities(images, [SAID[0], long]), "has 160 tokens"),
        (lambda: toy.captions([np.zeros((4, 4), np.uint8)]), "cannot look at"),
    ):
        with pytest.raises(WeakspotError, match=what) as error:
            attempt()
        assert error.value.fix
    full = "it is night. " * 27 + "fly fly fly"  # 111 words after the beginning
    assert toy.log_probabilities(images, [full]).shape == (2, 1)


def test_other_networks_are_refused(weights: Path) -> None:
    def refused(what: str) -> None:
        rewrite()
        with pytest.raises(WeakspotError, match=what) as error:
            WorldCaptioner()
        assert error.value.fix == "reinstall weakspot"

    parts.captioner(weights, vocabulary=21)
    refused(r"'logits' has the shape \(any, any, 21\); wanted: \(any, any, 19\)")
    parts.captioner(weights)
    parts.classifier(weights / "captioner-image.onnx")
    refused("has the outputs logits; wanted: memory")
    parts.captioner(weights)
    (weights / "captioner-words.onnx").write_bytes((weights / "captioner-image.onnx").read_bytes())
    refused("has the inputs image; wanted: tokens, past, memory")
    (weights / "words.json").write_text('["a"]')
    refused("not a list of tokens")


def test_numbers_that_are_not_finite_are_an_error(weights: Path) -> None:
    parts.captioner(weights, ends=float("nan"))
    rewrite()
    with pytest.raises(WeakspotError, match="not finite"):
        WorldCaptioner().captions(pictures(1))


class Broken:
    """Wraps a captioner; its variants each break one promise."""

    def __init__(self, whole: WorldCaptioner) -> None:
        self.whole = whole

    def captions(self, images: Any, *, prefix: str = "") -> list[str]:
        return self.whole.captions(images, prefix=prefix)

    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> NDArray[np.float64]:
        return self.whole.log_probabilities(images, sentences, prefix=prefix)


class Forgets(Broken):
    def captions(self, images: Any, *, prefix: str = "") -> list[str]:
        return [text.removeprefix(prefix).strip() for text in super().captions(images, prefix=prefix)]


class Ends(Broken):
    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> NDArray[np.float64]:
        return self.whole.log_probabilities(images, sentences, prefix=prefix, end=True)


class Positive(Broken):
    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> NDArray[np.float64]:
        return -super().log_probabilities(images, sentences, prefix=prefix)


class Compares(Broken):
    """Normalises over what is asked together."""

    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> NDArray[np.float64]:
        scores = super().log_probabilities(images, sentences, prefix=prefix)
        return np.asarray(scores - np.log(np.exp(scores).sum(1, keepdims=True)))


class Turned(Broken):
    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> NDArray[np.float64]:
        return super().log_probabilities(images, sentences, prefix=prefix).T


class Single(Broken):
    def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> Any:
        return super().log_probabilities(images, sentences, prefix=prefix).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Forgets, "does not begin with"),
        (Ends, "is not log P"),
        (Positive, "a log-probability is"),
        (Compares, "differs alone"),
        (Turned, "returned the shape"),
        (Single, "returned float32"),
    ],
)
def test_a_broken_captioner_is_told(toy: WorldCaptioner, kind: type[Broken], complaint: str) -> None:
    with pytest.raises(ContractError, match=complaint):
        check_captioner(kind(toy), pictures(3), SAID)
    with pytest.raises(ContractError, match="no method captions"):
        check_captioner(object(), pictures(3), SAID)  # type: ignore[arg-type]


def _drawn(n: int) -> list[tuple[str, NDArray[np.uint8]]]:
    """Subject and picture of natural scenes, n of each."""
    cases = [
        case
        for subject in SUBJECTS
        for case in Renderer().draw(Hypothesis(base_sentence(subject)), range(n), seed=77)
    ]
    return [(case.expected, case.input) for case in cases]


def test_the_shipped_captioner_keeps_the_contract() -> None:
    images = [image for _, image in _drawn(1)][:3]
    sentences = ["it is on a flower.", "it is night.", "there are two of them."]
    check_captioner(WorldCaptioner(), images, sentences)


def _subject(text: str) -> tuple[str, ...]:
    try:
        return parse(text)["subject"]
    except WeakspotError:  # what the world's grammar does not understand is wrong too
        return ()


def test_the_shipped_captioner_says_what_is_there() -> None:
    drawn = _drawn(2)
    texts = WorldCaptioner().captions([image for _, image in drawn])
    right = [_subject(text) == (subject,) for text, (subject, _) in zip(texts, drawn, strict=True)]
    assert np.mean(right) > 0.8


def test_the_shipped_captioner_prefers_the_right_subject() -> None:
    drawn = _drawn(2)
    sentences = [base_sentence(subject) for subject in SUBJECTS]
    scores = WorldCaptioner().log_probabilities([image for _, image in drawn], sentences)
    right = [SUBJECTS[int(row.argmax())] == who for row, (who, _) in zip(scores, drawn, strict=True)]
    assert np.mean(right) > 0.8


def test_it_says_whether_a_picture_shows_a_text() -> None:
    model = WorldCaptioner()
    text = "a realistic photograph of a dog (canine). the background is a beach."
    images = [c.input for c in Renderer().draw(Hypothesis(text), range(12), seed=3)]
    assert model.shows(images, [text] * 12).mean() >= 0.8
    other = text.replace("a beach", "snow")
    assert model.shows(images, [other] * 12).mean() <= 0.1
    assert model.shows(images[:1], ["a realistic photograph of a cat (feline)."]).tolist() == [False]
