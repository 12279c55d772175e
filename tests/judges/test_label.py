from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weakspot.core import JUDGES, Case, Hypothesis, Judge, Output, Scores, Status, Verdict, WeakspotError
from weakspot.judges import LabelJudge
from weakspot.judges.label import kin_of
from weakspot.testing import check_judge

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
        (LabelJudge(top=2, target="bee"), Output("bee"), True, None),
        (LabelJudge(target="fly"), scored(0.7, 0.2, 0.1, 0.0), False, 0.7),  # it is the right answer here
    ],
)
def test_what_counts_as_a_failure(
    judge: LabelJudge, output: Output, failed: bool, score: float | None
) -> None:
    [verdict] = judge.judge([case()], [output])
    assert verdict.failed is failed
    assert verdict.status is Status.OK
    assert verdict.score == (None if score is None else pytest.approx(score))


#: Every rule alone and in company. The kin of a fly is the bee.
KIN = {"fly": {"fly", "bee"}}
JUDGES_OF_ALL_KINDS = [
    LabelJudge(),
    LabelJudge(top=3),
    LabelJudge(target="bee"),
    LabelJudge(below=0.2),
    LabelJudge(parent="any", kin=KIN),
    LabelJudge(top=2, parent="all", below=0.2, target="bee", missed=True, combine="all", kin=KIN),
]


@pytest.mark.parametrize("judge", JUDGES_OF_ALL_KINDS)
def test_the_judges_keep_their_contract(judge: LabelJudge) -> None:
    check_judge(judge, [case()] * 2, [BEE, scored(0.7, 0.2, 0.1, 0.0)])


@pytest.mark.parametrize("judge", JUDGES_OF_ALL_KINDS)
@pytest.mark.parametrize("status", [Status.ERROR, Status.REFUSED, Status.BLOCKED, Status.EMPTY])
def test_what_is_no_answer_is_no_failure(judge: LabelJudge, status: Status) -> None:
    [verdict] = judge.judge([case()], [Output(None, status=status, detail="timed out")])
    assert (verdict.failed, verdict.status, verdict.reason) == (None, status, "timed out")


def test_an_output_without_an_answer_is_empty() -> None:
    [verdict] = LabelJudge().judge([case()], [Output(None)])
    assert (verdict.failed, verdict.status) == (None, Status.EMPTY)


# -- the rules by parent, by probability, together ------------------------------------------------------

FLY_BEE = scored(0.5, 0.3, 0.15, 0.05)
CAT_DOG = scored(0.1, 0.05, 0.45, 0.4)


@pytest.mark.parametrize(
    ("output", "top", "any_outside", "all_outside", "score"),
    [
        (FLY_BEE, 1, False, False, 0.2),
        (FLY_BEE, 2, False, False, 0.2),
        (FLY_BEE, 3, True, False, 0.2),
        (BEE, 1, False, False, 0.2),  # a bee is no fly, but it is an insect
        (CAT_DOG, 1, True, True, 0.85),
        (CAT_DOG, 2, True, True, 0.85),
        (CAT_DOG, 3, True, False, 0.85),
        (Output("bee"), 1, False, False, None),
        (Output("cat"), 1, True, True, None),
        (Output("a word of no list"), 1, True, True, None),
    ],
)
def test_outside_the_parent(
    output: Output, top: int, any_outside: bool, all_outside: bool, score: float | None
) -> None:
    for relation in (KIN, lambda expected, said: said in KIN[expected], {"fly": ["bee"]}):
        for parent, failed in (("any", any_outside), ("all", all_outside)):
            judge = LabelJudge(top=top, parent=parent, kin=relation)  # type: ignore[arg-type]
            [verdict] = judge.judge([case()], [output])
            assert verdict.failed is failed
            assert verdict.score == (None if score is None else pytest.approx(score))


