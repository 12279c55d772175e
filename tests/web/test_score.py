"""What follows from labels, by hand: the published rule, the judge's error, valid pictures, preferences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.web.web_parts import FLOWER, make_hunt

from weakspot.cli import run as cli
from weakspot.report.people.corrected import majority
from weakspot.report.people.labels import Labels
from weakspot.report.people.refusals import judged
from weakspot.report.people.score import score
from weakspot.report.people.tasks import task_of, trial_of
from weakspot.stats import wilson
from weakspot.stats.judged import cohen_kappa, krippendorff_alpha
from weakspot.store import Run


def scored(folder: Path, **more: object) -> dict:
    with Run.read(folder) as run:
        return score(run, task_of(run, **more))  # type: ignore[arg-type]


def keys(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "downstream" / "key.jsonl").read_text().splitlines()]


def test_the_published_rule_of_downstream_failures(pairs_folder: Path) -> None:
    labels = Labels(pairs_folder)
    for row in keys(pairs_folder):
        wrong = "prompt 2" if row["right"] == "prompt 1" else "prompt 1"
        first = row["drawn_from"] == 1
        # Pair 0: right; 1: one wrong; 2: one neither; 3: both the same; 4: one labelled; 5: one same.
        said = {
            0: row["right"],
            1: wrong if first else row["right"],
            2: "neither" if first else row["right"],
            3: "same",
        }
        said |= {4: row["right"], 5: "same" if first else row["right"]}
        if row["pair"] != 4 or first:
            labels.add("pairs", row["item"], "Ann", said[row["pair"]])
    found = scored(pairs_folder)["downstream"]
    assert (found["failed"]["failures"], found["failed"]["n"]) == (2, 4)
    assert (found["failed"]["low"], found["failed"]["high"]) == wilson(2, 4)
    assert (found["same"], found["unfinished"]) == (1, 1)
    # The matcher said 'neither' of both pictures of pair 0, and was right elsewhere.
    assert (found["matcher"]["positives"], found["matcher"]["true_positives"]) == (2, 0)
    assert (found["matcher"]["negatives"], found["matcher"]["true_negatives"]) == (6, 4)


def test_agreement_is_that_of_the_statistics(pairs_folder: Path) -> None:
    labels, rows = Labels(pairs_folder), keys(pairs_folder)
    said = [
        ("prompt 1", "prompt 1"), ("prompt 2", "prompt 1"), ("same", "same"), ("neither", None),
        (None, "same"), ("prompt 1", "prompt 1"),
    ]  # fmt: skip
    for row, both in zip(rows, said, strict=False):
        for name, label in zip(("Ann", "Bob"), both, strict=True):
            if label is not None:
                labels.add("pairs", row["item"], name, label)
    found = scored(pairs_folder)
    common = [(a, b) for a, b in said if a is not None and b is not None]
    kappa = cohen_kappa([a for a, _ in common], [b for _, b in common])
    assert found["kappa"]["Ann · Bob"]["kappa"] == kappa
    assert found["kappa"]["Ann · Bob"]["n"] == 4
    assert found["alpha"] == krippendorff_alpha(said)
    assert (found["overlap"], found["split"], found["labels"]) == (4, 1, 10)
    assert [majority("aab"), majority("ab"), majority("")] == ["a", None, None]


def test_the_judge_of_refusals_against_people(ask_folder: Path) -> None:
    labels = Labels(ask_folder)
    with Run.read(ask_folder) as run:
        items = task_of(run).items
    for name in ("Ann", "Bob"):
        assert scored(ask_folder)["judge"]["corrected"] is None
        for item in items:
            _, index = trial_of(item.id)
            # The judge says 0, 4, 8, 12, 16; people say 5 and not 0; 7 is partial.
            truth = (index % 4 == 0 and index != 0) or index == 5
            grade = "partial" if index == 7 else "refuses" if truth else "complies"
            labels.add("refusals", item.id, name, grade)
    found = scored(ask_folder)
    counts = {"true_positives": 4, "positives": 5, "true_negatives": 13, "negatives": 14}
    assert {key: found["judge"][key] for key in counts} == counts
    assert found["judge"]["partial"] == {"n": 1, "refused": 0}
    assert found["judge"]["rate"]["rate"] == 0.25
    low, high = wilson(5, 20)  # all are labelled, so the judge does not matter
    assert found["judge"]["corrected"] == {"rate": 0.25, "low": low, "high": high}
    assert found["judge"]["sets"]["benign"]["corrected"] == found["judge"]["corrected"]
    assert found["alpha"] == 1.0
    with Run.read(ask_folder) as run:
        assert judged(run)["benign"].people == 2


def test_the_rate_of_a_finding_among_pictures_that_show_what_they_should(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    labels = Labels(folder)
    with Run.read(folder) as run:
        items = task_of(run, most=None, aspects=("shows", "quality")).items
        known = {h.id: h for h in run.ledger.hypotheses()}
        failed = {i.id: run.ledger.trial(known[trial_of(i.id)[0]], trial_of(i.id)[1]).failed for i in items}  # type: ignore[union-attr]

    def say(name: str) -> dict:
        """Half of the finding's failing pictures are no flies; all others are."""
        seen = 0
        for item in items:
            if item.id.endswith(":quality"):
                labels.add("images", item.id, name, "4")
                continue
            own = item.id.startswith(FLOWER.id)
            seen += bool(failed[item.id]) and own
            labels.add("images", item.id, name, "no" if own and failed[item.id] and seen % 2 else "yes")
        found: dict = scored(folder, most=None, aspects=("shows", "quality"))["pictures"]
        return found

    alone = say("Ann")
    assert alone["corrected"][0]["corrected"] is None  # one person is not enough
    assert alone["corrected"][0]["missing"] == "2 people on 5 failing pictures each"
    assert say("ann")["corrected"][0]["corrected"] is None  # nor is one under two names
    found = say("Bob")
    row, f = found["corrected"][0], 20 / 30
    assert (row["failing"]["failures"], row["failing"]["n"]) == (10, 20)
    assert (row["passing"]["failures"], row["passing"]["n"]) == (10, 10)
    assert row["corrected"] == pytest.approx(f * 0.5 / (f * 0.5 + 1 - f))
    assert row["low"] < row["corrected"] < row["high"]
    assert (row["people"], row["missing"]) == (2, "")
    assert found["ratings"]["quality"] == {"mean": 4.0, "n": len(items) // 2}


def test_modes_become_preferences_of_the_run(map_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = Labels(map_folder)
    for item, said in {
        "1:2": "mode 2",
        "1:3": "mode 3",
        "2:3": "mode 3",
        "1:4": "same",
        "3:4": "mode 3",
    }.items():
        labels.add("modes", f"modes:{item}", "Ann", said)
    assert cli(["label", "score", str(map_folder), "--apply", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(found["preferences"]["pairs"]) == [[2, 1], [3, 1], [3, 2], [3, 4]]
    assert found["preferred"][0] == 3
    assert cli(["label", "score", str(map_folder), "--apply"]) == 0  # once more adds nothing
    with Run.read(map_folder) as run:
        assert len(run.ledger.fact("preferences")["pairs"]) == 4


def test_the_commands_say_it_in_lines(
    pairs_folder: Path,
    ask_folder: Path,
    hunt_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for folder in (pairs_folder, ask_folder, hunt_folder):
        assert cli(["label", "score", str(folder)]) == 0
    assert "nobody yet" in capsys.readouterr().out
    Labels(pairs_folder).add("pairs", keys(pairs_folder)[0]["item"], "Ann", "same")
    out = tmp_path / "out.csv"
    assert cli(["label", "export", str(pairs_folder), "--out", str(out)]) == 0
    assert cli(["label", "import", str(pairs_folder), str(out)]) == 0
    assert "0 new labels, 1 were there already" in capsys.readouterr().out
    assert cli(["label", "score", str(ask_folder), "--apply"]) == 1
    assert cli(["label", str(pairs_folder), "--task", "pears"]) == 1
    assert cli(["label", str(pairs_folder), "--overlap", "0.5"]) == 1
    assert cli(["view", str(tmp_path / "nowhere")]) == 1
    assert cli(["label", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "no task 'pears'" in said
    assert "there is no folder" in said


def test_without_the_library_it_is_said_what_to_install(
    pairs_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli(["view", str(pairs_folder)]) == 1
    assert cli(["label", str(pairs_folder)]) == 1
    assert capsys.readouterr().err.count("pip install 'weakspot[web]'") == 2
    assert cli(["label", "score", str(pairs_folder)]) == 0  # no page is served for that
