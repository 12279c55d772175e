"""Labelling: blind, in an order of one's own, saved at once, taken back, shared out, and back as CSV."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from tests.web.web_parts import HOSTILE, SCRIPT, Caller, caller, make_hunt, make_map

from weakspot.core import WeakspotError
from weakspot.judges.refusal.grades import SCALE, Grade
from weakspot.report.people.labels import Labels, annotator_name
from weakspot.report.people.tasks import GRADES, PAIRS, Task, order, shared_out, task_of, trial_of
from weakspot.store import Run
from weakspot.studies.mine.result import Choice as Published
from weakspot.web.labelling import Labelling
from weakspot.web.labels_csv import read_csv, write_csv


def task(folder: Path, name: str | None = None, **more: object) -> Task:
    with Run.read(folder) as run:
        return task_of(run, name, **more)  # type: ignore[arg-type]


def label(folder: Path, **more: object) -> Caller:
    return caller(Labelling(folder, task(folder), **more).app()).open()  # type: ignore[arg-type]


def shown_item(ask: Caller, name: str) -> str:
    found = re.search(r'name="item" value="([^"]+)"', ask(f"/as/{name}").text)
    return unescape(found[1]) if found else ""


def test_the_names_of_answers_are_those_of_the_studies() -> None:
    grades = [Grade(choice.value) for choice in GRADES]
    steps = [SCALE[grade] for grade in grades[:-1]]
    assert steps == sorted(steps)
    assert tuple(choice.value for choice in Published) == PAIRS


def test_answers_are_kept_at_once_and_taken_back(pairs_folder: Path) -> None:
    ask = label(pairs_folder)
    assert ask("/begin", method="POST", form={"name": " Ann  Lee "}).header("location") == "/as/Ann%20Lee"
    assert ask("/begin", method="POST", form={"name": "<script>"}).status == 422
    seen = []
    for number in range(12):
        item = shown_item(ask, "Ann")
        seen.append(item)
        assert ask("/as/Ann", method="POST", form={"item": item, "label": "prompt 1"}).status == 303
        assert len(Labels(pairs_folder).current("pairs")) == number + 1
    assert len(set(seen)) == 12
    assert "Thank you" in ask("/as/Ann").text
    back = ask("/as/Ann/undo", method="POST")
    assert back.status == 303
    assert back.header("location") == f"/as/Ann?item={seen[-1]}"
    assert shown_item(ask, "Ann") == seen[-1]
    assert shown_item(label(pairs_folder), "Ann") == seen[-1]  # another server, the same place
    ask("/as/Ann", method="POST", form={"item": seen[-1], "label": "same"})
    ask("/as/Ann", method="POST", form={"item": seen[0], "label": "neither"})  # a change of mind
    said = {one.item: one.label for one in Labels(pairs_folder).current("pairs")}
    assert (said[seen[0]], said[seen[-1]], len(said)) == ("neither", "same", 12)
    for form in ({"item": "x", "label": "same"}, {"item": seen[0], "label": "maybe"}, {"item": seen[0]}):
        assert ask("/as/Ann", method="POST", form=form).status == 400


def test_nothing_that_the_run_knows_is_shown(pairs_folder: Path, ask_folder: Path) -> None:
    for folder, secrets in (
        (pairs_folder, ("drawn_from", "matcher", "turned")),
        (ask_folder, ("refuses:", "0.5")),
    ):
        ask = label(folder)
        text = ask("/as/Ann").text
        assert not any(secret in text for secret in secrets)
        assert "<img src=x" not in text
        assert SCRIPT not in text
        assert re.findall(r"<script(?! src=\"/static/label\.js\" defer></script>)", text) == []


def test_everybody_has_an_order_and_turns_of_their_own(pairs_folder: Path, tmp_path: Path) -> None:
    items = task(pairs_folder).items
    ann, bob = ([item.id for item in order(items, name)] for name in ("Ann", "Bob"))
    assert ann != bob
    assert sorted(ann) == sorted(bob) == sorted(item.id for item in items)
    assert ann == [item.id for item in order(items, "Ann")]
    modes = task(make_map(tmp_path / "map"))
    firsts = {
        name: [item.choices[0].value for item in order(modes.items, name)] for name in map(str, range(8))
    }
    assert len(modes.items) == 6
    by_item = {
        item.id: {
            order(modes.items, n)[[i.id for i in order(modes.items, n)].index(item.id)].choices[0]
            for n in firsts
        }
        for item in modes.items
    }
    assert any(len(first) == 2 for first in by_item.values())


def test_items_are_shared_out_with_an_overlap(tmp_path: Path) -> None:
    items = task(
        make_hunt(tmp_path / "h", n=400, flower=200), "images", most=300, aspects=("shows", "quality")
    ).items
    names = ["Ann", "Bob", "Cat"]
    own = {name: {item.id for item in shared_out(items, name, names, 0.2)} for name in names}
    shared = own["Ann"] & own["Bob"] & own["Cat"]
    assert set().union(*own.values()) == {item.id for item in items}
    assert 0.08 < len(shared) / len(items) < 0.35
    assert (own["Ann"] & own["Bob"]) == shared
    assert all(f"{item.rpartition(':')[0]}:quality" in own["Ann"] for item in own["Ann"])
    assert shared_out(items, "Ann", [], 0.2) == list(items)
    folder = tmp_path / "h"
    with pytest.raises(WeakspotError, match="annotators that are known"):
        Labelling(folder, task(folder), overlap=0.5)
    ask = label(folder, annotators=["Ann", "Bob"], overlap=0.5)
    assert ask("/as/Ann").status == 200
    assert ask("/as/Eve").status == 404


def test_pictures_are_a_sample_of_both_verdicts(tmp_path: Path) -> None:
    found = task(make_hunt(tmp_path / "h"), most=10)
    with Run.read(tmp_path / "h") as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        failed = []
        for item in found.items:
            hypothesis, index = trial_of(item.id)
            trial = run.ledger.trial(known[hypothesis], index)
            assert trial is not None
            assert trial.blob == item.picture
            failed.append(trial.failed)
    assert sorted(map(bool, failed)) == [False] * 5 + [True] * 5
    assert len(task(tmp_path / "h", most=1000).items) == 20 + 30 + 1  # all that were kept


def test_a_line_cut_short_is_passed_over(tmp_path: Path) -> None:
    labels = Labels(tmp_path)
    labels.add("pairs", "a", "Ann", "same")
    with labels.path.open("ab") as file:
        file.write(b'{"task": "pairs", "item": "b", "annot')
    labels.add("pairs", "c", "Ann", "neither")
    with labels.path.open("ab") as file:
        file.write(
            b'[1]\n{"task": 3}\n\xff\xfe\n{"task": "pairs", "item": "d", "annotator": "Ann", "at": ""}\n'
        )
    assert [(one.item, one.label) for one in Labels(tmp_path).current("pairs")] == [
        ("a", "same"),
        ("c", "neither"),
    ]
    assert labels.undo("pairs", "Ann") == "c"
    assert labels.undo("pairs", "Ann") == "a"
    assert labels.undo("pairs", "Ann") is None
    assert labels.undo("pairs", "Bob") is None


def test_several_servers_lose_no_label(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from weakspot.report.people.labels import Labels\n"
        "labels = Labels(Path(sys.argv[1]))\n"
        "for i in range(40): labels.add('pairs', f'{sys.argv[2]}{i}', sys.argv[2], 'same')"
    )
    jobs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("Ann", "Bob")]
    assert [job.wait() for job in jobs] == [0, 0]
    assert len(Labels(tmp_path).current("pairs")) == 80


def test_labels_go_to_csv_and_back(pairs_folder: Path, tmp_path: Path) -> None:
    what, labels = task(pairs_folder), Labels(pairs_folder)
    for item in what.items:
        labels.add("pairs", item.id, "Ann", "prompt 2")
    labels.add("pairs", what.items[0].id, "-Bob", "same")
    path = tmp_path / "labels.csv"
    assert write_csv(pairs_folder, what, path) == 13
    rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    assert all(not cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t")) for row in rows for cell in row)
    assert any(HOSTILE.split(" =")[0] in cell for row in rows for cell in row)
    assert all(c.isprintable() for row in rows for cell in row for c in cell)
    held = {(one.annotator, one.item, one.label) for one in labels.current("pairs")}
    labels.path.unlink()
    assert read_csv(pairs_folder, what, path) == (13, 0)
    assert {(one.annotator, one.item, one.label) for one in Labels(pairs_folder).current("pairs")} == held
    assert read_csv(pairs_folder, what, path) == (0, 13)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"item,label\nx,same\n", "no column annotator"),
        (b"item,annotator,label\nnone,Ann,same\n", "line 2: the item 'none' is not one of this task"),
        (b"item,annotator,label\nITEM,Ann,perhaps\n", "'perhaps' is not one of this task"),
        (b"item,annotator,label\nITEM,<b>,same\n", "is no name"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"", "no column item"),
    ],
)
def test_wrong_tables_change_nothing(content: bytes, said: str, pairs_folder: Path, tmp_path: Path) -> None:
    what, path = task(pairs_folder), tmp_path / "in.csv"
    good = f"{what.items[1].id},Ann,same\n".encode()
    content = content.replace(b"label\n", b"label\n" + good if b"ITEM" in content else b"label\n")
    path.write_bytes(content.replace(b"ITEM", what.items[0].id.encode()))
    with pytest.raises(WeakspotError, match=re.escape(said)):
        read_csv(pairs_folder, what, path)
    assert Labels(pairs_folder).current("pairs") == []


def test_what_cannot_be_labelled_is_said(hunt_folder: Path, pairs_folder: Path) -> None:
    with pytest.raises(WeakspotError, match="no task 'pears'"):
        task(hunt_folder, "pears")
    for name in ("pairs", "refusals", "modes"):
        if name != "refusals":
            with pytest.raises(WeakspotError, match="nothing to label"):
                task(hunt_folder, name)
    with pytest.raises(WeakspotError, match="nothing is called 'beauty'"):
        task(hunt_folder, "images", aspects=("beauty",))
    (pairs_folder / "downstream" / "items.jsonl").write_text("{}\nnonsense")
    with pytest.raises((WeakspotError, KeyError)):
        task(pairs_folder)
    for name in ("", "a" * 41, "<b>", "..", "a/b", "a\nb\x00"):
        with pytest.raises(WeakspotError):
            annotator_name(name)
    assert annotator_name(" Zoë  O'Neil-2 ") == "Zoë O'Neil-2"


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").mkdir()
    with pytest.raises(WeakspotError, match="cannot be written"):
        Labels(tmp_path).add("pairs", "a", "Ann", "same")
    with pytest.raises(WeakspotError, match="cannot be read"):
        Labels(tmp_path).current("pairs")


def test_items_without_their_fields_are_said(pairs_folder: Path) -> None:
    (pairs_folder / "downstream" / "items.jsonl").write_text(json.dumps({"item": "a"}) + "\n")
    with pytest.raises(WeakspotError, match=r"items\.jsonl"):
        task(pairs_folder)
