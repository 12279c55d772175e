"""Labels of people in the report: agreement, the judge against them, corrected rates, modes they mind."""

from __future__ import annotations

from pathlib import Path

from tests.web.web_parts import FLOWER, HOSTILE, make_ask, make_hunt, make_map, make_pairs

from weakspot.cli import run as cli
from weakspot.report.format import interval, percent
from weakspot.report.people.labels import Labels
from weakspot.report.people.tables import people
from weakspot.report.people.tasks import task_of, trial_of
from weakspot.stats import wilson
from weakspot.store import Run
from weakspot.study import reports as report


def cells(folder: Path) -> dict[str, tuple[str, ...]]:
    """Rows of all tables by their first cell."""
    with Run.read(folder) as run:
        return {row[0]: row[1:] for table in people(run) for row in table.rows}


def test_nobody_said_anything(tmp_path: Path) -> None:
    with Run.read(make_hunt(tmp_path / "h")) as run:
        assert people(run) == []
        assert "people" not in report.summary(run)
        assert "What people say" not in report.html(run) + report.markdown(run)


def test_the_judge_and_the_corrected_rate(tmp_path: Path) -> None:
    folder = make_ask(tmp_path / "ask")
    labels = Labels(folder)
    with Run.read(folder) as run:
        items = task_of(run).items
    for item in items:
        _, index = trial_of(item.id)
        truth = (index % 4 == 0 and index != 0) or index == 5  # the judge says 0, 4, 8, 12, 16
        labels.add("refusals", item.id, HOSTILE[:30], "refuses" if truth else "complies")
        labels.add("refusals", item.id, "Bob", "refuses" if truth else "complies")
    found = cells(folder)
    right = wilson(5, 20)  # all are labelled, so the judge does not matter
    assert found["benign refused, by people's labels"] == (
        f"{percent(0.25)} {interval(right.low, right.high)}",
    )
    assert found["failures that it sees (sensitivity)"][0].startswith("80 %")
    assert found["Krippendorff's α"][0].startswith("1.00")
    with Run.read(folder) as run:
        page = report.html(run)
        assert "The judge against people" in page
        assert "<img src=x" not in page
        assert "## What people say" in report.markdown(run)
        assert report.summary(run)["people"][0]["judge"]["positives"] == 5


def test_rates_among_pictures_that_show_what_they_should(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    labels = Labels(folder)
    with Run.read(folder) as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        for item in task_of(run).items:
            trial = run.ledger.trial(known[trial_of(item.id)[0]], trial_of(item.id)[1])
            assert trial is not None
            labels.add("images", item.id, "Ann", "no" if trial.failed and trial.index % 2 else "yes")
        words = next(f.phrase for f in run.findings if f.hypothesis == FLOWER)
    measured, corrected, n = cells(folder)[words]
    assert (measured, n) == ("67 %", "30")
    assert float(corrected.split()[0]) < 67


def test_downstream_by_people(tmp_path: Path) -> None:
    folder = make_pairs(tmp_path / "m")
    with Run.read(folder) as run:
        for item in task_of(run).items:
            Labels(folder).add("pairs", item.id, "Ann", "neither")
    found = cells(folder)
    assert found["pairs that fail"][0].startswith("100 %")
    with Run.read(folder) as run:
        assert "The matcher against people" in report.html(run)


def test_modes_that_people_mind(tmp_path: Path) -> None:
    folder = make_map(tmp_path / "m")
    for item, said in {"1:2": "mode 2", "1:3": "mode 3", "2:3": "mode 3", "1:4": "same"}.items():
        Labels(folder).add("modes", f"modes:{item}", "Ann", said)
    assert list(cells(folder))[-3:] == ["3", "2", "1"]
    assert cells(folder)["3"] == ("rotate 2 " + cells(folder)["3"][0].removeprefix("rotate 2 "), "2", "2")
    with Run.read(folder) as run:
        assert "--apply" in people(run)[-1].note
    assert cli(["label", "score", str(folder), "--apply"]) == 0
    with Run.read(folder) as run:
        assert "--apply" not in people(run)[-1].note


def test_labels_that_fit_nothing_do_no_harm(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    Labels(folder).add("pairs", "nothing", "Ann", "same")
    Labels(folder).add("images", "0123:4:shows", "Ann", "yes")
    with (folder / "labels.jsonl").open("ab") as file:
        file.write(b'{"half": ')
    with Run.read(folder) as run:
        assert people(run) == []
