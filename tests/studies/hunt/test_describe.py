"""Descriptions of groups: by a captioner that knows what is true, and by an encoder."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from weakspot.core import Captioner, Encoder, Hypothesis, WeakspotError
from weakspot.studies.hunt.claims import from_groups
from weakspot.studies.hunt.describe import (
    DescribeSettings,
    Likelihood,
    Similarity,
    candidates,
    describe,
    greedy,
    special_forms,
)
from weakspot.testing import check_encoder
from weakspot.text.sentences import sentences
from weakspot.world.grammar import parse
from weakspot.world.render import render
from weakspot.world.scene import Scene

BASE = "a photograph of a fly (insect)."
#: What may be true of a picture; pixel i is 255 where sentence i is.
TRUE = (
    "the background is a meadow.",
    "it is on a yellow flower.",
    "it is on a red flower.",
    "it is small.",
    "it is night.",
    "it is wet.",
)
MEADOW, YELLOW, RED, SMALL, NIGHT, WET = range(len(TRUE))


def is_understood(text: str) -> bool:
    try:
        parse(text)
    except WeakspotError:
        return False
    return True


def picture(*true: int) -> NDArray[np.uint8]:
    image = np.zeros((1, len(TRUE), 3), np.uint8)
    image[0, list(true)] = 255
    return image


def caption(image: NDArray[np.uint8]) -> str:
    return " ".join([BASE, *(s for s, there in zip(TRUE, image[0, :, 0], strict=True) if there)])


class Speaker:
    """Says each true sentence once, in any order; never says what is false, or the same again."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[str], str]] = []

    def captions(self, images: Sequence[NDArray[np.uint8]], *, prefix: str = "") -> list[str]:
        return [caption(image) for image in images]

    def log_probabilities(
        self, images: Sequence[NDArray[np.uint8]], sentences: Sequence[str], *, prefix: str = ""
    ) -> NDArray[np.float64]:
        self.asked.append((len(images), list(sentences), prefix))
        return np.array([[self.one(image, s, prefix) for s in sentences] for image in images])

    def one(self, image: NDArray[np.uint8], sentence: str, prefix: str) -> float:
        left = [s for s in caption(image).removeprefix(BASE).split(". ") if s.strip(" .") not in prefix]
        true = any(sentence.strip(" .") == s.strip(" .") for s in left)
        return float(np.log(0.9 / len(left)) if true else -15.0)


