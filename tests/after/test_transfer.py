"""Transfer: models whose relation is known, on pictures that are the same for all."""

from __future__ import annotations

import importlib
import json
import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.after.after_parts import BASE, FLOWER, hunted

from weakspot.after.transfer import Transfer, transfer
from weakspot.after.transfer_matrix import markdown, rate, svg, versus
from weakspot.core import Hypothesis, Rate, Stage, WeakspotError
from weakspot.stats import mcnemar, wilson
from weakspot.store import Run

MILDER, SAME = "python:others:milder?labels=labels.txt", "python:others:same?labels=labels.txt"
OWN, SOURCE = "python:toy:classify?labels=labels.txt", "python:others:Varied"


def moved(folder: Path, *targets: Any, **more: Any) -> Transfer:
    with Run.read(folder) as run:
        return transfer(run, targets, **more)


def test_rates_shares_and_differences_are_those_of_models_whose_relation_is_known(run_folder: Path) -> None:
    found = moved(run_folder, MILDER, SAME, n=300)
    assert found.targets == (OWN, MILDER, SAME)
    assert found.images == 3 * 300
    own, milder, same = (found.cell(SOURCE, name, FLOWER.id) for name in found.targets)
    for cell, true in ((own, 200 / 256), (milder, 100 / 256), (same, 200 / 256)):
        assert cell.rate.n == 300
        assert cell.rate.low < true < cell.rate.high
        assert (cell.rate.low, cell.rate.high) == wilson(cell.rate.failures, 300)
        assert cell.adjusted < 1e-6
    assert own.versus is None
    # The milder one fails only where the hunted one does.
    against = milder.versus
    assert against is not None
    assert against.only_other == 0
    assert against.only_own == own.rate.failures - milder.rate.failures
    assert against.low < -100 / 256 < against.high < 0
    assert against.p == mcnemar(against.only_own, 0)
    assert against.p <= against.adjusted < 1e-6
    twin = same.versus
    assert twin is not None
    assert (twin.only_own, twin.only_other, twin.difference, twin.p, twin.adjusted) == (0, 0, 0.0, 1.0, 1.0)
    # Half of the hunted model's failures are the milder one's, all are its twin's.
    shares = {(s.target, s.row): s.rate for s in found.shared}
    for row in (1, 2, None):
        assert shares[MILDER, row].low < 0.5 < shares[MILDER, row].high
        assert shares[SAME, row].value == 1.0
    assert shares[MILDER, None].n == shares[MILDER, 1].n + shares[MILDER, 2].n
    # More than the fresh failures: those the run kept are asked about too.
    with Run.read(run_folder) as run:
        kept = len(run.ledger.trials(FLOWER, failed=True, kept=True))
    assert shares[MILDER, 1].n == own.rate.failures + kept > own.rate.failures


def test_all_models_are_shown_the_same_fresh_pictures_once(run_folder: Path) -> None:
    shown = importlib.import_module("others").shown
    shown.clear()
    found = moved(run_folder, MILDER, SAME, n=50)
    assert shown["milder"] == shown["same"]
    assert found.images == 150
    assert found.cells == moved(run_folder, MILDER, SAME, n=50).cells
    with Run.read(run_folder) as run:
        assert run.ledger.count(FLOWER, Stage.CONFIRM) == 64


def test_pictures_took_no_part_in_the_hunt(others: Path) -> None:
    folder = hunted(others / "run", source="python:others:Counting", confirmed=64)
    module = importlib.import_module("others")

    seen: list[int] = []
    draw = module.Counting.draw

    def spy(self: Any, hypothesis: Any, indices: Any, *, seed: int) -> Any:
        seen.extend(indices)
        return draw(self, hypothesis, indices, seed=seed)

    module.Counting.draw = spy
    moved(folder, MILDER, n=20)
    assert sorted(set(seen)) == [*range(Stage.CONFIRM.start, Stage.CONFIRM.start + 20),
                                 *range(Stage.CONFIRM.start + 64, Stage.CONFIRM.start + 84)]  # fmt: skip


def test_another_source_is_measured_beside_the_runs_own(run_folder: Path) -> None:
    rocks = "python:others:Rocks"
    found = moved(run_folder, MILDER, sources=[rocks, SOURCE], n=120)
    assert found.sources == (SOURCE, rocks)
    assert found.images == 2 * 3 * 120
    here, there = (found.cell(source, OWN, FLOWER.id) for source in found.sources)
    assert here.adjusted < 0.001
    assert there.rate.value < 0.1  # where there are no flowers the caption troubles nobody
    assert there.adjusted > 0.05


def test_a_finding_that_is_none_is_not_called_one_for_any_model(others: Path) -> None:
    folder = hunted(others / "run", found=((BASE, False),), confirmed=8)
    found = moved(folder, MILDER, SAME, n=64)
    cells = [c for c in found.cells if not math.isnan(c.p)]
    assert cells
    assert all(c.adjusted > 0.05 for c in cells)


