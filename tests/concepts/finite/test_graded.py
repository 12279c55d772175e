"""Words that are true by degrees: which explain failures, from where on, and that chance confirms none."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csc_matrix

from weakspot.concepts.finite.graded import SHARES, Choice, Graded, suggest
from weakspot.concepts.finite.spots import held

WORDS = 300


def ranked(rows: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Ranks of each row by words that have nothing to do with each other."""
    order = rng.random((rows, WORDS)).argsort(axis=0).argsort(axis=0)
    return ((order + 1) / rows).astype(np.float32)


def graded(near: NDArray[np.float32]) -> Graded:
    return Graded(near, np.full(near.shape[1], np.log(near.shape[1])))


def nothing(rows: int) -> tuple[csc_matrix, NDArray[np.float64]]:
    return csc_matrix((rows, 0)), np.zeros(0)


def test_a_plain_word_is_cut_where_it_ends() -> None:
    rng = np.random.default_rng(0)
    near = ranked(1_000, rng)
    failed = rng.random(1_000) < np.where(near[:, 5] <= 0.2, 0.6, 0.04)
    [first, *others] = suggest(graded(near), *nothing(1_000), failed)
    assert first.number == 5
    assert first.share == pytest.approx(0.2, abs=0.05)
    assert len(others) <= 5


def test_a_word_that_fades_out_takes_in_most_of_what_fails() -> None:
    rng = np.random.default_rng(1)
    near = ranked(1_000, rng)
    failed = rng.random(1_000) < 0.04 + 0.4 * np.maximum(1 - near[:, 7] / 0.5, 0)
    first = suggest(graded(near), *nothing(1_000), failed)[0]
    assert first.number == 7
    assert 0.2 <= first.share <= 0.5
    assert failed[near[:, 7] <= first.share].sum() > 0.6 * failed.sum()


def test_of_two_words_as_good_the_one_that_people_say_is_taken() -> None:
    rng = np.random.default_rng(2)
    near = ranked(600, rng)
    near[:, 1] = near[:, 0]
    failed = rng.random(600) < np.where(near[:, 0] <= 0.2, 0.6, 0.04)
    price = np.full(WORDS, 6.0)
    price[1] = 4.0
    assert suggest(Graded(near, price), *nothing(600), failed)[0].number == 1


def test_plain_concepts_compete_with_words() -> None:
    rng = np.random.default_rng(3)
    near = ranked(600, rng)
    label = rng.random(600) < 0.4
    failed = rng.random(600) < np.where(label, 0.5, 0.05)
    plain = csc_matrix(np.column_stack([~label, label]).astype(np.float32))
    assert suggest(graded(near), plain, np.full(2, 6.0), failed)[0] == Choice(1, 0.0)


def test_where_all_or_none_fail_nothing_is_suggested() -> None:
    near = ranked(100, np.random.default_rng(4))
    for failed in (np.zeros(100, bool), np.ones(100, bool)):
        assert suggest(graded(near), *nothing(100), failed) == []


@pytest.mark.parametrize("rate", [0.06, 0.3])
def test_chance_is_seldom_confirmed(rate: float) -> None:
    """Words and cuts are picked by one half and tested by the other: of 200 lists at most 5 % hold any."""
    lists = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 5])
        near = ranked(300, rng)
        half, failed = np.arange(300) % 2 == 0, rng.random(300) < rate
        chosen = {
            side: suggest(graded(near[half == side]), *nothing(150), failed[half == side])
            for side in (True, False)
        }
        cuts = [(side, one) for side, some in chosen.items() for one in some]
        if cuts:
            rows = csc_matrix(np.column_stack([near[:, c.number] <= c.share for _, c in cuts]).astype(float))
            sides = {side: [(i,) for i, (own, _) in enumerate(cuts) if own == side] for side in chosen}
            lists += bool(held(rows, failed, half, sides, fdr=0.05))
    assert lists <= 18  # 10 are expected at most; 18 has a chance of 1 %


def test_cuts_are_in_order() -> None:
    assert (np.diff(SHARES) > 0).all()
