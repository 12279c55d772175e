"""The cost benchmark on nearly nothing: its rules, its arithmetic, its tables and picture."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import hunt_cost as cost  # noqa: E402
from weakspot.world.classifier import weak_spots  # noqa: E402


def test_ten_pairs_follow_from_the_truth_table() -> None:
    found = cost.pairs(10)
    assert len({pair.label for pair in found}) == len(found) == 10
    assert max([pair.answer for pair in found].count(answer) for answer in {p.answer for p in found}) <= 2
    first = weak_spots(n=1)[0]
    assert found[0] == (first.subject, first.mostly)


def test_what_is_not_drawn_is_arithmetic() -> None:
    assert cost.Sampled("", 70, 20).needed(500) == 70
    unseen = cost.Sampled("", 1000, 0)
    assert unseen.needed(500) == 1000 + 20 * 1500
    assert cost.Sampled("", 1000, 4).needed(1) < 20 * 1000 / 4 < unseen.needed(1) < unseen.needed(500)


def test_the_same_finding_in_other_words() -> None:
    assert cost.alike("it is on a red flower.", "it is on a flower.")
    assert cost.alike("it is small.", "it is night. it is small.")
    assert not cost.alike("it is small. it is red.", "it is night. it is small.")


def test_a_source_that_is_not_there_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    cost.main(["--source", "world:painter", "--repeats", "0"])
    assert "skipped: world:painter is not there" in capsys.readouterr().out


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        cost.main(["--help"])
    assert "--picture" in capsys.readouterr().out


def test_one_pair_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture = tmp_path / "cost.json", tmp_path / "cost.svg"
    plan = cost.Plan(budget=400, probe=16, most=128, fresh=16, first=100, last=200, sentences=(1,))
    cost.run(plan, n=1, repeats=0, json_file=file, picture=picture)
    results = json.loads(file.read_text("utf-8"))
    (row,) = results["rows"]
    mine = row["ours"]["1"]
    assert 0 < mine["images"] <= 400
    assert 0 < sum(mine["phases"].values()) <= mine["images"]  # a phase that the budget ends is not told
    assert 0 < row["same"]["images"] <= 300
    assert (row["same"]["ratio"] > 0) is row["same"]["same"]
    limits = row["published"]["images"]
    assert limits["1,000"] <= limits["10,000"] <= limits["50,000"] <= limits["1,000,000"]
    assert row["published"]["generous"] <= limits[results["limit"]]
    assert row["published"]["described"] <= limits[results["limit"]]
    assert "fewer images than published" in capsys.readouterr().out
    ElementTree.parse(picture)
    cost.main(["--show", str(file), "--markdown"])
    assert row["pair"] in capsys.readouterr().out
