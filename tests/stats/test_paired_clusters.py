"""Pairs in clusters: the exact p-value, its error rate, and the interval's coverage, by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from weakspot.stats.clustered import clustered_difference, exchanged
from weakspot.stats.contrast import mcnemar, paired_difference


@pytest.mark.parametrize(("made", "removed"), [(0, 0), (3, 3), (9, 2), (2, 9), (40, 15), (0, 12)])
def test_with_one_case_each_it_is_mcnemars_test(made: int, removed: int) -> None:
    assert exchanged([1] * made + [-1] * removed + [0] * 5) == pytest.approx(mcnemar(made, removed))


def test_the_p_value_is_the_share_of_all_exchanges() -> None:
    given = [3, 2, 2, -1, 1, 4, 0, 2]
    sums = [
        sum(s * d for s, d in zip(signs, given, strict=True))
        for signs in itertools.product((-1, 1), repeat=len(given))
    ]
    share = np.mean(np.abs(sums) >= abs(sum(given)))
    assert exchanged(given) == pytest.approx(share)


def test_large_sums_are_judged_as_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    given = np.random.default_rng(0).integers(-3, 4, 400) + (np.arange(400) % 9 == 0)
    exact = exchanged(given)
    monkeypatch.setattr("weakspot.stats.clustered.EXACT", 10)
    assert exchanged(given) == pytest.approx(exact, rel=0.05)


def drawn(rng: np.random.Generator, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """100 pictures of 6 cases each, whose failures hang together."""
    which = np.repeat(np.arange(100), 6)
    easy = rng.beta(0.3, 0.6, 100)[which]
    moved = rng.normal(0, 0.25, 100)[which]
    before = rng.random(600) < easy
    return before, rng.random(600) < np.clip(easy + moved + shift, 0, 1), which


def test_clusters_are_not_taken_for_independent_cases() -> None:
    rng = np.random.default_rng(1)
    own, naive = [], []
    for _ in range(400):
        before, after, which = drawn(rng, 0.0)
        swap = (rng.random(100) < 0.5)[which]  # by picture, so that there is no change to be found
        before, after = np.where(swap, after, before), np.where(swap, before, after)
        net = np.bincount(which, after.astype(int) - before.astype(int)).astype(int)
        own.append(exchanged(net) <= 0.05)
        naive.append(mcnemar(int((after & ~before).sum()), int((before & ~after).sum())) <= 0.05)
    assert np.mean(own) <= 0.08
    assert np.mean(naive) > 0.1


def test_the_interval_covers_the_difference() -> None:
    rng = np.random.default_rng(2)
    many = [drawn(rng, 0.1) for _ in range(2000)]
    truth = np.mean([after.mean() - before.mean() for before, after, _ in many])
    hits = []
    for _ in range(300):
        before, after, which = drawn(rng, 0.1)
        ends = clustered_difference(before, after, which.astype(np.int64))
        hits.append(ends.low <= truth <= ends.high)
    assert np.mean(hits) >= 0.92


def test_cases_of_their_own_give_tangos_interval_and_none_the_widest() -> None:
    rng = np.random.default_rng(3)
    before, after = rng.random(200) < 0.3, rng.random(200) < 0.2
    made, removed = int((after & ~before).sum()), int((before & ~after).sum())
    found = clustered_difference(before, after, np.arange(200))
    wanted = paired_difference(made, removed, 200)
    assert found.low == pytest.approx(wanted.low, abs=2e-3)
    assert found.high == pytest.approx(wanted.high, abs=2e-3)
    none = np.zeros(0, bool)
    assert clustered_difference(none, none, np.zeros(0, np.int64)) == (-1.0, 1.0)
    same = np.zeros(60, bool)
    assert clustered_difference(same, same, np.repeat(np.arange(6), 10)) == paired_difference(0, 0, 6)
