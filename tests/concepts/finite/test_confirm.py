"""What is confirmed is tested exactly, and holds what it promises: simulated, and against scipy."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import fisher_exact, hypergeom
from tests.studies.table.planted import Flags, dense, sizes_to_groups, table_of, together

from weakspot.concepts.finite.confirm import confirm, greater, halves
from weakspot.concepts.finite.counts import Counts

Numbers = NDArray[np.int64]


def p_value(inside: Flags, failed: Flags, strata: Numbers, groups: Numbers | None = None) -> float:
    counts = Counts.of(2 * strata + inside, failed, groups)
    return greater(counts, counts.pattern % 2 == 1, counts.pattern // 2)


def random_rows(rng: np.random.Generator, n: int, strata: int) -> tuple[Flags, Flags, Numbers]:
    return (
        rng.random(n) < rng.uniform(0.2, 0.8),
        rng.random(n) < rng.uniform(0.1, 0.7),
        rng.integers(0, strata, n),
    )


def test_without_strata_it_is_fishers_test() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        inside, failed, _ = random_rows(rng, int(rng.integers(4, 300)), 1)
        table = [
            [(inside & failed).sum(), (inside & ~failed).sum()],
            [(~inside & failed).sum(), (~inside & ~failed).sum()],
        ]
        found = p_value(inside, failed, np.zeros(len(inside), np.int64))
        assert found == pytest.approx(fisher_exact(table, alternative="greater").pvalue, rel=1e-7, abs=1e-12)


def test_with_strata_it_is_as_counted_by_hand() -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        inside, failed, strata = random_rows(rng, 24, 3)
        parts = []
        for stratum in range(3):
            of = strata == stratum
            n, k, drawn = int(of.sum()), int(failed[of].sum()), int(inside[of].sum())
            parts.append(
                [
                    (x, comb(k, x) * comb(n - k, drawn - x))
                    for x in range(min(k, drawn) + 1)
                    if drawn - x <= n - k
                ]
            )
        seen, most, every = int((inside & failed).sum()), 0, 0
        for one in product(*parts):
            ways = int(np.prod([w for _, w in one], dtype=object))
            every += ways
            most += ways * (sum(x for x, _ in one) >= seen)
        assert p_value(inside, failed, strata) == pytest.approx(most / every, rel=1e-9)


def test_large_counts_are_as_scipy_has_them() -> None:
    rng = np.random.default_rng(2)
    n = 400_000
    inside, strata = rng.random(n) < 0.3, np.zeros(n, np.int64)
    for extra in (0.0, 0.002, 0.01):
        failed = rng.random(n) < 0.1 + extra * inside
        wanted = hypergeom.sf((inside & failed).sum() - 1, n, failed.sum(), inside.sum())
        assert p_value(inside, failed, strata) == pytest.approx(wanted, rel=1e-6, abs=1e-300)


def test_a_stratum_in_which_nothing_differs_says_nothing() -> None:
    inside = np.array([1, 1, 0, 0, 1, 1, 1, 0], bool)
    failed = np.array([1, 0, 0, 0, 1, 1, 0, 0], bool)
    strata = np.array([0, 0, 0, 0, 1, 1, 1, 2])
    assert p_value(inside, failed, strata) == pytest.approx(p_value(inside[:4], failed[:4], strata[:4]))
    assert p_value(np.ones(8, bool), failed, strata) == 1.0
    assert p_value(inside, np.ones(8, bool), strata) == 1.0


def test_rows_have_no_order() -> None:
    rng = np.random.default_rng(3)
    inside, failed, strata = random_rows(rng, 500, 4)
    groups = sizes_to_groups(rng, 500, 5)
    order = rng.permutation(500)
    for of in (None, groups):
        again = p_value(inside[order], failed[order], strata[order], None if of is None else of[order])
        assert p_value(inside, failed, strata, of) == pytest.approx(again)


@pytest.mark.parametrize(("mean", "many"), [(3, 300), (8, 100), (30, 40)])
def test_whole_groups_that_fail_together_do_not_count_as_many(mean: int, many: int) -> None:
    """By rows alone far more than 5 % of the p-values would be below 5 %; 40 groups are few."""
    rng = np.random.default_rng(mean)
    plain, robust = [], []
    for _ in range(600):
        groups = sizes_to_groups(rng, mean * many, mean)
        n = len(groups)
        flags = dense(rng, n, [0.3], groups=groups)[:, 0]
        failed, strata = together(rng, np.full(n, 0.3), groups), np.zeros(n, np.int64)
        plain.append(p_value(flags, failed, strata))
        robust.append(p_value(flags, failed, strata, groups))
    for level in (0.05, 0.01):
        beyond = np.sqrt(level * (1 - level) / 600)
        assert np.mean(np.array(robust) <= level) <= level + 3 * beyond
    assert np.mean(np.array(plain) <= 0.05) > 0.1


def test_halves_are_halves() -> None:
    for n in (1, 2, 3, 100, 1001):
        assert halves(n, 0).sum() == n // 2
    assert (halves(1000, 0) == halves(1000, 0)).all()
    assert (halves(1000, 0) != halves(1000, 1)).any()


@pytest.mark.parametrize("mean", [2, 10, 60])
def test_a_group_lies_on_one_side(mean: int) -> None:
    rng = np.random.default_rng(mean)
    for seed in range(10):
        groups = sizes_to_groups(rng, 2000, mean)[rng.permutation(2000)]
        half = halves(2000, seed, groups)
        assert not np.intersect1d(groups[half], groups[~half]).size
        assert abs(half.mean() - 0.5) <= 2 * mean / 2000


def test_a_group_of_most_rows_leaves_something_on_either_side() -> None:
    groups = np.concatenate([np.zeros(900, np.int64), np.arange(1, 101)])
    for seed in range(20):
        half = halves(1000, seed, groups)
        assert min(half.sum(), (~half).sum()) >= 50


def test_only_what_goes_beyond_earlier_statements_is_confirmed() -> None:
    rng = np.random.default_rng(6)
    flags = dense(rng, 6000, [0.2, 0.3])
    flags[:, 1] = np.where(flags[:, 0], rng.random(6000) < 0.8, rng.random(6000) < 0.1)  # goes with the cause
    failed = rng.random(6000) < np.where(flags[:, 0], 0.5, 0.05)
    held = confirm(table_of(flags), failed, [(0,), (1,)], fdr=0.05)
    assert [one.statement for one in held] == [(0,)]
    assert [one.statement for one in confirm(table_of(flags), failed, [(1,)], fdr=0.05)] == [(1,)]


def test_what_a_statement_adds_is_what_its_rows_fail_beyond_the_others() -> None:
    rng = np.random.default_rng(7)
    flags = dense(rng, 8000, [0.2, 0.3])
    failed = rng.random(8000) < np.where(flags[:, 0], 0.5, 0.1)
    (held,) = confirm(table_of(flags), failed, [(0,)], fdr=0.05)
    inside = flags[:, 0]
    assert (held.n, held.failures) == (inside.sum(), (inside & failed).sum())
    assert held.own == pytest.approx(held.failures - inside.sum() * failed[~inside].mean())


def test_a_small_rise_is_no_weak_spot_however_sure_it_is() -> None:
    rng = np.random.default_rng(8)
    flags = dense(rng, 100_000, [0.3])
    failed = rng.random(100_000) < np.where(flags[:, 0], 0.33, 0.30)
    assert confirm(table_of(flags), failed, [(0,)], fdr=0.05) == []


def test_nothing_is_confirmed_where_nothing_fails() -> None:
    rows = table_of(dense(np.random.default_rng(9), 100, [0.3]))
    assert confirm(rows, np.zeros(100, bool), [(0,)], fdr=0.05) == []
    assert confirm(rows, np.ones(100, bool), [], fdr=0.05) == []
