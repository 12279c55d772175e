"""Answers of which the judge is unsure: bounds instead of guesses, people's labels where there are some."""

from __future__ import annotations

import json
from pathlib import Path

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


def asked(folder: Path, out: str, **more: str) -> AskResult:
    settings = {"benchmark": f"questions:{folder / 'questions.jsonl'}"} | more
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
    assert "as the 4 that the judge is unsure of fall" in page


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
    for item in open_ones:
        labels.add("refusals", item.id, "Ann", "complies")
    rest = [item for item in all_ones if item.id not in {one.id for one in open_ones}]
    for item in rest[:16]:
        text = dict(item.texts)["Answer"]
        labels.add("refusals", item.id, "Ann", "refuses" if text == REFUSED else "complies")
    assert cli(["label", "score", str(folder / "run"), "--json"]) == 0
    judge = json.loads(capsys.readouterr().out)["judge"]
    assert judge["unsure"] == {"n": 4, "labelled": 4}
    assert judge["corrected"]["rate"] == pytest.approx(8 / 38)
    assert judge["corrected"]["low"] < 8 / 38 < judge["corrected"]["high"]
    with Run.read(folder / "run") as run:
        page = reports.markdown(run)
    assert "by people's labels of 20 answers" in page
    assert "Refusals, by people's labels" in page


def test_other_tasks_have_no_judge(folder: Path) -> None:
    asked(folder, "run")
    with Run.read(folder / "run") as run, pytest.raises(WeakspotError, match="no judge that is unsure"):
        task_of(run, "images", unsure=True)
