"""Hypotheses from captions: which sentences are said of failures more often than of passes.

The captions are those the source knows to be true of its cases; a captioner takes their place where the
source knows nothing. A sentence and the same sentence without its adjectives are both candidates, so that
"it is on a yellow flower" does not hide "it is on a flower".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from weakspot.core import Hypothesis, LedgerView, Stage, Trial
from weakspot.stats import log_evidence
from weakspot.text.refine import without_adjectives

#: A sentence longer than this is no description of a set of images.
LONGEST: Final = 200


class Sentence(NamedTuple):
    """A sentence with how often it was said, and how strongly it goes with failure.

    Attributes:
        lift: Share among failures over share among passes, half a count added to each.
        log_evidence: That cases with it fail more often than cases without it.
    """

    text: str
    failing: int
    passing: int
    lift: float
    log_evidence: float


class CaptionSearch:
    """Proposes one hypothesis per telling sentence: the baseline's words and that sentence.

    Args:
        base: The baseline, whose explored trials are read.
        most: At most so many hypotheses.
        least_lift: A sentence less telling than this is not proposed.
    """

    def __init__(self, base: Hypothesis, *, most: int = 24, least_lift: float = 1.5) -> None:
        self.base, self.most, self.least_lift = base, most, least_lift

    def propose(self, ledger: LedgerView) -> list[Hypothesis]:
        """Most telling first; [] when no failure has a caption."""
        ranked = rank(
            *(
                [self._said(t) for t in ledger.trials(self.base, stage=Stage.EXPLORE, failed=failed)]
                for failed in (True, False)
            )
        )
        return [
            Hypothesis(f"{self.base.text} {s.text}", origin="caption", parent=self.base.id)
            for s in ranked[: self.most]
            if s.lift >= self.least_lift
        ]

    def _said(self, trial: Trial) -> frozenset[str]:
        said = set(sentences(trial.caption.removeprefix(self.base.text)))
        return frozenset(said | {without_adjectives(s) for s in said})


def sentences(caption: str) -> list[str]:
    """The sentences of a caption: one line each, printable, in lower case, ended by a full stop."""
    if not caption.isprintable():
        caption = "".join(c if c.isprintable() else " " for c in caption)
    parts = (" ".join(part.split()) for part in caption.lower().split("."))
    return [f"{part}." for part in parts if 0 < len(part) < LONGEST]


def rank(failing: Iterable[frozenset[str]], passing: Iterable[frozenset[str]]) -> list[Sentence]:
    """Sentences said of failures, most telling first."""
    failed, passed = list(failing), list(passing)
    in_failed: Counter[str] = Counter(s for said in failed for s in said)
    in_passed: Counter[str] = Counter(s for said in passed for s in said)
    found = []
    for text, a in in_failed.items():
        b = in_passed[text]
        lift = (a + 0.5) / (len(failed) + 1) / ((b + 0.5) / (len(passed) + 1))
        rest = len(failed) - a, len(failed) - a + len(passed) - b
        found.append(Sentence(text, a, b, lift, log_evidence(a, a + b, *rest)))
    return sorted(found, key=lambda s: (-s.log_evidence, -s.lift, s.text))