def test_a_head_without_the_label_is_refused_unless_it_is_said_which_are_the_same(run_folder: Path) -> None:
    renamed = "python:others:Renamed"
    with pytest.raises(WeakspotError, match="has no label 'fly'") as error:
        moved(run_folder, renamed)
    assert "--same" in error.value.fix
    with pytest.raises(WeakspotError, match="none of the models has a label 'horse fly'"):
        moved(run_folder, renamed, same={"fly": ["house fly", "horse fly"]})
    with pytest.raises(WeakspotError, match="which was not hunted"):
        moved(run_folder, renamed, same={"flea": ["house fly"], "fly": ["house fly"]})
    found = moved(run_folder, renamed, same={"fly": ["house fly"]}, n=80)
    one, two = (found.cell(SOURCE, name, FLOWER.id) for name in found.targets)
    assert one.rate == two.rate


def test_errors_leave_the_denominator_and_are_told(run_folder: Path) -> None:
    found = moved(run_folder, "python:others:Flaky", n=100)
    cell = found.cell(SOURCE, "python:others:Flaky", FLOWER.id)
    assert cell.errors > 0
    assert cell.rate.n + cell.errors == 100
    assert cell.rate.failures <= cell.rate.n
    assert cell.versus is not None
    assert cell.versus.n == cell.rate.n
    assert found.errors[0][0] == "target: TimeoutError: no answer"
    assert found.cell(SOURCE, OWN, FLOWER.id).rate.n == 100


def test_a_folder_that_ends_gives_what_it_has(others: Path, run_folder: Path) -> None:
    ending = "python:others:Ending"
    own = hunted(others / "own", source=ending, confirmed=64)
    found = moved(own, MILDER, n=300)
    assert {c.rate.n for c in found.cells} == {70}
    assert not found.errors
    assert moved(run_folder, MILDER, sources=[ending], n=300).cell(ending, OWN, FLOWER.id).rate.n == 70


def test_a_budget_makes_all_captions_smaller_alike(run_folder: Path) -> None:
    found = moved(run_folder, MILDER, n=300, budget="images=200")
    assert {c.rate.n for c in found.cells} == {66}
    assert found.limit == "the images budget of 200 is spent"
    assert found.to_json()["state"] == "stopped: the images budget of 200 is spent"
    assert {c.rate.n for c in moved(run_folder, MILDER, n=300, budget="calls=200").cells} == {33}
    with pytest.raises(WeakspotError, match="less than one picture") as error:
        moved(run_folder, MILDER, n=300, budget="images=2")
    assert error.value.fix == "images=900 is what --n 300 takes"


def test_bad_input(run_folder: Path, others: Path) -> None:
    for targets, more, match in (
        ([], {}, "no other model"),
        ([OWN], {}, "no other model"),
        ([MILDER], {"n": 0}, "too few to measure"),
        (["wurld:classifier"], {}, "no model is called"),
        ([MILDER], {"sources": ["world:rendrer"]}, "no source is called"),
        ([MILDER], {"budget": "images=many"}, "not an amount"),
        (["python:others:Varied"], {}, "neither a model nor a function"),
    ):
        with pytest.raises(WeakspotError, match=match):
            moved(run_folder, *targets, **more)
    with pytest.raises(WeakspotError, match="found nothing"):
        moved(hunted(others / "empty", found=()), MILDER)


def test_objects_are_welcome(run_folder: Path) -> None:
    found = moved(run_folder, importlib.import_module("toy").Classifier(), n=30)
    assert found.targets[1] == "object:toy.Classifier"


def test_only_a_target_label_counts_where_the_hunt_said_so(others: Path) -> None:
    folder = hunted(others / "run", target_label="cat")
    found = moved(folder, SAME, n=200)
    assert found.cell(SOURCE, OWN, FLOWER.id).rate.value < 0.02


def test_the_files_are_whole_and_harmless_whatever_the_words(run_folder: Path) -> None:
    found = moved(run_folder, MILDER, n=30)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["rows"][0] == {
        "hypothesis": BASE.id, "text": BASE.text, "phrase": "baseline", "label": "fly", "answer": "",
        "baseline": True, "confirmed": None,
    }  # fmt: skip
    assert len(data["cells"]) == 6
    data["rows"][1]["phrase"] = "<script>alert(1)</script> | a & b \x1b[31m\u202e" + "x" * 1000
    data["targets"][1] = data["cells"][1]["target"] = "<b>'\"&"
    for cell in data["cells"]:
        cell["target"] = data["targets"][1] if cell["target"] == MILDER else cell["target"]
    for share in data["shared"]:
        share["target"] = data["targets"][1]
    picture, text = svg(data), markdown(data, picture="transfer.svg")
    root = ET.fromstring(picture)
    assert len(root.findall("{*}circle")) == 2 + 6
    assert "<script" not in picture
    assert "<script" not in text.replace("\\<script", "")
    assert "\x1b" not in picture + text
    head = next(line for line in text.splitlines() if line.startswith("| caption"))
    assert all(
        line.count(" | ") == head.count(" | ") for line in text.splitlines() if line.startswith("| baseline")
    )


