"""Environments that gymnasium accepts, and agents that learn: better than their own untrained copies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.search.map_parts import planted, small_space, table

from weakspot.core import WeakspotError
from weakspot.search.map_problem import Log

pytest.importorskip("stable_baselines3")
from gymnasium.utils.env_checker import check_env

from weakspot.search.map_env import EnvSettings, MapEnv
from weakspot.search.map_rl import AgentSettings, learn

SPACE = small_space(values=4, axes=2)
DELTA = planted(SPACE, inputs=200, rough=0.0)


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        (EnvSettings(), 4),
        (EnvSettings(joint=True), 4),
        (EnvSettings(kind="micro"), 4),
        (EnvSettings(), 7),  # more cells than one action chooses from: one axis after the other
    ],
)
def test_gymnasiums_own_check_passes(settings: EnvSettings, values: int) -> None:
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
    env = MapEnv(log, settings=EnvSettings(kind="micro", longest=20))
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
    found = learn(log, np.random.default_rng(3), AgentSettings(algorithm=algorithm, width=32, updates=4))
    assert log.spent <= 1500
    assert found.trained > found.random + 0.3
    assert found.won == (max(found.p_untrained, found.p_random) < 0.01)
    assert found.p_random < 0.01
    assert found.trained >= found.untrained
    assert log.n.sum() == 0  # queries at inputs of its choice say nothing of a cell's rate


def test_too_few_queries_to_learn_from() -> None:
    with pytest.raises(WeakspotError, match="too few for an agent"):
        learn(Log(table(SPACE, DELTA), 100), np.random.default_rng(0))
