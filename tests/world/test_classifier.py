"""The family of classifiers, their truth tables, and the weak spots they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.world import world_parts as parts
from tests.world.world_parts import pictures
from training.manifest import rewrite

from weakspot.core import MODELS, Case, Hypothesis, WeakspotError
from weakspot.stats import wilson
from weakspot.testing import check_target
from weakspot.world import shipped
from weakspot.world.classifier import FAIR, NATURAL, load, true_rate, truth, weak_spots
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.renderer import Renderer
from weakspot.world.scene import PARENTS, SUBJECTS

FAMILY = (*NATURAL, FAIR)
CASES = [Case(Hypothesis("x"), i, i, image, "fly") for i, image in enumerate(pictures(6))]


@pytest.mark.parametrize("name", FAMILY)
def test_every_name_is_registered_and_loads_its_own_file(weights: Path, name: str) -> None:
    for i, other in enumerate(NATURAL):
        parts.classifier(weights / f"{other}.onnx", seed=i)
    parts.fair(weights / f"{FAIR}.onnx", seed=9)
    rewrite()
    model = load(name) if name == FAIR else MODELS.load(f"world:{name}")
    assert model.digest == shipped.manifest()[f"{name}.onnx"]["sha256"]
    assert (model.labels, model.parents, model.device) == (SUBJECTS, PARENTS, "cpu")
    check_target(model, CASES)
    assert load(f"world:{name}").digest == model.digest


@pytest.mark.parametrize("name", FAMILY)
def test_every_shipped_classifier_is_good_at_natural_pictures(name: str) -> None:
    cases = [
        case
        for subject in SUBJECTS
        for case in Renderer().draw(Hypothesis(base_sentence(subject)), range(5), seed=77)
    ]
    outputs = check_target(MODELS.load(f"world:{name}"), cases)
    right = [output.answer == case.expected for output, case in zip(outputs, cases, strict=True)]
    assert np.mean(right) > 0.9


def test_options_and_wrong_names_are_told() -> None:
    with pytest.raises(WeakspotError, match="no option 'model'"):
        MODELS.load("world:classifier-vit-1?model=classifier")
    with pytest.raises(WeakspotError, match="no device 'tpu'"):
        MODELS.load("world:classifier?device=tpu")
    for attempt in (load, truth, weak_spots):
        with pytest.raises(WeakspotError, match="no classifier 'classifier-vit-9'") as error:
            attempt("classifier-vit-9")
        assert "did you mean" in error.value.fix


def test_a_changed_missing_or_truncated_file_is_not_loaded(weights: Path) -> None:
    path = parts.classifier(weights / "classifier.onnx")
    rewrite()
    whole = path.read_bytes()
    for content in (whole[:-100], whole[:-1] + b"x"):
        path.write_bytes(content)
        with pytest.raises(WeakspotError, match="SHA-256 differs") as error:
            load()
        assert error.value.fix == "reinstall weakspot"
    path.unlink()
    with pytest.raises(WeakspotError, match="cannot be read"):
        load()
    path.write_bytes(whole[: len(whole) // 2])
    rewrite()  # listed as it is, and still no model
    with pytest.raises(WeakspotError, match="not an ONNX model that can be run"):
        load()


def test_truth_of_each_model_is_its_own(weights: Path) -> None:
    head = "subject,sentence,n,failures,mostly\n"
    (weights / "truth.csv").write_text(f"{head}fly,,100,1,bee\n")
    (weights / "truth-classifier-vit-1.csv").write_text(f"{head}fly,,100,2,bee\nfly,it is red.,10,9,crab\n")
    rewrite()
    assert true_rate("fly").failures == true_rate("fly", model="world:classifier").failures == 1
    assert true_rate("fly", model="classifier-vit-1").rate == 0.02
    assert true_rate("fly", "it is red.", model="classifier-vit-1").mostly == "crab"
    with pytest.raises(WeakspotError, match="the grid has no 'it is red"):
        true_rate("fly", "it is red.")
    with pytest.raises(WeakspotError, match=r"no file 'truth-classifier-vit-2\.csv'"):
        truth("classifier-vit-2")


@pytest.mark.parametrize("name", NATURAL)
def test_the_shipped_grids_are_whole(name: str) -> None:
    cells = [(row.subject, row.sentence) for row in truth(name)]
    assert cells == [(row.subject, row.sentence) for row in truth()]
    assert all(0 <= row.failures <= row.n and bool(row.mostly) == bool(row.failures) for row in truth(name))


@pytest.mark.parametrize("name", NATURAL)
def test_weak_spots_are_certain_different_and_sorted(name: str) -> None:
    spots = weak_spots(name, n=20)
    assert len(spots) == 20
    assert [s.certainty for s in spots] == sorted((s.certainty for s in spots), reverse=True)
    keys = [(s.subject, s.mostly, parse(s.sentence).allowed[0][0]) for s in spots]
    assert len(set(keys)) == len(keys)
    for spot in spots:
        row, base = (true_rate(spot.subject, s, model=name) for s in (spot.sentence, ""))
        assert (spot.rate, spot.n, spot.baseline, spot.mostly) == (row.rate, row.n, base.rate, row.mostly)
        assert spot.interval == wilson(row.failures, row.n)
        assert spot.certainty == spot.interval.low / wilson(base.failures, base.n).high > 1
        assert spot.lift > spot.certainty
    best = {key: spot.certainty for key, spot in zip(keys, spots, strict=True)}
    for row in truth(name):  # nothing better was left out
        if row.sentence and row.rate > 0.2:
            low = wilson(row.failures, row.n).low
            base = true_rate(row.subject, model=name)
            key = (row.subject, row.mostly, parse(row.sentence).allowed[0][0])
            assert low / wilson(base.failures, base.n).high <= best.get(key, spots[-1].certainty)


def test_weak_spots_are_said_in_words(weights: Path) -> None:
    rows = [
        "fly,,10000,170,bee",
        "fly,it is on a yellow flower.,400,252,bee",
        "fly,it is on a flower.,400,200,bee",
        "fly,it is night.,400,8,wolf",
        "fly,it is red.,400,30,crab",
        "cat,,1000,0,",
        "cat,it is day.,400,0,",
        "cat,it is night.,400,80,wolf",
    ]
    (weights / "truth.csv").write_text("\n".join(["subject,sentence,n,failures,mostly", *rows]) + "\n")
    rewrite()
    assert [str(spot) for spot in weak_spots()] == [
        "a cat: it is night. 20 % [16, 24] of 400 misread, mostly as a wolf; usually never",
        "a fly: it is on a yellow flower. 63 % [58, 68] of 400 misread, mostly as a bee; 37× its usual 1.7 %",
        "a fly: it is red. 7.5 % [5, 11] of 400 misread, mostly as a crab; 4× its usual 1.7 %",
    ]
    assert len(weak_spots(n=1)) == 1


def test_the_designed_weak_spots_are_found() -> None:
    spots = {(s.subject, s.mostly, parse(s.sentence).allowed[0][0]) for s in weak_spots(n=60)}
    assert {
        ("fly", "bee", "on"),
        ("cat", "snow leopard", "background"),
        ("crayfish", "fence", "behind"),
    } <= spots
