"""The words of the house: hypothesis, case, output, verdict, trial, tally, finding.

All are frozen values. Their ids and seeds follow from their content alone, so the same words mean the
same thing on any machine, with any number of workers, today and after a crash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:  # the list of commands is shown without it
    import numpy as np
    from numpy.typing import NDArray
    from pydantic import TypeAdapter


class Status(StrEnum):
    """What became of a question to the target. Only `OK` and `REFUSED` are answers of the model.

    `INVALID` is said of the case: it does not show what it should, so the answer counts neither way.
    """

    OK = "ok"
    REFUSED = "refused"
    BLOCKED = "blocked"
    EMPTY = "empty"
    ERROR = "error"
    INVALID = "invalid"


class Stage(IntEnum):
    """Which block of indices a trial belongs to.

    A stage owns the indices `[stage << 32, (stage + 1) << 32)`, so draws for confirmation are fresh by
    construction and do not depend on how many draws exploration took.
    """

    EXPLORE = 0
    CONFIRM = 1

    @property
    def start(self) -> int:
        """The first index of this stage."""
        return int(self) << 32

    @classmethod
    def of(cls, index: int) -> Stage:
        return cls(index >> 32)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Words, and concept values where there are any, that describe a set of inputs.

    Attributes:
        text: What the source draws from, e.g. "a realistic photograph of a fly (insect). it is on a flower."
        concepts: Named values for studies over a concept space; part of the identity.
        origin: How it came about ("baseline", "caption", "person", …). Not part of the identity.
        parent: Id of the hypothesis it was derived from. Not part of the identity.
        id: Sixteen hexadecimal digits that follow from the text and the concepts.
    """

    text: str
    concepts: tuple[tuple[str, str], ...] = ()
    origin: str = field(default="", compare=False)
    parent: str | None = field(default=None, compare=False)
    id: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # A lone surrogate is not Unicode text and could be stored nowhere; its escape can.
        object.__setattr__(self, "text", self.text.encode("utf-8", "backslashreplace").decode())
        content = json.dumps([self.text, self.concepts], ensure_ascii=False, separators=(",", ":"))
        object.__setattr__(self, "id", hashlib.sha256(content.encode()).hexdigest()[:16])

    def beyond(self, base: Hypothesis | None) -> str:
        """What it adds to another's words; all of its own where it adds none."""
        return self.text.removeprefix(base.text if base else "").strip() or self.text


def case_seed(run_seed: int, hypothesis: Hypothesis, index: int) -> int:
    """The seed (63 bits) of the case at `index`; follows from these three alone."""
    content = f"{run_seed}:{hypothesis.id}:{index}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big") >> 1


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One input with what is expected of it, drawn from a hypothesis at an index.

    Attributes:
        index: Its place in the hypothesis' endless row of draws.
        seed: See `case_seed`.
        input: What the target is shown; for images an RGB array of uint8, height × width × 3.
        expected: The right answer, e.g. a label.
        caption: What the source knows to be true of the input, in short sentences; "" if it knows nothing.
    """

    hypothesis: Hypothesis
    index: int
    seed: int
    input: Any
    expected: str
    caption: str = ""


class Scores(NamedTuple):
    """A classifier's answer for one input: one probability per label.

    Attributes:
        labels: Shared by all outputs of a target.
        values: Probabilities, in the order of `labels`.
    """

    labels: tuple[str, ...]
    values: NDArray[np.float32]

    def top(self, k: int) -> list[tuple[str, float]]:
        """The k most probable labels, best first; ties go to the earlier label."""
        import numpy as np

        order = np.argsort(-self.values, kind="stable")[:k]
        return [(self.labels[i], float(self.values[i])) for i in order]

    def of(self, label: str) -> float:
        return float(self.values[self.labels.index(label)])


class Usage(NamedTuple):
    """What one trial cost beyond the call itself. The target says tokens and dollars, the engine seconds."""

    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0


FREE: Final = Usage()


@dataclass(frozen=True, slots=True, eq=False)
class Output:
    """What the target answered. An error carries no answer: `status` and `detail` say what happened."""

    answer: str | None
    scores: Scores | None = None
    status: Status = Status.OK
    detail: str = ""
    usage: Usage = FREE


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the target failed; None where that cannot be said (an error is never a failure).

    Attributes:
        failed: True, False or None. Of an invalid case, what would have been said were it valid.
        score: How badly, where the judge has a measure; larger is worse.
        status: Copied from the output, or set by the judge.
    """

    failed: bool | None
    score: float | None = None
    status: Status = Status.OK
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """One row of the ledger: a case, the output and the verdict, as they are kept.

    Attributes:
        top: The most probable labels with their probabilities, best first; empty without scores.
        blob: Digest of the kept input, where it was kept as evidence.
    """

    hypothesis: str
    index: int
    status: Status
    failed: bool | None
    score: float | None
    expected: str
    answer: str | None
    top: tuple[tuple[str, float], ...] = ()
    caption: str = ""
    detail: str = ""
    blob: str | None = None
    usage: Usage = FREE


