"""A learned agent against its copy: false wins are as rare as promised, true ones are told."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.map_table import Table
from numpy.typing import NDArray
from scipy.stats import binom, binomtest
from tests.studies.map.map_parts import small_space, table

from weakspot.studies.map.search.problem import Log
from weakspot.studies.map.search.rl import ALPHA, AgentSettings, Chooser, Played, better, compare

pytest.importorskip("stable_baselines3")

SPACE = small_space(values=4, axes=2)


def always(action: int) -> Chooser:
    return lambda seen: np.full(len(seen), action)


def three(delta: NDArray[np.float32], rng: np.random.Generator, kind: str = "macro", budget: int = 100_000):
    """Two policies that are fixed by chance, and chance itself."""
    log = Log(table(SPACE, delta), budget)
    actions = rng.integers(0, 4 if kind == "micro" else 16, 2)
    choosers = {"trained": always(int(actions[0])), "untrained": always(int(actions[1])), "random": None}
    return log, compare(log, rng, choosers, np.arange(delta.shape[1]), AgentSettings(kind=kind))


@pytest.mark.parametrize("kind", ["macro", "micro"])
def test_where_nothing_can_be_learnt_wins_are_as_rare_as_promised(kind: str) -> None:
    times, false, small = 300, 0, 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        delta = np.where(rng.random((16, 60)) < 0.3, 1.0, -1.0).astype(np.float32)
        _, found = three(delta, rng, kind)
        false += found.p_untrained < ALPHA
        small += found.p_random < 0.05
    assert false <= binom.ppf(0.999, times, ALPHA)
    assert small <= binom.ppf(0.999, times, 0.05)


@pytest.mark.parametrize("kind", ["macro", "micro"])
def test_a_policy_that_is_better_is_told(kind: str) -> None:
    told = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rate = np.full((16, 1), 0.1)
        rate[[12, 13, 14, 15]] = 0.9 if kind == "micro" else 0.5  # the far end of the first axis
        delta = np.where(rng.random((16, 120)) < rate, 1.0, -1.0).astype(np.float32)
        best, worst = (1, 0) if kind == "micro" else (12, 0)  # small steps: up or down the first axis
        choosers = {"trained": always(best), "untrained": always(worst), "random": None}
        log = Log(table(SPACE, delta), 100_000)
        found = compare(log, rng, choosers, np.arange(120), AgentSettings(kind=kind))
        assert found.rates["trained"].low < found.trained < found.rates["trained"].high
        told += found.won
    assert told >= 27, "of thirty"


@pytest.mark.parametrize("kind", ["macro", "micro"])
def test_every_input_is_shown_once_to_each_from_the_same_start(kind: str) -> None:
    class Noting(Table):
        def ask_on(self, policy, cells, inputs):
            noted.setdefault(policy, []).extend(zip(inputs.tolist(), cells.tolist(), strict=True))
            return super().ask_on(policy, cells, inputs)

    noted: dict[str, list[tuple[int, int]]] = {}
    rng = np.random.default_rng(0)
    delta = np.where(rng.random((16, 50)) < 0.3, 1.0, -1.0).astype(np.float32)
    log = Log(Noting(SPACE, delta, np.zeros((50, 1), np.float32)), 10_000)
    choosers = {"trained": always(1), "untrained": always(1), "random": None}
    found = compare(log, rng, choosers, np.arange(50), AgentSettings(kind=kind, side_by_side=8))
    assert found.inputs == 50
    assert {i for i, _ in noted["random"]} == set(range(50))
    if kind == "macro":
        assert [len(rows) for rows in noted.values()] == [50, 50, 50] == [found.rates["trained"].n] * 3
        assert [i for i, _ in noted["trained"]] == [i for i, _ in noted["random"]]
    else:
        assert sorted(noted["trained"]) == sorted(noted["untrained"])  # the same starts, whatever the order
        assert max(np.bincount([i for i, _ in noted["random"]])) <= AgentSettings().longest
        assert found.rates["trained"].failures <= 50
    assert found.p_untrained == 1.0


def test_only_so_many_inputs_as_there_is_room_for_all_three() -> None:
    delta = np.ones((16, 200), np.float32)
    log, found = three(delta, np.random.default_rng(0), budget=100)
    assert (found.inputs, log.spent) == (33, 99)


def test_inputs_that_are_shown_several_times_count_once() -> None:
    """Ten showings of three texts are three texts: the test cannot be sure, whatever the counts."""
    inputs = np.repeat(np.arange(3), 10)
    assert better(Played(inputs, np.ones(30)), Played(inputs, np.zeros(30))) == pytest.approx(1 / 8)
    rate = Played(inputs, np.r_[np.ones(10), np.zeros(20)]).rate()
    assert (rate.n, rate.failures) == (30, 10)
    assert rate.high - rate.low > 0.8
    assert Played(np.zeros(0, np.int64), np.zeros(0)).rate()[:3] == (0.0, 0.0, 1.0)


def test_one_query_per_input_is_mcnemars_test() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.random((2, 80)) < [[0.5], [0.3]]).astype(float)
    wins, losses = int((a > b).sum()), int((b > a).sum())
    expected = binomtest(wins, wins + losses, 0.5, alternative="greater").pvalue
    played = [Played(np.arange(80), x) for x in (a, b)]
    assert better(*played) == pytest.approx(expected)
