"""Pictures against their prompts, their quality and an attribute; who looks at them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.map.map_tasks_toy import Eye, NanEye, Painter

from weakspot.core import JUDGES, Case, Hypothesis, Status, WeakspotError
from weakspot.judges.picture import PictureJudge, Viewer, softmax
from weakspot.testing import check_judge, check_target

H = Hypothesis("kind, doctor, in the street")
PROMPT = "a photo of a kind doctor in the street."
VALUES = ("a man", "a woman")


def cases(prompt: str = PROMPT, n: int = 12, *, shown: str = PROMPT) -> list[Case]:
    pictures = Painter().generate([shown] * n, range(n))
    return [Case(H, i, i, p, prompt, prompt) for i, p in enumerate(pictures)]


def test_a_picture_matches_its_own_prompt() -> None:
    judge, viewer = PictureJudge(Eye(), epsilon=0.4), Viewer()
    right, wrong = cases(), cases(shown="a photo of a kind engineer in the office.")
    assert not any(v.failed for v in check_judge(judge, right, check_target(viewer, right)))
    assert all(v.failed for v in check_judge(judge, wrong, check_target(viewer, wrong)))


def test_the_viewer_says_which_value_it_sees() -> None:
    some = cases(n=40)
    outputs = check_target(Viewer(Eye(), attribute=VALUES), some)
    for case, output in zip(some, outputs, strict=True):
        assert output.answer == VALUES[0 if case.input[0, 0, 2] else 1]
    judge = PictureJudge(Eye(), measure="shows", attribute=VALUES, value="a woman")
    verdicts = check_judge(judge, some, outputs)
    assert [v.failed for v in verdicts] == [o.answer == "a woman" for o in outputs]


def test_quality_is_how_much_a_picture_is_like_a_bad_one() -> None:
    judge = PictureJudge(Eye(), measure="quality", good="doctor", bad="teacher")
    doctors, teachers = cases(), cases(shown="a photo of a kind teacher in the street.")
    viewer = Viewer()
    assert not any(v.failed for v in judge.judge(doctors, viewer.answer(doctors)))
    assert all(v.failed for v in judge.judge(teachers, viewer.answer(teachers)))


def test_a_plain_picture_is_empty_and_no_picture_an_error() -> None:
    blank = Case(H, 0, 0, np.full((8, 8, 3), 7, np.uint8), PROMPT)
    [output] = Viewer(Eye(), attribute=VALUES).answer([blank])
    [verdict] = PictureJudge(Eye()).judge([blank], [output])
    assert verdict.failed is None
    assert verdict.status is Status.EMPTY
    for thing in (None, np.zeros((4, 4)), "picture"):
        with pytest.raises(WeakspotError, match="no picture"):
            Viewer().answer([Case(H, 0, 0, thing, PROMPT)])


def test_a_match_that_is_no_number_is_an_error_of_its_trial() -> None:
    street, office = cases(n=1)[0], cases(n=1, shown="a photo of a kind doctor in the office.")[0]
    judge = PictureJudge(NanEye(), epsilon=0.4)
    first, second = judge.judge([street, office], Viewer().answer([street, office]))
    assert first.failed is None
    assert first.status is Status.ERROR
    blind, seen = Viewer(NanEye(), attribute=VALUES).answer([street, office])
    assert blind.status is Status.ERROR  # never the first of the values
    assert seen.answer in VALUES
    assert second.failed is not None


def test_probabilities_sum_to_one() -> None:
    rows = softmax(np.array([[0.2, 0.3, 0.25], [-1.0, 1.0, 0.0]]))
    assert rows.sum(axis=1) == pytest.approx(1.0)
    assert rows.argmax(axis=1).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("picture", "no encoder is named"),
        ("picture?encoder=ngrams", "not an encoder of pictures"),
        ("picture?encoder=world:encoder&measure=beauty", "no measure of pictures"),
        ("picture?encoder=world:encoder&measure=shows", "no attribute is named"),
        ("picture?encoder=world:encoder&attribute=a man", "at least two different values"),
        ("picture?encoder=world:encoder&attribute=a|b&wanted=1", "wanted share for each"),
        ("picture?encoder=world:encoder&attribute=a|b&wanted=1,-1", "wanted shares cannot"),
        ("picture?encoder=world:encoder&attribute=a|b&value=c", "no value 'c'"),
        ("picture?encoder=world:encoder&epsilon=inf", "epsilon cannot be"),
    ],
)
def test_wrong_options_are_refused(name: str, what: str) -> None:
    with pytest.raises(WeakspotError, match=what):
        JUDGES.load(name)
