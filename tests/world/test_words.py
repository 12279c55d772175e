"""The tokenizer: the world's sentences come back as they were, and nothing makes it stumble."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.texts import default_tokens

from weakspot.core import WeakspotError
from weakspot.world.grammar import describe
from weakspot.world.nature import sample_uniform
from weakspot.world.scene import SceneSet
from weakspot.world.words import Words

WORDS = Words(default_tokens())


def test_descriptions_come_back() -> None:
    for i in range(500):
        text = describe(sample_uniform(SceneSet(), Random(i)))
        assert WORDS.decode(WORDS.encode(text)) == text
        assert len(WORDS.encode(text)) <= 110


@given(st.text(max_size=300))
def test_any_text_is_encoded(text: str) -> None:
    ids = WORDS.encode(text)
    assert all(0 <= i < len(WORDS) for i in ids)
    WORDS.decode(ids)
    row = WORDS.batch([text], 20)
    assert row.shape[1] <= 20
    assert row[0, 0] == WORDS.bos
    assert WORDS.eos in row[0]


def test_unknown_words_are_spelled() -> None:
    one, other = WORDS.encode("a zebra"), WORDS.encode("a zebu")
    assert one != other
    assert WORDS.unknown not in one
    assert WORDS.decode(one) == "a zebra"
    assert WORDS.encode("é") == [WORDS.unknown]


def test_batches_are_padded_at_the_end() -> None:
    rows = WORDS.batch(["a fly", "a fly on a flower"], 50)
    assert rows.dtype == np.int64
    assert list(rows[0, 4:]) == [WORDS.pad] * (rows.shape[1] - 4)
    assert WORDS.batch([], 50).shape[0] == 0


def test_the_list_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    for content in ("[", "{}", json.dumps(["a", "b"]), json.dumps([*default_tokens(), "fly"])):
        file.write_text(content)
        with pytest.raises(WeakspotError):
            Words.load(file)
    with pytest.raises(WeakspotError, match="cannot be read"):
        Words.load(tmp_path / "missing.json")
    file.write_text(json.dumps(default_tokens()))
    assert Words.load(file).tokens == WORDS.tokens


def test_the_shipped_list_is_the_one_the_models_were_trained_with() -> None:
    from weakspot.world import shipped

    assert Words.load(shipped.file("words.json")).tokens[:4] == WORDS.tokens[:4]
