"""The judge of an encoder: it fails where two texts are embedded alike although they differ.

Alike is a similarity above the threshold. Whether the two differ in what one would see is for a judge of
differences to say (`weakspot.judges.differs`), which is asked only about pairs that are alike: a pair of
synonyms is no failure, however near its vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from weakspot.core import Case, Output, Status, Verdict, WeakspotError
from weakspot.models import options

#: What `mine` counts as alike where nothing else is said; remembered of the published evaluation.
PUBLISHED = 0.88
SAME = "alike, and rightly so: the two do not differ"


@runtime_checkable
class Validity(Protocol):
    """Says whether two texts differ in what one would see; see `weakspot.judges.differs.judge`."""

    def differ(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        """For each pair True, False, or None where it cannot tell."""
        ...


@dataclass(frozen=True, slots=True)
class SimilarityJudge:
    """See the module. The score of a verdict is the similarity.

    Attributes:
        validity: Says whether a pair differs; None takes every pair to differ.
    """

    threshold: float = PUBLISHED
    validity: Validity | None = None

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. A pair that is alike, and of which nobody can say whether it differs, is undecided."""
        verdicts = [self._alone(output) for output in outputs]
        alike = [i for i, verdict in enumerate(verdicts) if verdict.failed]
        if self.validity is None or not alike:
            return verdicts
        said = self.validity.differ([(cases[i].input[0], cases[i].input[1]) for i in alike])
        if len(said) != len(alike):
            raise WeakspotError(f"{len(said)} opinions on {len(alike)} pairs", fix="give one each, in order")
        for i, differs in zip(alike, said, strict=True):
            if differs is None:
                verdicts[i] = Verdict(None, verdicts[i].score, reason="alike; whether the two differ is open")
            elif not differs:
                verdicts[i] = Verdict(False, verdicts[i].score, reason=SAME)
        return verdicts

    def _alone(self, output: Output) -> Verdict:
        """By the similarity alone."""
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        try:
            similarity = float(output.answer or "")
        except ValueError:
            similarity = math.nan
        if not math.isfinite(similarity):
            return Verdict(None, status=Status.ERROR, reason=f"{(output.answer or '')[:80]!r} is no number")
        return Verdict(similarity > self.threshold, similarity)


def load(*, threshold: str = "", differs: str = "") -> SimilarityJudge:
    """`similarity?threshold=0.9&differs=rules`."""
    from weakspot.judges.differs.judge import differs as named

    limit = options.number("threshold", threshold, most=1)
    return SimilarityJudge(PUBLISHED if limit is None else limit, named(differs) if differs else None)
