"""`weakspot judge check`: the figures, the groups, and labels that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from weakspot.cli import run as cli
from weakspot.core import Case, Output, Verdict, WeakspotError
from weakspot.judges.refusal.check import check, leave_one_out
from weakspot.judges.refusal.grades import Grade
from weakspot.judges.refusal.labels import Labelled, read_labels

REFUSAL, ANSWER = "I'm sorry, but I can't help with that.", "Sure! Put it on the shelf, then close the door."


class Says:
    """Refused if the answer says so; undecided at a question mark."""

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        said = [o.answer or "" for o in outputs]
        status = [o.status for o in outputs]
        return [
            Verdict(None if "?" in a or not a else "no" in a, status=s)
            for a, s in zip(said, status, strict=True)
        ]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_figures_by_hand() -> None:
    labelled = [
        Labelled(None, "no", Grade.REFUSES, "a"),
        Labelled(None, "no", Grade.REFUSES, "a"),
        Labelled(None, "yes", Grade.REFUSES, "b"),
        Labelled(None, "yes", Grade.COMPLIES, "a"),
        Labelled(None, "no", Grade.COMPLIES, "b"),
        Labelled(None, "no", Grade.PARTIAL, "b"),
        Labelled(None, "yes", Grade.PARTIAL, "b"),
        Labelled(None, "?", Grade.REFUSES, "b"),
        Labelled(None, None, Grade.COMPLIES, "b"),
    ]
    found = check(Says(), labelled)
    assert found["n"] == 5
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["sensitivity"] == pytest.approx(2 / 3)
    assert found["specificity"] == pytest.approx(1 / 2)
    assert found["kappa"] == pytest.approx((0.6 - 13 / 25) / (1 - 13 / 25))
    assert found["partial"] == {"n": 2, "refused": 1}
    assert (found["errors"], found["undecided"], found["held_out"]) == (1, 1, 0)
    assert (found["unsure"], found["unsure_share"]) == (1, pytest.approx(1 / 6))
    assert found["rate"]["people"] == pytest.approx(4 / 6)
    assert found["rate"]["judge"] == pytest.approx(3.5 / 6)
    assert found["rate"]["bounds"] == [pytest.approx(3 / 6), pytest.approx(4 / 6)]
    apart = [(row["answer"], row["people"]) for row in found["disagreements"]]
    assert apart == [("yes", "refuses"), ("no", "complies")]
    assert found["by"]["a"]["accuracy"] == 1
    assert found["by"]["b"]["n"] == 2
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = [(REFUSAL, "refuses"), (ANSWER, 0), (REFUSAL, True), (ANSWER, "complies"), (None, "complies")]
    rows = [
        {"prompt": f"q{i}", "response": answer, "label": label, "kind": "x" if i % 2 else "y"}
        for i, (answer, label) in enumerate(said)
    ]
    labels = write(tmp_path / "labels.jsonl", rows)
    assert cli(["judge", "check", "embedded", "--labels", str(labels), "--by", "kind", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    keys = ("accuracy", "sensitivity", "specificity", "kappa", "n", "errors")
    assert {key: found[key] for key in keys} == {
        "accuracy": 1, "sensitivity": 1, "specificity": 1, "kappa": 1, "n": 4, "errors": 1,
    }  # fmt: skip
    assert set(found["by"]) == {"x", "y"}
    assert cli(["judge", "check", "embedded", "--labels", str(labels), "--by", "kind"]) == 0
    out = capsys.readouterr().out
    assert "100.0 %" in out
    assert "1 without an answer" in out
    assert all(len(line) <= 120 for line in out.splitlines())


def test_a_folder_is_grouped_by_its_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(
            tmp_path / f"{name}.jsonl", [{"answer": ANSWER, "label": "0"}, {"answer": REFUSAL, "label": "1"}]
        )
    (tmp_path / "README.md").write_text("not a table")
    labelled = read_labels([tmp_path])
    assert [one.group for one in labelled] == ["one", "one", "two", "two"]
    assert leave_one_out(labelled)["held_out"] == 4
    csv = tmp_path / "three.csv"
    csv.write_text('model,answer,label\nm,"Sure, here it is.",complies\n')
    assert read_labels([csv]) == [Labelled(None, "Sure, here it is.", Grade.COMPLIES, "m")]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"answer": "a"}\n', "line 1 has no label"),
        ('{"label": "refuses"}\n', "line 1 has no answer"),
        (
            '{"answer": "a", "label": "refuses"}\n\n{"answer": "a", "label": "refuze"}\n',
            "line 3: 'refuze' is not a label",
        ),
        ('{"answer": 3, "label": "refuses"}\n', "the answer is not a text"),
        ('{"answer": "a", "label": "refuses"}\nnot json\n', "line 2"),
        ("", "no rows"),
    ],
)
def test_labels_that_cannot_be_read(tmp_path: Path, content: str, what: str) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(content)
    with pytest.raises(WeakspotError) as caught:
        read_labels([path])
    assert what in caught.value.what
    assert caught.value.fix


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="there is no"):
        read_labels([tmp_path / "nothing.jsonl"])
    with pytest.raises(WeakspotError, match="no table"):
        read_labels([tmp_path])
    path = write(tmp_path / "a.jsonl", [{"answer": "a", "label": "refuses", "topic": "x"}])
    with pytest.raises(WeakspotError, match="did you mean 'topic'"):
        read_labels([path], by="topics")
    with pytest.raises(WeakspotError, match="two groups"):
        leave_one_out(read_labels([path]))
    labelled = [Labelled(None, "a", Grade.REFUSES, g) for g in "ab"]
    with pytest.raises(WeakspotError, match="all refusals, or none of them"):
        leave_one_out(labelled)


def test_misuse_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.jsonl", [{"answer": "a", "label": "refuses"}])
    assert cli(["judge", "check", "embeded", "--labels", str(path)]) == 1
    assert "did you mean 'embedded'" in capsys.readouterr().err
    assert cli(["judge", "check", "label", "--labels", str(path), "--leave-one-out"]) == 1
    assert "cannot be trained anew" in capsys.readouterr().err


def test_where_a_judge_is_blind() -> None:
    said = [("?", "riddle")] * 4 + [("no", "riddle")] + [("no", "plain")] * 5
    labelled = [Labelled(None, answer, Grade.REFUSES, "", style) for answer, style in said]
    found = check(Says(), labelled)
    assert found["where"]["style"]["riddle"] == {"n": 5, "decided": 0.2, "right": 1.0, "blind": True}
    assert found["where"]["style"]["plain"]["blind"] is False
    assert found["where"]["language"]["English"]["n"] == 10
    assert found["where"]["length"]["under 8 words"]["n"] == 10
    assert "style: riddle" in found["blind"]


def test_an_interrupted_check_goes_on_from_what_was_kept(tmp_path: Path) -> None:
    class Tired(Says):
        def __init__(self, most: int) -> None:
            self.calls, self.most = 0, most

        def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
            self.calls += len(cases)
            if self.calls > self.most:
                raise KeyboardInterrupt
            return super().judge(cases, outputs)

    labelled = [Labelled(f"q{i}", "no", Grade.REFUSES) for i in range(40)]
    keep, told = tmp_path / "kept" / "verdicts.jsonl", []
    first = check(Tired(20), labelled, keep=keep, progress=lambda done, of: told.append((done, of)))
    assert (first["judged"], first["of"], first["n"]) == (16, 40, 16)
    keep.write_text(keep.read_text() + '{"key": "cut sho')
    judge = Tired(1000)
    second = check(judge, labelled, keep=keep)
    assert (second["judged"], judge.calls) == (40, 24)
    assert told[:2] == [(0, 40), (16, 40)]


def test_the_command_lists_what_is_judged_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"prompt": f"Where is shelf {i}?", "response": ANSWER, "label": "refuses"} for i in range(3)]
    labels = write(tmp_path / "labels.jsonl", rows)
    assert cli(["judge", "check", "embedded", "--labels", str(labels), "--disagreements", "2"]) == 0
    out = capsys.readouterr().out
    assert out.count("people: refuses") == 2
    assert "Where is shelf 1?" in out
    assert "1 more disagreement:" in out
