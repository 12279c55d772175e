"""The contract checks pass on our own parts and say what is wrong with broken ones."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import pytest

from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Case,
    Hypothesis,
    Output,
    Scores,
    Status,
    Verdict,
    case_seed,
)
from weakspot.judges import LabelJudge
from weakspot.models.python import FunctionClassifier
from weakspot.testing import ContractError, check_judge, check_source, check_target

FLY = Hypothesis("a realistic photograph of a fly (insect).")
LABELS = ("fly", "bee")


@pytest.mark.parametrize("name", ["world:renderer", "world:renderer?size=32&balanced=yes"])
def test_our_sources_targets_and_judges_keep_their_contracts(name: str) -> None:
    cases = check_source(SOURCES.load(name), FLY, seed=3)
    outputs = check_target(MODELS.load("world:classifier"), cases)
    for judge in ("label", "label?top=3", "label?target=bee"):
        check_judge(JUDGES.load(judge), cases, outputs)


class Good:
    """A source of small random images; its variants below each break one promise."""

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        return [self.case(hypothesis, i, case_seed(seed, hypothesis, i)) for i in indices]

    def case(self, hypothesis: Hypothesis, index: int, own: int) -> Case:
        image = np.random.default_rng(own).integers(0, 255, (8, 8, 3), dtype=np.uint8)
        return Case(hypothesis, index, own, image, "fly")


class Forgetful(Good):
    def case(self, hypothesis: Hypothesis, index: int, own: int) -> Case:
        return dataclasses.replace(super().case(hypothesis, index, own), caption=str(random.random()))


class Short(Good):
    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        return super().draw(hypothesis, indices, seed=seed)[1:]


class Shuffled(Good):
    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        return super().draw(hypothesis, indices, seed=seed)[::-1]


class OwnSeed(Good):
    def case(self, hypothesis: Hypothesis, index: int, own: int) -> Case:
        return super().case(hypothesis, index, index)


class Blank(Good):
    def case(self, hypothesis: Hypothesis, index: int, own: int) -> Case:
        return dataclasses.replace(super().case(hypothesis, index, own), input=None)


class Counting(Good):
    def __init__(self) -> None:
        self.drawn = 0

    def case(self, hypothesis: Hypothesis, index: int, own: int) -> Case:
        self.drawn += 1
        return super().case(hypothesis, index, own) if self.drawn < 8 else Good().case(hypothesis, index, 1)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (Forgetful(), "a second time"),
        (Short(), "5 cases for 6"),
        (Shuffled(), "came for"),
        (OwnSeed(), "has seed"),
        (Blank(), "no input"),
        (Counting(), "has seed|differs"),
        (object(), "no method draw"),
    ],
)
def test_a_broken_source_is_told(source: object, complaint: str) -> None:
    check_source(Good(), FLY)
    with pytest.raises(ContractError, match=complaint):
        check_source(source, FLY)  # type: ignore[arg-type]


class Answering:
    """A target whose answers a function makes."""

    labels = LABELS
    parents: ClassVar[dict[str, str]] = {}

    def __init__(self, answer: Callable[[Sequence[Case]], list[Output]]) -> None:
        self.answer = answer


def _scored(*values: float) -> Output:
    return Output("fly", Scores(LABELS, np.array(values, np.float32)))


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (lambda cases: [_scored(0.9, 0.1)] * (len(cases) - 1), "5 outputs for 6"),
        (lambda cases: ["fly"] * len(cases), "returned a str"),
        (lambda cases: [_scored(3.0, -1.0)] * len(cases), "sum to"),
        (lambda cases: [_scored(float("nan"), 1.0)] * len(cases), "not finite"),
        (lambda cases: [_scored(0.1, 0.9)] * len(cases), "not the most probable"),
        (lambda cases: [Output("wasp")] * len(cases), "not one of the labels"),
        (lambda cases: [Output("fly", status=Status.ERROR, detail="x")] * len(cases), "carries an answer"),
        (lambda cases: [Output(None, status=Status.ERROR)] * len(cases), "has no detail"),
        (lambda cases: [Output(LABELS[i % 2]) for i in range(len(cases))], "in another order"),
    ],
)
def test_a_broken_target_is_told(answer: Callable[[Sequence[Case]], list[Output]], complaint: str) -> None:
    cases = check_source(Good(), FLY)
    with pytest.raises(ContractError, match=complaint):
        check_target(Answering(answer), cases)


def test_a_function_of_images_is_a_good_target() -> None:
    def classify(images: np.ndarray) -> np.ndarray:
        bright = images.mean((1, 2, 3)) / 255
        return np.stack([bright, 1 - bright], 1)

    check_target(FunctionClassifier(classify, labels=LABELS), check_source(Good(), FLY))


class Judging:
    def __init__(self, verdict: Callable[[Output], Verdict]) -> None:
        self.verdict = verdict

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        return [self.verdict(output) for output in outputs]


@pytest.mark.parametrize(
    ("verdict", "complaint"),
    [
        (lambda _: Verdict(True), "was judged"),
        (lambda _: Verdict(None), "became ok"),
        (lambda _: True, "returned a bool"),
    ],
)
def test_a_broken_judge_is_told(verdict: Callable[[Output], Verdict], complaint: str) -> None:
    cases = check_source(Good(), FLY)
    outputs = [Output("bee")] * len(cases)
    check_judge(LabelJudge(), cases, outputs)
    with pytest.raises(ContractError, match=complaint):
        check_judge(Judging(verdict), cases, outputs)
