"""Rows of texts and pictures: computed once, kept, and refused where they are no rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import MODELS, WeakspotError
from weakspot.models.vectors import unit
from weakspot.sources.corpus import read_corpus
from weakspot.sources.pool import read_pool
from weakspot.studies.mine import embeddings
from weakspot.studies.mine.embeddings import cache_file, embed_texts
from weakspot.studies.mine.images import shared_rows
from weakspot.studies.mine.pair_rule import PairRule
from weakspot.studies.mine.pairs import find_pairs

TEXTS = [f"text number {i}" for i in range(100)]


class Counting:
    """An encoder that remembers what it was asked."""

    def __init__(
        self, change: Callable[[NDArray[Any]], Any] = lambda rows: rows, digest: str = "one"
    ) -> None:
        self.asked: list[str] = []
        self.change = change
        if digest:
            self.digest = digest

    def embed_texts(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = [np.random.default_rng(int(t.split()[-1])).normal(size=8) * 5 for t in texts]
        return self.change(np.array(rows, np.float32))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "CHUNK", 16)


def test_rows_are_computed_once(tmp_path: Path) -> None:
    encoder, told = Counting(), list[tuple[int, int]]()
    first = embed_texts(encoder, TEXTS, cache=tmp_path / "new", progress=lambda *x: told.append(x))
    assert encoder.asked == TEXTS
    assert told[-1] == (100, 100)
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, atol=1e-6)
    again = embed_texts(encoder, TEXTS, cache=tmp_path / "new")
    assert encoder.asked == TEXTS
    np.testing.assert_array_equal(first, again)
    assert isinstance(again, np.memmap)
    assert not again.flags.writeable
    assert [p.suffix for p in (tmp_path / "new").iterdir()] == [".npy"]


def test_another_encoder_or_other_texts_are_another_file(tmp_path: Path) -> None:
    files = {
        cache_file(Counting(digest=d), texts, cache=tmp_path)
        for d in ("one", "two")
        for texts in (TEXTS, TEXTS[::-1], TEXTS[:-1])
    }
    assert len(files) == 6
    assert cache_file(Counting(digest=""), TEXTS, cache=tmp_path) is None
    assert cache_file(Counting(), TEXTS, cache=None) is None
    embed_texts(Counting(digest=""), TEXTS, cache=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda f: f.write_bytes(b""),
        lambda f: f.write_bytes(f.read_bytes()[:-5]),
        lambda f: np.save(f, np.ones((100, 8), np.float32)),
        lambda f: np.save(f, np.ones((99, 8), np.float32)),
        lambda f: np.save(f, np.full((100, 8), np.nan, np.float32)),
        lambda f: np.save(f, np.array([{"a": 1}], object), allow_pickle=True),
    ],
)
def test_a_spoilt_file_is_made_anew(tmp_path: Path, spoil: Callable[[Path], Any]) -> None:
    right = embed_texts(Counting(), TEXTS)
    embed_texts(Counting(), TEXTS, cache=tmp_path)
    [file] = tmp_path.iterdir()
    spoil(file)
    np.testing.assert_array_equal(embed_texts(Counting(), TEXTS, cache=tmp_path), right)
    np.testing.assert_array_equal(np.load(file), right)


def test_an_interrupted_embedding_leaves_nothing(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_texts(Counting(), TEXTS, cache=tmp_path, progress=stop)
    assert not list(tmp_path.iterdir())


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    rows = embed_texts(Counting(), TEXTS, cache=tmp_path / "file")
    np.testing.assert_array_equal(rows, embed_texts(Counting(), TEXTS))


def spoilt(row: int, value: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    def change(rows: NDArray[Any]) -> NDArray[Any]:
        rows[row] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda rows: rows[1:], r"gave the shape \(15, 8\) for 16 texts"),
        (lambda rows: rows[:, 0], r"gave the shape \(16,\) for 16 texts"),
        (spoilt(3, np.nan), "not finite for text 3: 'text number 3'"),
        (spoilt(3, np.inf), "not finite for text 3: 'text number 3'"),
        (spoilt(2, 0.0), "only zeros for text 2: 'text number 2'"),
        (lambda rows: rows if len(rows) == 16 else rows[:, :4], "rows of 4 numbers, and of 8 before"),
    ],
)
def test_what_is_no_row_per_text_is_refused(tmp_path: Path, change: Any, complaint: str) -> None:
    with pytest.raises(WeakspotError, match=complaint) as error:
        embed_texts(Counting(change), TEXTS, cache=tmp_path)
    assert error.value.fix
    assert not list(tmp_path.iterdir())


def test_a_matrix_of_any_lengths_becomes_rows_of_length_one() -> None:
    rows = unit(np.array([[3, 4], [0, 22]], np.float64), of="the matrix")
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 1.0]])
    assert rows.dtype == np.float32
    with pytest.raises(WeakspotError, match="row 1 of the matrix has nothing but zeros"):
        unit(np.array([[1, 0], [0, 0]], np.float32), of="the matrix")
    with pytest.raises(WeakspotError, match="row 0 of clip has numbers that are not finite"):
        unit(np.array([[np.nan, 0], [0, 1]], np.float32), of="clip")


class Pixels:
    """Pictures by a few of their pixels' channels; blind to some of them."""

    def __init__(self, *channels: int) -> None:
        self.channels, self.digest = channels, f"pixels {channels}"

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        if any(image.shape[0] == 3 and 2 in self.channels for image in images):
            raise ValueError("too small")
        means = np.array([image.mean((0, 1))[list(self.channels)] for image in images], np.float32)
        return unit(np.concatenate([means, np.full((len(means), 1), 20)], 1), of="pixels")