class Looker:
    """An encoder: a text is where the pictures are of which it is true."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._unit([[1.0, *(s[:-1] in text for s in TRUE)] for text in texts])

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self._unit([[1.0, *(image[0, :, 0] / 255)] for image in images])

    @staticmethod
    def _unit(rows: Any) -> NDArray[np.float32]:
        array = np.asarray(rows, np.float64)
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), np.float32)


def some(n: int, seed: int, *, flowers: tuple[int, ...] = (), always: tuple[int, ...] = ()) -> list[Any]:
    """Pictures in a meadow, small or wet now and then; on one of the flowers if there are any."""
    random = Random(seed)
    found = []
    for i in range(n):
        extra = [k for k in (SMALL, WET) if random.random() < 0.3]
        found.append(picture(MEADOW, *always, *extra, *([flowers[i % len(flowers)]] if flowers else [])))
    return found


def described(group: list[Any], others: list[Any], by: Any, **settings: Any) -> Any:
    return describe(
        group,
        [caption(i) for i in group],
        by,
        others=others,
        other_captions=[caption(i) for i in others],
        prefix=BASE,
        settings=DescribeSettings(**settings),
    )


@pytest.mark.parametrize("by", [Speaker(), Looker()], ids=["captioner", "encoder"])
def test_what_is_true_of_everything_is_not_said(by: Any) -> None:
    assert isinstance(by, Captioner if isinstance(by, Speaker) else Encoder)
    found = described(some(16, 0, always=(NIGHT, SMALL)), some(40, 1), by)
    assert set(found.sentences) == {"it is night.", "it is small."}
    assert min(found.gains) > 0
    assert found.ended in (
        "no sentence says more than the best one of a random group",
        "no candidate is left",
    )


@pytest.mark.parametrize("by", [Speaker(), Looker()], ids=["captioner", "encoder"])
def test_a_group_like_the_others_has_no_description(by: Any) -> None:
    for seed in range(8):
        assert described(some(12, seed), some(40, 100 + seed), by).sentences == ()


def test_the_published_rule_takes_what_is_likeliest() -> None:
    found = described(some(16, 0, always=(NIGHT,)), some(40, 1), Speaker(), contrast=0, sentences=2)
    assert set(found.sentences) == {"the background is a meadow.", "it is night."}
    assert found.ended == "2 sentences are enough"
    alone = described(some(16, 0, always=(NIGHT,)), [], Speaker(), sentences=2)
    assert alone.sentences == found.sentences


def test_the_general_sentence_has_the_probability_of_its_forms() -> None:
    """No caption says "it is on a flower."; half of the group says one colour, half another."""
    found = described(some(16, 0, flowers=(YELLOW, RED)), some(40, 1), Speaker())
    assert found.sentences == ("it is on a flower.",)
    forms = special_forms(TRUE)
    assert forms == {"it is on a flower.": ["it is on a red flower.", "it is on a yellow flower."]}
    score = Likelihood(Speaker(), [picture(RED), picture(YELLOW), picture(NIGHT)], forms=forms, reach=5)
    table = score(["it is on a flower.", "it is on a red flower.", "it is night."], "") - np.log(0.9)
    assert table.round(3).tolist() == [[0, 0, -5], [0, -5, -5], [-5, -5, 0]]


def test_a_description_becomes_a_hypothesis() -> None:
    base, others = Hypothesis(BASE), some(40, 1)
    for group, texts in ((some(16, 0, always=(NIGHT,)), [f"{BASE} it is night."]), (some(16, 2), [])):
        claims = from_groups(
            base,
            group,
            [caption(image) for image in group],
            [""] * len(group),
            others=others,
            other_captions=[caption(image) for image in others],
            captioner=Speaker(),
            encoder=None,
            fits=lambda _: True,
        )
        assert [claim.hypothesis.text for claim in claims] == texts
        assert all(claim.hypothesis.parent == base.id for claim in claims)


def test_work_is_bounded() -> None:
    speaker = Speaker()
    group, others = some(60, 0, always=(NIGHT, SMALL)), some(500, 1)
    noise = [" ".join(f"it has {(37 * k + i) % 9973} legs." for i in range(10_000)) for k in range(60)]
    found = describe(
        group,
        [f"{caption(i)} {n}" for i, n in zip(group, noise, strict=True)],
        speaker,
        others=others,
        other_captions=[caption(i) for i in others],
        prefix=BASE,
        settings=DescribeSettings(pictures=10, others=20, candidates=12),
    )
    assert found.sentences[0] == "it is night."
    assert all(n == 30 and len(asked) <= 12 for n, asked, _ in speaker.asked)
    assert [prefix for *_, prefix in speaker.asked][:2] == [BASE, f"{BASE} it is night."]
    assert all(len(set(asked)) == len(asked) for _, asked, _ in speaker.asked)


@pytest.mark.parametrize(
    "captions",
    [[], [""], ["..."], ["\x00\x1b\x07"], ["x" * 1_000_000], ["word " * 10_000], [BASE], ["\ud800"]],
)
def test_captions_that_say_nothing_give_no_description(captions: list[str]) -> None:
    speaker = Speaker()
    found = describe([picture(NIGHT)], captions, speaker, others=[picture()], prefix=BASE)
    assert (found.sentences, found.ended, speaker.asked) == ((), "no candidate is left", [])
    assert describe([], captions, Speaker()).ended == "there are no pictures"


def test_hostile_captions_among_good_ones() -> None:
    group, others = some(12, 0, always=(NIGHT,)), some(40, 1)
    hostile = ["\x1b[31m" * 99, "!" * 9999, "<script>;" * 300, "\ud800. \u202e.", "a" * 10**6]
    found = describe(
        group,
        [caption(i).replace(". ", "!\n") for i in group] + hostile,
        Speaker(),
        others=others,
        prefix=BASE,
    )
    assert found.sentences[0] == "it is night."


def test_a_sentence_that_the_captioner_refuses_is_left_out() -> None:
    class Narrow(Speaker):
        def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> Any:
            if any("legs" in s for s in sentences):
                raise WeakspotError("too many tokens")
            return super().log_probabilities(images, sentences, prefix=prefix)

    group, others = some(12, 0, always=(NIGHT,)), some(40, 1)
    captions = [f"it has six legs. {caption(i)}" for i in group]
    found = describe(group, captions, Narrow(), others=others, prefix=BASE)
    assert found.sentences == ("it is night.",)
    with pytest.raises(WeakspotError, match="too many tokens"):
        describe(group, ["it has six legs. it has ten legs."] * 12, Narrow(), others=others)


def test_a_text_that_grows_too_long_ends_the_description() -> None:
    class Short(Speaker):
        def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> Any:
            if prefix != BASE:
                raise WeakspotError("the prefix is too long")
            return super().log_probabilities(images, sentences, prefix=prefix)

    found = described(some(16, 0, always=(NIGHT, YELLOW)), some(40, 1), Short())
    assert len(found.sentences) == 1
    assert found.ended == "the model cannot go on: the prefix is too long"


@pytest.mark.parametrize(
    ("table", "what"),
    [(np.full((2, 1), np.nan), "none of the sentences a probability"), (np.zeros((1, 1)), "shape")],
)
def test_a_broken_captioner_is_told_so(table: Any, what: str) -> None:
    class Broken(Speaker):
        def log_probabilities(self, images: Any, sentences: Any, *, prefix: str = "") -> Any:
            return table

    with pytest.raises(WeakspotError, match=what) as caught:
        describe([picture(NIGHT)], ["it is night."], Broken(), others=[picture()])
    assert caught.value.fix


def test_single_bad_numbers_count_as_impossible() -> None:
    class Holes(Speaker):
        def one(self, image: Any, sentence: str, prefix: str) -> float:
            return float("nan") if sentence == "it is wet." else super().one(image, sentence, prefix)

    assert described(some(16, 0, always=(NIGHT,)), some(40, 1), Holes()).sentences == ("it is night.",)


def test_neither_captioner_nor_encoder() -> None:
    with pytest.raises(WeakspotError, match="cannot describe pictures"):
        describe([picture(NIGHT)], ["it is night."], object())  # type: ignore[arg-type]

    class Nowhere(Looker):
        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            return np.full((len(texts), 7), np.nan, np.float32)

    with pytest.raises(WeakspotError, match="not finite"):
        described(some(3, 0, always=(NIGHT,)), some(3, 1), Nowhere())


def test_what_cannot_be_drawn_is_passed_over() -> None:
    """Likeliest of all is a contradiction; the text must stay one that the source understands."""
    truths = ["it is day.", "it is night.", "it is on a leaf."]

    def score(tried: Sequence[str], text: str) -> NDArray[np.float64]:
        row = [float(9 - truths.index(s)) for s in tried]
        return np.array([row] * 10 + [[0.0] * len(row)] * 30)

    found = greedy(
        score, truths, 10, prefix="a photo of a fly.", fits=is_understood, settings=DescribeSettings()
    )
    assert found.sentences == ("it is day.", "it is on a leaf.")
    assert found.ended == "no candidate is left"


def test_candidates_are_the_telling_sentences_and_their_general_forms() -> None:
    said = [["it is on a red flower.", "it is far."]] * 4 + [["it is on a blue flower.", "it is wet."]] * 2
    found = candidates(said, [["it is far."]] * 20)
    assert found[0] == "it is on a flower."
    assert set(found) == {
        "it is on a flower.",
        "it is on a red flower.",
        "it is on a blue flower.",
        "it is wet.",
    }
    assert "it is wet." not in candidates(said, [["it is far."]] * 20, support=0.5)
    assert candidates(said, most=2) == candidates(said)[:2]
    assert candidates([]) == []


def test_the_encoders_similarity_is_what_a_sentence_adds() -> None:
    looker = Looker()
    check_encoder(looker, [BASE, f"{BASE} it is wet."], [picture(WET), picture()])
    score = Similarity(looker, [picture(WET), picture(NIGHT)])
    first = score(["it is wet.", "it is night."], "")
    assert first[0, 0] > first[0, 1]
    again = score(["it is wet."], "it is wet.")
    assert again.tolist() == [[0.0], [0.0]]  # what was said adds nothing


def test_the_worlds_own_encoder_describes_a_night() -> None:
    from weakspot.world.encoder import load
    from weakspot.world.grammar import describe as say

    def scenes(n: int, **fixed: str) -> list[Scene]:
        places = ("meadow", "street", "beach", "forest")
        sizes = ("medium", "small", "large")
        return [Scene(subject="dog", background=places[i % 4], size=sizes[i % 3], **fixed) for i in range(n)]

    group, others = scenes(12, light="night"), scenes(24)
    found = describe(
        [render(s, i, 64) for i, s in enumerate(group)],
        [say(s) for s in group],
        load(),
        others=[render(s, 100 + i, 64) for i, s in enumerate(others)],
        other_captions=[say(s) for s in others],
        prefix=say(Scene(subject="dog")),
        fits=is_understood,
    )
    assert found.sentences[0] == "it is night."
    assert sentences(" ".join(found.sentences)) == list(found.sentences)
