"""An agent of Stable-Baselines3 on episodes side by side. Imported only for a learned search."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import VecEnv

from weakspot.studies.map.search.compare import Chooser
from weakspot.studies.map.search.environment import Episodes, Spent
from weakspot.studies.map.search.problem import Cells, EnvSettings, Log
from weakspot.studies.map.search.rl import AgentSettings


class SideBySide(VecEnv):
    """Episodes as Stable-Baselines3 wants them."""

    def __init__(self, episodes: Episodes, *, reserve: int) -> None:
        self._episodes, self._reserve, self.num_envs = episodes, reserve, episodes.count
        super().__init__(episodes.count, episodes.observation_space, episodes.action_space)
        self._actions = np.zeros(0, np.int64)

    def reset(self) -> Any:
        return self._episodes.begin()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        if self._episodes.log.room - self._episodes.count < self._reserve:
            raise Spent
        done = self._episodes.step(self._actions)
        infos: list[dict[str, Any]] = [
            {"terminal_observation": last} if ended else {}
            for last, ended in zip(done.last, done.ended, strict=True)
        ]
        return done.seen, done.reward.astype(np.float32), done.ended, infos

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self._episodes, attr_name, None)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        del value, indices
        raise AttributeError(f"episodes side by side share all they have, so none has its own {attr_name!r}")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [getattr(self._episodes, method_name)(*args, **kwargs)] * self._count(indices)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        del wrapper_class
        return [False] * self._count(indices)

    def _count(self, indices: Any) -> int:
        return self.num_envs if indices is None else len(np.atleast_1d(indices))


class Agent(NamedTuple):
    """A model of Stable-Baselines3, the settings of its episodes, and how many steps it learns for."""

    model: Any
    episodes: EnvSettings
    steps: int

    def train(self) -> None:
        """Learn until only the reserve is left."""
        with suppress(Spent):
            self.model.learn(total_timesteps=self.steps)

    def chooser(self, policy: Any) -> Chooser:
        """The greedy choices of a policy."""
        return lambda seen: np.asarray(policy.predict(seen, deterministic=True)[0])


def build(
    log: Log, rng: np.random.Generator, settings: AgentSettings, *, inputs: Cells, name: str, reserve: int
) -> Agent:
    """A fresh agent; its training will leave `reserve` queries."""
    is_ppo = settings.algorithm == "ppo"
    env_settings = EnvSettings(kind=settings.kind, joint=is_ppo and settings.kind == "macro", policy=name)
    side = min(settings.side_by_side, max(1, (log.room - reserve) // 8))
    episodes = Episodes(log, inputs=inputs, side_by_side=side, rng=rng, settings=env_settings)
    env = SideBySide(episodes, reserve=reserve)
    steps_per_query = len(log.problem.space.shape) if episodes.by_axis else 1
    planned = max(side, (log.room - reserve) // side * side * steps_per_query)
    one_step = settings.kind == "macro" and not episodes.by_axis
    common: dict[str, Any] = {
        "learning_rate": settings.rate,
        "seed": int(rng.integers(2**31)),
        "device": "cpu",
        "policy_kwargs": {"net_arch": [settings.width, settings.width]},
    }
    if is_ppo:
        gamma, steps = 0.0 if one_step else 0.95, max(2, 256 // side)
        ppo = PPO("MlpPolicy", env, n_steps=steps, batch_size=64, gamma=gamma, ent_coef=0.01, **common)
        return Agent(ppo, env_settings, 1 << 40)
    dqn = DQN(
        "MlpPolicy", env, gamma=0.0 if one_step else 0.98, buffer_size=max(planned, 1000),
        learning_starts=4 * side * steps_per_query, batch_size=128, train_freq=1,
        gradient_steps=settings.updates, target_update_interval=8 * side,
        exploration_fraction=settings.explore, exploration_final_eps=0.05, **common,
    )  # fmt: skip
    return Agent(dqn, env_settings, planned)
