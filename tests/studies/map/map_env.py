"""Episodes as gymnasium wants an environment: one at a time."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from weakspot.studies.map.search.agent import Episodes, Obs, Spent
from weakspot.studies.map.search.problem import Cells, Log
from weakspot.studies.map.search.rl import AgentSettings


class MapEnv(gym.Env[Obs, Any]):
    """One episode at a time, as gymnasium wants it; truncated where the log has no room."""

    def __init__(
        self, log: Log, *, inputs: Cells | None = None, settings: AgentSettings | None = None
    ) -> None:
        self._log, self._settings = log, settings or AgentSettings()
        self._inputs = np.arange(log.problem.inputs) if inputs is None else inputs
        self._episodes = self._fresh(np.random.default_rng(0))
        self.observation_space = self._episodes.observation_space
        self.action_space = self._episodes.action_space

    def _fresh(self, rng: np.random.Generator) -> Episodes:
        return Episodes(self._log, self._settings, "agent", inputs=self._inputs, side_by_side=1, rng=rng)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Obs, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._episodes = self._fresh(np.random.default_rng(seed))
        return self._episodes.begin()[0], {}

    def step(self, action: Any) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        try:
            done = self._episodes.step(np.asarray(action)[None])
        except Spent:
            return self._episodes.seen()[0], 0.0, False, True, {"spent": True}
        failed = float(done.failed[0])
        return done.last[0], float(done.reward[0]), bool(done.ended[0]), False, {"failed": failed == 1.0}
