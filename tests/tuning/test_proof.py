"""Pairs, verdicts, and a distance that sees where failures are."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.stats.distances import wasserstein, without_location
from weakspot.studies.repair.proof import adjusted, change, moved, verdict
from weakspot.studies.repair.result import Change

AXIS = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4.0


def pairs(before: float, after: float, n: int, seed: int = 0) -> Change:
    """Independent pairs with these rates."""
    rng = np.random.default_rng(seed)
    return change("x", rng.random(n) < before, rng.random(n) < after)


def test_failures_are_counted_in_pairs() -> None:
    before = np.array([1, 1, 1, 0, 0, 0], bool)
    after = np.array([0, 0, 1, 1, 0, 0], bool)
    found = change("x", before, after)
    assert (found.before, found.after, found.removed, found.made) == (3, 2, 2, 1)
    assert found.difference == pytest.approx(-1 / 6)
    assert found.low < found.difference < found.high


def test_by_chance_a_repair_is_called_one_in_at_most_a_twentieth_of_all_cases() -> None:
    said = [
        verdict(adjusted([pairs(0.3, 0.3, 300, 2 * s), pairs(0.3, 0.3, 300, 2 * s + 1)]), [])
        for s in range(400)
    ]
    assert np.mean([v in ("repaired", "reduced", "worse") for v in said]) <= 0.07


@pytest.mark.parametrize(
    ("chosen", "others", "said"),
    [
        ((0.4, 0.1), (0.1, 0.1), "repaired"),
        ((0.4, 0.28), (0.1, 0.1), "reduced"),
        ((0.4, 0.4), (0.1, 0.1), "not reduced"),
        ((0.4, 0.1), (0.1, 0.2), "traded"),
        ((0.2, 0.4), (0.1, 0.1), "worse"),
    ],
)
def test_a_verdict_says_what_was_done(
    chosen: tuple[float, float], others: tuple[float, float], said: str
) -> None:
    assert verdict(adjusted([pairs(*chosen, 1000, 2)]), adjusted([pairs(*others, 1000, 5)])) == said


def test_one_of_several_modes_is_not_called_reduced_for_being_one_of_many() -> None:
    single = change("x", np.array([1] * 9 + [0] * 91, bool), np.array([0] * 7 + [1] * 3 + [0] * 90, bool))
    assert 0.01 < single.p < 0.1
    many = adjusted([single] * 5)
    assert all(c.p > 0.05 for c in many)
    assert verdict(many, []) == "not reduced"


def test_the_distance_sees_a_permutation_and_the_sorted_one_does_not() -> None:
    """The same rates in other cells: failures moved, by as far as the concepts are apart."""
    before = np.array([[0.9, 0.1, 0.1, 0.1, 0.1], *[[0.1] * 5] * 4])
    near, far = np.roll(before, 1, axis=1), before[::-1, ::-1]
    assert without_location(before, near) == without_location(before, far) == 0.0
    one, two = (wasserstein(before, after, [AXIS, AXIS]) for after in (near, far))
    share = 0.8 / before.sum()
    assert one == pytest.approx(0.25 * share)
    assert two == pytest.approx(2 * share)


def test_moved_failures_are_told_from_kept_ones_by_exchange() -> None:
    rng = np.random.default_rng(0)
    cells = np.repeat(np.arange(25), 60)
    rate = np.full(25, 0.1)
    rate[0] = 0.7
    other = rate[::-1]
    draws = rng.random(len(cells))
    same = moved([AXIS, AXIS], cells, draws < rate[cells], rng.random(len(cells)) < rate[cells])
    away = moved([AXIS, AXIS], cells, draws < rate[cells], draws < other[cells])
    assert away.p is not None
    assert same.p is not None
    assert away.p <= 0.01 < same.p
    assert away.distance > 2 * same.distance
    assert away.unplaced < 0.01


def test_large_spaces_are_compared_axis_by_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weakspot.studies.repair.proof.MOST_CELLS", 100)
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 125, 4000)
    draws = rng.random(4000)
    before, after = draws < 0.2 + 0.4 * (cells % 5 == 4), draws < 0.2 + 0.4 * (cells % 5 == 0)
    found = moved([AXIS] * 3, cells, before, after)
    assert not found.exact
    assert found.p is None
    assert found.distance == pytest.approx(0.4 / 1.4, abs=0.06)
