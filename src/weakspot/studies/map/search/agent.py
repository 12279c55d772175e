"""Concept spaces as gymnasium environments, and agents of Stable-Baselines3 that look there for failures.

Macroscopic: an episode is one query. Where the space is small the action is a cell; where it is large the
agent sets one axis after the other and the last one asks. Microscopic: the agent begins at a cell and takes
small steps, each of them a query that costs something, until the target fails. Many episodes run side by
side, so that a batch of them is one batch of queries. Imported only for a learned search.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import VecEnv

from weakspot.studies.map.search.problem import Answers, Cells, Log
from weakspot.studies.map.search.rl import AgentSettings

#: With more cells than this, a macroscopic agent that chooses one action sets one axis after the other.
ONE_STEP: Final = 32
#: Seed of the starts that follow from the input.
START: Final = 20240607
Obs = NDArray[np.float32]


class Spent(Exception):
    """The log has no queries left."""


def reward(answers: Answers) -> NDArray[np.float64]:
    """Half for a failure, half for how near to one it came (logistic in Δ); 0 without a verdict."""
    near = 1 / (1 + np.exp(-np.clip(np.nan_to_num(answers.delta), -30, 30)))
    worth = 0.5 * np.nan_to_num(answers.failed) + 0.5 * near
    return np.where(np.isfinite(answers.failed), worth, 0.0)


class Steps(NamedTuple):
    """What a step of all episodes gives; `ended` ones have begun anew, and `last` is what they saw last.

    `failed` is nan, and `asked` −1 instead of the input's number, where nothing was asked.
    """

    seen: Obs
    reward: NDArray[np.float64]
    ended: NDArray[np.bool_]
    last: Obs
    failed: NDArray[np.float64]
    asked: Cells


class Episodes:
    """Episodes side by side, in which some inputs are shown; `live` says which of them still have one.

    `once` shows each input once, in the order given, and then no more. A microscopic episode then starts at a
    cell that follows from its input, so that whoever plays has the same starts.
    """

    def __init__(
        self,
        log: Log,
        settings: AgentSettings,
        policy: str,
        *,
        inputs: Cells,
        side_by_side: int,
        rng: np.random.Generator,
        once: bool = False,
    ) -> None:
        self.log, self.settings, self.policy, self._rng, self._inputs = log, settings, policy, rng, inputs
        self.space = log.problem.space
        self.count, self._once = side_by_side, once
        shape = self.space.shape
        self.by_axis = settings.kind == "macro" and not settings.joint and self.space.size > ONE_STEP
        wide = log.problem.contexts(inputs[:1]).shape[1]
        self._places = sum(shape) if self.by_axis or settings.kind == "micro" else 0
        self.observation_space = gym.spaces.Box(0.0, 1.0, (wide + self._places,), np.float32)
        self.action_space: gym.spaces.Space[Any]
        if settings.kind == "micro":
            self.action_space = gym.spaces.Discrete(2 * len(shape))
        elif settings.joint:
            self.action_space = gym.spaces.MultiDiscrete(list(shape))
        else:
            self.action_space = gym.spaces.Discrete(max(shape) if self.by_axis else self.space.size)
        self._input = np.zeros(side_by_side, np.int64)
        self._context = np.zeros((side_by_side, wide), np.float32)
        self._cell = np.zeros((side_by_side, len(shape)), np.int64)
        self._step = np.zeros(side_by_side, np.int64)
        self._starts = np.concatenate([[0], np.cumsum(shape)[:-1]])
        self._next: list[int] = [int(i) for i in inputs[::-1]] if once else []
        self.live = np.ones(side_by_side, bool)

    def begin(self, which: NDArray[np.bool_] | None = None) -> Obs:
        """Begin those episodes anew, or all."""
        ended = np.flatnonzero(np.ones(self.count, bool) if which is None else which)
        if len(ended):
            left = len(self._next) if self._once else self.count
            fresh, self.live[ended[left:]] = ended[:left], False
            self._cell[ended], self._step[ended] = -1, 0
            if len(fresh):
                self._input[fresh] = [self._draw() for _ in fresh]
                self._context[fresh] = self.log.problem.contexts(self._input[fresh])
            if self.settings.kind == "micro":
                self._cell[ended] = self._starts_at(self._input[ended])
        return self.seen()

    def _draw(self) -> int:
        if not self._next:
            self._next = [int(i) for i in self._rng.permutation(self._inputs)]
        return self._next.pop()

    def _starts_at(self, inputs: Cells) -> Cells:
        shape = np.asarray(self.space.shape)
        if not self._once:
            return self._rng.integers(0, shape, (len(inputs), len(shape)))
        return np.stack([np.random.default_rng([START, int(i)]).integers(0, shape) for i in inputs])

    def seen(self) -> Obs:
        """What the agents see: the input, and where there are several steps, the values chosen so far."""
        if not self._places:
            return self._context.copy()
        places = np.zeros((self.count, self._places), np.float32)
        for axis in range(self._cell.shape[1]):
            set_ = np.flatnonzero(self._cell[:, axis] >= 0)
            places[set_, self._starts[axis] + self._cell[set_, axis]] = 1
        return np.concatenate([self._context, places], axis=1)

    def step(self, actions: NDArray[np.int64]) -> Steps:
        """One step of every episode; `Spent` if there are no queries left for it."""
        if not self._move(np.asarray(actions)):
            seen, nothing = self.seen(), np.zeros(self.count)
            return Steps(seen, nothing, nothing > 0, seen.copy(), nothing + np.nan, np.full(self.count, -1))
        live = np.flatnonzero(self.live)
        if self.log.room < len(live):
            raise Spent
        cells = np.asarray(np.ravel_multi_index(tuple(self._cell[live].T), self.space.shape), np.int64)
        answers = self.log.ask_on(self.policy, cells, self._input[live])
        self._step += 1
        failed, gained = np.full(self.count, np.nan), np.zeros(self.count)
        failed[live], gained[live] = answers.failed, reward(answers)
        asked = np.where(self.live, self._input, -1)
        if self.settings.kind == "micro":
            gained = np.where(failed == 1, gained, 0.0) - self.settings.cost
            ended = self.live & ((failed == 1) | (self._step >= self.settings.longest))
        else:
            ended = np.ones(self.count, bool)
        last = self.seen()
        return Steps(self.begin(ended), gained, ended, last, failed, asked)

    def _move(self, actions: NDArray[np.int64]) -> bool:
        """Change the cells; whether they are to be asked now."""
        shape = self.space.shape
        if self.settings.kind == "micro":
            rows, axis, up = np.arange(self.count), actions // 2, actions % 2 == 1
            n = np.asarray(shape)[axis]
            moved = self._cell[rows, axis] + np.where(up, 1, -1)
            around = np.array([a.metric != "ordered" for a in self.space.axes])[axis]
            self._cell[rows, axis] = np.where(around, moved % n, np.clip(moved, 0, n - 1))
            return True
        if not self.by_axis:
            self._cell[:] = actions if self.settings.joint else self.space.grid[actions]
            return True
        at = int((self._cell[0] >= 0).sum())  # all episodes are at the same axis
        self._cell[:, at] = actions % shape[at]
        return at == len(shape) - 1


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


def build(
    log: Log, rng: np.random.Generator, settings: AgentSettings, *, inputs: Cells, policy: str, reserve: int
) -> tuple[Any, int]:
    """A fresh model, and how many steps it learns for; its training will leave `reserve` queries."""
    side = min(settings.side_by_side, max(1, (log.room - reserve) // 8))
    episodes = Episodes(log, settings, policy, inputs=inputs, side_by_side=side, rng=rng)
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
    if settings.algorithm == "ppo":
        gamma, steps = 0.0 if one_step else 0.95, max(2, 256 // side)
        ppo = PPO("MlpPolicy", env, n_steps=steps, batch_size=64, gamma=gamma, ent_coef=0.01, **common)
        return ppo, 1 << 40
    dqn = DQN(
        "MlpPolicy", env, gamma=0.0 if one_step else 0.98, buffer_size=max(planned, 1000),
        learning_starts=4 * side * steps_per_query, batch_size=128, train_freq=1,
        gradient_steps=settings.updates, target_update_interval=8 * side,
        exploration_fraction=settings.explore, exploration_final_eps=0.05, **common,
    )  # fmt: skip
    return dqn, planned
