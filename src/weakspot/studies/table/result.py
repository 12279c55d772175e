"""What `table` finds: weak spots, each with its rate on rows that did not suggest it."""

from __future__ import annotations

from typing import Annotated

from weakspot.core import Rate
from weakspot.study.language_model import LlmUse
from weakspot.study.study import ByName, Result, Value


class ExampleRow(Value):
    """A row that failed; `line` is where it stands in its file, `picture` the digest of a kept picture."""

    row: int
    line: int
    expected: str | None
    answer: str | None
    score: float | None
    text: str
    picture: str = ""


class WeakSpot(Value):
    """A confirmed statement about rows.

    Attributes:
        hypothesis: Its id in the ledger.
        says: The concepts that hold together, as people read them.
        forms: Statements that mark about the same rows.
        rows: Of the whole table, with `failures` among them.
        rate: On the half that did not suggest it, with a 95 % interval. Its low end is that of a 99 % one:
            what is shown was picked for failing often on these rows.
        elsewhere: The rate of that half's other rows.
        p: Of the test against the other rows, adjusted for the list.
        impact: The share of all failures of the table that are among its rows.
        own: The share of all failures that it adds to what the findings before it explain.
        both: The other half suggested and confirmed it too.
        label: The share of its failures that are probably the label's, with a 95 % interval; None where
            that cannot be said.
    """

    hypothesis: str
    says: tuple[str, ...]
    forms: tuple[tuple[str, ...], ...]
    rows: int
    failures: int
    rate: Annotated[Rate, ByName]
    elsewhere: Annotated[Rate, ByName]
    p: float
    impact: float
    own: float
    both: bool
    label: tuple[float, float, float] | None
    answers: tuple[tuple[str, float], ...]
    examples: tuple[ExampleRow, ...]


class Bound(Value):
    """What was looked at and not found: nothing of at least so many rows fails above `rate`, at 95 %.

    Attributes:
        groups: Of at least so many groups; 0 where rows come in none.
    """

    concepts: int
    rows: int
    groups: int
    rate: float


class TableResult(Result):
    """The weak spots of a table.

    Attributes:
        rule: What a failure is, in words.
        columns: What each column was taken for.
        left_out: Rows without a verdict: how many, and the first of them with the reason.
        concepts: How many things could be said of the rows.
        wider: Nouns had wider ones.
        label: As for a weak spot, of all failures.
        bound: Of the rows that no finding speaks of; None where they are too few.
        sampled: Of a table that was read bit by bit, the rows of the sample that suggested; 0 of others.
        tested: Of such a table, the rows that tested what the sample suggested.
        llm: What a language model did; None where there was none.
    """

    origin: str
    form: str
    rule: str
    rows: int
    failures: int
    usual: Annotated[Rate, ByName]
    columns: tuple[tuple[str, str], ...]
    left_out: int
    reasons: tuple[tuple[int, str], ...]
    notes: tuple[str, ...]
    concepts: int
    wider: bool
    label: tuple[float, float, float] | None
    spots: tuple[WeakSpot, ...]
    bound: Bound | None
    sampled: int = 0
    tested: int = 0
    llm: LlmUse | None = None
