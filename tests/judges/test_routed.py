"""Judges in turn: the second is asked where the first is unsure, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from weakspot.core import JUDGES, Case, Hypothesis, Output, Question, Status, Verdict, WeakspotError
from weakspot.judges.refusal import Routed
from weakspot.judges.refusal.routed import is_open, routed_name
from weakspot.testing import check_judge


class Says:
    """Gives one verdict per word: refuses, complies, unsure, blocked."""

    def __init__(self, replies: dict[str, Verdict]) -> None:
        self.replies, self.asked = replies, []  # type: ignore[var-annotated]

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        self.asked += [output.answer for output in outputs]
        return [self.replies[str(output.answer)] for output in outputs]


YES = Verdict(True, 1.0, Status.REFUSED, "refuses: because")
NO = Verdict(False, 0.0, Status.OK, "complies")
UNSURE = Verdict(None, 0.6, Status.OK, "unsure: 60 % likely to refuse")
STRANGE = Verdict(None, 0.5, Status.OK, "not understood: it is JSON")
BLOCKED = Verdict(None, status=Status.BLOCKED)
CUT = Verdict(None, 0.5, Status.OK, "cut off: it ends before it says anything")
CASE = Case(Hypothesis("q"), 0, 1, Question("How?"), "answer")


def test_only_what_is_open_is_handed_on() -> None:
    first = Says({"a": YES, "b": NO, "c": UNSURE, "d": STRANGE, "e": BLOCKED, "f": CUT})
    second = Says({"c": YES, "d": UNSURE})
    found = Routed({"one": first, "two": second}).judge([CASE] * 6, [Output(answer) for answer in "abcdef"])
    assert second.asked == ["c", "d"]
    assert [verdict.failed for verdict in found] == [True, False, True, None, None, None]
    assert found[2].reason == "refuses: because · asked two, since one was unsure"
    assert found[3].reason == STRANGE.reason
    assert [is_open(verdict) for verdict in found] == [False, False, False, True, False, False]


def test_names_with_commas_between() -> None:
    assert routed_name("embedded") == "embedded"
    assert routed_name("embedded, embedded?threshold=0.5") == "routed:embedded,embedded?threshold=0.5"
    assert routed_name("panel:embedded,embedded?threshold=0.5") == "panel:embedded,embedded?threshold=0.5"
    assert routed_name("chat:openai/gpt-4o?stop=a,b") == "chat:openai/gpt-4o?stop=a,b"
    judge = JUDGES.load("routed:embedded,embedded?threshold=0.5")
    assert list(judge.judges) == ["embedded", "embedded?threshold=0.5"]
    check_judge(
        judge, [CASE, CASE], [Output("I can't help with that."), Output("Sure, here it is: a fine cake.")]
    )
    for wrong in ("routed:embedded", "routed:embedded,embedded"):
        with pytest.raises(WeakspotError):
            JUDGES.load(wrong)
