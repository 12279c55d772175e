"""What a study tells the person who waits for it. Silent by default; the CLI shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from weakspot.core import Hypothesis, Tally


class State(StrEnum):
    """How a hypothesis stands in a race."""

    OPEN = "open"
    AHEAD = "ahead"
    BEHIND = "behind"
    CONFIRMED = "confirmed"
    UNDRAWN = "could not be drawn"


@dataclass(frozen=True, slots=True)
class Lane:
    """One hypothesis under test: its words, counts and state.

    Attributes:
        answer: If given, only this wrong answer counts as a failure.
        against: The baseline it is compared with, where it has one of its own.
        within: A broader hypothesis that it is compared with too.
    """

    hypothesis: Hypothesis
    tally: Tally
    state: State = State.OPEN
    log_evidence: float = 0.0
    answer: str = ""
    against: Hypothesis | None = None
    within: Hypothesis | None = None


class Watch:
    """Receives what happens; every method may be overridden, none needs to be."""

    def began(self, folder: str) -> None:
        """The run's folder is there; from now on it can be resumed."""

    def say(self, line: str) -> None:
        """A line worth keeping on the screen."""

    def progress(self, words: str, done: int, total: int) -> None:
        """How much of some work is done that draws no trials: what it is, how much, and of how much."""

    def update(self, phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> None:
        """The present state: which phase, the hypotheses under test, what was spent."""