def test_a_rate_of_nothing_and_verdicts_that_are_missing() -> None:
    nothing = rate([None, None])
    assert (nothing.n, nothing.low, nothing.high) == (0, 0.0, 1.0)
    assert math.isnan(nothing.value)
    assert rate([True, None, False, True])[3:] == (3, 2)
    assert isinstance(rate([True]), Rate)
    own, other = [True, None, True, True, False, False], [None, True, False, True, True, False]
    found = versus(own, other)
    assert found[:4] == (4, 1, 1, 1)


def test_a_finding_about_one_wrong_answer_counts_that_answer_alone(others: Path) -> None:
    folder = hunted(others / "run", found=((FLOWER, True),))
    with Run.open(folder) as run:
        [found] = run.findings
        run.ledger.set_findings([found, replace(found, answer="bee"), replace(found, answer="cat")])
    measured = moved(folder, MILDER, n=200)
    assert [row.phrase for row in measured.rows] == [
        "baseline", "it is on a flower.", "it is on a flower. → bee", "it is on a flower. → cat"
    ]  # fmt: skip
    all_, bee, cat = (measured.cell(SOURCE, OWN, FLOWER.id, answer).rate for answer in ("", "bee", "cat"))
    assert all_.failures == bee.failures + cat.failures
    assert bee.failures > 100 > 10 > cat.failures
    assert measured.images == 2 * 200  # the same pictures for all three
    shares = {s.row: s.rate.n for s in measured.shared}
    assert shares[None] == shares[1] == shares[2] + shares[3]
    assert measured.cell(SOURCE, OWN, FLOWER.id, "cat").adjusted > 0.05


def test_what_a_verifier_does_not_see_counts_for_nobody_and_it_is_asked_once(others: Path) -> None:
    (others / "eyes.py").write_text(
        "asked = []\n\n\nclass Eyes:\n    def doubts(self, cases):\n"
        "        asked.extend((c.hypothesis.id, c.index) for c in cases)\n"
        "        return ['too green' if c.input[0, 0, 1] >= 128 else '' for c in cases]\n\n"
        "    def answer(self, cases):\n        raise NotImplementedError\n"
    )
    folder = hunted(others / "run", verify=["python:eyes:Eyes"], found=((FLOWER, True),))
    found = moved(folder, MILDER, SAME, n=100)
    eyes = importlib.import_module("eyes")
    for name in found.targets:
        cell = found.cell(SOURCE, name, FLOWER.id)
        assert cell.rate.n + cell.undecided == 100
        assert 25 < cell.undecided < 75
    assert found.cell(SOURCE, OWN, FLOWER.id).rate.value == 1.0  # all of the less green flowers are misread
    fresh = [i for i in eyes.asked if i[1] >= Stage.CONFIRM.start + 64]
    assert len(fresh) == len(set(fresh))


def test_of_several_labels_only_baselines_with_findings_are_measured(others: Path) -> None:
    folder = hunted(others / "run", label="", labels=["fly", "bee"])
    with Run.open(folder) as run:
        other = Hypothesis("a realistic photograph of a bee (insect).")
        run.ledger.add_hypotheses([other])
        run.ledger.set_fact("bases", [BASE.id, other.id])
    found = moved(folder, MILDER, n=20)
    assert [row.phrase for row in found.rows] == [
        "baseline",
        "it is on a flower.",
        "it is on a yellow flower.",
    ]


def test_the_worlds_own_models(tmp_path: Path) -> None:
    words = "a realistic photograph of a fly (insect)."
    from weakspot.core import Finding
    from weakspot.store import RunConfig
    from weakspot.store import rate as told

    base, flower = Hypothesis(words, origin="baseline"), Hypothesis(f"{words} it is on a flower.")
    settings = {"target": "world:classifier", "source": "world:renderer", "label": "fly", "seed": 3}
    with Run.create(
        RunConfig(study="hunt", subject="fly", settings=settings), folder=tmp_path / "run"
    ) as run:
        run.ledger.add_hypotheses([base, flower])
        run.ledger.set_fact("base", base.id)
        nothing = told(run.ledger.tally(base, Stage.EXPLORE))
        run.ledger.set_findings([Finding(flower, "it is on a flower.", nothing, nothing, 9.0, True)])
    models = [f"world:classifier-{name}" for name in ("resnet-2", "vit-1", "vit-2")]
    found = moved(tmp_path / "run", *models, n=32)
    for name in found.targets:  # all four learned it, says the table of truth
        cell = found.cell("world:renderer", name, flower.id)
        assert cell.rate.value > 0.2
        assert cell.adjusted < 0.05