@pytest.mark.parametrize(("below", "failed"), [(0.05, False), (0.3, False), (0.31, True), (1.0, True)])
def test_a_probability_below_a_threshold(below: float, failed: bool) -> None:
    [verdict] = LabelJudge(below=below).judge([case()], [scored(0.3, 0.5, 0.15, 0.05)])
    assert verdict.failed is failed
    assert verdict.score == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("options", "output", "failed", "score", "reason"),
    [
        ({"target": "bee", "below": 0.4}, FLY_BEE, False, 0.5, ""),
        ({"target": "bee", "below": 0.4}, BEE, True, 0.7, "the answer is bee; p(fly) = 0.3 is below 0.4"),
        ({"target": "bee", "below": 0.4}, CAT_DOG, True, 0.9, "p(fly) = 0.1 is below 0.4"),
        ({"target": "bee", "below": 0.4, "combine": "all"}, CAT_DOG, False, 0.05, ""),
        ({"target": "bee", "below": 0.2, "combine": "all"}, BEE, False, 0.5, ""),
        ({"below": 0.2, "missed": True, "top": 3}, BEE, False, 0.7, ""),
        ({"missed": True, "target": "cat"}, BEE, True, 0.7, "fly is not the answer"),
        ({"missed": True, "target": "cat"}, Output("cat"), True, None,
         "fly is not the answer; the answer is cat"),
        ({"top": 2, "parent": "all"}, CAT_DOG, True, 0.85, "2 of the top 2 lie outside the parent of fly"),
        ({"top": 3, "parent": "any"}, CAT_DOG, True, 0.85, "2 of the top 3 lie outside the parent of fly"),
        ({"parent": "any"}, CAT_DOG, True, 0.85, "the answer lies outside the parent of fly"),
        ({"top": 2, "parent": "all", "missed": True, "combine": "all"}, CAT_DOG, True, 0.85,
         "fly is not in the top 2; 2 of the top 2 lie outside the parent of fly"),
        ({"top": 1, "parent": "all", "missed": True, "combine": "all"}, BEE, False, 0.2, ""),
    ],
)  # fmt: skip
def test_rules_together(
    options: dict[str, Any], output: Output, failed: bool, score: float | None, reason: str
) -> None:
    [verdict] = LabelJudge(kin=KIN, **options).judge([case()], [output])
    assert (verdict.failed, verdict.reason) == (failed, reason)
    assert verdict.score == (None if score is None else pytest.approx(score))


def test_rules_together_are_any_and_all_of_them_alone() -> None:
    rng = np.random.default_rng(0)
    outputs = [scored(*row) for row in rng.dirichlet(np.ones(4), 300)]
    cases = [case()] * len(outputs)
    alone: list[dict[str, Any]] = [{"missed": True}, {"parent": "any"}, {"target": "bee"}, {"below": 0.3}]
    rows = [LabelJudge(top=2, kin=KIN, **one).judge(cases, outputs) for one in alone]
    everything: dict[str, Any] = {key: value for one in alone for key, value in one.items()}
    for combine, of, worst in (("any", any, max), ("all", all, min)):
        judge = LabelJudge(top=2, kin=KIN, combine=combine, **everything)  # type: ignore[arg-type]
        assert judge.rules == ("missed", "parent", "target", "below")
        for verdict, ones in zip(judge.judge(cases, outputs), zip(*rows, strict=True), strict=True):
            assert verdict.failed is of(one.failed for one in ones)
            assert verdict.score == worst(one.score for one in ones)


@pytest.mark.parametrize(
    ("options", "rules", "scores"),
    [
        ({}, ("missed",), False),
        ({"top": 3}, ("missed",), True),
        ({"target": "bee"}, ("target",), False),
        ({"top": 3, "target": "bee"}, ("target",), False),
        ({"parent": "all"}, ("parent",), False),
        ({"top": 3, "parent": "all"}, ("parent",), True),
        ({"below": 0.1}, ("below",), True),
        ({"missed": True, "parent": "all"}, ("missed", "parent"), False),
        ({"missed": False, "target": "bee"}, ("target",), False),
    ],
)
def test_which_rules_are_in_force(options: dict[str, Any], rules: tuple[str, ...], scores: bool) -> None:
    judge = LabelJudge(**options)
    assert (judge.rules, judge.needs_scores) == (rules, scores)


# -- labels that cover several classes ------------------------------------------------------------------


