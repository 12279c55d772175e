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
from tests.web.web_parts import (
    BASE,
    HOSTILE,
    PORT,
    SCRIPT,
    TOKEN,
    Caller,
    caller,
    make_hunt,
    make_map,
    picture,
)

from weakspot.cli import run as cli
from weakspot.core import WeakspotError
from weakspot.judges.refusal.grades import OPEN as OPEN_GRADES
from weakspot.judges.refusal.grades import SCALE, Grade
from weakspot.report.people.labels import Label, Labels, annotator_name
from weakspot.report.people.ratings import fill_in
from weakspot.report.people.refusals import OPEN
from weakspot.report.people.tasks import GRADES, PAIRS, Task, order, shared_out, task_of, trial_of
from weakspot.store import Run
from weakspot.studies.mine.result import Choice as Published
from weakspot.web.labelling import Labelling
from weakspot.web.labels_csv import read_csv, write_csv
from weakspot.web.serve import Guard


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
    assert set(map(str, OPEN_GRADES)) == OPEN
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


def test_pictures_are_those_that_findings_hang_on(tmp_path: Path) -> None:
    found = task(make_hunt(tmp_path / "h"), most=32).items
    with Run.read(tmp_path / "h") as run:
        known = {h.id: h for h in run.ledger.hypotheses()}
        rows = []
        for item in found:
            hypothesis, index = trial_of(item.id)
            trial = run.ledger.trial(known[hypothesis], index)
            assert trial is not None
            assert trial.blob == item.picture
            rows.append((item.round, known[hypothesis].origin, bool(trial.failed)))
    assert [row[1] for row in rows[:12]] == ["caption"] * 12  # the finding's first
    assert [row[2] for row in rows[:12]] == [True] * 8 + [False] * 4
    assert [row[1] for row in rows[12:18]] == ["baseline"] * 6  # only two of its failing ones were kept
    assert [row[0] for row in rows] == [0] * 12 + [1] * 6 + [2] * 14
    assert len(task(tmp_path / "h").items) == 20 + 30  # of the finding and its baseline
    assert len(task(tmp_path / "h", most=None).items) == 20 + 30 + 1  # all that may have been asked
    asked = order(task(tmp_path / "h").items, "Ann")
    assert [item.round for item in asked] == sorted(item.round for item in asked)


def test_a_run_without_findings_asks_about_both_verdicts(tmp_path: Path) -> None:
    folder = make_hunt(tmp_path / "h")
    with Run.open(folder) as run:
        run.ledger.set_findings([])
        bases = len(run.baselines)
    assert bases == 1
    assert {trial_of(item.id)[0] for item in task(folder).items} == {BASE.id}


def test_ann_and_ann_are_one_person(pairs_folder: Path) -> None:
    ask = label(pairs_folder)
    item = shown_item(ask, "Ann")
    ask("/as/Ann", method="POST", form={"item": item, "label": "same"})
    assert ask("/begin", method="POST", form={"name": "ANN"}).header("location") == "/as/Ann"
    assert "1 of 12 done" in ask("/as/ann").text
    ask("/as/ann", method="POST", form={"item": item, "label": "neither"})
    ask("/as/aNN", method="POST", form={"item": shown_item(ask, "ann"), "label": "same"})
    assert [(one.annotator, one.label) for one in Labels(pairs_folder).current("pairs")] == [
        ("Ann", "neither"),
        ("Ann", "same"),
    ]
    assert Labels(pairs_folder).undo("pairs", "ann") is not None
    assert len(Labels(pairs_folder).current("pairs")) == 1
    fixed = label(pairs_folder, annotators=["Ann", "ann", "Bob"])
    assert fixed("/").text.count("of 12</span>") == 2


