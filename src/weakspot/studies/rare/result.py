"""What `rare` finds: a rate with its interval, and what the failures look like."""

from __future__ import annotations

from weakspot.study.study import Result, Value


class Counted(Value):
    """Independent draws, and how many of them failed."""

    n: int
    failures: int


class Common(Value):
    """Words that are said of failures more often than of other cases.

    Attributes:
        words: Sentences.
        failing: The share of the failures of which they are said.
        usual: The share of independent draws.
    """

    words: str
    failing: float
    usual: float


class Example(Value):
    """A failing case: a trial of the result's hypothesis."""

    index: int
    caption: str
    answer: str | None
    blob: str | None


class RareResult(Result):
    """How often the failure happens.

    Attributes:
        rate: The estimate, between `low` and `high` (95 %).
        ceiling: An upper bound by the independent draws alone, which holds whatever splitting missed.
        method: "splitting" or "plain".
        agree: Whether the repeats of the splitting agree with each other.
        note: What is to be known of the method.
        images: How many were evaluated.
        independent: Draws from the words as they are.
        repeats: The estimate of each repeat.
        ladder: Per level of the splitting, the margin and the share that got past it.
        roots: From how many first draws the failures of a repeat descend, on average.
        hypothesis: Id of the one whose trials the examples are.
        found: How many failing cases were found.
        answers: What was said instead, with its share of the failures found.
        common: What the failures have in common.
        examples: Some of the failing cases.
    """

    rate: float
    low: float
    high: float
    ceiling: float
    method: str
    agree: bool
    note: str
    images: int
    independent: Counted
    repeats: tuple[float, ...]
    ladder: tuple[float, ...]
    roots: float
    hypothesis: str
    found: int
    answers: tuple[tuple[str, float], ...]
    common: tuple[Common, ...]
    examples: tuple[Example, ...]
