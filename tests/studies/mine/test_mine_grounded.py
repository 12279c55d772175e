"""The grounded check on encoders whose sight is known, and on a real one whose blind spots were measured."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from weakspot.core import MODELS, WeakspotError
from weakspot.judges.differs.judge import RuleJudge
from weakspot.sources.captioned import Captioned
from weakspot.studies.mine.grounded import grounded
from weakspot.studies.mine.result import Grounded, Sight


def tag(i: int) -> NDArray[np.uint8]:
    """A picture that says its number."""
    return np.array([[[i % 256, i // 256, 7]]], np.uint8)


def number(image: NDArray[np.uint8]) -> int:
    return int(image[0, 0, 0]) + 256 * int(image[0, 0, 1])


@lru_cache(maxsize=100_000)
def hashed(thing: object, width: int) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(str(thing).encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=width)


class Unrelated:
    """Its pictures have nothing to do with their captions."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return Known([], words, width=32).embed_texts(texts)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return np.array([hashed(f"{self.seed} picture {number(i)}", 32) for i in images], np.float32)


class Known:
    """Sees of a caption what `parts` keeps; a picture is what all its captions say, and some noise."""

    def __init__(
        self, captions: Sequence[Sequence[str]], parts: Callable[[str], list[object]], *, width: int = 256
    ) -> None:
        self.captions, self.parts, self.width = captions, parts, width

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [sum((hashed(p, self.width) for p in self.parts(t)), np.zeros(self.width)) for t in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        rows = [self.embed_texts(self.captions[number(i)]).sum(0) for i in images]
        rows = [
            r + 0.05 * hashed(f"noise {number(i)}", self.width) for r, i in zip(rows, images, strict=True)
        ]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def words(text: str) -> list[object]:
    return list(re.findall(r"\w+", text.lower()))


def order(text: str) -> list[object]:
    said = words(text)
    return [*said, *pairwise(said), *zip(said, said[2:], strict=False)]


def without(*unseen: str) -> Callable[[str], list[object]]:
    return lambda text: [word for word in words(text) if word not in unseen]


def world(n: int = 60, seed: int = 0) -> list[list[str]]:
    """Captions of n pictures, two each, in which all exchanges apply."""
    rng = Random(seed)
    beings = ["man", "woman", "dog", "boy", "girl", "horse", "cat", "bird"]
    found = []
    for i in range(n):
        one, two = rng.sample(beings, 2)
        colour, where, count = (
            rng.choice(["red", "blue"]),
            rng.choice(["behind", "in front of"]),
            rng.choice(["two", "three"]),
        )
        found.append(
            [
                f"A {one} follows a {two} {where} house {i}.",
                f"A {one} and {count} {colour} cars going {rng.choice(['up', 'down'])} street {i}.",
            ]
        )
    return found


def pictures_of(captions: list[list[str]]) -> Captioned:
    return Captioned.of([(tag(i), some) for i, some in enumerate(captions)])


def run(captions: list[list[str]], parts: Callable[[str], list[object]], **more: Any) -> Grounded:
    return grounded(Known(captions, parts), pictures_of(captions), **more)


ASKED = ["beings exchanged", "in front of ↔ behind", "up ↔ down", "count", "colour", "dog ↔ cat"]


def test_a_bag_of_words_is_blind_to_order_alone() -> None:
    found = run(world(240), words, categories=ASKED, least=10)
    by = {row.name.split(" (")[0]: row for row in found.rows}
    assert found.rows[0].name == "beings exchanged"
    assert by["beings exchanged"].rate == 0.5  # all ties
    assert by["beings exchanged"].sight is Sight.BLIND
    assert by["beings exchanged"].cosine == pytest.approx(1)
    assert by["beings exchanged"].worse
    assert [row.name for row in found.rows if row.sight is Sight.BLIND] == ["beings exchanged"]
    assert all(by[name].rate > 0.9 for name in ("in front of ↔ behind", "count", "colour"))
    assert found.control.rate > 0.95


def test_what_is_not_seen_is_found() -> None:
    found = run(world(240), without("behind", "in", "front", "of"), categories=ASKED, least=10)
    assert {r.name for r in found.rows if r.sight is Sight.BLIND} == {
        "beings exchanged",
        "in front of ↔ behind",
    }


def test_an_encoder_that_sees_everything_has_no_blind_spot() -> None:
    found = run(world(), order, least=10)
    assert len(found.rows) > 8
    assert {row.sight for row in found.rows} == {Sight.ABOVE}
    assert [row.rate for row in found.rows] == sorted(row.rate for row in found.rows)


def test_an_encoder_that_sees_nothing_is_said_to_see_at_most_as_often_as_promised() -> None:
    """Captions of a picture stand and fall together here, so plain binomial tests would not do."""
    claims = runs = 0
    captions = [[f"two red cars going up street {i}, {k}." for k in range(3)] for i in range(40)]
    for seed in range(40):
        blind = Unrelated(seed)
        found = grounded(
            blind, pictures_of(captions), categories=["count", "colour", "up ↔ down"],
            seed=seed, least=10,
        )  # fmt: skip
        runs += 1
        claims += any(row.sight in (Sight.ABOVE, Sight.FAINT) for row in found.rows)
    assert claims / runs <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_true_foils_and_those_that_a_judge_refuses_are_left_out() -> None:
    captions = [["two red cars", "three red cars", "two blue cars"], ["two cars", "a red car"]]
    found = run(captions, words, categories=["count"], least=1)
    assert found.rows[0].pairs == 2  # "two blue cars" and the "two cars" of the second picture

    class No:
        def differ(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
            return [False] * len(pairs)

    with pytest.raises(WeakspotError, match="none of 1 changes applies"):
        run(captions, words, categories=["count"], least=1, judge=No())
    assert run(world(), words, categories=["count"], judge=RuleJudge()).refused == 0


def test_it_is_the_same_again_and_plain_values() -> None:
    one, two = (run(world(), words, seed=3, limit=15).plain() for _ in range(2))
    assert one == two
    assert json.loads(json.dumps(one)) == json.loads(json.dumps(two))
    assert all(row["pairs"] <= 15 for row in one["rows"])
    assert run(world(), words, seed=4, limit=15).plain() != one
    assert {"name", "pairs"} == set(one["too_few"][0])


def test_progress_and_cache(tmp_path: Path) -> None:
    captions, asked, told = world(20), list[str](), set[str]()

    class Counting(Known):
        digest = "known"

        def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
            asked.extend(texts)
            return super().embed_texts(texts)

        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return Known(self.captions, self.parts).embed_images(images)

    for _ in range(2):
        asked.clear()
        grounded(
            Counting(captions, words), pictures_of(captions), categories=["count"],
            cache=tmp_path, progress=lambda what, *_: told.add(what.split(":")[0]), least=5,
        )  # fmt: skip
    assert not asked
    assert told == {"pictures", "foils", "captions"}


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"seed": -1}, "a seed cannot be -1"),
        ({"categories": ["colours"]}, "no change of captions"),
        ({"categories": ["left ↔ right"]}, "none of 1 changes"),
    ],
)
def test_bad_settings(more: dict[str, Any], what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        run(world(10), words, **more)


def test_bad_encoders() -> None:
    captions = world(5)
    pictures = pictures_of(captions)

    class Narrow(Known):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.ones((len(images), 3), np.float32)

    class Nan(Known):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.full((len(images), 256), np.nan, np.float32)

    class Fewer(Known):
        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.ones((1, 256), np.float32)

    for kind, what in ((Narrow, "numbers, the image tower 3"), (Nan, "not finite"), (Fewer, "shape")):
        with pytest.raises(WeakspotError, match=what):
            grounded(kind(captions, words), pictures)
    with pytest.raises(WeakspotError, match="one picture"):
        grounded(Known(captions, words), pictures_of(captions[:1]))
    with pytest.raises(WeakspotError, match="no picture has a caption"):
        grounded(Known(captions, words), pictures_of([]))


def test_a_real_encoder_has_the_blind_spots_that_were_measured(data: Path) -> None:
    """Its README measured them on 1,000 photographs; 240 of them are here, with their captions."""
    stored = np.load(data / "models/lit-flickr8k/flickr8k-test-images.npz", allow_pickle=False)
    vectors = dict(zip(stored["names"].tolist(), stored["image_embedding"].astype(np.float32), strict=True))
    text = (data / "data/flickr8k/captions.jsonl").read_text("utf-8")
    rows = [row for row in map(json.loads, text.splitlines()) if row["image_id"] in vectors]
    real = MODELS.load(f"onnx:{data}/models/lit-flickr8k?threads=1")

    class Stored:
        embed_texts = staticmethod(real.embed_texts)

        def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
            return np.array([vectors[rows[number(image)]["image_id"]] for image in images])

    captioned = Captioned.of([(tag(i), row["captions"]) for i, row in enumerate(rows)])
    found = grounded(Stored(), captioned, categories=ASKED, limit=50)
    by = {row.name.split(" (")[0]: row for row in found.rows}
    measured = {"beings exchanged": 0.5, "in front of ↔ behind": 0.486, "up ↔ down": 0.511,
                "dog ↔ cat": 0.945, "colour": 0.763, "count": 0.709}  # fmt: skip
    for name, rate in measured.items():
        assert by[name].low <= rate <= by[name].high, (name, by[name])
    assert {row.category for row in found.rows[:3]} == {"role swap", "spatial relation"}
    assert by["dog ↔ cat"].sight is Sight.ABOVE
    assert by["in front of ↔ behind"].sight is not Sight.ABOVE
