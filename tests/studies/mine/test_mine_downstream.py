"""Prompts are drawn and matched: by the exact world, by generators that obey, confuse, or fail."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from weakspot.core import Case, WeakspotError
from weakspot.stats import wilson
from weakspot.studies.mine.downstream import (
    EncoderMatcher,
    Match,
    VerifierMatcher,
    downstream,
    draw,
    matcher,
)
from weakspot.studies.mine.result import Choice
from weakspot.world.grammar import parse
from weakspot.world.renderer import Renderer

COLOURS = {"red": 0, "green": 1, "blue": 2}


def paint(colour: str) -> NDArray[np.uint8]:
    picture = np.zeros((4, 4, 3), np.uint8)
    picture[..., COLOURS[colour]] = 200
    return picture


class Painter:
    """Draws the colour a prompt names; `takes` says which colour it takes for which."""

    def __init__(self, **takes: str) -> None:
        self.takes = takes

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        wanted = [next(c for c in COLOURS if c in prompt) for prompt in prompts]
        return [paint(self.takes.get(c, c)) for c in wanted]


class Eye:
    """An encoder of the three colours."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[c in text for c in COLOURS] for text in texts], np.float32) + 1e-3
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        rows = np.array([i.mean((0, 1)) for i in images], np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


PAIRS = [("a red ball", "a blue ball"), ("a red car", "a green car"), ("a blue cup", "a green cup")]
ALL = ["red", "green", "blue"]


def test_a_painter_that_obeys_has_no_failure() -> None:
    found = downstream(PAIRS, Painter(), matcher(Eye(), others=ALL), images_each=3)
    assert (found.failures, found.n, found.rate) == (0, 3, 0)
    assert (found.low, found.high) == wilson(0, 3)
    assert found.images is not None
    assert found.images.n == 18


def test_a_pair_fails_when_a_picture_gets_the_wrong_prompt_or_neither() -> None:
    found = downstream(PAIRS, Painter(blue="red"), matcher(Eye(), others=ALL))
    assert [pair.failed for pair in found.pairs] == [True, False, True]
    choices = [[d.choice for d in pair.pictures] for pair in found.pairs]
    assert choices[0] == [Choice.FIRST, Choice.FIRST]
    assert choices[2] == [Choice.NEITHER, Choice.SECOND]
    assert found.failures == 2
    assert found.images is not None
    assert found.images.rate == pytest.approx(2 / 6)


class Neutral:
    def match(self, images: Sequence[Any], first: str, second: str) -> list[Match]:
        return [Match(Choice.SAME, 0.5, 0.5)] * len(images)


def test_pairs_that_look_the_same_have_no_verdict() -> None:
    found = downstream(PAIRS, Painter(), Neutral())
    assert (found.n, found.same, found.failures) == (0, 3, 0)
    assert found.rate is None
    assert (found.low, found.high) == (0, 1)
    same = EncoderMatcher(Eye()).match([paint("red")], "a red dog", "a red cat")
    assert same[0].choice is Choice.SAME


def test_the_exact_world_never_fails_to_itself() -> None:
    """The renderer draws what the words say, so a judge that knows the scenes finds every picture right."""
    renderer = Renderer(size=32)
    scenes: dict[bytes, Any] = {}

    class Recorded:
        def draw(self, hypothesis: Any, indices: Sequence[int], *, seed: int) -> list[Case]:
            cases = renderer.draw(hypothesis, indices, seed=seed)
            scenes.update({case.input.tobytes(): renderer.scene(hypothesis, case.seed) for case in cases})
            return cases

    class Exact:
        def shows(self, images: Sequence[NDArray[np.uint8]], texts: Sequence[str]) -> list[bool]:
            return [parse(t).matches(scenes[i.tobytes()]) for i, t in zip(images, texts, strict=True)]

    pairs = [
        ("a photo of a fly. it is on a leaf.", "a photo of a fly. it is on a rock."),
        ("a photo of a cat. it is day.", "a photo of a cat. it is night."),
        ("a photo of a dog. there are two of them.", "a photo of a dog. there are three of them."),
        ("no words of this world", "a photo of a dog."),
    ]
    found = downstream(pairs, Recorded(), VerifierMatcher(Exact()), images_each=3, seed=5)
    assert [pair.failed for pair in found.pairs] == [False, False, False, None]
    assert (found.errors, found.same, found.n) == (1, 0, 3)
    assert found.pairs[3].error


def test_the_world_with_its_own_models() -> None:
    from weakspot.core import MODELS

    pairs = [("a photo of a fly. it is on a leaf.", "a photo of a boat. it is in the sea.")]
    found = downstream(pairs, Renderer(), matcher(MODELS.load("world:encoder")), images_each=2)
    assert found.pairs[0].failed is False


def test_what_is_drawn_follows_from_the_seed() -> None:
    renderer = Renderer(size=16)
    text = "a photo of a fly."
    one, two = (draw(renderer, text, n, seed=3) for n in (2, 4))
    assert [s for s, _ in one] == [s for s, _ in two][:2]
    np.testing.assert_array_equal(one[1][1], two[1][1])
    assert [s for s, _ in draw(Painter(), "red", 3, seed=3)] != [
        s for s, _ in draw(Painter(), "red", 3, seed=4)
    ]
    one_run, two_runs = (downstream(PAIRS, Painter(), Neutral(), seed=1).pairs for _ in range(2))
    assert one_run == two_runs


def test_items_for_people(tmp_path: Path) -> None:
    found = downstream(PAIRS, Painter(blue="red"), matcher(Eye(), others=ALL), images_each=4, folder=tmp_path)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    keys = {row["item"]: row for row in map(json.loads, (tmp_path / "key.jsonl").read_text().splitlines())}
    assert len(items) == len(keys) == 24
    assert {i["item"] for i in items} == set(keys) == {d.item for p in found.pairs for d in p.pictures}
    for item in items:
        assert "drawn_from" not in item
        assert item["choices"] == ["prompt 1", "prompt 2", "neither", "same"]
        content = (tmp_path / item["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == item["image"]
        key = keys[item["item"]]
        pair = found.pairs[key["pair"]]
        shown = item["prompts"][0 if key["right"] == "prompt 1" else 1]
        assert shown == (pair.first, pair.second)[key["drawn_from"] - 1]
    assert 0 < sum(key["turned"] for key in keys.values()) < 24
    first = (tmp_path / "items.jsonl").read_bytes()
    downstream(PAIRS, Painter(blue="red"), matcher(Eye(), others=ALL), images_each=4, folder=tmp_path)
    assert (tmp_path / "items.jsonl").read_bytes() == first
    json.dumps(found.plain())


class Broken:
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        raise MemoryError("no room")


def test_refusals() -> None:
    with pytest.raises(WeakspotError, match="none of 3 pairs could be drawn: MemoryError: no room"):
        downstream(PAIRS, Broken(), Neutral())
    for pairs, each in (([], 1), (PAIRS, 0)):
        with pytest.raises(WeakspotError, match="cannot be drawn"):
            downstream(pairs, Painter(), Neutral(), images_each=each)
    with pytest.raises(WeakspotError, match="cannot match"):
        matcher(Painter())

    class Nan(Eye):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.full((len(images), 3), np.nan, np.float32)

    with pytest.raises(WeakspotError, match="no finite number"):
        downstream(PAIRS, Painter(), matcher(Nan()))
