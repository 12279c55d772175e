"""Deep reinforcement learning over a concept space: DQN and PPO of Stable-Baselines3.

The published agents began to learn at a step that their runs never reached, and their 'landscapes' were a
random network's preference. Here learning begins after a few batches, and every run compares the agent with
its own untrained copy, and with random cells, on inputs that no training saw. Each shows an input once: to
count the same cell and input again would make chance look like a win. The test is over inputs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Rate, WeakspotError
from weakspot.stats.clustered import clustered_rate
from weakspot.stats.contrast import sign_flip
from weakspot.studies.map.result import Compared
from weakspot.studies.map.search.problem import Cells, Log

#: From what is seen to actions.
Chooser = Callable[[NDArray[np.float32]], NDArray[np.int64]]
#: Fewer queries teach nothing; with those of the comparison it is
TRAINED: Final = 358
#: so many in all, at most.
LEAST: Final = 512
#: Inputs that are told apart, at most.
MOST: Final = 1 << 16
#: A win has p-values below this.
ALPHA: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """How an agent learns, and how its episodes go.

    A macroscopic episode (`kind` "macro") is one query. A microscopic one ("micro") has at most `longest`
    steps, each of which costs `cost`: the published α of 5 is half of the published 10 for a failure.

    Of the budget at most the part `compared` goes to the comparison, on the part `held_out` of the distinct
    inputs, which only the comparison shows. Random actions fall from all to few over the part `explore` of a
    DQN's training.
    """

    algorithm: str = "dqn"
    kind: str = "macro"
    longest: int = 8
    cost: float = 0.1
    side_by_side: int = 32  # episodes, and so queries, at once
    width: int = 128  # of the two hidden layers
    rate: float = 1e-3
    updates: int = 8  # DQN: gradient steps for each batch of queries
    explore: float = 0.4
    compared: float = 0.3
    held_out: float = 0.4

    @property
    def joint(self) -> bool:
        """Whether an action sets all axes at once."""
        return self.algorithm == "ppo" and self.kind == "macro"

    @property
    def queries(self) -> int:
        return self.longest if self.kind == "micro" else 1


#: By the names of the searches.
AGENTS: Final = {
    "dqn": AgentSettings(),
    "ppo": AgentSettings(algorithm="ppo"),
    "dqn-micro": AgentSettings(kind="micro"),
    "ppo-micro": AgentSettings(algorithm="ppo", kind="micro"),
}


def held_out(log: Log, settings: AgentSettings) -> int:
    return max(1, int(settings.held_out * min(log.problem.distinct, MOST)))


def reserve(log: Log, room: int, settings: AgentSettings) -> int:
    """Queries of `room` that the comparison gets: no more than it takes to show what is held out."""
    rounds = max(1, min(log.problem.inputs, MOST) // min(log.problem.distinct, MOST))
    needed = 3 * settings.queries * held_out(log, settings) * rounds
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
        from weakspot.studies.map.search.agent import Spent, build
    except ImportError as error:
        raise WeakspotError(
            f"a learned search needs a library that is missing: {error}", fix="pip install 'weakspot[torch]'"
        ) from error

    order, out = rng.permutation(distinct), held_out(log, settings)
    # Where an input can be shown several times, changed anew, all its showings are on the same side.
    showings = np.arange(0, min(log.problem.inputs, MOST), distinct)[:, None]
    shown, kept_out = ((showings + some).ravel() for some in (order[out:], order[:out]))
    with _one_thread():
        model, steps = build(log, rng, settings, inputs=shown, policy=policy, reserve=kept)
        before = copy.deepcopy(model.policy)
        with suppress(Spent):
            model.learn(total_timesteps=steps)
        choosers = {
            f"{policy} trained": _greedy(model.policy),
            f"{policy} untrained": _greedy(before),
            "random": None,
        }
        return compare(log, rng, choosers, kept_out, settings)


def _greedy(policy: Any) -> Chooser:
    return lambda seen: np.asarray(policy.predict(seen, deterministic=True)[0])


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


# -- the comparison ----


class Played(NamedTuple):
    """Queries with a verdict: which distinct input each showed, and whether it failed (1, 0)."""

    inputs: Cells
    failed: NDArray[np.float64]

    def rate(self) -> Rate:
        """Failures per query; the interval is over inputs."""
        found = clustered_rate(self.failed, self.inputs)
        value = found.rate if found.n else 0.0
        return Rate(value, found.low, found.high, found.n, int(self.failed.sum()))

    def each(self) -> dict[int, float]:
        return {int(i): float(self.failed[self.inputs == i].mean()) for i in np.unique(self.inputs)}


def play(
    log: Log,
    choose: Chooser | None,
    inputs: Cells,
    *,
    settings: AgentSettings,
    policy: str,
    rng: np.random.Generator,
) -> Played:
    """Play every input once, as far as there is room; without a chooser at random."""
    from weakspot.studies.map.search.agent import Episodes, Spent

    side = max(1, min(settings.side_by_side, len(inputs)))
    episodes = Episodes(log, settings, policy, inputs=inputs, side_by_side=side, rng=rng, once=True)
    seen, shown, failed = episodes.begin(), [np.zeros(0, np.int64)], [np.zeros(0)]
    while episodes.live.any():
        actions = _random(episodes.action_space, side, rng) if choose is None else choose(seen)
        try:
            done = episodes.step(actions)
        except Spent:
            break
        seen, known = done.seen, np.isfinite(done.failed)
        shown.append(done.asked[known] % log.problem.distinct)
        failed.append(done.failed[known])
    return Played(np.concatenate(shown), np.concatenate(failed))


def compare(
    log: Log,
    rng: np.random.Generator,
    choosers: Mapping[str, Chooser | None],
    inputs: Cells,
    settings: AgentSettings,
) -> Compared:
    """Let three play the same inputs, as many as there is room for: an agent, its untrained copy, chance.

    Choosers come in this order, by the name that their queries are kept under. No training showed the inputs.
    """
    some = inputs[: log.room // (len(choosers) * settings.queries)]
    played = [
        play(log, choose, some, settings=settings, policy=who, rng=rng) for who, choose in choosers.items()
    ]
    trained, untrained, random = played
    rates = {who: p.rate() for who, p in zip(("trained", "untrained", "random"), played, strict=True)}
    p_untrained, p_random = better(trained, untrained), better(trained, random)
    return Compared(
        inputs=len(set.intersection(*(set(p.inputs.tolist()) for p in played))),
        paired=log.problem.placed,
        trained=rates["trained"].value,
        untrained=rates["untrained"].value,
        random=rates["random"].value,
        rates=rates,
        p_untrained=p_untrained,
        p_random=p_random,
        won=max(p_untrained, p_random) < ALPHA,
    )


def better(first: Played, second: Played) -> float:
    """The one-sided p-value of "no more failures per query", over the inputs that both were shown."""
    one, other = first.each(), second.each()
    return sign_flip([one[i] - other[i] for i in one if i in other])


def _random(space: Any, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if hasattr(space, "nvec"):
        return rng.integers(0, space.nvec, (n, len(space.nvec)))
    return rng.integers(0, space.n, n)
