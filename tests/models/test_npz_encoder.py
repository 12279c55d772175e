"""`npz:`: rows that somebody computed, found by their texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import MODELS, WeakspotError
from weakspot.sources.corpus import Text, gather
from weakspot.studies.mine.embeddings import embed_texts
from weakspot.studies.mine.pairs import find_pairs
from weakspot.testing import check_encoder

TEXTS = ["A dog .", "two cats", "a sofa"]
ROWS = np.array([[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]], np.float32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.savez(tmp_path / "m.npz", embeddings=ROWS, captions=TEXTS, other=np.zeros((5, 2)))
    return tmp_path / "m.npz"


def test_texts_are_found_in_any_form(file: Path) -> None:
    encoder = MODELS.load(f"npz:{file}")
    check_encoder(encoder, TEXTS)
    np.testing.assert_allclose(encoder.embed_texts(["TWO cats!", "a dog"]), [[0.0, 1.0], [0.6, 0.8]])
    assert encoder.embed_texts([]).shape == (0, 2)
    with pytest.raises(WeakspotError, match=r"1 of 2 texts are not in npz:.*'a horse'") as error:
        encoder.embed_texts(["a dog", "a horse"])
    assert "corpus" in error.value.fix


def test_a_plain_matrix_with_a_file_of_texts(tmp_path: Path, file: Path) -> None:
    np.save(tmp_path / "m.npy", ROWS.astype(np.float16))
    (tmp_path / "t.txt").write_text("\n".join(TEXTS) + "\n")
    encoder = MODELS.load(f"npz:{tmp_path / 'm.npy'}?texts={tmp_path / 't.txt'}")
    whole = MODELS.load(f"npz:{file}")
    np.testing.assert_allclose(encoder.embed_texts(TEXTS), whole.embed_texts(TEXTS), atol=1e-3)
    assert encoder.digest != whole.digest
    mixed = MODELS.load(f"npz:{file}?texts={tmp_path / 't.txt'}")
    np.testing.assert_array_equal(mixed.embed_texts(TEXTS), whole.embed_texts(TEXTS))


def spoilt(row: int, value: float) -> Any:
    rows = ROWS.copy()
    rows[row] = value
    return rows


@pytest.mark.parametrize(
    ("content", "option", "complaint"),
    [
        ({"embeddings": spoilt(1, np.nan), "captions": TEXTS}, "", "row 1 of npz:.* not finite"),
        ({"embeddings": spoilt(2, 0.0), "captions": TEXTS}, "", "row 2 of npz:.* nothing but zeros"),
        ({"embeddings": ROWS[:2], "captions": TEXTS}, "", "has 2 rows and 3 texts"),
        ({"embeddings": ROWS[0], "captions": TEXTS}, "", "of the shape"),
        ({"embeddings": ROWS.astype(complex), "captions": TEXTS}, "", "complex"),
        ({"embeddings": ROWS, "captions": TEXTS}, "?vectors=embedings", "has no array 'embedings'"),
        ({"embeddings": ROWS, "words": TEXTS}, "", "has no array 'of texts'"),
        ({"stuff": ROWS}, "", "has no array 'of vectors'"),
        ({"embeddings": np.array([{}, {}], object), "captions": TEXTS}, "", "cannot be read"),
    ],
)
def test_matrices_that_cannot_be_used(tmp_path: Path, content: Any, option: str, complaint: str) -> None:
    np.savez(tmp_path / "m.npz", **content)
    with pytest.raises(WeakspotError, match=complaint) as error:
        MODELS.load(f"npz:{tmp_path / 'm.npz'}{option}")
    assert error.value.fix


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "m.npz").write_bytes(b"PK\x03\x04 broken")
    (tmp_path / "m.npy").write_bytes(b"\x93NUMPY")
    np.save(tmp_path / "good.npy", ROWS)
    for name in ("m.npz", "m.npy", "gone.npz"):
        with pytest.raises(WeakspotError, match="cannot be read"):
            MODELS.load(f"npz:{tmp_path / name}")
    with pytest.raises(WeakspotError, match="has no texts"):
        MODELS.load(f"npz:{tmp_path / 'good.npy'}")
    with pytest.raises(WeakspotError, match=r"gone\.txt' cannot be read"):
        MODELS.load(f"npz:{tmp_path / 'good.npy'}?texts={tmp_path / 'gone.txt'}")


def test_real_rows_of_clip(data: Path) -> None:
    """The path that mining takes: corpus, rows, pairs. Its only copy is one text here."""
    encoder = MODELS.load(f"npz:{data / 'data' / 'clip-text' / 'clip-vit-b32-flickr8k.npz'}")
    assert encoder.vectors.shape == (1000, 512)
    corpus = gather(map(Text, encoder.texts), name="flickr8k")
    assert corpus.left_out.copies == 1
    tested = embed_texts(encoder, corpus.texts)
    other = np.random.default_rng(0).normal(size=tested.shape)
    reference = (other / np.linalg.norm(other, axis=1, keepdims=True)).astype(np.float32)
    found = find_pairs(tested, reference)
    exact = tested.astype(np.float64) @ tested.T.astype(np.float64)
    assert found.alike == len(found) == (np.triu(exact, 1) > 0.9).sum()
    assert {corpus.texts[found.first[0]], corpus.texts[found.second[0]]} <= set(encoder.texts)
