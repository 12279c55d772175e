from __future__ import annotations

import numpy as np
import pytest

from weakspot.core import JUDGES, Case, Hypothesis, Judge, Output, Scores, Status, WeakspotError
from weakspot.judges import LabelJudge

LABELS = ("fly", "bee", "cat", "dog")


def case(expected: str = "fly") -> Case:
    return Case(Hypothesis("a fly."), 0, 1, None, expected)


def scored(*values: float) -> Output:
    scores = Scores(LABELS, np.asarray(values, np.float32))
    return Output(scores.top(1)[0][0], scores)


BEE = scored(0.3, 0.5, 0.15, 0.05)


@pytest.mark.parametrize(
    ("judge", "output", "failed", "score"),
    [
        (LabelJudge(), scored(0.7, 0.2, 0.1, 0.0), False, 0.3),
        (LabelJudge(), BEE, True, 0.7),
        (LabelJudge(), Output("fly"), False, None),
        (LabelJudge(), Output("Fly"), True, None),
        (LabelJudge(), Output("a word of no list"), True, None),
        (LabelJudge(top=2), BEE, False, 0.7),
        (LabelJudge(top=2), scored(0.1, 0.5, 0.4, 0.0), True, 0.9),
        (LabelJudge(top=9), scored(0.1, 0.5, 0.4, 0.0), False, 0.9),
        (LabelJudge(target="bee"), BEE, True, 0.5),
        (LabelJudge(target="cat"), BEE, False, 0.15),
        (LabelJudge(target="cat"), Output("dog"), False, None),
        (LabelJudge(target="zebra"), BEE, False, None),
    ],
)
def test_what_counts_as_a_failure(
    judge: LabelJudge, output: Output, failed: bool, score: float | None
) -> None:
    [verdict] = judge.judge([case()], [output])
    assert verdict.failed is failed
    assert verdict.status is Status.OK
    assert verdict.score == (None if score is None else pytest.approx(score))


def test_an_expected_label_the_target_lacks_is_missed_without_a_score() -> None:
    [verdict] = LabelJudge().judge([case("zebra")], [BEE])
    assert verdict.failed
    assert verdict.score is None


@pytest.mark.parametrize("judge", [LabelJudge(), LabelJudge(top=3), LabelJudge(target="bee")])
@pytest.mark.parametrize("status", [Status.ERROR, Status.REFUSED, Status.BLOCKED, Status.EMPTY])
def test_what_is_no_answer_is_no_failure(judge: LabelJudge, status: Status) -> None:
    [verdict] = judge.judge([case()], [Output(None, status=status, detail="timed out")])
    assert (verdict.failed, verdict.status, verdict.reason) == (None, status, "timed out")


def test_an_output_without_an_answer_is_empty() -> None:
    [verdict] = LabelJudge().judge([case()], [Output(None)])
    assert (verdict.failed, verdict.status) == (None, Status.EMPTY)


def test_a_top_k_judge_needs_scores() -> None:
    with pytest.raises(WeakspotError, match="top-3 judge needs scores") as error:
        LabelJudge(top=3).judge([case()], [Output("fly")])
    assert error.value.fix


def test_one_verdict_per_case_in_order() -> None:
    verdicts = LabelJudge().judge([case(), case("bee"), case("cat")], [BEE, BEE, Output(None)])
    assert [v.failed for v in verdicts] == [True, False, None]
    with pytest.raises(ValueError):
        LabelJudge().judge([case()], [BEE, BEE])


def test_by_name() -> None:
    judge = JUDGES.load("label?top=3")
    assert isinstance(judge, LabelJudge)
    assert isinstance(judge, Judge)
    assert (judge.top, judge.target) == (3, None)
    assert JUDGES.load("label?target=bee").target == "bee"


@pytest.mark.parametrize("name", ["label?top=0", "label?top=-1", "label?top=two", "label?top="])
def test_a_wrong_top_is_explained(name: str) -> None:
    with pytest.raises(WeakspotError, match="cannot look at the top") as error:
        JUDGES.load(name)
    assert error.value.fix == "write label?top=3"
