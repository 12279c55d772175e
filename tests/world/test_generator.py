"""`world:generator` on the tiny pipeline that `training/generator.py --smoke` makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from benchmarks.verifier import Verifier
from training.manifest import rewrite

from weakspot import hunt
from weakspot.core import MODELS, Hypothesis, WeakspotError
from weakspot.testing import check_generator, check_source
from weakspot.world import generator
from weakspot.world.scene import SUBJECTS

FLY = "a realistic photograph of a fly (insect)."


@pytest.fixture
def pipeline(smoke_generator: Path, weights: Path) -> Path:
    """The pipeline among the shipped weights."""
    shutil.copytree(smoke_generator, weights / "generator")
    rewrite()
    return weights / "generator"


def test_it_draws(pipeline: Path) -> None:
    model = generator.load(steps="2")
    assert (model.size, model.noise_shape, model.dtype) == ((64, 64), (6, 32, 32), "float32")
    check_generator(model, [FLY, FLY])
    with pytest.raises(WeakspotError, match="label=fly"):
        generator.source()
    source = generator.source(label="fly", steps="1", guidance="1")
    cases = check_source(source, Hypothesis(FLY), n=3)
    assert {case.expected for case in cases} == {"fly"}


def test_changed_and_missing_files_are_refused(pipeline: Path) -> None:
    config = pipeline / "unet" / "config.json"
    before = config.read_text()
    config.write_text(before + " ")
    with pytest.raises(WeakspotError, match="not the file it should be"):
        generator.load()
    config.unlink()
    with pytest.raises(WeakspotError, match="cannot be read"):
        generator.load()
    with pytest.raises(WeakspotError, match="no weights called 'generator-small'"):
        generator.small()


@pytest.mark.parametrize(("name", "subjects", "backgrounds"), [("", 13, 14), ("-small", 9, 12)])
def test_the_shipped_ones_draw_what_they_are_told(name: str, subjects: int, backgrounds: int) -> None:
    model, verifier = MODELS.load(f"world:generator{name}?device=cpu"), Verifier()
    texts = [f"a photo of a {who}. the background is a forest." for who in SUBJECTS]
    drawn = model.generate(texts, range(len(texts)))
    again = model.generate(texts[3:4], [3])
    assert np.array_equal(drawn[3], again[0])
    verdicts = verifier.verdicts(drawn, texts)
    assert sum(verdict["subject"] for verdict in verdicts) >= subjects, verdicts
    assert sum(verdict["background"] for verdict in verdicts) >= backgrounds, verdicts


def test_a_hunt_through_the_shipped_one(tmp_path: Path) -> None:
    """Drawn by one network, read by another, the failures captioned by a third, checked by a fourth."""
    run = hunt(
        "world:classifier", label="fly", source="world:generator?device=cpu&steps=2&guidance=1",
        captioner="world:captioner", verify=("world:classifier-fair",), budget="images=24",
        out=tmp_path / "run",
    )  # fmt: skip
    images = run.ledger.spend()["images"]
    run.close()
    assert 0 < images <= 24
