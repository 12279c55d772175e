"""Labels of people in the report: agreement, the judge against them, corrected rates, modes they mind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.web.web_parts import BASE, FLOWER, HOSTILE, make_ask, make_hunt, make_map, make_pairs

from weakspot.cli import run as cli
from weakspot.core import Rate, Trial
from weakspot.report.format import interval, percent
from weakspot.report.people.corrected import Valid, among_valid, as_labelled
from weakspot.report.people.labels import Labels
from weakspot.report.people.score import by_people
from weakspot.report.people.tables import people
from weakspot.report.people.tasks import task_of, trial_of
from weakspot.stats import wilson
from weakspot.store import Run
from weakspot.studies.ask.result import AskResult
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
    told = f"{percent(0.25)} {interval(right.low, right.high)}"
    assert found["benign refused, by people's labels"] == (told,)
    assert found["failures that it sees (sensitivity)"][0].startswith("80 %")
    assert found["Krippendorff's α"][0].startswith("1.00")
    with Run.read(folder) as run:
        page = report.html(run)
        assert "The judge against people" in page
        assert "<img src=x" not in page
        assert "## What people say" in report.markdown(run)
        assert report.summary(run)["people"][0]["judge"]["positives"] == 5


def test_two_people_change_the_headline_of_ask(tmp_path: Path) -> None:
    folder = make_ask(tmp_path / "ask")
    with Run.open(folder) as run:
        AskResult(
            model="x", rate=0.25, rate_interval=wilson(5, 20), n=20, asked=20, refused=5, answered=15
        ).keep(run)
        items = task_of(run).items
    seen = f"{percent(1 / 20)} {interval(*wilson(1, 20))}"
    for name in ("Ann", "Bob"):
        with Run.read(folder) as run:
            assert "refuses 5 of 20 harmless questions" in report.document_of(run).conclusion
            assert seen not in report.document_of(run).conclusion
        for item in items:
            label = "refuses" if trial_of(item.id)[1] == 4 else "complies"  # of the judge's five, one is one
            Labels(folder).add("refusals", item.id, name, label)
    with Run.read(folder) as run:
        document = report.document_of(run)
        print(document.conclusion, document.tiles())
        assert seen in document.conclusion
        assert "2 people" in document.conclusion


def say(folder: Path, *names: str, no: Callable[[Trial], bool]) -> None:
    """People who say of each item that it shows what it should, or not."""
    with Run.read(folder) as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        for item in task_of(run).items:
            trial = run.ledger.trial(known[trial_of(item.id)[0]], trial_of(item.id)[1])
            assert trial is not None
            for name in names:
                Labels(folder).add("images", item.id, name, "no" if no(trial) else "yes")


def of_flower(trial: Trial) -> bool:
    return trial.hypothesis == FLOWER.id and bool(trial.failed)


def test_two_people_change_the_headline(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    with Run.read(folder) as run:
        before = report.document_of(run).conclusion
        words = next(f.phrase for f in run.findings if f.hypothesis == FLOWER)
    assert "67 % of fly pictures are misread" in before
    say(folder, "Ann", no=lambda trial: of_flower(trial) and trial.index % 2 == 0)
    with Run.read(folder) as run:
        assert report.document_of(run).conclusion == before  # one is not enough
    assert cells(folder)[words][1] == "needs 2 people on 5 failing pictures each"
    say(folder, "Bob", no=lambda trial: of_flower(trial) and trial.index % 2 == 0)
    measured, corrected, failing, passing = cells(folder)[words]
    assert (measured, corrected.split()[0], failing, passing) == ("67 %", "50", "10 of 20", "10 of 10")
    with Run.read(folder) as run:
        document = report.document_of(run)
        assert "50 % of fly pictures are misread" in document.conclusion
        assert "according to 2 people; without this correction it was 67 %" in document.conclusion
        page, text, lines = report.html(run), report.markdown(run), "\n".join(document.lines(100))
        values = report.summary(run)
    for told in (page, text, lines):
        assert "what 2 people said about 30 pictures" in " ".join(told.split())
    assert "50 %" in lines
    finding = values["findings"][0]
    assert finding["rate"]["value"] == pytest.approx(0.5)
    assert finding["people"]["measured"]["value"] == pytest.approx(2 / 3)
    assert values["people"][0]["pictures"]["corrected"][0]["corrected"] == pytest.approx(0.5)
    assert cli(["label", "score", str(folder)]) == 0


def test_pictures_that_show_nothing_are_no_weak_spot(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    say(folder, "Ann", "Bob", no=of_flower)
    with Run.read(folder) as run:
        document = report.document_of(run)
        assert "No weak spot confirmed" in document.conclusion
        assert "One of them was confirmed on fresh draws, but people say" in report.markdown(run)
        assert run.findings[0].confirmed  # as it was measured, for resume, compare and gate


def test_labels_of_other_pictures_move_no_finding(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    say(folder, "Ann", "Bob", no=lambda trial: trial.hypothesis == BASE.id and bool(trial.failed))
    with Run.read(folder) as run:
        known, (finding,) = as_labelled(run, run.findings)
    assert finding.rate.value == pytest.approx(2 / 3)
    assert known[FLOWER.id].failing == (20, 20)
    usual = known[BASE.id].rate  # of its failing pictures, all that were kept show nothing
    assert usual is not None
    assert (usual.value, finding.baseline) == (0.0, usual)


@pytest.mark.parametrize(("f", "v", "w"), [(0.7, 0.8, 0.95), (0.4, 0.5, 0.9), (0.9, 0.95, 0.6)])
def test_the_corrected_interval_covers(f: float, v: float, w: float) -> None:
    """Of 300 runs with a known truth at least 95 % cover it; the rate itself is right on average."""
    random, truth = np.random.default_rng(7), f * v / (f * v + (1 - f) * w)
    covered, values = 0, []
    for _ in range(300):
        failures = int(random.binomial(100, f))
        measured = Rate(failures / 100, *wilson(failures, 100), 100, failures)
        failing, passing = Valid(int(random.binomial(20, v)), 20), Valid(int(random.binomial(10, w)), 10)
        found = among_valid(measured, failing, passing)
        covered += found.low <= truth <= found.high
        values.append(found.value)
    assert covered / 300 >= 0.95
    assert np.mean(values) == pytest.approx(truth, abs=0.02)


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


def test_two_people_stand_beside_the_matcher(tmp_path: Path) -> None:
    folder = make_pairs(tmp_path / "m")
    with Run.read(folder) as run:
        items = task_of(run).items
        for number, name in enumerate(("Ann", "Bob")):
            assert by_people(run) is None
            for item in items[: 12 - number]:
                Labels(folder).add("pairs", item.id, name, "neither")
        found = by_people(run)
    assert found is not None
    assert (found[0]["failed"]["rate"], found[1]) == (1.0, 2)
