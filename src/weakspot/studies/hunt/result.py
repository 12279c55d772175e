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

    Both are ids of hypotheses; trials of the changed one were drawn. `kind` is what was done ("negate",
    "colour", …), `after` is "" if nothing took the place of the words before.
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
    """The race, in the order of the proposals; edits, best finding first; files left out.

    Until the race is over, () stands for it. The files are of the source's folder or pictures to begin with.
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
