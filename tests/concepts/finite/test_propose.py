"""What a table suggests is what was planted in it, in so many words; what chance adds comes after it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from tests.studies.table.planted import Made, dense, hunted, planted, sizes_to_groups, table_of, together

from weakspot.concepts.finite.propose import fitted, gain_of, members, propose

RATES = np.linspace(0.05, 0.45, 24)


def made(
    causes: list[tuple[int, ...]], seed: int, *, n: int = 4000, error: float = 0.7, tie: float = 0.0
) -> Made:
    rng = np.random.default_rng(seed)
    flags = dense(rng, n, RATES, tie=tie)
    chance = planted(flags, causes, usual=0.05, error=error)
    return Made(table_of(flags), rng.random(n) < chance, chance)


@pytest.mark.parametrize(
    "causes",
    [
        [(7,)],
        [(3, 20)],
        [(14, 19, 22)],
        [(2,), (17,)],
        [(4, 21), (11,)],
        [(10, 18), (18, 22)],
        [(12,), (12, 20)],
    ],
    ids=[
        "one",
        "pair",
        "triple",
        "two",
        "a pair and one",
        "two pairs that share one",
        "one and a part of it",
    ],
)
def test_planted_causes_are_said_first(causes: list[tuple[int, ...]]) -> None:
    exact = 0
    for seed in range(5):
        table = made(causes, seed)
        exact += set(propose(table.rows, table.failed)[: len(causes)]) == set(causes)
    # A part of a cause that has its effect already adds little: it may stay unsaid.
    assert exact >= (1 if causes == [(12,), (12, 20)] else 4)


def test_causes_are_said_among_concepts_that_go_with_them() -> None:
    found = [propose(*made([(9,), (16,)], seed, tie=0.7)[:2]) for seed in range(5)]
    assert sum({(9,), (16,)} == set(one[:2]) for one in found) >= 4


def test_of_two_words_for_the_same_the_better_one_is_said() -> None:
    rng = np.random.default_rng(1)
    flags = dense(rng, 4000, RATES)
    other = flags[:, 15] & (rng.random(4000) < 0.9)
    both = np.column_stack([flags, other])
    failed = rng.random(4000) < planted(flags, [(15,)], usual=0.05, error=0.6)
    assert propose(table_of(both), failed)[0] == (15,)


def test_no_pair_is_said_of_a_concept_and_its_part() -> None:
    rng = np.random.default_rng(2)
    flags = dense(rng, 3000, RATES)
    flags[:, 1] &= flags[:, 0]
    failed = rng.random(3000) < planted(flags, [(1,)], usual=0.05, error=0.8)
    assert propose(table_of(flags), failed)[0] == (1,)


def test_a_negated_flag_gives_way_where_it_is_dearer() -> None:
    rng = np.random.default_rng(3)
    flags = dense(rng, 3000, RATES)
    night = flags[:, 23]
    flags = np.column_stack([flags, ~night])
    dear = np.append(np.zeros(24), 1.0)
    failed = rng.random(3000) < planted(flags, [(24,)], usual=0.05, error=0.5)
    assert propose(table_of(flags), failed, dear=dear)[0] == (24,)
    failed = rng.random(3000) < planted(flags, [(23,)], usual=0.05, error=0.5)
    assert propose(table_of(flags), failed, dear=dear)[0] == (23,)


def test_at_most_so_many_things_are_said_together() -> None:
    table = made([(14, 19, 22)], 0)
    for longest in (1, 2, 3):
        said = propose(table.rows, table.failed, longest=longest)
        assert said
        assert max(map(len, said)) <= longest


def test_nothing_is_suggested_where_all_fail_or_none() -> None:
    rows = made([(7,)], 0, n=100).rows
    for failed in (np.zeros(100, bool), np.ones(100, bool)):
        assert propose(rows, failed) == []
    some = np.arange(100) < 50
    assert propose(csc_matrix((100, 0), dtype=np.float32), some) == []
    assert propose(csc_matrix((100, 3), dtype=np.float32), some) == []


@pytest.mark.parametrize(("n", "m", "longest", "seed"), [(60, 10, 2, 21), (100, 15, 2, 6), (200, 20, 3, 36)])
def test_it_ends_where_a_choice_is_dropped_and_made_again(n: int, m: int, longest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = sizes_to_groups(rng, n, 8)
    flags = dense(rng, n, np.linspace(0.05, 0.5, m), tie=0.5, groups=groups)
    propose(table_of(flags), together(rng, np.full(n, 0.3), groups), longest=longest)


def test_the_order_of_rows_does_not_matter() -> None:
    table = made([(4, 21), (11,)], 0)
    order = np.random.default_rng(0).permutation(4000)
    assert propose(table.rows, table.failed) == propose(table.rows[order], table.failed[order])


def test_the_same_seed_finds_the_same() -> None:
    table = made([(4, 21), (11,)], 0)
    assert hunted(table, 5) == hunted(table, 5)


def test_gain_is_the_log_likelihood_ratio() -> None:
    from scipy.stats import binom

    k, n, expected = np.array([8.0, 1.0, 10.0]), np.array([10.0, 10.0, 10.0]), np.array([2.0, 2.0, 2.0])
    found = gain_of(k, n, expected)
    for i in (0, 2):
        ratio = binom.logpmf(k[i], n[i], k[i] / n[i]) - binom.logpmf(k[i], n[i], expected[i] / n[i])
        assert found[i] == pytest.approx(ratio)
    assert found[1] == 0  # fewer than expected


def test_rows_of_a_statement_are_those_of_all_its_concepts() -> None:
    flags = dense(np.random.default_rng(4), 500, RATES)
    said = [(3,), (3, 20), (14, 19, 22), (0, 1)]
    found = members(table_of(flags), said).toarray().astype(bool)
    for i, statement in enumerate(said):
        np.testing.assert_array_equal(found[:, i], flags[:, list(statement)].all(axis=1))


def test_causes_that_act_by_themselves_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    flags = dense(rng, 50_000, [0.3, 0.3])
    chance = planted(flags, [(0,), (1,)], usual=0.1, error=[0.5, 0.2])
    found = fitted(table_of(flags), rng.random(50_000) < chance)
    assert np.abs(found - chance).max() < 0.02
