"""A learned agent against its own untrained copy and random cells, on inputs that its training did not show.

Each input is shown to each of the three once: to ask the same cell and input again tells nothing new, and to
count it again would make chance look like a win. A microscopic episode counts as one, whatever it takes, and
begins at the same cell for all three. The test is over inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Rate
from weakspot.stats.clustered import clustered_rate
from weakspot.stats.contrast import sign_flip
from weakspot.studies.map.result import Compared
from weakspot.studies.map.search.problem import Cells, EnvSettings, Log

#: From what is seen to actions.
Chooser = Callable[[NDArray[np.float32]], NDArray[np.int64]]
#: A win has p-values below this.
ALPHA: Final = 0.01


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
        """Failures per query of each input."""
        return {int(i): float(self.failed[self.inputs == i].mean()) for i in np.unique(self.inputs)}


def play(
    log: Log,
    choose: Chooser | None,
    inputs: Cells,
    *,
    settings: EnvSettings,
    side_by_side: int,
    rng: np.random.Generator,
) -> Played:
    """Play every input once, as far as there is room; without a chooser at random."""
    from weakspot.studies.map.search.environment import Episodes, Spent

    side = max(1, min(side_by_side, len(inputs)))
    episodes = Episodes(log, inputs=inputs, side_by_side=side, rng=rng, settings=settings, once=True)
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
    *,
    settings: EnvSettings,
    side_by_side: int = 32,
) -> Compared:
    """Let three play the same inputs, as many as there is room for: an agent, its untrained copy, chance.

    Choosers come in this order, by the name that their queries are kept under. No training showed the inputs.
    """
    some = inputs[: log.room // (len(choosers) * settings.queries)]
    played = [
        play(log, choose, some, settings=replace(settings, policy=who), side_by_side=side_by_side, rng=rng)
        for who, choose in choosers.items()
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
