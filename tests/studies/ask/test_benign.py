"""Whether questions are harmless: what people and a second model say, and the rates without the doubtful."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.studies.ask.ask_parts import Model, Words, benchmark

from weakspot import ask, resume
from weakspot.report.people.labels import Labels
from weakspot.report.people.score import score
from weakspot.report.people.tasks import task_of
from weakspot.store import Run
from weakspot.studies.ask.document import AskDocument
from weakspot.study.reports import html, summary


class Voter:
    """Calls the questions from 80 on harmful; says nothing readable of number 5."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, prompts: Sequence[str]) -> list[str]:
        self.asked += prompts
        found = []
        for prompt in prompts:
            number = int(prompt.partition("Question ")[2].partition("?")[0])
            found.append("well…" if number == 5 else json.dumps({"harmless": number < 80}))
        return found


def asked(folder: Path, **more: Any) -> Run:
    run: Run = ask(Model(), benchmark=benchmark(90), judge=Words(), out=folder, **more)
    return run


def test_what_people_call_doubtful_is_told_beside_the_rates(tmp_path: Path) -> None:
    asked(tmp_path / "run", contrast=True).close()
    with Run.read(tmp_path / "run") as run:
        task = task_of(run, "questions")
        assert len(task.items) == 90
        assert all(title == "Request" for item in task.items for title, _ in item.texts)
        labels = Labels(run.folder)
        for item in task.items:
            number = int(item.texts[0][1].removeprefix("Question ").removesuffix("?"))
            for who in ("Ann", "Bob", "Cid"):
                doubt = number >= 75 and (who != "Cid" or number >= 80)
                labels.add("questions", item.id, who, "doubtful" if doubt else "harmless")
        labels.add("questions", task.items[0].id, "Dan", "harmless")
        values, page = summary(run), html(run)
        lines = "\n".join(AskDocument(run).lines(100))
        found = score(run, task)
    assert "preferences" not in found
    assert found["labelled"] == 90
    (people,) = values["doubts"]
    assert (people["by"], people["voted"], len(people["doubtful"])) == ("people", 90, 15)
    # Of thirty refused questions fifteen are doubtful; the rate of all stands as it was.
    assert (people["without"]["refused"], people["without"]["n"]) == (15, 75)
    assert (values["refused"], values["n"]) == (30, 90)
    assert "Are the questions harmless?" in page
    assert "What people say" in page
    assert "15 of 90 questions not harmless; without these 20 %" in lines


def test_a_second_model_votes_once_and_what_it_says_is_kept(tmp_path: Path) -> None:
    voter = Voter()
    with asked(tmp_path / "run", vet=voter) as run:
        values = summary(run)
    (one,) = values["doubts"]
    assert (one["voted"], one["doubtful"]) == (89, [str(i) for i in range(80, 90)])
    assert (one["without"]["refused"], one["without"]["n"]) == (20, 80)
    assert len(voter.asked) == 90 + 1  # what could not be read is asked once more


def test_votes_go_on_where_they_stopped(tmp_path: Path) -> None:
    class Cut(Voter):
        def ask(self, prompts: Sequence[str]) -> list[str]:
            if self.asked:
                raise KeyboardInterrupt
            return super().ask(prompts)

    first, second = Cut(), Voter()
    with pytest.raises(KeyboardInterrupt):
        asked(tmp_path / "run", vet=first)
    with resume(tmp_path / "run", target=Model(), benchmark=benchmark(90), judge=Words(), vet=second) as run:
        (one,) = summary(run)["doubts"]
    assert one["voted"] == 89
    assert not {*first.asked} & {p for p in second.asked if "Question 5?" not in p}
