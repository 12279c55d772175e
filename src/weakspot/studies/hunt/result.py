"""What `hunt` decided, beside the findings in the ledger's own table."""

from __future__ import annotations

from typing import ClassVar

from weakspot.study.study import Result, Value


class Raced(Value):
    """How a hypothesis came out of the race: "ahead", "behind", "open", …"""

    hypothesis: str
    state: str


class Edited(Value):
    """A finding with some of its words changed, so as to see what the failure depends on.

    Attributes:
        finding: Id of the finding's hypothesis.
        hypothesis: Id of the changed one, whose trials were drawn.
        kind: What was done: "negate", "colour", …
        after: What took the place of the words before; "" if nothing did.
    """

    finding: str
    hypothesis: str
    kind: str
    before: str
    after: str


class Skipped(Value):
    """A file that could not be used, and why."""

    name: str
    reason: str


class HuntResult(Result):
    """The race, the edits, the files that were left out.

    Attributes:
        race: In the order in which the hypotheses were proposed; () until the race is over.
        edits: Of the confirmed findings, best finding first.
        skipped: Of the source's folder, and of the pictures to begin with.
    """

    race: tuple[Raced, ...] = ()
    edits: tuple[Edited, ...] = ()
    skipped: tuple[Skipped, ...] = ()


class TriedWords(Value):
    """Words that a person brought: the ids of the text and of its baseline, and what was shown of it."""

    hypothesis: str
    baseline: str
    verdict: str


class Tries(Result):
    """What people tried on a hunt, in the order in which they began; see `weakspot try`."""

    key: ClassVar[str] = "tries"

    rows: tuple[TriedWords, ...] = ()
