"""The text tower of the world's encoder as something that can be trained, and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weakspot.core import MODELS, WeakspotError
from weakspot.tuning.encoder import TowerSettings, fit_tower, missed, tower_of

torch = pytest.importorskip("torch")
TEXTS = ["a photo of a fly.", "a bee on a yellow flower at night.", "a cat. it is not on a rock. it is red."]


def test_a_tower_says_what_the_encoder_says_also_when_it_was_written_and_read_again(tmp_path: Path) -> None:
    encoder = MODELS.load("world:encoder")
    tower = tower_of(encoder, name="world:encoder")
    with torch.no_grad():
        vectors = tower.module(tower.tokens(TEXTS)).numpy()
    assert np.allclose(vectors, encoder.embed_texts(TEXTS), atol=1e-5)
    with torch.no_grad():
        for p in tower.module.parameters():
            p.mul_(1.01)
        moved = tower.module(tower.tokens(TEXTS)).numpy()
    again = MODELS.load(tower.keep(tmp_path))
    assert np.allclose(moved, again.embed_texts(TEXTS), atol=1e-5)
    assert not np.allclose(moved, vectors, atol=1e-4)
    image = np.full((64, 64, 3), 90, np.uint8)
    assert np.array_equal(encoder.embed_images([image]), again.embed_images([image]))
    assert again.digest != encoder.digest


def test_a_picture_is_missed_when_a_caption_in_other_words_is_nearer() -> None:
    seen = torch.eye(3)
    texts = torch.tensor([[1.0, 0.05, 0], [0.9, 0.1, 0], [0, 0, 1.0]])
    assert missed(seen, texts, ["a", "b", "c"]) == [False, False, False]
    assert missed(seen[[1, 0, 2]], texts, ["a", "b", "c"]) == [True, True, False]
    assert missed(seen[[1, 0, 2]], texts, ["a", "a", "c"]) == [False, False, False]


def test_other_encoders_and_too_few_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="cannot be trained") as caught:
        tower_of(MODELS.load("ngrams"), name="ngrams")
    assert "--method data" in caught.value.fix
    tower = tower_of(MODELS.load("world:encoder"), name="world:encoder")
    with pytest.raises(WeakspotError, match="too few"):
        fit_tower(tower, [], [], TowerSettings(alike=0.9))
    with pytest.raises(WeakspotError, match="no text tower"):
        MODELS.load(f"world:encoder?text={tmp_path / 'nothing.onnx'}")
