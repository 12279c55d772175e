"""Deep reinforcement learning over a concept space: DQN and PPO of Stable-Baselines3.

The published agents began to learn at a step that their runs never reached, and their 'landscapes' were a
random network's preference. Here learning begins after a few batches, and every run compares the agent with
its own untrained copy, and with random cells, on inputs that no training saw (see `compare`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from weakspot.core import WeakspotError
from weakspot.studies.map.result import Compared
from weakspot.studies.map.search.compare import compare
from weakspot.studies.map.search.problem import EnvSettings, Log

#: Fewer queries teach nothing; with those of the comparison it is
TRAINED: Final = 358
#: so many in all, at most.
LEAST: Final = 512
#: Inputs that are told apart, at most.
MOST: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent learns.

    Of the budget at most the part `compared` goes to the comparison, on the part `held_out` of the distinct
    inputs, which only the comparison shows. Random actions fall from all to few over the part `explore` of a
    DQN's training.
    """

    algorithm: str = "dqn"
    kind: str = "macro"
    side_by_side: int = 32  # episodes, and so queries, at once
    width: int = 128  # of the two hidden layers
    rate: float = 1e-3
    updates: int = 8  # DQN: gradient steps for each batch of queries
    explore: float = 0.4
    compared: float = 0.3
    held_out: float = 0.4


#: By the names of the searches. Macroscopic PPO sets all axes at once.
AGENTS: Final = {
    "dqn": AgentSettings(),
    "ppo": AgentSettings(algorithm="ppo"),
    "dqn-micro": AgentSettings(kind="micro"),
    "ppo-micro": AgentSettings(algorithm="ppo", kind="micro"),
}


def held_out(log: Log, settings: AgentSettings) -> int:
    """How many of the distinct inputs only the comparison shows."""
    return max(1, int(settings.held_out * min(log.problem.distinct, MOST)))


def reserve(log: Log, room: int, settings: AgentSettings) -> int:
    """Queries of `room` that the comparison gets: no more than it takes to show what is held out."""
    rounds = max(1, min(log.problem.inputs, MOST) // min(log.problem.distinct, MOST))
    needed = 3 * EnvSettings(kind=settings.kind).queries * held_out(log, settings) * rounds
    return min(int(settings.compared * room), needed)


def part(log: Log, share: float, name: str = "dqn") -> int:
    """The queries of an agent that is given this share of the budget; what it cannot use is left over."""
    settings = AGENTS[name]
    room = int(share * log.budget)
    return room - int(settings.compared * room) + reserve(log, room, settings)


def learn(
    log: Log, rng: np.random.Generator, settings: AgentSettings | None = None, *, policy: str = "dqn"
) -> Compared:
    """Train the agent of a policy's name within the log's budget, then compare it."""
    settings = settings or AGENTS[policy]
    kept = reserve(log, log.room, settings)
    if log.room - kept < TRAINED:
        raise WeakspotError(
            f"{log.room:,} queries are too few for an agent to learn from",
            fix=f"give {LEAST:,}, or use thompson",
        )
    distinct = min(log.problem.distinct, MOST)
    if distinct < 2:
        raise WeakspotError(
            "there is one input only, so none can be held out to compare an agent with its copy",
            fix="give more inputs, or use thompson",
        )
    try:
        from weakspot.studies.map.search.agent import build
    except ImportError as error:
        raise WeakspotError(
            f"a learned search needs a library that is missing: {error}", fix="pip install 'weakspot[torch]'"
        ) from error

    order, out = rng.permutation(distinct), held_out(log, settings)
    # Where an input can be shown several times, changed anew, all its showings are on the same side.
    steps = np.arange(0, min(log.problem.inputs, MOST), distinct)[:, None]
    shown, kept_out = ((steps + some).ravel() for some in (order[out:], order[:out]))
    with _one_thread():
        agent = build(log, rng, settings, inputs=shown, name=policy, reserve=kept)
        before = copy.deepcopy(agent.model.policy)
        agent.train()
        choosers = {
            f"{policy} trained": agent.chooser(agent.model.policy),
            f"{policy} untrained": agent.chooser(before),
            "random": None,
        }
        wide = settings.side_by_side
        return compare(log, rng, choosers, kept_out, settings=agent.episodes, side_by_side=wide)


@contextmanager
def _one_thread() -> Iterator[None]:
    """The networks are tiny: one thread is faster, and the same numbers come out on every machine's cores."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
