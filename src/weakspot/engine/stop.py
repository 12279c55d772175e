"""When drawing stops: budgets of a run, and stop rules for one hypothesis.

Rules are joined by `|`: either is enough.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from weakspot.core import Tally, Usage, WeakspotError, check_known
from weakspot.stats import log_evidence, log_evidence_below

KINDS: Final = ("images", "calls", "tokens", "dollars", "seconds")
#: Every trial costs exactly one of these, so the last one is known before it is drawn.
COUNTED: Final = ("images", "calls")
#: More trials than any run has.
FAR: Final = 1 << 40
#: So many trials show what one costs.
UNKNOWN_COST: Final = 64
_SCALE: Final = {"": 1.0, "k": 1e3, "m": 1e6}


class BudgetSpent(Exception):
    """A limit was reached. Everything recorded so far is kept; the study reports what it has."""

    def __init__(self, what: str, limit: float) -> None:
        super().__init__(f"{what} budget of {limit:,.10g} is spent")
        self.what = what
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Budget:
    """Upper limits by kind; a kind that is not named has none."""

    limits: tuple[tuple[str, float], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read "images=20000,dollars=5"; 20k, 2e4 and 20_000 are numbers too."""
        example = "write it as images=20000 or images=20k,seconds=600"
        limits: dict[str, float] = {}
        for part in re.split(r"[,\s]+", text.strip()):
            kind, sign, amount = part.partition("=")
            if not part or not sign:
                raise WeakspotError(
                    "the budget is empty" if not part else f"{part[:60]!r} is not a budget", fix=example
                )
            check_known(kind, KINDS, f"no budget is called {kind[:60]!r}")
            match = re.fullmatch(
                r"((?:[0-9][0-9_]*)?\.?[0-9][0-9_]*(?:e[+-]?[0-9]+)?)([km]?)", amount.lower()
            )
            value = float(match[1].replace("_", "")) * _SCALE[match[2]] if match else 0.0
            if not 0 < value < 1e15 or (kind in COUNTED and value % 1):
                raise WeakspotError(f"{amount[:60]!r} is not an amount of {kind}", fix=example)
            if kind in limits:
                raise WeakspotError(f"{kind} is given twice", fix="give each kind once")
            limits[kind] = value
        return cls(tuple((k, limits[k]) for k in KINDS if k in limits))

    def __getitem__(self, kind: str) -> float:
        return dict(self.limits).get(kind, float("inf"))

    def larger(self, *, but: str = "") -> Budget:
        """Twice the limits, but for one that cannot be raised."""
        return Budget(tuple((kind, limit * (1 if kind == but else 2)) for kind, limit in self.limits))

    def __str__(self) -> str:
        return ",".join(f"{kind}={amount:.10g}" for kind, amount in self.limits)


