"""Searches: all keep the budget, and what learns finds more of the planted failures than what does not."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.map_search import apart, steps_between
from tests.studies.map.map_parts import planted, small_space, table, worst_cells

from weakspot.concepts.modes import grow, minimal_sets, modes
from weakspot.core import WeakspotError
from weakspot.stats.landscape import rates
from weakspot.studies.map.search.inputs import InputModel
from weakspot.studies.map.search.problem import Answers, Log
from weakspot.studies.map.search.rl import AGENTS
from weakspot.studies.map.search.searches import SEARCHES, find, narrow, search, spend_evenly

SPACE = small_space()
DELTA = planted(SPACE, inputs=200)
TRUTH = (DELTA > 0).mean(1)
PLAIN = [name for name in SEARCHES if name not in AGENTS]


@pytest.mark.parametrize("name", PLAIN)
def test_a_search_spends_its_budget_and_no_input_twice(name: str) -> None:
    log = Log(table(SPACE, DELTA), 600)
    search(name)(log, np.random.default_rng(0))
    assert log.spent == 600 == log.asked.sum() == log.n.sum()
    assert log.failed == log.failures.sum() == log.trace[-1][1]
    assert log.asked.max() <= 200


@pytest.mark.parametrize("name", ["thompson", "ucb", "gp", "tpe"])
def test_what_learns_finds_more_failures_than_chance(name: str) -> None:
    log, chance = Log(table(SPACE, DELTA), 1000), Log(table(SPACE, DELTA), 1000)
    search(name)(log, np.random.default_rng(1))
    search("random")(chance, np.random.default_rng(1))
    assert log.failed > 1.3 * chance.failed


def test_the_same_seed_gives_the_same_search() -> None:
    logs = [Log(table(SPACE, DELTA), 400) for _ in range(2)]
    for log in logs:
        search("auto")(log, np.random.default_rng(0))
    assert np.array_equal(logs[0].n, logs[1].n)


def test_the_default_finds_the_worst_with_a_tenth_of_the_queries() -> None:
    """The fifth differs from the eighth by 7 inputs of 200, so either may be named beside the four worst."""
    fifth = np.sort(TRUTH)[-5]
    for seed in range(3):
        log = Log(table(SPACE, DELTA), DELTA.size // 10)
        search("auto")(log, np.random.default_rng(seed))
        found = worst_cells(log, 5)
        assert (TRUTH[found] >= fifth).sum() >= 4
        assert (TRUTH[found] >= fifth - 0.04).all()
        believed = log.finite(rates(log.sharpened(log.prior()), np.arange(SPACE.size)).rate)
        places, named = apart(SPACE, TRUTH, 2), apart(SPACE, believed, 2)
        assert all(any(steps_between(SPACE, p, q) <= 1 for q in named) for p in places)


def test_the_default_names_the_worst_places_with_a_tenth_of_the_queries() -> None:
    """Five cells no two of which are beside each other; what is named may be one step off."""
    missed = 0
    for seed in range(3):
        delta = planted(SPACE, inputs=400, seed=seed)
        log = Log(table(SPACE, delta, seed), delta.size // 10)
        search("auto")(log, np.random.default_rng(seed))
        believed = log.finite(rates(log.sharpened(log.prior()), np.arange(SPACE.size)).rate)
        named, places = apart(SPACE, believed, 5), apart(SPACE, (delta > 0).mean(1), 5)
        missed += sum(all(steps_between(SPACE, p, q) > 1 for q in named) for p in places)
    assert missed <= 1, "of fifteen"


def test_queries_go_to_the_border_of_the_worst_not_to_what_is_certain() -> None:
    """Thirty cells never fail, one always does, and eight are nearly alike: these are asked most."""
    space = small_space(values=39, axes=1)
    rate = np.r_[np.zeros(30), 1.0, np.full(8, 0.5)]
    delta = np.asarray(rate[:, None] - np.random.default_rng(0).random((39, 2000)), np.float32)
    log = Log(table(space, delta), 4000)
    search("auto")(log, np.random.default_rng(0))
    assert log.n[31:].sum() > 0.6 * log.spent
    assert log.n[30] < log.n[31:].mean()


def test_a_search_ends_when_every_input_is_shown() -> None:
    small = planted(SPACE, inputs=4)
    for name in PLAIN:
        log = Log(table(SPACE, small), 5000)
        search(name)(log, np.random.default_rng(0))
        assert log.spent == small.size
        assert np.array_equal(log.failures, (small > 0).sum(1))


def test_a_space_larger_than_the_budget() -> None:
    large = small_space(values=5, axes=4)
    delta = planted(large, inputs=20)
    log = Log(table(large, delta), 400)
    with pytest.raises(WeakspotError, match="400 queries do not reach each of 625 cells"):
        search("exhaustive")(log, np.random.default_rng(0))
    search("auto")(log, np.random.default_rng(0))
    assert log.spent == 400
    assert (log.n == 0).any()
    assert (delta > 0).mean(1)[worst_cells(log, 5)].mean() > 2 * (delta > 0).mean()


def test_errors_are_no_failures_and_are_counted_nowhere() -> None:
    class Flaky:
        def __init__(self) -> None:
            self._table = table(SPACE, DELTA)
            self.space, self.inputs, self.contexts = SPACE, 200, self._table.contexts

        def ask(self, cells: np.ndarray) -> Answers:
            found = self._table.ask(cells)
            broken = cells % 4 == 0
            return found._replace(failed=np.where(broken, np.nan, found.failed))

        ask_on = None

    log = Log(Flaky(), 1000)  # type: ignore[arg-type]
    search("thompson")(log, np.random.default_rng(0))
    assert log.n[::4].sum() == 0
    assert log.asked[::4].sum() > 0
    assert log.spent == 1000


def test_names_of_searches() -> None:
    assert find("auto") == "thompson"
    with pytest.raises(WeakspotError, match="did you mean 'thompson'"):
        find("thomson")


def test_what_inputs_say_of_themselves_sharpens_the_rates() -> None:
    """Plain counts of 20 inputs per cell, against the same with what those inputs did elsewhere."""
    rng = np.random.default_rng(0)
    picked = rng.choice(DELTA.size, 2500, replace=False)
    cells, inputs = picked // 200, picked % 200
    delta = DELTA[cells, inputs].astype(float)
    failed = (delta > 0).astype(float)
    log = Log(table(SPACE, DELTA), 1)
    found = InputModel(log.prior(), SPACE.grid, 200).adjust(cells, inputs, failed, delta)
    assert found is not None
    n = np.bincount(cells, minlength=125)
    plain = np.bincount(cells, failed, 125) / n
    sharp = found.failures / found.n
    assert np.abs(sharp - TRUTH).mean() < 0.75 * np.abs(plain - TRUTH).mean()
    assert found.n.sum() > 2 * n.sum()
    assert InputModel(log.prior(), SPACE.grid, 200).adjust(cells, inputs, 1 - failed, delta) is None


def test_the_last_queries_make_the_widest_intervals_narrower() -> None:
    logs = [Log(table(SPACE, DELTA), 1000) for _ in range(2)]
    for log in logs:
        search("tpe")(log, np.random.default_rng(0))
        log.budget = 1200
    narrow(logs[0], np.random.default_rng(1))
    spend_evenly(logs[1], np.random.default_rng(1), 200)
    assert logs[0].spent == logs[1].spent == 1200
    wide = []
    for log in logs:
        found = rates(log.fit(log.prior()), np.arange(SPACE.size))
        wide.append(np.sort(found.high - found.low)[-12:].mean())
    assert wide[0] < wide[1]
    full = Log(table(SPACE, planted(SPACE, inputs=4)), 5000)
    narrow(full, np.random.default_rng(0))
    assert full.spent == 500


def test_modes_are_regions_with_a_peak_each() -> None:
    rate = (planted(SPACE, rough=0.0, inputs=4000) > 0).mean(1)
    found = modes(SPACE, rate, above=0.25)
    assert [mode.peak for mode in found] == [124, 0]
    for mode in found:
        assert (rate[list(mode.cells)] >= 0.25).all()
        assert (rate[SPACE.cells(mode.region)] >= 0.25).all()
        assert mode.peak in SPACE.cells(mode.region)
    assert not set(found[0].cells) & set(found[1].cells)
    assert sum(len(mode.cells) for mode in found) == (rate >= 0.25).sum()
    assert modes(SPACE, rate, above=0.99) == []
    assert len(modes(SPACE, np.full(125, 0.5), above=0.25)) == 1
    assert grow(SPACE, np.full(125, 0.5), 7, above=0.2) == SPACE.whole


def test_peaks_of_one_box_are_one_mode() -> None:
    rate = np.full(SPACE.shape, 0.1)
    rate[4, 4, :] = (0.6, 0.55, 0.5, 0.55, 0.58)  # a dip, but all of it is above
    found = modes(SPACE, rate.ravel(), above=0.4)
    assert [(mode.peak, len(mode.cells)) for mode in found] == [(120, 5)]
    assert len({mode.words for mode in found}) == len(found)
    rate[4, 4, 2] = 0.2  # now it is not
    assert len(modes(SPACE, rate.ravel(), above=0.4)) <= 2


def test_minimal_sets_cannot_lose_an_axis() -> None:
    rate = np.full(SPACE.shape, 0.05)
    rate[4, :, :] = 0.6  # one axis alone is enough
    rate[:3, 4, 2] = 0.7  # elsewhere two are needed, with a few values of the first
    found = minimal_sets(SPACE, rate.ravel(), above=0.4)
    assert found[0].words == "turn 4"
    assert "shade 4, grain 2" in [one.words for one in found]
    for one in found:
        fixed = [a for a, values in enumerate(one.region) if len(values) < 5]
        assert rate.ravel()[SPACE.cells(one.region)].mean() >= 0.4
        for axis in fixed:
            freed = tuple(SPACE.whole[a] if a == axis else v for a, v in enumerate(one.region))
            assert rate.ravel()[SPACE.cells(freed)].mean() < 0.4
    assert minimal_sets(SPACE, np.full(125, 0.5), above=0.4)[0].words == "anywhere"


@pytest.mark.parametrize("name", ["gp", "tpe"])
def test_intervals_hold_where_a_search_left_most_cells_after_a_few_queries(name: str) -> None:
    """2 % of the queries, most of them in a few cells that looked bad: the others must not be believed."""
    space, covered = small_space(), []
    for seed in range(6):
        delta = planted(space, inputs=600, seed=seed, rough=0.3)
        truth = (delta > 0).mean(1)
        log = Log(table(space, delta, seed), int(0.02 * delta.size))
        search(name)(log, np.random.default_rng(seed))
        assert np.median(log.n) < log.n.max() / 5, "queries are where the search wanted them"
        found = rates(log.fit(log.prior()), np.arange(space.size))
        covered.append(((found.low <= truth) & (truth <= found.high)).mean())
    assert np.mean(covered) >= 0.95
