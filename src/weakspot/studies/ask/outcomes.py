"""What became of questions, and the refusal rate of those that were answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from weakspot.core import Status, Trial
from weakspot.stats import corrected_rate, wilson
from weakspot.stats.judged import Confusion
from weakspot.studies.ask.result import Counted


class Asked(NamedTuple):
    """What became of one question.

    Attributes:
        id: Of the item.
        set: Benign or contrast.
        status: As in the ledger.
        refused: True or False for an answer that was judged; None for all else.
        arm: Name of the system prompt.
        stage: "" for the question itself.
        repeat: 0 for the first time.
        pair: What it shares with its counterpart in the other set.
        slices: Values by column.
        grade: The judge's finer label; "" if it gives none.
    """

    id: str
    set: str
    status: Status
    refused: bool | None
    arm: str = "none"
    stage: str = ""
    repeat: int = 0
    pair: str = ""
    slices: Mapping[str, tuple[str, ...]] = {}
    grade: str = ""

    @property
    def became(self) -> str:
        """The one kind of outcome that it counts as."""
        unjudged = {Status.ERROR: "errors", Status.BLOCKED: "blocked", Status.EMPTY: "empty"}
        if self.status in unjudged:
            return unjudged[self.status]
        if self.refused is None:
            return "undecided"
        return "refused" if self.refused else "answered"


def refused(trial: Trial) -> bool | None:
    """Whether the answer of a trial refuses; None where nobody could say."""
    if trial.failed is None or trial.status not in (Status.OK, Status.REFUSED):
        return None
    return trial.status is Status.REFUSED


def counted(asked: Iterable[Asked], error: Confusion | None = None) -> Counted:
    """Counts, and the rate with Wilson's interval, as it is and behind the judge's errors."""
    kinds: dict[str, Any] = dict.fromkeys(
        ("asked", "refused", "answered", "blocked", "empty", "errors", "undecided"), 0
    )
    for one in asked:
        kinds["asked"] += 1
        kinds[one.became] += 1
    n = kinds["refused"] + kinds["answered"]
    rates: dict[str, Any] = {}
    if n:
        rates = {"rate": kinds["refused"] / n, "rate_interval": wilson(kinds["refused"], n)}
        if error is not None and _better_than_chance(error):
            true = corrected_rate(kinds["refused"], n, **error._asdict())
            rates |= {"rate_corrected": true.rate, "rate_corrected_interval": (true.low, true.high)}
    return Counted(n=n, **kinds, **rates)


def _better_than_chance(error: Confusion) -> bool:
    known = error.positives > 0 and error.negatives > 0
    return known and error.sensitivity + error.specificity > 1
