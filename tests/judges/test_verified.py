"""Second opinions: what they do not recognise counts neither as a failure nor as a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from weakspot.core import Case, Hypothesis, Output, Status, Verdict, WeakspotError
from weakspot.judges import ClassifierOpinion, EncoderOpinion, LabelJudge, Verified
from weakspot.judges.verified import opinion
from weakspot.store import count

WORDS = Hypothesis("a fly.")
LABELS = ("fly", "bee", "cat", "dog", "cup")


def cases(*shown: str) -> list[Case]:
    """Pictures whose first pixel says what they show; all are meant to show a fly."""
    return [
        Case(WORDS, i, i, np.full((4, 4, 3), LABELS.index(what), np.uint8), "fly")
        for i, what in enumerate(shown)
    ]


class Looks:
    """A classifier, or an encoder, that sees what is there."""

    labels: tuple[str, ...] = LABELS
    parents: Mapping[str, str] = MappingProxyType({})

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(LABELS[case.input[0, 0, 0]]) for case in cases]


class Sees:
    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.stack([np.eye(5)[next(i for i, label in enumerate(LABELS) if label in t)] for t in texts])

    def embed_images(self, images: Sequence[Any]) -> Any:
        return np.stack([np.eye(5)[image[0, 0, 0]] for image in images])


@pytest.mark.parametrize("verifier", [ClassifierOpinion(Looks()), EncoderOpinion(Sees(), LABELS, top=1)])
def test_what_is_not_there_counts_neither_way(verifier: Any) -> None:
    shown = cases("fly", "fly", "bee", "bee")
    said = [Output(answer) for answer in ("fly", "bee", "bee", "fly")]
    verdicts = Verified(LabelJudge(), (verifier,)).judge(shown, said)
    assert [v.status for v in verdicts] == [Status.OK, Status.OK, Status.INVALID, Status.INVALID]
    assert [v.failed for v in verdicts] == [False, True, True, False]  # what would have been said is kept
    assert "bee" in verdicts[2].reason
    total = count(None, Status.EMPTY)._replace(undecided=0)
    for v in verdicts:
        total = total.plus(count(v.failed, v.status))
    assert (total.n, total.failures, total.invalid, total.doubted, total.drawn) == (2, 1, 2, 1, 4)
    assert total.unchecked[:2] == (4, 2)


def test_all_opinions_must_agree_and_errors_are_not_shown_to_them() -> None:
    class Never:
        asked = 0

        def doubts(self, cases: Sequence[Case]) -> list[str]:
            Never.asked += len(cases)
            return ["it is blurred"] * len(cases)

    judge = Verified(LabelJudge(), (ClassifierOpinion(Looks()), Never()))
    error = Output(None, status=Status.ERROR, detail="no answer")
    verdicts = judge.judge(cases("fly", "bee", "fly"), [Output("bee"), Output("bee"), error])
    assert [v.status for v in verdicts] == [Status.INVALID, Status.INVALID, Status.ERROR]
    assert [v.reason for v in verdicts][:2] == ["it is blurred", "the verifier sees bee"]
    assert Never.asked == 1  # not the one already doubted, not the error
    assert judge.judge([], []) == []


def test_labels_that_are_as_right_and_a_wider_look() -> None:
    same = ClassifierOpinion(Looks(), same={"insect": {"fly", "bee"}})
    same.check("insect")
    meant = [Case(WORDS, 0, 0, np.zeros((4, 4, 3), np.uint8), "insect")]
    assert same.doubts(meant) == [""]
    wide = EncoderOpinion(Sees(), LABELS, top=2)
    assert wide.doubts(cases("bee")) == [""]  # of equals the earlier label is nearer


def test_verifiers_that_cannot_do_it_are_refused() -> None:
    with pytest.raises(WeakspotError, match="no label 'flea'") as error:
        ClassifierOpinion(Looks()).check("flea")
    assert "fly" in (error.value.fix or "")
    with pytest.raises(WeakspotError, match="cannot tell"):
        EncoderOpinion(Sees(), ["fly"]).check("fly")
    with pytest.raises(WeakspotError, match="cannot verify"):
        opinion(object(), name="x", labels=LABELS, words={})
    assert isinstance(opinion(Looks(), name="x", labels=LABELS, words={}), ClassifierOpinion)
    assert isinstance(opinion(Sees(), name="x", labels=LABELS, words={}), EncoderOpinion)


def test_a_verifier_without_an_answer_or_with_nan_is_an_error() -> None:
    class Mute(Looks):
        def answer(self, cases: Sequence[Case]) -> list[Output]:
            return [Output(None, status=Status.ERROR, detail="out of memory") for _ in cases]

    with pytest.raises(WeakspotError, match="out of memory"):
        ClassifierOpinion(Mute()).doubts(cases("fly"))

    class Broken(Sees):
        def embed_images(self, images: Sequence[Any]) -> Any:
            return np.full((len(images), 5), np.nan)

    with pytest.raises(WeakspotError, match="not finite"):
        EncoderOpinion(Broken(), LABELS).doubts(cases("fly"))
    assert Verdict(True).status is Status.OK
