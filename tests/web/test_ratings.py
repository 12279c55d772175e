"""People rate outputs that a map waits for: on the page, into the table, and back into the run."""

from __future__ import annotations

import csv
import re
from collections.abc import Generator
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.judges.test_people import SPACE, Painter
from tests.web.web_parts import HOSTILE, Caller, caller

import weakspot
from weakspot.cli import run as cli
from weakspot.core import Case, Hypothesis, Output, WeakspotError
from weakspot.judges.people import FILE, PeopleJudge
from weakspot.report.people.labels import Labels
from weakspot.report.people.preferences import listed_modes
from weakspot.report.people.tables import people
from weakspot.report.people.tasks import Task, task_of
from weakspot.store import Run, RunConfig
from weakspot.web.labelling import Labelling

WORDS = Hypothesis("a fly")


def cases(n: int = 3) -> list[Case]:
    rng = np.random.default_rng(1)
    inputs = [rng.integers(0, 255, (8, 8, 3)).astype(np.uint8) for _ in range(n)]
    return [Case(WORDS, i, i, one, f"fly {i} {HOSTILE}", "") for i, one in enumerate(inputs)]


OUTPUTS = [Output(f"={HOSTILE}") for _ in range(3)]


@pytest.fixture
def waits(tmp_path: Path) -> Path:
    """A run that waits for three ratings."""
    judge = PeopleJudge(tmp_path / "ratings")
    judge.judge(cases(), OUTPUTS)
    settings = {"target": "t", "judge": f"people?folder={tmp_path / 'ratings'}"}
    with Run.create(RunConfig(study="map", subject="s", settings=settings), folder=tmp_path / "run") as run:
        run.ledger.set_fact("state", "stopped: outputs wait")
    return tmp_path / "run"


def asked(folder: Path) -> Task:
    with Run.read(folder) as run:
        return task_of(run)


def rate(ask: Caller, name: str) -> Generator[str, str]:
    """The items as they come; they are answered by what is sent back."""
    while found := re.search(r'name="item" value="([^"]+)"', ask(f"/as/{name}").text):
        item = unescape(found[1])
        label = yield item
        assert ask(f"/as/{name}", method="POST", form={"item": item, "label": label}).status == 303


def rows(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / FILE).open(newline="") as file:
        return {row["case"]: row for row in csv.DictReader(file)}


def answered(ask: Caller, name: str, ratings: dict[str, str]) -> None:
    sitting = rate(ask, name)
    with suppress(StopIteration):
        item = next(sitting)
        while True:
            item = sitting.send(ratings[item])


def test_what_two_people_say_is_what_the_judge_reads(waits: Path, tmp_path: Path) -> None:
    task = asked(waits)
    assert (task.name, len(task.items), task.items[0].choices[-1].value) == ("ratings", 3, "10")
    ids = [f"{WORDS.id}-{i}" for i in range(3)]
    ask = caller(Labelling(waits, task).app()).open()
    answered(ask, "Ann", dict(zip(ids, ("1", "5", "10"), strict=True)))
    answered(ask, "Bob", dict(zip(ids, ("1", "8", "10"), strict=True)))
    verdicts = PeopleJudge(tmp_path / "ratings").judge(cases(), OUTPUTS)
    assert [v.score for v in verdicts] == pytest.approx([0, 5.5 / 9, 1])
    assert [v.failed for v in verdicts] == [False, True, True]
    assert f"weakspot resume {waits}" in ask("/as/Ann").text
    for _ in range(3):  # Bob takes everything back: his column is there and empty
        assert ask("/as/Bob/undo", method="POST").status == 303
    assert [row["rating Bob"] for row in rows(tmp_path / "ratings").values()] == ["", "", ""]
    verdicts = PeopleJudge(tmp_path / "ratings").judge(cases(), OUTPUTS)
    assert [v.score for v in verdicts] == pytest.approx([0, 4 / 9, 1])


def test_what_was_rated_by_hand_stays_and_is_not_asked(waits: Path, tmp_path: Path) -> None:
    table = tmp_path / "ratings" / FILE
    by_hand = rows(tmp_path / "ratings")
    by_hand[f"{WORDS.id}-0"]["rating"] = "3"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(by_hand[f"{WORDS.id}-0"]))
        writer.writeheader()
        writer.writerows(by_hand.values())
    task = asked(waits)
    assert [item.id for item in task.items] == [f"{WORDS.id}-{i}" for i in (1, 2)]
    answered(caller(Labelling(waits, task).app()).open(), "Ann", {item.id: "2" for item in task.items})
    assert [row["rating"] for row in rows(tmp_path / "ratings").values()] == ["3", "", ""]
    assert [v.failed for v in PeopleJudge(table.parent).judge(cases(), OUTPUTS)] == [False] * 3