@dataclass(slots=True)
class Spending:
    """What the trials seen so far cost; a replay of recorded trials counts the same as the first time."""

    budget: Budget
    amounts: dict[str, float] = field(default_factory=lambda: dict.fromkeys(KINDS, 0.0))

    def add(self, usage: Usage) -> None:
        self.amounts["images"] += 1
        self.amounts["calls"] += 1
        self.amounts["tokens"] += usage.tokens
        self.amounts["dollars"] += usage.dollars
        self.amounts["seconds"] += usage.seconds

    def again(self, pictures: int) -> None:
        """Count inputs that were drawn once more, for somebody to look at; no target was asked."""
        self.amounts["images"] += pictures

    def asked(self, usage: Usage) -> None:
        """Count a call of a helper, such as a language model that proposes; nothing was drawn for it."""
        self.amounts["calls"] += 1
        self.amounts["tokens"] += usage.tokens
        self.amounts["dollars"] += usage.dollars

    def affords_call(self) -> bool:
        """Whether another call of a helper may be made."""
        known = all(self.amounts[kind] < self.budget[kind] for kind in ("tokens", "dollars", "seconds"))
        return known and self.amounts["calls"] < self.budget["calls"]

    def room(self, share: float = 1.0) -> int:
        """How many more trials fit by count into a part of the budget; `FAR` where nothing limits it."""
        left = min(math.ceil(min(share * self.budget[k], FAR)) - self.amounts[k] for k in COUNTED)
        return max(int(left), 0)

    def tightest(self) -> tuple[str, float]:
        """The limit on counts that is reached first, with its amount."""
        return min(((k, self.budget[k]) for k in COUNTED), key=lambda pair: pair[1])

    def forecast(self, share: float) -> int:
        """How many more trials fit into a part of the budget, if they cost on average what they did so far.

        For limits on what is known only afterwards (tokens, dollars, seconds). `UNKNOWN_COST` before the
        first trial; at least one; `FAR` where nothing limits it.
        """
        kinds = [k for k, _ in self.budget.limits if k not in COUNTED]
        if kinds and not self.amounts["images"]:
            return UNKNOWN_COST
        spent = [(share * self.budget[k] - self.amounts[k], self.amounts[k]) for k in kinds]
        trials = [left / gone * self.amounts["images"] for left, gone in spent if gone > 0]
        return max(int(min(trials, default=FAR)), 1)

    def share(self) -> float:
        """The part of the budget that is gone, by the kind of which most is gone."""
        return max((self.amounts[k] / limit for k, limit in self.budget.limits), default=0.0)

    def check(self) -> None:
        """Raise if a limit that is only known afterwards has been reached."""
        for kind in ("tokens", "dollars", "seconds"):
            if self.amounts[kind] >= self.budget[kind]:
                raise BudgetSpent(kind, self.budget[kind])


@dataclass(frozen=True, slots=True)
class StopRule:
    """A stop rule.

    Attributes:
        met: Whether to stop, given the counts and what the run has spent.
        room: How many more draws it allows at most, so that a fixed number is not overshot.
    """

    words: str
    met: Callable[[Tally, Spending], bool]
    room: Callable[[Tally, Spending], int] = lambda *_: FAR

    def __or__(self, other: StopRule) -> StopRule:
        return StopRule(
            f"{self.words}, or {other.words}",
            lambda tally, gone: self.met(tally, gone) or other.met(tally, gone),
            lambda tally, gone: min(self.room(tally, gone), other.room(tally, gone)),
        )

    def __and__(self, other: StopRule) -> StopRule:
        return StopRule(
            f"{self.words} and {other.words}",
            lambda tally, gone: self.met(tally, gone) and other.met(tally, gone),
            lambda tally, gone: max(self.room(tally, gone), other.room(tally, gone)),
        )


def drawn(n: int) -> StopRule:
    """A fixed number of trials."""
    return StopRule(f"{n:,} trials", lambda t, _: t.drawn >= n, lambda t, _: max(n - t.drawn, 0))


def failures(r: int) -> StopRule:
    """Until r failures are seen; at the rate seen so far it asks for as many draws as they should take."""

    def room(tally: Tally, _: Spending) -> int:
        return max(32, math.ceil((r - tally.failures) * (tally.n + 1) / (tally.failures + 1)))

    return StopRule(f"{r:,} failures", lambda t, _: t.failures >= r, room)


def decided(against: Tally, *, alpha: float = 0.05, lift: float = 2.0) -> StopRule:
    """Until the rate is shown to exceed the baseline's, or to be less than `lift` times it."""
    enough = math.log(1 / alpha)

    def met(tally: Tally, _: Spending) -> bool:
        counts = (tally.failures, tally.n, against.failures, against.n)
        return log_evidence(*counts) >= enough or log_evidence_below(*counts, factor=lift) >= enough

    return StopRule("a decision against the baseline", met)


def spent(share: float) -> StopRule:
    """Until this part of the run's budget is gone."""
    return StopRule(
        f"{share:.0%} of the budget",
        lambda _, gone: gone.share() >= share,
        lambda _, gone: min(gone.room(share), gone.forecast(share)),
    )