class Tally(NamedTuple):
    """Counts of one hypothesis.

    Attributes:
        n: Trials with a verdict: the denominator.
        failures: Of those, failed.
        errors: Trials that ended in an error; outside the denominator.
        undecided: Trials without error whose verdict could not be given; outside the denominator.
        invalid: Trials whose case did not show what it should; outside the denominator.
        doubted: Of the invalid ones, those that would have counted as failures.
    """

    n: int = 0
    failures: int = 0
    errors: int = 0
    undecided: int = 0
    invalid: int = 0
    doubted: int = 0

    @property
    def rate(self) -> float:
        """Failures per trial; nan before the first trial."""
        return self.failures / self.n if self.n else float("nan")

    @property
    def drawn(self) -> int:
        """Every trial, with or without a verdict."""
        return self.n + self.errors + self.undecided + self.invalid

    @property
    def unchecked(self) -> Tally:
        """The counts as they would be if nobody had asked whether the cases are valid."""
        return Tally(self.n + self.invalid, self.failures + self.doubted, self.errors, self.undecided)

    def plus(self, other: Tally) -> Tally:
        """Both together, field by field."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


class Rate(NamedTuple):
    """A failure rate that is never shown without its count and interval (95 % unless said otherwise)."""

    value: float
    low: float
    high: float
    n: int
    failures: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A hypothesis with its failure rate, the baseline's, and whether fresh draws confirmed it.

    Attributes:
        phrase: What it adds to the baseline's words; what a person reads first.
        rate: On fresh draws that took no part in finding it; an anytime-valid interval.
        log_evidence: Natural log of the e-value, on fresh draws, against "not worse than the baseline".
        confirmed: It is in the list that controls the false-discovery rate.
        confusions: What the target said instead: share of the failures, most frequent first.
        failing: Indices of failing trials kept as evidence.
        passing: Indices of passing trials kept as evidence.
        answer: If given, the claim is about this wrong answer alone, and so are its rates.
        unchecked: The rate if nobody had asked whether the cases are valid; None where all are.
        under: The id of the broader finding's hypothesis that this one narrows; "" of a top finding.
        beside: The id of a finding of the same kind that comes first and has a place in the list for both, as
            "behind a net" beside "behind a fence"; "" where it has a place of its own.
        impact: The share of all failures that it speaks of; None where that is not known.
        own: The share of all failures that it speaks of and no finding before it does.
        forms: Other words for about the same inputs, such as "snowy" beside "snow".
    """

    hypothesis: Hypothesis
    phrase: str
    rate: Rate
    baseline: Rate
    log_evidence: float
    confirmed: bool
    confusions: tuple[tuple[str, float], ...] = ()
    failing: tuple[int, ...] = ()
    passing: tuple[int, ...] = ()
    answer: str = ""
    unchecked: Rate | None = None
    under: str = ""
    beside: str = ""
    impact: Rate | None = None
    own: float | None = None
    forms: tuple[str, ...] = ()

    @property
    def lift(self) -> float:
        """How many times the baseline's rate; inf where the baseline never failed."""
        return self.rate.value / self.baseline.value if self.baseline.value > 0 else float("inf")

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` is its inverse."""
        return {
            "hypothesis": {
                "id": self.hypothesis.id,
                "text": self.hypothesis.text,
                "concepts": [list(pair) for pair in self.hypothesis.concepts],
                "origin": self.hypothesis.origin,
                "parent": self.hypothesis.parent,
            },
            "phrase": self.phrase,
            "rate": self.rate._asdict(),
            "baseline": self.baseline._asdict(),
            "lift": self.lift if self.baseline.value > 0 else None,
            "log_evidence": self.log_evidence,
            "confirmed": self.confirmed,
            "confusions": [list(pair) for pair in self.confusions],
            "failing": list(self.failing),
            "passing": list(self.passing),
            "answer": self.answer,
            "unchecked": None if self.unchecked is None else self.unchecked._asdict(),
            "under": self.under,
            "beside": self.beside,
            "impact": None if self.impact is None else self.impact._asdict(),
            "own": self.own,
            "forms": list(self.forms),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        """Build it back from `to_json`."""
        return _findings().validate_python(data)


@cache
def _findings() -> TypeAdapter[Finding]:
    from pydantic import TypeAdapter  # only now: names and cases need none

    return TypeAdapter(Finding)
