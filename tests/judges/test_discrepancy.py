"""Δ > ε is a failure; a Δ that is no finite number is an error, never a failure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from weakspot.core import JUDGES, Case, Hypothesis, Output, Scores, Status, WeakspotError
from weakspot.judges.discrepancy import Discrepancy

LABELS = ("a", "b", "c")


def case(expected: str = "a") -> Case:
    return Case(Hypothesis("h"), 0, 0, None, expected)


def output(*values: float) -> Output:
    scores = Scores(LABELS, np.array(values, np.float32))
    return Output(scores.top(1)[0][0], scores)


def test_the_margin_is_above_zero_exactly_where_the_label_is_missed() -> None:
    judge, rng = JUDGES.load("discrepancy"), np.random.default_rng(0)
    for _ in range(300):
        answer = output(*rng.dirichlet([0.4] * 3))
        (verdict,) = judge.judge([case("b")], [answer])
        assert verdict.failed == (answer.answer != "b")
        assert (verdict.score > 0) == verdict.failed
    (tie,) = judge.judge([case("b")], [output(0.5, 0.5, 0.0)])
    assert tie.failed  # the first of two equals is the answer


def test_other_measures() -> None:
    (sure,) = JUDGES.load("discrepancy?measure=doubt&epsilon=0.3").judge([case()], [output(0.6, 0.2, 0.2)])
    assert sure.failed
    assert sure.score == pytest.approx(0.4)
    (plain,) = JUDGES.load("discrepancy?measure=wrong").judge([case()], [Output("b")])
    assert plain.failed


@pytest.mark.parametrize("delta", [math.nan, math.inf, -math.inf])
def test_a_discrepancy_that_is_not_finite_is_an_error(delta: float) -> None:
    (verdict,) = Discrepancy(lambda *_: delta).judge([case()], [Output("a")])
    assert verdict.failed is None
    assert verdict.status is Status.ERROR
    assert "not a finite number" in verdict.reason


def test_what_cannot_be_judged() -> None:
    judge = JUDGES.load("discrepancy")
    (error, empty) = judge.judge(
        [case()] * 2, [Output(None, status=Status.ERROR, detail="gone"), Output(None)]
    )
    assert (error.failed, error.status) == (None, Status.ERROR)
    assert (empty.failed, empty.status) == (None, Status.EMPTY)
    (broken,) = judge.judge([case()], [output(math.nan, 0.5, 0.5)])
    assert broken.status is Status.ERROR
    with pytest.raises(WeakspotError, match="only labels"):
        judge.judge([case()], [Output("a")])
    with pytest.raises(WeakspotError, match="no label 'z'"):
        judge.judge([case("z")], [output(1, 0, 0)])
    with pytest.raises(WeakspotError, match="did you mean 'margin'"):
        JUDGES.load("discrepancy?measure=margn")
    with pytest.raises(WeakspotError, match="epsilon cannot be"):
        JUDGES.load("discrepancy?epsilon=nan")