@pytest.mark.parametrize("name", ["labels.jsonl", "ratings.csv"])
def test_labels_are_never_written_through_a_link(name: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("case,rating\nmine,\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(victim)
    if name == "labels.jsonl":
        with pytest.raises(WeakspotError, match="is a link"):
            Labels(tmp_path / "run").add("pairs", "a", "Ann", "same")
        with pytest.raises(WeakspotError, match="is a link"):
            Labels(tmp_path / "run").current("pairs")
    else:
        table = tmp_path / "run" / name
        fill_in(table, [Label("ratings", "mine", "Ann", "3", "", 0)])
        assert "3" in table.read_text()  # the link made room for a file
        (tmp_path / "run" / ".ratings.csv.lock").unlink()
        (tmp_path / "run" / ".ratings.csv.lock").symlink_to(victim)
        with pytest.raises(WeakspotError, match="is a link"):
            fill_in(table, [])
    assert victim.read_text() == "case,rating\nmine,\n"


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
        (b"item,annotator,label\nITEM,<b>,same\n", "cannot be used as a name"),
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
    with pytest.raises(WeakspotError, match="has no aspect 'beauty'"):
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


def test_modes_are_compared_by_their_pictures(map_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run.open(map_folder) as run:
        kept = [run.blobs.put(picture(i)) for i in range(2)]
        text = run.blobs.put(f"a text {HOSTILE}".encode())
    from weakspot.studies.map.result import MapResult

    def samples(self: MapResult, run: Run, number: int, *, most: int = 2) -> list[str]:
        digests = {1: kept, 2: [text]}.get(number, [])
        return [f"{run.blobs.place}/{one[:2]}/{one}" for one in digests]

    monkeypatch.setattr(MapResult, "samples", samples)
    items = task(map_folder).items
    first = next(choice for choice in items[0].choices if choice.value == "mode 1")
    assert first.pictures == tuple(kept)
    ask = label(map_folder)
    pages = [ask(f"/as/Ann?item={item.id}").text for item in items]
    of_first = [page for page, item in zip(pages, items, strict=True) if ":1:" in item.id]
    assert len(of_first) == 3
    assert all(f"/picture/{kept[0]}" in page for page in of_first)
    assert any("a text" in page for page in pages)
    assert not any("<img src=x" in page for page in pages)
    assert ask(f"/picture/{kept[0]}").header("content-type") == "image/png"
    assert ask(f"/picture/{'0' * 64}").status == 404


def test_a_link_of_ones_own_fixes_the_name(pairs_folder: Path) -> None:
    app = Labelling(pairs_folder, task(pairs_folder), annotators=["Ann", "Bob"]).app()
    ask = Caller(Guard(app, token=TOKEN, port=PORT, people={"anns": "Ann", "bobs": "Bob"}))
    assert ask("/").status == 403
    assert ask("/?token=anns2").status == 403
    ask.cookie = ask("/?token=anns").header("set-cookie").partition(";")[0]
    assert ask("/").header("location") == "/as/Ann"
    assert ask("/begin", method="POST", form={"name": "Bob"}).header("location") == "/as/Ann"
    assert ask("/as/Ann").status == 200
    item = shown_item(ask, "Ann")
    assert ask("/as/Bob").status == 404
    assert ask("/as/Bob", method="POST", form={"item": item, "label": "same"}).status == 404
    assert ask("/as/Bob/undo", method="POST").status == 404
    assert ask("/as/ann", method="POST", form={"item": item, "label": "same"}).status == 303
    everybody = Caller(ask.app).open()
    assert everybody("/as/Bob").status == 200
    assert [one.annotator for one in Labels(pairs_folder).current("pairs")] == ["Ann"]


def test_who_mistypes_a_preference_is_asked_again(
    map_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["twO", "9", "2>2", "1>", "3, 1"])
    monkeypatch.setattr("typer.prompt", lambda *_, **__: next(answers))
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    assert cli(["prefer", str(map_folder)]) == 0
    said = capsys.readouterr().out
    for told in ("not numbers of modes", "there is no mode 9", "worse than itself", "is not a comparison"):
        assert told in said, told
    assert "preferred  3, 1" in said


def test_preferences_are_asked_beside_pictures(map_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Run.open(map_folder) as run:
        kept = run.blobs.put(picture(1))
    from weakspot.studies.map.result import MapResult

    monkeypatch.setattr(
        MapResult, "samples", lambda self, run, number, most=2: [f"{run.blobs.place}/{kept[:2]}/{kept}"]
    )
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert cli(["prefer", str(map_folder), "--modes", "1", "--open"]) == 0
    assert opened == [(map_folder / "modes.html").resolve().as_uri()]
    page = (map_folder / "modes.html").read_text()
    assert page.count('<img src="data:image/png') == 4
    assert "<img src=x" not in page
