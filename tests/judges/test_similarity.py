"""The judge of an encoder, its target, and the world's exact encoder."""

from __future__ import annotations

import pytest
from tests.studies.mine.mine_toy import Bag, Zero

from weakspot.core import JUDGES, MODELS, Case, Hypothesis, Output, Status, WeakspotError
from weakspot.judges.differs.judge import SimilarityJudge, differs
from weakspot.studies.mine.pair_source import Made, PairSimilarity
from weakspot.testing import check_judge, check_target

PAIRS = [("a man on a couch", "a guy on a sofa"), ("a dog", "a dog not running"), ("a cat", "a bus")]
CASES = [Case(Hypothesis("pairs"), i, i, Made(*pair), "") for i, pair in enumerate(PAIRS)]


def test_alike_is_above_the_threshold_and_different() -> None:
    outputs = [Output("0.95"), Output("0.95"), Output("0.88")]
    judge = SimilarityJudge(0.88, differs("rules"))
    assert [v.failed for v in check_judge(judge, CASES, outputs)] == [False, True, False]
    assert [v.failed for v in SimilarityJudge(0.88).judge(CASES, outputs)] == [True, True, False]
    assert [v.score for v in judge.judge(CASES, outputs)] == [0.95, 0.95, 0.88]


def test_what_cannot_be_said_is_not_a_failure() -> None:
    class Unsure:
        def differ(self, pairs: object) -> list[bool | None]:
            return [None]

    (verdict,) = SimilarityJudge(0.5, Unsure()).judge(CASES[:1], [Output("0.9")])
    assert (verdict.failed, verdict.status) == (None, Status.OK)
    (verdict,) = SimilarityJudge(0.5).judge(CASES[:1], [Output("very")])
    assert (verdict.failed, verdict.status) == (None, Status.ERROR)
    with pytest.raises(WeakspotError, match="opinions on 2 pairs"):
        SimilarityJudge(0.5, Unsure()).judge(CASES[:2], [Output("0.9")] * 2)


def test_a_judge_has_a_name() -> None:
    assert JUDGES.load("similarity?threshold=0.9&differs=world").threshold == 0.9


def test_the_target_answers_with_the_cosine() -> None:
    outputs = check_target(PairSimilarity(Bag()), CASES)
    for case, output in zip(CASES, outputs, strict=True):
        one, two = Bag().embed_texts(case.input[:2]).astype(float)
        assert float(output.answer or "") == pytest.approx(float(one @ two), abs=1e-5)
    with pytest.raises(WeakspotError, match="only zeros"):
        PairSimilarity(Zero()).answer(CASES)
    with pytest.raises(WeakspotError, match="not a pair of texts"):
        PairSimilarity(Bag()).answer([Case(Hypothesis("x"), 0, 0, "a text", "")])


def test_the_exact_encoder_tells_what_differs_and_nothing_else() -> None:
    encoder = MODELS.load("world:scenes")
    others = (
        "a photo of a dog. it is dusk.",
        "a photo of a dog. it is not night.",
        "a photo of a cat. it is night.",
    )
    texts = ["a photo of a dog. it is night.", "a picture of a dog at night", *others, "of another world"]
    rows = encoder.embed_texts(texts)
    likeness = rows @ rows.T
    assert likeness[0, 1] == pytest.approx(1, abs=1e-6)
    assert (likeness[0, 2:] < 0.85).all()
    assert encoder.embed_texts([]).shape == (0, rows.shape[1])
