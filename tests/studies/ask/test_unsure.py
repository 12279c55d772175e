"""Answers of which the judge is unsure: bounds instead of guesses, people's labels where there are some."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from weakspot import ask
from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.report.people.labels import Labels
from weakspot.report.people.tasks import task_of
from weakspot.stats import wilson
from weakspot.store import Run
from weakspot.studies.ask.result import AskResult
from weakspot.study import reports

REFUSED = "I'm sorry, but I can't help with that request, since it could hurt somebody."
PARTIAL = "I can't say who the person is. She wears a red coat and holds a broom in her left hand."
ANSWER = "Of course. First, you take the larger one, then you put it on the shelf beside the door."
UNSURE = ("Maybe.", '{"tool": "search"}')
FILTERED = "The response was filtered: content_filter"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of 40 answers 8 refuse, 26 answer, 4 are open, one was filtered, one is nothing but thoughts."""
    said = [REFUSED] * 8 + [ANSWER] * 26 + [*UNSURE, *UNSURE] + [FILTERED, "<think>hm</think>"]
    rows = [{"id": i, "question": f"Question {i}?", "topic": "ab"[i % 2]} for i in range(len(said))]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    answers = [{"id": i, "response": text} for i, text in enumerate(said)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    return tmp_path


def asked(folder: Path, out: str, **more: Any) -> AskResult:
    settings: dict[str, Any] = {"benchmark": f"questions:{folder / 'questions.jsonl'}", **more}
    ask(f"replay:{folder / 'answers.jsonl'}", out=folder / out, **settings)
    return AskResult.of(Run.read(folder / out)) or AskResult(model="")


def test_the_rate_has_bounds(folder: Path) -> None:
    found = asked(folder, "run")
    counts = found.refused, found.answered, found.unsure, found.n, found.blocked, found.empty
    assert counts == (8, 26, 4, 38, 1, 1)
    assert found.rate_bounds == (8 / 38, 12 / 38)
    assert found.rate is not None
    assert 8 / 38 < found.rate < 12 / 38
    assert found.rate_interval == (wilson(8, 38).low, wilson(12, 38).high)
    assert found.rate_corrected is None
    expected = {"refuses": 8, "unsure": 2, "not understood": 2, "filtered": 1, "empty": 1}
    assert expected.items() <= found.grades.items()
    with Run.read(folder / "run") as run:
        page = reports.markdown(run)
    assert "The judge is unsure of 4 answers: depending on these, it refuses between 21 % and 32 % of" in page
    assert "8 of 38, 4 unsure" in page
    assert "unknown: bounds" in page
    assert "it is JSON" in page


def test_what_counts_is_the_users_choice(folder: Path) -> None:
    assert asked(folder, "strict", refused="strict").refused == 9  # with the filtered one
    with pytest.raises((WeakspotError, ValueError), match="refused"):
        asked(folder, "wrong", refused="lenient")


def test_the_next_judge_is_asked_where_the_first_is_unsure(folder: Path) -> None:
    found = asked(folder, "routed", judge="embedded,embedded?threshold=0.5")
    assert (found.unsure, found.refused + found.answered) == (0, 38)
    with Run.read(folder / "routed") as run:
        told = [trial.detail for h in run.ledger.hypotheses() for trial in run.ledger.trials(h)]
    assert sum("since embedded was unsure" in detail for detail in told) == 4


def test_people_are_asked_where_the_judge_is_unsure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked(folder, "run")
    with Run.read(folder / "run") as run:
        open_ones, all_ones = task_of(run, unsure=True).items, task_of(run).items
    assert (len(open_ones), len(all_ones)) == (4, 38)
    labels = Labels(folder / "run")
    rest = [item for item in all_ones if item.id not in {one.id for one in open_ones}]

    def scored(name: str) -> dict[str, Any]:
        for item in (*open_ones, *rest[:16]):
            refuses = dict(item.texts)["Answer"] == REFUSED
            labels.add("refusals", item.id, name, "refuses" if refuses else "complies")
        assert cli(["label", "score", str(folder / "run"), "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["judge"]
        return found

    assert scored("Ann")["corrected"] is None  # one person is not enough
    judge = scored("Bob")
    assert judge["unsure"] == {"n": 4, "labelled": 4}
    assert judge["sets"]["benign"]["people"] == 2
    assert judge["corrected"]["rate"] == pytest.approx(8 / 38)
    assert judge["corrected"]["low"] < 8 / 38 < judge["corrected"]["high"]
    with Run.read(folder / "run") as run:
        page, values = reports.markdown(run), reports.summary(run)
        tile = reports.document_of(run).tiles()[0]
    assert (tile.number, tile.note[-20:]) == ("21 %", ", by people's labels")
    assert "By what 2 people said of 20 answers, it refuses 21 % " in page
    assert "Kinds of questions by people's labels" in page
    assert "by people's labels; by the judge 8 of 38, 4 unsure" in page
    whole, *kinds = values["labelled"]
    assert (whole["set"], whole["column"], whole["n"], whole["labels"]) == ("benign", "", 38, 20)
    assert values["rate_corrected"] == whole["rate"] == judge["corrected"]["rate"]
    assert all(kind["column"] == "topic" and kind["labels"] >= 10 for kind in kinds)


def test_other_tasks_have_no_judge(folder: Path) -> None:
    asked(folder, "run")
    with Run.read(folder / "run") as run, pytest.raises(WeakspotError, match="no judge that is unsure"):
        task_of(run, "images", unsure=True)


def test_what_the_judge_decides_too_little_of_is_named(folder: Path) -> None:
    said = [UNSURE[1] if i % 2 else ANSWER for i in range(40)]  # all of b
    answers = [{"id": i, "response": text} for i, text in enumerate(said)]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    asked(folder, "run")
    with Run.read(folder / "run") as run:
        page, document = reports.markdown(run), reports.document_of(run)
        lines = " ".join("\n".join(document.lines(100)).split())
    assert "Where the judge decides too little" in page
    assert "| harmless, topic: b | 0 % | 20 |" in page
    assert "judge unsure of 100 %" in page
    assert "the judge decides too little where topic is b (0 %)" in lines


def test_labels_count_for_their_own_set_under_the_first_prompt(folder: Path) -> None:
    """Of 40 harmless questions 8 are refused; the harmful ones are all refused, which people deny of half."""
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    whole = [row | {"contrast": f"Harmful {row['id']}."} for row in rows]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, whole)))
    answers = [{"id": i, "response": REFUSED if i < 8 else ANSWER} for i in range(40)]
    answers += [{"id": i, "set": "contrast", "response": REFUSED} for i in range(40)]
    answers += [answer | {"arm": "safety"} for answer in answers]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    asked(folder, "run", contrast=True, system=("none", "safety"))
    labels = Labels(folder / "run")
    with Run.read(folder / "run") as run:
        items = task_of(run, most=None).items
        before = reports.document_of(run).conclusion
    assert len(items) == 160
    harmful = [item for item in items if "Harmful" in dict(item.texts)["Request"]]
    for name in ("Ann", "Bob"):
        for number, item in enumerate(harmful):
            labels.add("refusals", item.id, name, "refuses" if number % 2 else "complies")
    with Run.read(folder / "run") as run:
        document = reports.document_of(run)
        values = reports.summary(run)
    (whole_set, *_) = values["labelled"]
    assert (whole_set["set"], whole_set["n"], whole_set["labels"]) == ("contrast", 40, 40)
    assert values["rate_corrected"] is None
    assert values["contrast"]["rate_corrected"] == whole_set["rate"]
    assert document.conclusion.startswith(before)
    assert "By what 2 people said of 40 answers, it answers" in document.conclusion
    assert [tile.name for tile in document.tiles() if "people" in tile.note] == ["harmful answered"]


@pytest.mark.parametrize(("given", "fix"), [("never", "choose default or strict"), ("strickt", "'strict'")])
def test_what_counts_as_a_refusal_is_one_of_two_words(
    given: str, fix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli(["ask", "world:guide", "--benchmark", "world:questions", "--refused", given]) == 1
    said = capsys.readouterr().err
    assert f"'refused' cannot be {given!r}" in said
    assert fix in said
