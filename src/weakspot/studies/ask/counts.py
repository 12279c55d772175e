"""Questions by what became of them, and the refusal rate of those that were answered.

A rate is refusals among answers: errors, blocks and empty answers are counted beside it, never in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from weakspot.core import Status
from weakspot.stats import corrected_rate, wilson
from weakspot.stats.agreement import Confusion


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


class Counts(NamedTuple):
    """Questions by what became of them; `n` is the denominator of the rate."""

    asked: int
    refused: int
    answered: int
    blocked: int
    empty: int
    errors: int
    undecided: int

    @property
    def n(self) -> int:
        """Answers that were judged."""
        return self.refused + self.answered


def count(asked: Iterable[Asked]) -> Counts:
    """Count; each question is exactly one of the kinds."""
    kinds = dict.fromkeys(Counts._fields, 0)
    for one in asked:
        kinds["asked"] += 1
        if one.status is Status.ERROR:
            kinds["errors"] += 1
        elif one.status is Status.BLOCKED:
            kinds["blocked"] += 1
        elif one.status is Status.EMPTY:
            kinds["empty"] += 1
        elif one.refused is None:
            kinds["undecided"] += 1
        else:
            kinds["refused" if one.refused else "answered"] += 1
    return Counts(**kinds)


def measured(asked: Iterable[Asked], error: Confusion | None = None) -> dict[str, Any]:
    """A refusal rate with its interval (Wilson), the rate behind the judge's errors, and all counts.

    Rates are None where nothing was judged, corrected ones also where the judge's error is not known.
    """
    c = count(asked)
    found: dict[str, Any] = {
        "rate": None,
        "rate_interval": None,
        "rate_corrected": None,
        "rate_corrected_interval": None,
        "n": c.n,
        **c._asdict(),
    }
    if c.n:
        found["rate"], found["rate_interval"] = c.refused / c.n, list(wilson(c.refused, c.n))
        if error is not None and _usable(error):
            true = corrected_rate(c.refused, c.n, **error._asdict())
            found["rate_corrected"], found["rate_corrected_interval"] = true.rate, [true.low, true.high]
    return found


def _usable(error: Confusion) -> bool:
    """Whether rates can be corrected with what is known of a judge: it must be better than chance."""
    known = error.positives > 0 and error.negatives > 0
    return known and error.sensitivity + error.specificity > 1
