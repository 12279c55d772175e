"""Stop rules: when enough has been drawn of one hypothesis. Rules are joined by `|`: either is enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from weakspot.core import Tally
from weakspot.engine.budget import FAR, Spending
from weakspot.stats import log_evidence, log_evidence_below


@dataclass(frozen=True, slots=True)
class Rule:
    """A stop rule.

    Attributes:
        met: Whether to stop, given the counts and what the run has spent.
        room: How many more draws it allows at most, so that a fixed number is not overshot.
    """

    words: str
    met: Callable[[Tally, Spending], bool]
    room: Callable[[Tally, Spending], int] = lambda *_: FAR

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            f"{self.words}, or {other.words}",
            lambda tally, gone: self.met(tally, gone) or other.met(tally, gone),
            lambda tally, gone: min(self.room(tally, gone), other.room(tally, gone)),
        )

    def __and__(self, other: Rule) -> Rule:
        return Rule(
            f"{self.words} and {other.words}",
            lambda tally, gone: self.met(tally, gone) and other.met(tally, gone),
            lambda tally, gone: max(self.room(tally, gone), other.room(tally, gone)),
        )


def drawn(n: int) -> Rule:
    """A fixed number of trials."""
    return Rule(f"{n:,} trials", lambda t, _: t.drawn >= n, lambda t, _: max(n - t.drawn, 0))


def failures(r: int) -> Rule:
    """Until r failures are seen; at the rate seen so far it asks for as many draws as they should take."""

    def room(tally: Tally, _: Spending) -> int:
        return max(32, math.ceil((r - tally.failures) * (tally.n + 1) / (tally.failures + 1)))

    return Rule(f"{r:,} failures", lambda t, _: t.failures >= r, room)


def decided(against: Tally, *, alpha: float = 0.05, lift: float = 2.0) -> Rule:
    """Until the rate is shown to exceed the baseline's, or to be less than `lift` times it."""
    enough = math.log(1 / alpha)

    def met(tally: Tally, _: Spending) -> bool:
        counts = (tally.failures, tally.n, against.failures, against.n)
        return log_evidence(*counts) >= enough or log_evidence_below(*counts, factor=lift) >= enough

    return Rule("a decision against the baseline", met)


def spent(share: float) -> Rule:
    """Until this part of the run's budget is gone."""
    return Rule(
        f"{share:.0%} of the budget",
        lambda _, gone: gone.share() >= share,
        lambda _, gone: min(gone.room(share), gone.forecast(share)),
    )
