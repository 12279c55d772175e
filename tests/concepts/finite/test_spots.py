"""The weak spots of a table: exact where they are planted, none where there is none, rates that hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.studies.table.planted import (
    Made,
    Score,
    dense,
    hunted,
    null_table,
    planted,
    rates_between,
    scored,
    sizes_to_groups,
    table_of,
    together,
)  # fmt: skip

from weakspot.concepts.finite import confirm
from weakspot.concepts.finite.bound import highest
from weakspot.concepts.finite.spots import Spot, most_first
from weakspot.stats import wilson

RATES = np.linspace(0.05, 0.45, 24)


@pytest.mark.parametrize(
    "causes",
    [[(7,)], [(3, 20)], [(14, 19, 22)], [(2,), (17,)], [(4, 21), (11,)], [(10, 18), (18, 22)]],
    ids=["one", "pair", "triple", "two", "a pair and one", "two pairs that share one"],
)
def test_planted_causes_are_found_and_nothing_else(causes: list[tuple[int, ...]]) -> None:
    exact = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        flags = dense(rng, 6000, RATES, tie=0.3)
        chance = planted(flags, causes, usual=0.05, error=0.7)
        spots = hunted(Made(table_of(flags), rng.random(6000) < chance, chance), seed)
        exact += {spot.statement for spot in spots} == set(causes)
    assert exact >= 5


def test_what_both_halves_say_is_one_weak_spot() -> None:
    rng = np.random.default_rng(0)
    flags = dense(rng, 4000, RATES)
    twin = flags[:, 15] ^ (rng.random(4000) < 0.03)  # marks about the same rows
    flags = np.column_stack([flags, twin])
    chance = planted(flags, [(15,)], usual=0.05, error=0.6)
    spots = hunted(Made(table_of(flags), rng.random(4000) < chance, chance))
    [about] = [spot for spot in spots if {15, 24} & set(spot.statement)]
    assert about.statement in [(15,), (24,)]
    assert about.both


def test_a_narrow_statement_is_among_the_first_by_what_fails_more_in_it() -> None:
    """Concept 0 fails in 60 %, with 1 in all rows; 2 is a weaker weak spot of other rows, 3 is nearly 0."""
    n = 2000
    row = np.arange(n)
    flags = np.column_stack([row < 500, row % 5 == 0, (row >= 500) & (row < 700), row < 480])
    failed = (flags[:, 0] & (flags[:, 1] | (row % 2 == 0))) | (flags[:, 2] & (row % 5 == 1))
    failed |= row % 29 == 0
    spots = [
        Spot(statement, confirm.Tested(statement, 1, 1, 0.0, 0.0), False, False)
        for statement in [(3,), (2,), (0, 1), (0,)]
    ]
    ordered = most_first(table_of(flags), failed.astype(float), float(failed.mean()), spots)
    assert [spot.statement for spot in ordered] == [(0,), (0, 1), (2,), (3,)]


def test_the_order_of_rows_does_not_matter_to_the_p_values() -> None:
    rng = np.random.default_rng(1)
    flags = dense(rng, 3000, RATES)
    chance = planted(flags, [(7,), (3, 20)], usual=0.05, error=0.6)
    made = Made(table_of(flags), rng.random(3000) < chance, chance)
    from weakspot.concepts.finite.confirm import halves
    from weakspot.concepts.finite.spots import weak_spots

    half, order = halves(3000, 0), rng.permutation(3000)
    one = weak_spots(made.rows, made.failed, half, fdr=0.05)
    other = weak_spots(made.rows[order], made.failed[order], half[order], fdr=0.05)
    assert [s.statement for s in one] == [s.statement for s in other]
    np.testing.assert_allclose([s.tested.p for s in one], [s.tested.p for s in other], rtol=1e-9)


NULLS: dict[str, Callable[[int], Made]] = {
    "concepts by themselves": null_table,
    "concepts that go together": lambda seed: null_table(seed, tie=0.8),
    "small groups": lambda seed: null_table(seed, tie=0.5, group=3),
    "groups": lambda seed: null_table(seed, tie=0.5, group=8),
    "large groups": lambda seed: null_table(seed, tie=0.5, group=30),
}


@pytest.mark.parametrize("kind", NULLS)
def test_errors_that_depend_on_nothing_have_no_weak_spot(kind: str) -> None:
    false_ones = sum(bool(hunted(NULLS[kind](seed), seed)) for seed in range(20))
    assert wilson(false_ones, 20).low <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("kind", NULLS)
def test_errors_that_depend_on_nothing_have_no_weak_spot_in_many_tables(kind: str) -> None:
    false_ones = sum(bool(hunted(NULLS[kind](seed), seed)) for seed in range(500))
    assert wilson(false_ones, 500).high <= 0.05


def promises(found: Score) -> None:
    """Each share may be above its promise by chance alone."""
    assert wilson(found.strangers, found.spots).low <= 0.05
    assert wilson(found.idle, found.spots).low <= 0.05
    assert wilson(found.low + found.high, found.spots).low <= 0.05
    assert wilson(found.elsewhere, found.spots).low <= 0.05
    assert wilson(found.broken, found.bounds).low <= 0.05


@pytest.mark.parametrize("group", [0, 8], ids=["rows", "groups"])
def test_what_is_told_holds(group: int) -> None:
    found = scored(range(20), group=group)
    promises(found)
    assert found.exact >= (0.35 if group else 0.5) * found.causes


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "group"),
    [((0.1, 0.8), 0), ((0.05, 0.12), 0), ((0.05, 0.2), 0), ((0.5, 0.9), 0), ((0.1, 0.8), 8), ((0.1, 0.4), 3)],
    ids=["any", "very weak", "weak", "strong", "groups", "weak in small groups"],
)
def test_what_is_told_holds_in_many_tables(error: tuple[float, float], group: int) -> None:
    found = scored(range(400), error=error, group=group)
    assert found.strangers / found.spots <= 0.05
    assert found.idle / found.spots <= 0.02
    assert (found.low + found.high) / found.spots <= 0.05
    assert wilson(found.elsewhere, found.spots).low <= 0.05
    assert found.broken / found.bounds <= 0.05


def test_a_bound_is_near_the_worst_of_many_rows() -> None:
    rng = np.random.default_rng(2)
    flags = dense(rng, 200_000, rates_between(rng, 20, 0.05, 0.5))
    found = highest(table_of(flags), rng.random(200_000) < 0.1, None, every=200_000)
    assert found is not None
    assert (found.concepts, found.rows, found.groups) == (20, 2000, 0)
    assert 0.1 < found.rate < 0.12


def test_a_bound_is_wider_where_groups_fail_together() -> None:
    rng = np.random.default_rng(3)
    groups = sizes_to_groups(rng, 6000, 20)
    flags = dense(rng, 6000, np.full(8, 0.4), groups=groups)
    failed, rows = together(rng, np.full(6000, 0.1), groups), table_of(flags)
    by_rows, by_groups = highest(rows, failed, None, every=6000), highest(rows, failed, groups, every=6000)
    assert by_rows is not None
    assert by_groups is not None
    assert by_groups.rate > by_rows.rate + 0.05


def test_groups_of_one_row_bound_as_rows_do() -> None:
    rng = np.random.default_rng(4)
    flags = dense(rng, 3000, np.full(8, 0.4))
    failed, rows = rng.random(3000) < 0.1, table_of(flags)
    one, other = highest(rows, failed, None, every=3000), highest(rows, failed, np.arange(3000), every=3000)
    assert one is not None
    assert other is not None
    assert other.rate == pytest.approx(one.rate, abs=0.003)


def test_few_rows_or_few_groups_bound_nothing() -> None:
    flags = dense(np.random.default_rng(5), 3000, [0.3])
    assert highest(table_of(flags[:60]), flags[:60, 0], None, every=60) is None
    assert highest(table_of(flags), flags[:, 0], np.arange(3000) // 200, every=3000) is None
    assert highest(table_of(flags[:0]), flags[:0, 0], np.arange(0), every=3000) is None