@pytest.mark.parametrize(
    "same", [{"pet": {"cat", "dog"}}, lambda label, said: label == "pet" and said in ("cat", "dog")]
)
def test_any_of_several_classes_is_right(same: Any) -> None:
    def verdict(output: Output, **options: Any) -> Verdict:
        [found] = LabelJudge(same=same, **options).judge([case("pet")], [output])
        return found

    assert verdict(CAT_DOG).failed is False
    assert verdict(CAT_DOG).score == pytest.approx(0.15)  # cat and dog together
    assert verdict(BEE).failed is True
    assert verdict(BEE, top=3).failed is False
    assert verdict(scored(0.4, 0.3, 0.15, 0.15), below=0.25).failed is False
    assert verdict(BEE, below=0.25).failed is True
    assert verdict(Output("dog")).failed is False
    assert verdict(Output("pet")).failed is False
    assert verdict(CAT_DOG, top=2, parent="any", kin={"pet": ()}).failed is False
    [said] = LabelJudge(target="pet", same=same).judge([case()], [CAT_DOG])
    assert said.failed is True
    assert said.score == pytest.approx(0.85)


def test_a_text_is_no_set_of_labels() -> None:
    judge = LabelJudge(same={"insect": "butterfly"})
    verdicts = judge.judge([case("insect")] * 2, [Output("fly"), Output("butterfly")])
    assert [v.failed for v in verdicts] == [True, False]


def test_two_classes_of_one_name_are_added() -> None:
    scores = Scores(("crane", "fly", "crane"), np.asarray([0.3, 0.4, 0.3], np.float32))
    [verdict] = LabelJudge().judge([case("crane")], [Output("fly", scores)])
    assert verdict.score == pytest.approx(0.4)


def test_heads_of_different_labels_are_told_apart() -> None:
    judge = LabelJudge()
    other = Scores(("bee", "fly"), np.asarray([0.9, 0.1], np.float32))
    verdicts = judge.judge([case()] * 3, [FLY_BEE, Output("bee", other), FLY_BEE])
    assert [v.score for v in verdicts] == [pytest.approx(0.5), pytest.approx(0.9), pytest.approx(0.5)]


def test_kin_by_parents() -> None:
    parents = {"fly": "insect", "bee": "insect", "cat": "feline", "rock": ""}
    assert kin_of(parents) == {
        "fly": {"fly", "bee"},
        "bee": {"fly", "bee"},
        "cat": {"cat"},
    }
    assert kin_of(parents, ["fly", "cat"]) == kin_of(parents)
    with pytest.raises(WeakspotError, match="2 of 3 labels have no known parent, such as 'rock'"):
        kin_of(parents, ["fly", "rock", "dog"])


# -- what cannot be judged ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "what"),
    [
        (LabelJudge(top=3), "top-3 judge needs scores"),
        (LabelJudge(top=3, parent="all", kin=KIN), "top-3 judge needs scores"),
        (LabelJudge(below=0.1), "a judge of probabilities needs scores"),
        (LabelJudge(below=0.1, missed=True), "a judge of probabilities needs scores"),
    ],
)
def test_rules_that_need_scores_say_so(judge: LabelJudge, what: str) -> None:
    for answer in ("fly", "bee"):
        with pytest.raises(WeakspotError, match=what) as error:
            judge.judge([case()], [Output(answer)])
        assert error.value.fix


@pytest.mark.parametrize("judge", JUDGES_OF_ALL_KINDS)
@pytest.mark.parametrize(
    "output",
    [
        Output("fly", Scores(LABELS, np.asarray([0.9, np.nan, 0.1, 0], np.float32))),
        Output("fly", Scores(LABELS, np.asarray([np.inf, 0, 0, 0], np.float32))),
        Output("bee", Scores(LABELS, np.asarray([0.1, 0.9], np.float32))),
    ],
)
def test_broken_scores_are_errors_and_no_verdicts(judge: LabelJudge, output: Output) -> None:
    broken, sound = judge.judge([case(), case()], [output, BEE])
    assert (broken.failed, broken.score, broken.status) == (None, None, Status.ERROR)
    assert "the target gave" in broken.reason
    assert sound.failed is not None


def test_a_threshold_needs_probabilities() -> None:
    logits = scored(4.0, 7.0, -2.0, 0.0)
    [verdict] = LabelJudge(below=0.1).judge([case()], [logits])
    assert (verdict.failed, verdict.reason) == (None, "the target gave scores that are not probabilities")
    assert LabelJudge().judge([case()], [logits])[0].failed is True


