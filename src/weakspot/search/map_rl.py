"""Deep reinforcement learning over a concept space: DQN and PPO of Stable-Baselines3.

The published agents began to learn at a step that their runs never reached, and their 'landscapes' were a
random network's preference. Here learning begins after a few batches, and every run compares the agent with
its own untrained copy, and with random cells, on inputs that no training saw: the same inputs for all, so the
test is paired.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.search.map_problem import Cells, Log

#: Fewer queries teach nothing.
LEAST: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent learns.

    Attributes:
        algorithm: "dqn" or "ppo".
        kind: "macro" or "micro" (see `weakspot.search.map_env`).
        side_by_side: Episodes, and so queries, at once.
        width: Of the two hidden layers.
        rate: Of learning.
        updates: DQN: gradient steps for each batch of queries.
        explore: DQN: the part of the training over which random actions fall from all to few.
        compared: The part of the budget for the comparison: a third for each of agent, copy, random.
        held_out: The part of the inputs that only the comparison shows.
    """

    algorithm: str = "dqn"
    kind: str = "macro"
    side_by_side: int = 32
    width: int = 128
    rate: float = 1e-3
    updates: int = 8
    explore: float = 0.4
    compared: float = 0.3
    held_out: float = 0.25


class Compared(NamedTuple):
    """The agent against others on the same inputs.

    Attributes:
        queries: Of each.
        trained: Failures per query.
        untrained: Of the copy as it was before training.
        random: Of cells at random.
        p_untrained: One-sided p-value of "no better than its copy" (McNemar's test, exact).
        p_random: The same against random cells.
    """

    queries: int
    trained: float
    untrained: float
    random: float
    p_untrained: float
    p_random: float

    @property
    def won(self) -> bool:
        """Whether it beat both, beyond chance."""
        return max(self.p_untrained, self.p_random) < 0.01


def learn(
    log: Log, rng: np.random.Generator, settings: AgentSettings | None = None, *, policy: str = ""
) -> Compared:
    """Train an agent within the log's budget, then compare it.

    Raises:
        WeakspotError: The budget is too small, or the library is missing.
    """
    settings = settings or AgentSettings()
    if log.room < LEAST:
        raise WeakspotError(
            f"{log.room:,} queries are too few for an agent to learn from",
            fix=f"give {LEAST:,}, or use thompson",
        )
    try:
        import torch

        from weakspot.search.map_agent import build
    except ImportError as error:
        raise WeakspotError(
            f"a learned search needs a library that is missing: {error}", fix="pip install 'weakspot[torch]'"
        ) from error

    name = policy or settings.algorithm
    inputs = rng.permutation(min(log.problem.inputs, 1 << 16))
    kept_out = max(1, int(settings.held_out * len(inputs)))
    reserve = int(settings.compared * log.room)
    with _one_thread(torch):
        agent = build(log, rng, settings, inputs=inputs[kept_out:], name=name, reserve=reserve)
        before = copy.deepcopy(agent.model.policy)
        agent.train()
        return compare(log, rng, agent, before, inputs[:kept_out], name=name)


def compare(
    log: Log, rng: np.random.Generator, agent: Any, before: Any, inputs: Cells, *, name: str
) -> Compared:
    """Agent, untrained copy and random cells on the same inputs, as many as there is room for."""
    choosers: dict[str, Callable[[int], Any] | None] = {
        name: agent.chooser(agent.model.policy),
        f"{name} untrained": agent.chooser(before),
        "random": None,
    }
    failed = {
        who: agent.play(who, choose, inputs, log.room // (3 - i), rng)
        for i, (who, choose) in enumerate(choosers.items())
    }
    trained, untrained, random = failed.values()
    return Compared(
        len(trained),
        _rate(trained),
        _rate(untrained),
        _rate(random),
        _better(trained, untrained),
        _better(trained, random),
    )


def _rate(failed: NDArray[np.float64]) -> float:
    return float(np.nanmean(failed)) if np.isfinite(failed).any() else 0.0


def _better(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The one-sided exact p-value of McNemar's test, over the inputs that both were shown."""
    from scipy.stats import binom

    n = min(len(first), len(second))
    a, b = first[:n], second[:n]
    known = np.isfinite(a) & np.isfinite(b)
    wins, losses = int(((a > b) & known).sum()), int(((b > a) & known).sum())
    return float(binom.sf(wins - 1, wins + losses, 0.5)) if wins + losses else 1.0


class _one_thread:  # noqa: N801
    """The networks are tiny: one thread is faster, and the same numbers come out on every machine's cores."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __enter__(self) -> None:
        self._before = self._torch.get_num_threads()
        self._torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        self._torch.set_num_threads(self._before)


def dqn(log: Log, rng: np.random.Generator, settings: AgentSettings | None = None) -> Compared:
    """Macroscopic DQN."""
    return learn(log, rng, settings or AgentSettings())


def ppo(log: Log, rng: np.random.Generator) -> Compared:
    """Macroscopic PPO, which sets all axes at once."""
    return learn(log, rng, AgentSettings(algorithm="ppo", rate=1e-3))


def dqn_micro(log: Log, rng: np.random.Generator) -> Compared:
    """Microscopic DQN: small steps until it fails."""
    return learn(log, rng, AgentSettings(kind="micro"), policy="dqn-micro")


__all__ = ["AgentSettings", "Compared", "compare", "dqn", "dqn_micro", "learn", "ppo"]