def test_pictures_are_searched_like_texts(tmp_path: Path) -> None:
    """An encoder blind to blue takes the two red pictures for one; the reference does not."""
    for name, colour in {"a": (200, 0, 0), "b": (200, 0, 255), "c": (0, 200, 0), "d": (90, 90, 90)}.items():
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{name}.png")
    Image.new("RGB", (3, 3), (9, 9, 9)).save(tmp_path / "small.png")  # which the reference cannot embed
    tested, reference = (read_pool(tmp_path, Pixels(*c)) for c in ((0, 1), (0, 1, 2)))
    names, one, other = shared_rows(tested, reference)
    assert names == ("a.png", "b.png", "c.png", "d.png")
    found = find_pairs(one, other, rule=PairRule())
    assert [(names[i], names[j]) for i, j, _, _ in found] == [("a.png", "b.png")]


def test_the_world_from_corpus_to_pairs(tmp_path: Path) -> None:
    """Its own encoder against exact scenes: pairs it takes for alike although a colour or a place differs."""
    corpus = read_corpus("world?texts=200&seed=3")
    encoder = MODELS.load("world:encoder")
    tested = embed_texts(encoder, corpus.texts, digest=corpus.digest, cache=tmp_path)
    np.testing.assert_allclose(tested, encoder.embed_texts(corpus.texts), atol=1e-5)
    words = sorted({word for text in corpus.texts for word in text.split()})
    bags = np.array([[word in text.split() for word in words] for text in corpus.texts], np.float32)
    reference = unit(bags, of="bags")
    found = find_pairs(tested, reference, rule=PairRule(0.8, 0.2))
    a, b = (m.astype(np.float64) @ m.T.astype(np.float64) for m in (tested, reference))
    assert len(found) == np.triu((a > 0.8) & (a - b > 0.2), 1).sum() > 0


def test_pools_without_a_common_picture(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("RGB", (8, 8), (ord(name), 0, 0)).save(tmp_path / name / "1.png")
    pools = [read_pool(tmp_path / name, Pixels(0)) for name in "ab"]
    with pytest.raises(WeakspotError, match="fewer than two pictures in common"):
        shared_rows(*pools)
