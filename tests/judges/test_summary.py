"""Summaries against their references: Δ, what is empty, what is no number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from weakspot.core import JUDGES, Case, Hypothesis, Output, Status, WeakspotError
from weakspot.judges.discrepancy import USUAL, SummaryJudge
from weakspot.sources.documents import documents
from weakspot.testing import check_judge

H = Hypothesis("lower case")
REFERENCE = documents().summaries[0]


def case(i: int = 0, expected: str = REFERENCE) -> Case:
    return Case(H, i, i, "a text", expected)


@pytest.mark.parametrize("measure", USUAL)
def test_the_reference_is_at_nought_and_another_text_is_far(measure: str) -> None:
    judge = JUDGES.load(f"summary?measure={measure}")
    outputs = [Output(REFERENCE), Output(documents().summaries[7])]
    same, other = check_judge(judge, [case(0), case(1)], outputs)
    assert same.failed is False
    assert same.score == pytest.approx(0.0, abs=1e-6)
    assert other.failed is True
    assert other.score is not None
    assert other.score > judge.epsilon


def test_it_is_the_reference_that_counts_not_the_text() -> None:
    """The released code compared with the model's own earlier summary."""
    judge = JUDGES.load("summary?measure=rouge1")
    own = Case(H, 0, 0, "storks bred at the marsh", "a bridge is closed")
    [verdict] = judge.judge([own], [Output("storks bred at the marsh")])
    assert verdict.failed is True
    assert verdict.score == pytest.approx(1.0)


def test_the_blend_is_the_mean_of_the_five() -> None:
    texts, references = [documents().summaries[3]], [documents().texts[3]]
    parts = [JUDGES.load(f"summary?measure={m}").deltas(texts, references)[0] for m in USUAL if m != "blend"]
    assert JUDGES.load("summary").deltas(texts, references)[0] == pytest.approx(np.mean(parts))


def test_nothing_is_empty_and_an_error_an_error() -> None:
    outputs = [
        Output(""),
        Output(" \n"),
        Output(None),
        Output(None, status=Status.EMPTY),
        Output(None, status=Status.ERROR, detail="gone"),
        Output(REFERENCE),
    ]
    verdicts = check_judge(JUDGES.load("summary"), [case(i) for i in range(6)], outputs)
    assert [v.failed for v in verdicts] == [None] * 5 + [False]
    assert [v.status.value for v in verdicts] == ["empty"] * 4 + ["error", "ok"]


class Broken:
    """An encoder whose vectors of longer texts are not finite."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 2), np.float32)
        rows[:, 0] = [np.nan if "nan" in text else 1.0 for text in texts]
        return rows


def test_a_discrepancy_that_is_no_number_is_an_error_of_that_trial_alone() -> None:
    judge = SummaryJudge(measure="embedding", encoder=Broken())
    good, bad = judge.judge([case(0), case(1)], [Output("fine"), Output("nan")])
    assert good.failed is False
    assert bad.failed is None
    assert bad.status is Status.ERROR
    assert "not a finite number" in bad.reason


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("summary?measure=rouge", "no measure of summaries"),
        ("summary?epsilon=nan", "epsilon cannot be"),
        ("summary?epsilon=lots", "epsilon cannot be"),
        ("summary?encoder=extract:3", "not an encoder of texts"),
    ],
)
def test_wrong_options_are_refused(name: str, what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        JUDGES.load(name)
