"""What an encoder sees in photographs: calibrated sets, checked by captions where there are some."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.seen import LEVELS, everyday, likely, seen_in

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


def marked(column: Sequence[Sequence[str]], tag: str) -> NDArray[np.bool_]:
    return np.array([tag in tags for tags in column], bool)


def test_tags_are_found_though_the_groups_overlap() -> None:
    encoder = Known(blur=0.15)
    seen = seen_in(encoder.pictures, encoder, NAMES, name="picture")
    for i, tag in enumerate(NAMES[:2]):
        sets = [marked(seen.column.values.tolist(), said.format(tag)) for _, said in LEVELS]
        own = encoder.shows[:, i]
        assert own[sets[0]].mean() > 0.8
        assert sets[0][own].mean() > 0.6
        assert sets[0].sum() <= sets[1].sum() <= sets[2].sum()
        assert sets[2][own].mean() > 0.9
    assert not marked(seen.column.values.tolist(), "a lamp").any()


def test_captions_refute_what_they_do_not_say() -> None:
    encoder = Known(blur=0.1)
    true = ["a dog." if dog else "a house" for dog, _ in encoder.shows]
    assert seen_in(encoder.pictures, encoder, NAMES, name="picture", captions=true).refuted == 0
    shuffled = np.random.default_rng(1).permutation(true).tolist()
    seen = seen_in(encoder.pictures, encoder, NAMES, name="picture", captions=shuffled)
    assert (seen.checked, seen.refuted) == (1, 1)  # of boats no caption says anything
    assert not marked(seen.column.values.tolist(), "a dog").any()


def test_a_text_is_true_of_the_pictures_that_more_likely_show_it_than_not() -> None:
    encoder = Known(blur=0.1)
    found = likely(encoder.pictures, encoder, "it is a dog")
    assert (found == encoder.shows[:, 0]).mean() > 0.95
    assert not likely(encoder.pictures, encoder, "a lamp").any()
    assert not likely(encoder.pictures[:20], encoder, "it is a dog").any()


def test_our_words_are_each_said_once() -> None:
    words = everyday()
    assert len(words) == len(set(words)) > 350
    assert {"a dog", "a boy", "jumping", "something red"} <= {*words}
