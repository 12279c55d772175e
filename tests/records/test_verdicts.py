"""Which rows failed: by label and prediction, by a column that says it, or by an expression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weakspot.core import WeakspotError
from weakspot.records import Judged, Roles
from weakspot.records.expression import evaluate
from weakspot.records.read import read_records
from weakspot.records.verdicts import read_judged

MISSING: Any = None


def judged(named: Any = None, failed: Any = "", **columns: Any) -> Judged:
    return read_judged(columns, named=named, failed=failed)


def failures(named: Any = None, failed: Any = "", **columns: Any) -> list[bool]:
    found: list[bool] = judged(named, failed, **columns).failed.tolist()
    return found


# Roles


def test_usual_names_are_recognised() -> None:
    found = judged(
        **{
            "File-Name": ["a.png"],
            "Ground Truth": ["cat"],
            "modelOutput": ["dog"],
            "Confidence": [0.9],
            "caption": ["a cat"],
            "question": ["what is it?"],
            "uid": ["00123"],
            "real_labels": ["dog"],
        }
    )
    assert found.roles == Roles(
        label="Ground Truth",
        prediction="modelOutput",
        score="Confidence",
        image="File-Name",
        text=("caption", "question"),
        id="uid",
    )
    assert found.found == {"label", "prediction", "score", "image", "text", "id"}
    assert found.used == {"modelOutput", "Confidence"}
    assert found.rule == "modelOutput differs from Ground Truth"
    assert found.text_of(0) == "a cat what is it?"
    assert found.score.tolist() == [0.9]


def test_named_columns_come_first() -> None:
    found = judged(Roles(label="truth2", text=("note",)), label=["x"], truth2=["y"], note=["z"], pred=["y"])
    assert found.failed.tolist() == [False]
    assert found.roles.text == ("note",)
    assert found.found == {"prediction"}


@pytest.mark.parametrize("role", ["label", "prediction", "score", "image", "group", "id", "relabelled"])
def test_a_wrong_column_gets_the_nearest_right_one(role: str) -> None:
    wrong: dict[str, Any] = {role: "justificaton"}
    with pytest.raises(WeakspotError, match="did you mean 'justification'"):
        judged(Roles(**wrong), label=["a"], prediction=["a"], justification=["x"])
    with pytest.raises(WeakspotError, match="did you mean 'justification'"):
        judged(Roles(text=("justificaton",)), label=["a"], prediction=["a"], justification=["x"])


def test_an_answer_is_the_right_one_beside_a_prediction_and_the_models_beside_a_label() -> None:
    assert judged(question=["?"], answer=["a"], prediction=["b"]).roles[:2] == ("answer", "prediction")
    assert judged(question=["?"], answer=["a"], label=["b"]).roles[:2] == ("label", "answer")


def test_a_score_is_a_probability() -> None:
    assert judged(label=["a"] * 2, pred=["a"] * 2, score=[7, 9]).roles.score == ""
    assert judged(Roles(score="score"), label=["a"] * 2, pred=["a"] * 2, score=[7, 9]).score.tolist() == [
        7,
        9,
    ]
    with pytest.raises(WeakspotError, match="cannot be the score"):
        judged(Roles(score="pred"), label=["a"], pred=["a"])


def test_a_few_groups_are_no_reason_to_keep_rows_together() -> None:
    answers = {"label": ["a"] * 20, "pred": ["a"] * 20}
    assert judged(**answers, patient=[f"p{n}" for n in range(20)]).roles.group == "patient"
    few = judged(**answers, subject=["law", "physics"] * 10)
    assert few.roles.group == ""
    assert "'subject'" in few.records.notes[0]
    assert judged(Roles(group="subject"), **answers, subject=["law", "physics"] * 10).roles.group == "subject"


def test_what_follows_from_the_answer_is_used() -> None:
    found = judged(label=["a"], pred=["a"], loss=[3], correct=[1], probs=[{"a": 0.9, "b": 0.1}], hue=["red"])
    assert found.used == {"pred", "loss", "correct", "probs.a", "probs.b"}


# Label and prediction


@pytest.mark.parametrize(
    ("label", "prediction", "failed"),
    [
        ([3, 4], ["3", "3"], [False, True]),
        ([3, 4], [3.0, 4.0], [False, False]),
        (["3", "x"], [3.0, 3.0], [False, True]),
        (["Yes", "No"], ["yes", " no "], [False, False]),
        (["a", "A"], ["A", "A"], [True, False]),
        ([True, False], ["yes", "True"], [False, True]),
        ([True, False], [1, 1], [False, True]),
        (["007", "7"], ["7", "7"], [True, False]),
        ([["a", "b"], ["c"]], ["b", "a"], [False, True]),
        (["a", "b"], [["a", "x"], ["x", "b"]], [False, True]),
        ([["a", "b"], ["a"]], [["b", "a"], ["a", "b"]], [False, True]),
        ([0.5, 1.0], [1.0, 1.0], [True, False]),
    ],
)
def test_equal_answers_are_equal(label: list[Any], prediction: list[Any], failed: list[bool]) -> None:
    assert failures(label=label, prediction=prediction) == failed


def test_case_is_told_where_it_matters() -> None:
    assert judged(label=["Yes", "no"], prediction=["yes", "no"]).records.notes == [
        "upper and lower case count as the same, which matters in 1 row"
    ]
    assert judged(label=["yes", "no"], prediction=["yes", "no"]).records.notes == []


def test_two_columns_with_other_names_for_classes_are_noticed() -> None:
    found = judged(label=["cat", "dog"], prediction=["n02123", "n02084"])
    assert found.failed.all()
    assert "do both columns use the same names?" in found.records.notes[0]


@pytest.mark.parametrize(
    ("label", "relabelled", "prediction", "failed"),
    [
        ([1, 1, 1], ["2 3", "", "4"], [3, 2, 1], [False, True, False]),
        ([1, 1], [2, 3], [2, 2], [False, True]),
        (["a b", "c"], ["b a", "d"], ["b", "d"], [True, False]),
        (["a b", "c"], ["x, b a", "d"], ["b a", "d"], [False, False]),
        (["a", "c"], ["x|y", "d;e"], ["y", "e"], [False, False]),
        (["a", "c"], [["x", "y"], []], ["y", "e"], [False, True]),
    ],
)
def test_other_labels_that_people_accept(
    label: list[Any], relabelled: list[Any], prediction: list[Any], failed: list[bool]
) -> None:
    found = judged(Roles(relabelled="others"), label=label, others=relabelled, prediction=prediction)
    assert found.failed.tolist() == failed
    assert found.rule == "prediction differs from label and is not in others"
    assert "others" in found.used


def test_rows_without_a_verdict_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,prediction\na,b\n,b\na,\nbroken\na,a\n")
    found = read_judged(tmp_path / "t.csv")
    assert found.failed.tolist() == [True, False]
    assert found.records.lines.tolist() == [2, 6]
    assert [tuple(left) for left in found.left_out] == [
        (5, "it has 1 cell, the header 2"),
        (3, "label is missing"),
        (4, "prediction is missing"),
    ]
    assert (found.expected, found.answer) == (["a", "a"], ["b", "a"])


def test_a_table_without_any_verdict_is_refused() -> None:
    with pytest.raises(
        WeakspotError, match="no row of a dict of columns has a verdict: prediction is missing"
    ):
        judged(label=["a", "b"], prediction=[MISSING, MISSING])


def test_measurements_need_an_expression() -> None:
    with pytest.raises(WeakspotError, match="measurements") as caught:
        judged(label=[1.5, 2.5], prediction=[1.4, 2.6])
    assert "abs(prediction - label) > 2" in caught.value.fix
    with pytest.raises(WeakspotError, match="measurements"):
        judged(label=[0, 1], prediction=[0.1, 0.9])
    assert failures(failed="(prediction > 0.5) != label", label=[0, 1], prediction=[0.1, 0.4]) == [
        False,
        True,
    ]
    assert failures(label=[1.5, 2.5], prediction=[1.4, 2.6], correct=[1, 0]) == [False, True]


def test_vectors_are_no_answers() -> None:
    with pytest.raises(WeakspotError, match="holds vectors"):
        judged(label=["a"], prediction=[[0.1] * 10])


# Columns that say it


@pytest.mark.parametrize(
    ("name", "values", "failed"),
    [
        ("correct", [1, 0], [False, True]),
        ("is_correct", [True, False], [False, True]),
        ("acc", [1.0, 0.0], [False, True]),
        ("passed", ["yes", "no"], [False, True]),
        ("failed", [1, 0], [True, False]),
        ("error", ["true", "false"], [True, False]),
        ("Is-Wrong", [0, 1], [False, True]),
    ],
)
def test_columns_that_say_right_or_wrong(name: str, values: list[Any], failed: list[bool]) -> None:
    found = read_judged({name: values, "hue": ["red", "blue"]})
    assert found.failed.tolist() == failed
    assert found.used == {name}
    assert found.expected == [None, None]
    assert np.isnan(found.score).all()


def test_label_and_prediction_come_before_such_a_column_and_a_contradiction_is_told() -> None:
    found = judged(label=["a", "b"], prediction=["a", "c"], correct=[1, 1])
    assert found.failed.tolist() == [False, True]
    assert "disagrees in 1 row: to follow it, use --failed '`correct` == false'" in found.records.notes[0]
    assert failures(failed="`correct` == false", label=["a"], prediction=["b"], correct=[1]) == [False]


def test_the_verdict_of_a_log_comes_first() -> None:
    table = read_records(
        {"target": ["4", "5"], "answer": ["It is 4.", "6"], "ok": [True, False], "in": ["x", "y"]}
    )
    log = replace(table, roles={"label": "target", "prediction": "answer", "correct": "ok", "text": "in"})
    found = read_judged(log)
    assert found.failed.tolist() == [False, True]
    assert found.rule == "ok is false"
    assert found.roles[:2] == ("target", "answer")
    assert found.roles.text == ("in",)
    assert found.used == {"answer", "ok"}
    assert read_judged(log, named=Roles(label="target", prediction="answer")).failed.tolist() == [True, True]


def test_nothing_says_what_a_failure_is() -> None:
    with pytest.raises(WeakspotError) as caught:
        judged(label=["a"], hue=["red"], accuracy=[0.5])
    assert "label is 'label'" in caught.value.what
    assert "hue" in caught.value.what
    assert "--prediction" in caught.value.fix


def test_all_rows_or_none_may_fail() -> None:
    assert failures(correct=[0, 0]) == [True, True]
    assert failures(correct=[1, 1]) == [False, False]


# Expressions

TABLE: dict[str, list[Any]] = {
    "loss": [1, 3, None, 5],
    "label": ["cat", "dog", "cat", "3"],
    "pred": ["cat", "cat", "dog", 3.0],
    "dark": [True, False, None, True],
    "my col": ["x", "y", "z", "x"],
    "class": ["a", "b", "a", None],
    "p.d": [0.1, -0.2, 0.3, 0],
    "tags": [["red", "big"], ["blue"], [], None],
    "text": ["a red cat", "a dog", None, "RED"],
    "taken": ["2024-01-01", "2024-06-01", None, "2025-01-01"],
}


@pytest.mark.parametrize(
    ("expression", "true", "unknown"),
    [
        ("loss > 2", {1, 3}, {2}),
        ("2 < loss <= 3", {1}, {2}),
        ("-loss + 2 * 2 < 0 or not True", {3}, {2}),
        ("loss > 2 or label == 'cat'", {0, 1, 2, 3}, set()),
        ("loss > 2 and label == 'dog'", {1}, set()),
        ("abs(`p.d`) > 0.15", {1, 2}, set()),
        ("abs(p.d) > 0.15", {1, 2}, set()),
        ("max(p.d, loss, 2) > 2", {1, 3}, {2}),
        ("min(p.d, 0) < 0", {1}, set()),
        ('`my col` == "x"', {0, 3}, set()),
        ("class in ('a', 'c')", {0, 2}, {3}),
        ("label not in ['cat', 3]", {1}, set()),
        ("prediction != label", {1, 2}, set()),
        ("prediction == 3", {3}, set()),
        ("dark", {0, 3}, {2}),
        ("not dark", {1}, {2}),
        ("dark == 'no'", {1}, {2}),
        ("dark == 0", {1}, {2}),
        ("dark + (loss > 2) > 1", {3}, {2}),
        ("'red' in tags", {0}, {3}),
        ("'red' in text", {0}, {2}),
        ("len(text) > 5", {0}, {2}),
        ("len(tags) == 0", {2}, {3}),
        ("missing(loss) or missing(class)", {2, 3}, set()),
        ("taken > '2024-05-31'", {1, 3}, {2}),
        ("taken == '2024-01-01'", {0}, {2}),
        ("1 / p.d > 0", {0, 2, 3}, set()),
        ("p.d / p.d == 1", {0, 1, 2}, {3}),
        ("label == '`x`'", set(), set()),
    ],
)
def test_what_an_expression_says(expression: str, true: set[int], unknown: set[int]) -> None:
    answer = evaluate(expression, read_records(TABLE), {"prediction": "pred"})
    assert set(np.flatnonzero(answer.true)) == true
    assert set(np.flatnonzero(~answer.known)) == unknown


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("los > 2", "did you mean 'loss'"),
        ("__import__('os').system('x')", "is not allowed"),
        ("(lambda: 1)()", "is not allowed"),
        ("loss ** 9 ** 9", "is not allowed"),
        ("loss @ loss", "is not allowed"),
        ("label.__class__", "there is no column"),
        ("loss.real", "there is no column"),
        ("[x for x in loss]", "is not allowed"),
        ("f'{loss}' == 'x'", "is not allowed"),
        ("loss if dark else 2", "is not allowed"),
        ("tags[0] == 'red'", "is not allowed"),
        ("loss is missing", "'is' is not allowed"),
        ("abs(loss, key=1) > 2", "is not allowed"),
        ("abs(*loss) > 2", "is not allowed"),
        ("1j > loss", "is not allowed"),
        ("b'x' == label", "is not allowed"),
        ("... == label", "is not allowed"),
        ("label * 9 == 'x'", "is not a number"),
        ("label > 2", "cannot be put in order"),
        ("label", "neither true nor false"),
        ("loss", "neither true nor false"),
        ("1 < 2", "names no column"),
        ("loss >", "incomplete"),
        ("loss > 2; loss", "incomplete"),
        ("(loss := 2)", "is not allowed"),
        ("`nothing` > 2", "there is no column 'nothing'"),
        ("loss in dark", "nothing can be in"),
        ("label == tags", "a list cannot equal"),
        ("len(loss) > 2", "has no length"),
        ("loss > " + "9" * 900, None),
        ("loss > " + "(" * 400 + "1" + ")" * 400, ""),
        ("loss > " + "-" * 900 + "1", "nested too deeply"),
        ("loss > 1" + " " * 2000, "more than 1,000 characters"),
        ("\0", ""),
    ],
)
def test_what_an_expression_may_not_say(expression: str, why: str | None) -> None:
    records = read_records(TABLE)
    if why is None:
        evaluate(expression, records, {})
        return
    with pytest.raises(WeakspotError) as caught:
        evaluate(expression, records, {})
    assert why in str(caught.value)
    assert caught.value.fix
    assert len(str(caught.value)) < 800
    assert "column_in_backticks" not in str(caught.value)


def test_failures_by_an_expression() -> None:
    found = judged(failed=" loss >  2 ", **TABLE)
    assert found.failed.tolist() == [False, True, True]
    assert found.rule == "loss > 2"
    assert [tuple(left) for left in found.left_out] == [(3, "loss is missing")]
    assert found.used >= {"loss", "pred"}
    assert "label" not in found.used
    assert "label" in judged(failed="prediction != label", **TABLE).used


def test_a_role_that_was_named_has_its_name_for_itself() -> None:
    columns: dict[str, list[Any]] = {"label": ["a"], "truth2": ["b"], "prediction": ["b"]}
    assert failures(failed="prediction != label", **columns) == [True]
    assert failures(Roles(label="truth2"), failed="prediction != label", **columns) == [False]


# Real tables


def test_real_verdicts(data: Path) -> None:
    found = read_judged(data / "data" / "imagenet-x" / "predictions-resnet50.csv.gz")
    assert found.failed.mean() == pytest.approx(0.239, abs=0.001)
    assert found.roles == Roles("label", "predicted", "probability", "image")
    found = read_judged(data / "data" / "blindtest" / "answers.csv.gz")
    assert found.failed.mean() == pytest.approx(0.4117, abs=0.0001)
    assert found.used == {"correct"}