@pytest.mark.parametrize(
    ("judge", "expected"),
    [
        (LabelJudge(), "beee"),
        (LabelJudge(top=2), "beee"),
        (LabelJudge(below=0.1), "beee"),
        (LabelJudge(target="beee"), "fly"),
        (LabelJudge(parent="any", kin={"beee": ()}), "beee"),
    ],
)
def test_a_label_the_head_lacks_is_an_error(judge: LabelJudge, expected: str) -> None:
    with pytest.raises(WeakspotError, match="the target has no label 'beee'") as error:
        judge.judge([case(expected)], [BEE])
    assert error.value.fix == "did you mean 'bee'?"
    with pytest.raises(WeakspotError, match="no label 'beee'"):
        judge.check(expected, LABELS)


@pytest.mark.parametrize("kin", [None, {"cat": {"cat"}}])
@pytest.mark.parametrize("output", [BEE, Output("fly"), Output("bee")])
def test_an_unknown_parent_is_an_error_whatever_was_said(kin: Any, output: Output) -> None:
    judge = LabelJudge(parent="any", kin=kin)
    with pytest.raises(WeakspotError, match="parent of 'fly' is not known"):
        judge.judge([case()], [output])
    with pytest.raises(WeakspotError, match="parent of 'fly' is not known") as error:
        judge.check("fly", LABELS)
    assert "labels file" in error.value.fix


def test_what_will_not_do_is_refused_early() -> None:
    LabelJudge(target="bee").check("fly", LABELS)
    LabelJudge(target="bee").check("fly", ())
    LabelJudge(same={"pet": {"cat"}}).check("pet", LABELS)
    with pytest.raises(WeakspotError, match="no label 'xyz'") as error:
        LabelJudge().check("xyz", LABELS)
    assert error.value.fix == "its labels: fly, bee, cat, dog"
    for label, target, labels in (("fly", "fly", ()), ("pet", "dog", LABELS), ("dog", "pet", LABELS)):
        with pytest.raises(WeakspotError, match="target is the right label"):
            LabelJudge(target=target, same={"pet": {"cat", "dog"}}).check(label, labels)


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
    judge = JUDGES.load("label?top=3&parent=all&below=0.1&combine=all&missed=yes", kin=KIN, label="fly")
    assert judge == LabelJudge(top=3, parent="all", below=0.1, combine="all", missed=True, kin=KIN)
    assert JUDGES.load("label?target=bee&missed=no").rules == ("target",)
    assert replace(judge, same=KIN).same is KIN


@pytest.mark.parametrize(
    "name", ["label?top=0", "label?top=-1", "label?top=two", "label?top=", "label?top=²"]
)
def test_a_wrong_top_is_explained(name: str) -> None:
    with pytest.raises(WeakspotError, match="cannot look at the top") as error:
        JUDGES.load(name)
    assert error.value.fix == "write label?top=3"


@pytest.mark.parametrize(
    ("name", "what", "fix"),
    [
        ("label?parent=some", "parent cannot be 'some'", "any or all"),
        ("label?combine=xor", "combine cannot be 'xor'", "any or all"),
        ("label?below=1.5", "below cannot be '1.5'", "0 to 1"),
        ("label?below=nan", "below cannot be 'nan'", "0 to 1"),
        ("label?below=0", "below cannot be 0.0", "probability"),
        ("label?missed=maybe", "missed cannot be 'maybe'", "yes or no"),
        ("label?missed=no", "the judge has no rule", "another rule"),
        ("label?same=cat", "same cannot be given in a name", "Python"),
        ("label?blow=0.1", "no option 'blow'", "below"),
    ],
)
def test_wrong_options_are_explained(name: str, what: str, fix: str) -> None:
    with pytest.raises(WeakspotError, match=what) as error:
        JUDGES.load(name)
    assert fix in error.value.fix


def test_hostile_labels_stay_short() -> None:
    [verdict] = LabelJudge().judge([case("f" * 1_000_000)], [Output("w" * 1_000_000)])
    assert verdict.failed
    assert len(verdict.reason) < 200