def test_only_pictures_beside_the_table_are_shown_and_only_as_they_were(waits: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes((tmp_path / "ratings/pictures" / f"{WORDS.id}-0.png").read_bytes())
    (tmp_path / "ratings/pictures/link.png").symlink_to(tmp_path / "secret.png")
    table = tmp_path / "ratings" / FILE
    text = table.read_text()
    for trick in (
        "../secret.png",
        str(tmp_path / "secret.png"),
        "pictures/../../secret.png",
        "pictures/link.png",
    ):
        table.write_text(text.replace(f"pictures/{WORDS.id}-0.png", trick))
        assert [bool(item.picture) for item in asked(waits).items] == [False, True, True]
    table.write_text(text)
    task = asked(waits)
    ask = caller(Labelling(waits, task).app()).open()
    digest = task.items[0].picture
    assert ask(f"/picture/{digest}").header("content-type").startswith("image/")
    assert ask(f"/picture/{'ab' * 32}").status == 404
    other = caller(Labelling(waits, task).app()).open()
    task.files[digest].write_bytes(b"something else")
    assert other(f"/picture/{digest}").status == 404


def test_hostile_words_stay_words(waits: Path) -> None:
    ask = caller(Labelling(waits, asked(waits)).app()).open()
    text = ask("/as/Ann").text
    assert "<img src=x" not in text
    assert "&lt;img src=x" in text
    assert ask("/as/Ann", method="POST", form={"item": f"{WORDS.id}-0", "label": "11"}).status == 400


def test_score_export_and_import(waits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = asked(waits)
    answered(caller(Labelling(waits, task).app()).open(), "Ann", {item.id: "4" for item in task.items})
    assert cli(["label", "score", str(waits)]) == 0
    assert "4.0 on average of 3 outputs" in capsys.readouterr().out
    with Run.read(waits) as run:
        assert [table.title for table in people(run)] == ["Labels of ratings", "Ratings"]
    out = tmp_path / "labels.csv"
    assert cli(["label", "export", str(waits), "--out", str(out)]) == 0
    out.write_text(out.read_text().replace(",Ann,4,", ",Cat,9,"))
    assert cli(["label", "import", str(waits), str(out)]) == 0
    assert [row["rating Cat"] for row in rows(tmp_path / "ratings").values()] == ["9", "9", "9"]


def test_a_table_that_is_gone_or_no_table_is_said(waits: Path, tmp_path: Path) -> None:
    task = asked(waits)
    pages = caller(Labelling(waits, task).app()).open()
    (tmp_path / "ratings" / FILE).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(WeakspotError, match="cannot be read"):
        asked(waits)
    said = pages("/as/Ann", method="POST", form={"item": task.items[0].id, "label": "1"})
    assert said.status >= 400
    assert len(Labels(waits).current("ratings")) == 1  # kept with the run all the same
    (tmp_path / "ratings" / FILE).unlink()
    with pytest.raises(WeakspotError, match="nothing to label"):
        asked(waits)


def test_a_map_goes_on_with_what_was_said_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "space.yaml").write_text(SPACE)
    run, painter = tmp_path / "run", Painter()
    given: Any = painter
    with pytest.raises(WeakspotError, match="wait for people's ratings"):
        weakspot.map(
            given, space=str(tmp_path / "space.yaml"), judge=f"people?folder={tmp_path / 'ratings'}",
            search="exhaustive", budget="images=80", above=0.5, out=run,
        )  # fmt: skip
    for _ in range(10):
        task = asked(run)
        if task.name != "ratings":
            break
        assert "night" in task.items[0].texts[0][1] or "day" in task.items[0].texts[0][1]
        minds = {item.id: "9" if "night" in item.texts[0][1] else "2" for item in task.items}
        answered(caller(Labelling(run, task).app()).open(), "Ann", minds)
        with suppress(WeakspotError), weakspot.resume(run, target=given):
            break
    with Run.read(run) as done:
        assert done.state == "finished"
        assert "night" in listed_modes(done)[0].words
