"""Judges of classifiers: the right label was missed, or one given wrong label was said."""

from __future__ import annotations

from collections.abc import Sequence

from weakspot.core import Case, Output, Status, Verdict, WeakspotError


class LabelJudge:
    """Failed when the expected label is missing, or when a target label was said.

    Args:
        top: The label counts as found among so many most probable ones; 1 needs no scores.
        target: If given, only an answer with this wrong label is a failure.
    """

    def __init__(self, *, top: int = 1, target: str | None = None) -> None:
        self.top, self.target = top, target

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The score is one minus the probability of the right label (or the target's)."""
        return [self._one(case, output) for case, output in zip(cases, outputs, strict=True)]

    def _one(self, case: Case, output: Output) -> Verdict:
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        if output.answer is None:
            return Verdict(None, status=Status.EMPTY)
        scores = output.scores
        if self.target is not None:
            score = scores.of(self.target) if scores and self.target in scores.labels else None
            return Verdict(output.answer == self.target, score)
        score = 1 - scores.of(case.expected) if scores and case.expected in scores.labels else None
        if self.top == 1:
            return Verdict(output.answer != case.expected, score)
        if scores is None:
            raise WeakspotError(
                f"a top-{self.top} judge needs scores, and the target gives only labels",
                fix="use the judge label, or a target with scores",
            )
        return Verdict(case.expected not in {label for label, _ in scores.top(self.top)}, score)


def load(*, top: str = "1", target: str | None = None) -> LabelJudge:
    """`label?top=3` or `label?target=bee`."""
    if not top.isdigit() or int(top) < 1:
        raise WeakspotError(f"a label judge cannot look at the top {top!r}", fix="write label?top=3")
    return LabelJudge(top=int(top), target=target)
