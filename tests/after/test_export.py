"""The data set of a hunt: every picture is one that the model misreads, whoever looks, in three formats."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.after.after_parts import BASE, FLOWER, YELLOW, hunted

from weakspot.after.dataset import Record
from weakspot.after.export import Exported, ExportSettings, export
from weakspot.core import MODELS, SOURCES, Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.store import Run, RunConfig


def exported(
    folder: Path, out: str = "set", parts: Mapping[str, Any] | None = None, **settings: Any
) -> Exported:
    with Run.read(folder) as run:
        return export(run, out=out, settings=ExportSettings(**settings), **(parts or {}))


def pixels(record: Record, folder: Path = Path("set")) -> Any:
    path = folder / "test" / "fly" / f"{record.hypothesis}-{record.index}.png"
    return np.asarray(Image.open(path))


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_picture_is_what_was_drawn_and_is_misread_by_whoever_asks_again(run_folder: Path) -> None:
    done = exported(run_folder, draw=60, per_caption=70)
    source, target = (
        SOURCES.load("python:others:Varied"),
        MODELS.load("python:toy:classify?labels=labels.txt"),
    )
    words = {h.id: h for h in (FLOWER, YELLOW)}
    assert len(done.records) == 140
    assert {r.origin for r in done.records} == {"kept", "drawn"}
    for record in done.records:
        [case] = source.draw(words[record.hypothesis], [record.index], seed=record.run_seed)
        shown = pixels(record)
        assert np.array_equal(shown, case.input)
        [output] = target.answer([Case(case.hypothesis, case.index, case.seed, shown, "fly")])
        assert output.answer == record.predicted == "bee"
        assert (record.label, record.caption, record.seed) == ("fly", case.caption, case.seed)
        assert record.seed == case_seed(7, words[record.hypothesis], record.index)
        assert record.prompt == words[record.hypothesis].text
        assert record.top[0] == pytest.approx(("bee", 0.93333), abs=1e-3)
        assert record.score == pytest.approx(1 - 0.1 / 3, abs=1e-3)


def test_without_drawing_it_takes_what_the_run_kept_and_needs_no_model(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weakspot.core.registry.Registry.load", None)
    done = exported(run_folder)
    with Run.read(run_folder) as run:
        kept = {
            (h.id, t.index) for h in (FLOWER, YELLOW) for t in run.ledger.trials(h, failed=True, kept=True)
        }
    assert {(r.hypothesis, r.index) for r in done.records} == kept
    assert done.counts.kept == len(kept)
    assert done.counts.tried == 0


def test_the_cap_holds_for_each_caption_and_fresh_draws_come_first(run_folder: Path) -> None:
    done = exported(run_folder, per_caption=30)
    assert Counter(r.phrase for r in done.records) == {
        "it is on a flower.": 30,
        "it is on a yellow flower.": 30,
    }
    stages = [Stage.of(r.index) for r in done.records if r.finding == 1]
    assert stages == sorted(stages, reverse=True)
    assert set(stages) == {Stage.CONFIRM, Stage.EXPLORE}


def test_only_confirmed_leaves_the_others_out(run_folder: Path) -> None:
    done = exported(run_folder, only_confirmed=True)
    assert {r.phrase for r in done.records} == {"it is on a flower."}
    assert "not confirmed" not in (done.folder / "README.md").read_text()
    both = exported(run_folder, "both")
    assert "not confirmed" in (both.folder / "README.md").read_text()


def test_what_failed_but_was_not_kept_is_drawn_before_anything_else(run_folder: Path) -> None:
    with Run.read(run_folder) as run:
        lost = [t.index for t in run.ledger.trials(FLOWER, failed=True) if t.blob is None]
    assert len(lost) > 5
    done = exported(run_folder, draw=5, per_caption=1000, only_confirmed=True)
    assert [r.index for r in done.records if r.origin == "drawn"] == lost[:5]
    assert done.counts.tried == 5


def test_fresh_pictures_lie_beyond_all_that_the_run_drew(run_folder: Path) -> None:
    done = exported(run_folder, draw=200, per_caption=1000, only_confirmed=True)
    fresh = [r.index for r in done.records if r.index >= Stage.CONFIRM.start + 64]
    assert len(fresh) > 60
    assert done.counts.tried == 200


def test_the_budget_ends_the_drawing_and_what_there_is_is_written(run_folder: Path) -> None:
    done = exported(run_folder, draw=500, per_caption=400, budget="images=20")
    assert done.counts.tried == 20
    assert done.counts.limit == "images budget of 20 is spent"
    assert "images budget of 20" in (done.folder / "README.md").read_text()


def test_after_a_kill_the_same_command_goes_on_and_ends_the_same(
    others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = hunted(others / "run", source="python:others:Counting", confirmed=16, explored=8)
    module = importlib.import_module("others")

    exported(folder, "whole", draw=250, per_caption=120)
    needed = module.Counting.drawn
    monkeypatch.setattr(module.Counting, "drawn", 0)
    monkeypatch.setattr(module.Counting, "stop_at", 180)
    with pytest.raises(KeyboardInterrupt):
        exported(folder, draw=250, per_caption=120)
    assert not Path("set").exists()
    with Run.read(Path(".set.part")) as drawn:
        assert sum(tally.drawn for tally in drawn.ledger.tallies().values()) > 60
    monkeypatch.setattr(module.Counting, "stop_at", 10**9)
    done = exported(folder, draw=250, per_caption=120)
    assert module.Counting.drawn < needed + 200
    assert files(done.folder) == files(Path("whole"))
    assert not Path(".set.part").exists()


def test_what_another_export_left_is_not_mixed_in(run_folder: Path, others: Path) -> None:
    other = hunted(others / "other", seed=7, target="python:others:milder?labels=labels.txt")
    Path("bad").mkdir()
    with pytest.raises(WeakspotError, match="already exists"):
        exported(run_folder, "bad")
    Path("bad").rmdir()
    Run.create(
        RunConfig(study="export", subject="", settings={"another": "run"}), folder=Path(".set.part")
    ).close()
    with pytest.raises(WeakspotError, match="other settings"):
        exported(other)
    assert not Path("set").exists()


def test_two_at_once_do_not_write_the_same_folder(run_folder: Path) -> None:
    config = RunConfig(study="export", subject="", settings={})
    with Run.create(config, folder=Path(".set.part")), pytest.raises(WeakspotError, match="another process"):
        exported(run_folder)


def test_nothing_is_overwritten(run_folder: Path) -> None:
    exported(run_folder)
    before = files(Path("set"))
    with pytest.raises(WeakspotError, match="set already exists"):
        exported(run_folder, per_caption=1)
    Path("dangling").symlink_to("nowhere")
    with pytest.raises(WeakspotError, match="dangling already exists"):
        exported(run_folder, "dangling")
    assert files(Path("set")) == before


def test_the_three_formats_say_the_same(run_folder: Path) -> None:
    import pyarrow.parquet as pq

    made = {form: exported(run_folder, form, format=form) for form in ("imagefolder", "jsonl", "parquet")}
    records = made["jsonl"].records
    assert all(one.records == records for one in made.values())
    lines = [json.loads(line) for line in Path("jsonl/test.jsonl").read_text().splitlines()]
    with Path("imagefolder/test/metadata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table("parquet/data/test-00000-of-00001.parquet")
    assert len(lines) == len(rows) == table.num_rows == len(records)
    for record, line, row, cell in zip(records, lines, rows, table.to_pylist(), strict=True):
        contents = {
            Path("jsonl", line["image"]).read_bytes(),
            Path("imagefolder/test", row["file_name"]).read_bytes(),
            cell["image"]["bytes"],
        }
        assert len(contents) == 1
        assert hashlib.sha256(contents.pop()).hexdigest() == record.sha256 == row["sha256"]
        assert {k: v for k, v in line.items() if k != "image"} == record.values()
        assert {k: v for k, v in cell.items() if k != "image"} == record.values()
        assert json.loads(row["top"]) == record.values()["top"]
        assert (row["label"], row["seed"], row["index"]) == ("fly", str(record.seed), str(record.index))
    told = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert told["image"] == {"_type": "Image"}
    assert list(told) == table.column_names
    for folder in made:
        assert json.loads(Path(folder, "provenance.json").read_text())["run"]["settings"]["label"] == "fly"


def test_the_card_says_what_is_in_it(run_folder: Path) -> None:
    done = exported(run_folder, licence="CC0")
    card = (done.folder / "README.md").read_text()
    assert card.startswith("---\npretty_name: weak spots of python:toy:classify?labels=labels.txt\n")
    assert "license_name: CC0" in card
    assert f"{len(done.records)} pictures of 1 label (fly {len(done.records)})" in card
    assert "| 1 | it is on a flower. |" in card
    assert "no estimate of their rates elsewhere" in card
    assert "python:others:Varied" in card


def test_the_same_picture_is_there_once(others: Path) -> None:
    # Both captions are the same to a source that never looks at them: all pictures are equal.
    (others / "one.py").write_text(
        "from toy import Meadow\n\n\nclass One(Meadow):\n    def draw(self, hypothesis, indices, *, seed):\n"
        "        cases = super().draw(hypothesis, indices, seed=seed)\n"
        "        for case in cases:\n            case.input[0, 0] = (200, 7, 0)\n        return cases\n"
    )
    folder = hunted(others / "run", source="python:one:One", explored=4, confirmed=8)
    done = exported(folder)
    assert len(done.records) == 1
    assert done.counts.twice == 4 + 8 + 4 + 8 - 1


def test_a_folder_that_ends_is_no_endless_loop(others: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = hunted(others / "run", source="python:others:Ending", confirmed=64)
    module = importlib.import_module("others")

    done = exported(folder, draw=10_000, per_caption=5_000)
    assert done.counts.errors == 0
    assert done.counts.tried < 100
    assert max(r.index for r in done.records) < Stage.CONFIRM.start + 70
    monkeypatch.setattr(module, "Ending", module.Silent)  # one that does not say how much it has
    again = exported(folder, "again", draw=10_000, per_caption=5_000)
    assert 0 < again.counts.errors <= 2 * 512
    assert [r.index for r in again.records] == [r.index for r in done.records]


def test_hostile_captions_labels_and_answers_do_no_harm(others: Path) -> None:
    folder = hunted(
        others / "run", source="python:toy:Hostile", target="python:toy:HostileAnswers", confirmed=130
    )
    done = exported(folder, per_caption=200)
    assert {p.name for p in others.iterdir()} >= {"set", "run"}
    with Path("set/test/metadata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(done.records)
    assert all("\x1b" not in cell and "\u202e" not in cell for row in rows for cell in row.values())
    card = (done.folder / "README.md").read_text()
    assert "<script" not in card.replace("\\<script", "")
    assert "\x1b" not in card


def test_a_run_made_with_objects_is_exported_with_objects(run_folder: Path, others: Path) -> None:
    import yaml

    toy = importlib.import_module("toy")

    path = run_folder / "run.yaml"
    told = yaml.safe_load(path.read_text())
    told["settings"] |= {"target": "object:toy.Classifier", "source": "object:toy.Meadow"}
    path.write_text(yaml.safe_dump(told))
    assert exported(run_folder, "kept").counts.kept  # nothing to draw: no object needed
    with pytest.raises(WeakspotError, match="Python object") as error:
        exported(run_folder, draw=10, per_caption=100)
    assert "from Python" in error.value.fix
    done = exported(
        run_folder, draw=10, per_caption=100, parts={"target": toy.Classifier(), "source": toy.Meadow()}
    )
    assert done.counts.tried == 20


def test_a_source_that_is_another_by_now_is_refused(run_folder: Path) -> None:
    import yaml

    class Changed:
        digest = "cd" * 32

        def draw(self, hypothesis: Hypothesis, indices: Any, *, seed: int) -> list[Case]:
            return []

    path = run_folder / "run.yaml"
    told = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(told | {"digests": {"source": "ab" * 32}}))
    with pytest.raises(WeakspotError, match="not the one this run was made with"):
        exported(run_folder, draw=10, per_caption=100, parts={"source": Changed()})


def test_bad_settings_are_refused_before_anything_is_done(run_folder: Path) -> None:
    for wrong, match in (
        ({"format": "parkett"}, "no format is called"),
        ({"per_caption": 0}, "are too few"),
        ({"draw": -1}, "cannot be drawn"),
        ({"budget": "pears=3"}, "no budget"),
    ):
        with pytest.raises(WeakspotError, match=match):
            exported(run_folder, **wrong)
    assert not Path(".set.part").exists()


def test_a_hunt_that_found_nothing_says_so(others: Path) -> None:
    empty = hunted(others / "empty", found=())
    with pytest.raises(WeakspotError, match="found nothing"):
        exported(empty)
    unsure = hunted(others / "unsure", found=((YELLOW, False),))
    with pytest.raises(WeakspotError, match="confirmed nothing") as error:
        exported(unsure, only_confirmed=True)
    assert error.value.fix == "leave out --only-confirmed"
    passing = hunted(
        others / "passing", found=((BASE, True),), target="python:others:perfect?labels=labels.txt"
    )
    with pytest.raises(WeakspotError, match=r"none of .* misread picture") as error:
        exported(passing)
    assert "--draw" in error.value.fix


def test_without_pyarrow_the_extra_is_named(run_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WeakspotError, match="missing") as error:
        exported(run_folder, format="parquet")
    assert error.value.fix == "pip install 'weakspot[data]'"


def test_a_damaged_blob_leaves_no_half_data_set(run_folder: Path) -> None:
    with Run.read(run_folder) as run:
        [first, *_] = run.ledger.trials(FLOWER, failed=True, kept=True)
        run.blobs.path(str(first.blob)).write_bytes(b"not what it was")
    with pytest.raises(WeakspotError, match="damaged"):
        exported(run_folder)
    assert not Path("set").exists()
