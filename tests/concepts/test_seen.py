"""What an encoder sees in photographs: words that rank them, checked by captions where there are some."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from weakspot.concepts.concept import Concept
from weakspot.concepts.seen import everyday, likely, ranked_rightly, seen_in, words_of

N, WIDE = 600, 48
NAMES = ("a dog", "a boat", "a lamp")


class Known:
    """An encoder with a direction for each of some words, and one of its own for any other text."""

    def __init__(self, blur: float) -> None:
        rng = np.random.default_rng(0)
        self.directions = np.linalg.qr(rng.normal(size=(WIDE, WIDE)))[0]
        self.shows = rng.random((N, 2)) < (0.3, 0.1)  # dogs and boats; lamps are nowhere
        rows = self.shows @ self.directions[:2] + self.directions[-1] + blur * rng.normal(size=(N, WIDE))
        self.pictures = np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = []
        for text in texts:
            own = [i for i, word in enumerate(("dog", "boat")) if word in text.split()]
            other = np.random.default_rng(sum(map(ord, text))).normal(size=WIDE)
            rows.append(self.directions[own[0]] if own else other / np.linalg.norm(other))
        return np.array(rows, np.float32)


def test_pictures_are_ranked_by_what_they_show() -> None:
    encoder = Known(blur=0.15)
    seen = seen_in(encoder.pictures, encoder, dict.fromkeys(NAMES, 1))
    assert seen.words == NAMES
    for i in range(2):
        near, own = seen.graded.near[:, i], encoder.shows[:, i]
        assert near.min() == pytest.approx(1 / N)
        assert near.max() == 1.0
        assert (near[own] <= own.mean()).mean() > 0.75
    assert seen.graded.price == pytest.approx(np.log(3))
    assert (seen.trust, seen.right) == ({}, None)  # nobody says what pictures show


def test_what_people_often_say_is_cheaper() -> None:
    encoder = Known(blur=0.15)
    price = seen_in(encoder.pictures, encoder, {"a dog": 90, "a boat": 10}).graded.price
    assert price == pytest.approx(-np.log([0.9, 0.1]))


def test_captions_say_how_well_words_rank_and_refute_some() -> None:
    encoder = Known(blur=0.1)
    words = dict.fromkeys(NAMES, 1)
    half = [i % 2 == 0 for i in range(N)]  # only every second one is described
    true = ["two dogs." if dog else "a house" for dog, _ in encoder.shows]
    true = [text if so else "" for text, so in zip(true, half, strict=True)]
    seen = seen_in(encoder.pictures, encoder, words, captions=true)
    assert seen.refuted == 0
    assert [*seen.trust] == ["a dog"]  # of boats no caption says anything
    assert seen.right is not None
    assert seen.right > 0.9
    shuffled = np.random.default_rng(1).permutation(true).tolist()
    seen = seen_in(encoder.pictures, encoder, words, captions=shuffled)
    assert (seen.words, seen.refuted) == (NAMES[1:], 1)
    assert seen.trust["a dog"] == pytest.approx(0.5, abs=0.1)
    assert seen.graded.near.shape == (N, 2)


def test_how_well_a_word_ranks_is_the_area_under_its_curve() -> None:
    rng = np.random.default_rng(2)
    likeness = rng.normal(size=(200, 1)).astype(np.float32).round(1)  # with ties
    says = rng.random(200) < 0.3
    captions = ["a boat" if one else "a house" for one in says]
    [share] = ranked_rightly(likeness, ["a boat"], captions).values()
    assert share == pytest.approx(roc_auc_score(says, likeness[:, 0]))


def test_a_text_is_true_of_the_pictures_that_more_likely_show_it_than_not() -> None:
    encoder = Known(blur=0.1)
    found = likely(encoder.pictures, encoder, "it is a dog")
    assert (found == encoder.shows[:, 0]).mean() > 0.95
    assert not likely(encoder.pictures, encoder, "a lamp").any()
    assert not likely(encoder.pictures[:20], encoder, "it is a dog").any()


def test_a_finding_in_an_encoders_words_is_true_of_the_same_pictures_again() -> None:
    encoder = Known(blur=0.15)
    near = seen_in(encoder.pictures, encoder, dict.fromkeys(NAMES, 1)).graded.near[:, 0]
    phrase = Concept("picture", "near", "a dog", share=0.25).phrase
    again = likely(encoder.pictures, encoder, f"it {phrase}.")
    assert (again == (near <= 0.25)).all()
    assert again.sum() == N / 4


def test_our_words_are_each_said_once() -> None:
    words = everyday()
    assert len(words) > 700
    assert {"a dog", "a boy", "jumping", "something red", "young"} <= {*words}
    assert min(words.values()) >= 8
    assert words["a man"] > words["a whale"]


def test_a_list_of_ones_own_has_no_favourites(tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("snow\nriver\n")
    assert words_of(tmp_path / "tags.txt") == {"snow": 1, "river": 1}
    assert words_of(None) is everyday()
