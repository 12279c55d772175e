"""Environments that gymnasium accepts, and agents that learn: better than their own untrained copies."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.map_table import Table
from tests.studies.map.map_parts import planted, small_space, table

from weakspot.core import WeakspotError
from weakspot.studies.map.search.problem import Log
from weakspot.studies.map.search.searches import search

pytest.importorskip("stable_baselines3")
from gymnasium.utils.env_checker import check_env
from tests.studies.map.map_env import MapEnv

from weakspot.studies.map.search.rl import AgentSettings, learn, part

SPACE = small_space(values=4, axes=2)
DELTA = planted(SPACE, inputs=200, rough=0.0)


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        (AgentSettings(), 4),
        (AgentSettings(algorithm="ppo"), 4),
        (AgentSettings(kind="micro"), 4),
        (AgentSettings(), 7),  # more cells than one action chooses from: one axis after the other
    ],
)
def test_gymnasiums_own_check_passes(settings: AgentSettings, values: int) -> None:
    space = small_space(values=values, axes=2)
    log = Log(table(space, planted(space, inputs=50)), 100_000)
    env = MapEnv(log, settings=settings)
    check_env(env, skip_render_check=True)
    env.reset(seed=1)
    before = log.spent
    for _ in range(20):
        _, gained, ended, cut, told = env.step(env.action_space.sample())
        assert -1 <= gained <= 1
        assert told["failed"] in (True, False)
        if ended or cut:
            env.reset()
    assert log.spent - before in (10, 20)
    log.budget = log.spent
    assert any(env.step(env.action_space.sample())[3] for _ in range(2))  # truncated: nothing is left to ask


def test_a_microscopic_step_moves_one_axis_and_ends_at_a_failure() -> None:
    delta = np.full((16, 10), -1.0, np.float32)
    delta[15] = 1.0
    log = Log(table(SPACE, delta), 1000)
    env = MapEnv(log, settings=AgentSettings(kind="micro", longest=20))
    env.reset(seed=0)
    for step in range(20):
        _, gained, ended, _, told = env.step(1 if step % 2 else 3)  # up along either axis
        if ended:
            break
    assert told["failed"]
    assert gained > 0


@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_a_trained_agent_beats_its_untrained_copy_and_chance(algorithm: str) -> None:
    rate = np.full((16, 200), -2.0, np.float32)
    rate[[5, 6]] = 2.0  # whoever looks finds these
    log = Log(table(SPACE, rate), 1500)
    found = learn(
        log,
        np.random.default_rng(3),
        AgentSettings(algorithm=algorithm, width=32, updates=4),
        policy=algorithm,
    )
    assert log.spent <= 1500
    assert found.inputs == 80 == found.rates["trained"].n
    assert found.trained > found.random + 0.3
    assert found.won == (max(found.p_untrained, found.p_random) < 0.01)
    assert found.p_random < 0.01
    assert found.trained >= found.untrained
    assert log.n.sum() == 0  # queries at inputs of its choice say nothing of a cell's rate


@pytest.mark.parametrize("name", ["dqn-micro", "ppo-micro"])
def test_small_steps_learn_too(name: str) -> None:
    delta = np.full((16, 200), -2.0, np.float32)
    delta[[12, 13, 14, 15]] = 2.0  # the far end of the first axis
    log = Log(table(SPACE, delta), 4000)
    found = search(name)(log, np.random.default_rng(0))
    assert found.trained > found.random + 0.1
    assert found.p_random < 0.01
    assert log.spent <= 4000


@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_a_policy_sees_its_input(algorithm: str) -> None:
    """Half of the inputs fail in one cell, half in another: who looks finds nearly all, who does not half."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 400)
    delta = np.full((16, 400), -2.0, np.float32)
    delta[3, kind == 0] = 2.0
    delta[12, kind == 1] = 2.0
    log = Log(Table(SPACE, delta, np.eye(2, dtype=np.float32)[kind]), 3000)
    found = learn(log, np.random.default_rng(1), policy=algorithm)
    assert found.trained > 0.8
    assert found.won


def test_what_the_comparison_cannot_use_is_left_over() -> None:
    log = Log(table(SPACE, DELTA), 10_000)  # 200 inputs, of which 80 are held out: 240 queries for all three
    assert part(log, 0.6) == 4200 + 240
    log.budget = part(log, 0.6)
    learn(log, np.random.default_rng(0), AgentSettings(width=8, updates=1))
    assert log.budget - 64 < log.spent <= log.budget


def test_showings_of_a_held_out_text_are_all_held_out() -> None:
    class Rounds(Table):
        def __init__(self) -> None:
            super().__init__(SPACE, DELTA, np.zeros((200, 1), np.float32))
            self.distinct = 20  # ten showings of each
            self.shown: dict[str, set[int]] = {}

        def ask_on(self, policy, cells, inputs):
            self.shown.setdefault(policy, set()).update((inputs % 20).tolist())
            return super().ask_on(policy, cells, inputs)

    problem = Rounds()
    found = learn(Log(problem, 1500), np.random.default_rng(0), AgentSettings(width=8, updates=1))
    assert found.inputs == 8
    assert not problem.shown["dqn"] & problem.shown["dqn trained"]


def test_too_few_queries_or_inputs_to_learn_from() -> None:
    with pytest.raises(WeakspotError, match="too few for an agent") as error:
        learn(Log(table(SPACE, DELTA), 100), np.random.default_rng(0))
    assert "512" in str(error.value.fix)
    with pytest.raises(WeakspotError, match="one input only"):
        learn(Log(table(SPACE, DELTA[:, :1]), 1000), np.random.default_rng(0))
