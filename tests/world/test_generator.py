"""`world:generator` on the tiny pipeline that `training/generator.py --smoke` makes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from weakspot.core import Hypothesis, WeakspotError
from weakspot.testing import check_generator, check_source
from weakspot.world import generator, shipped

FLY = "a realistic photograph of a fly (insect)."


@pytest.fixture
def pipeline(smoke_generator: Path, weights: Path) -> Path:
    """The pipeline among the shipped weights."""
    shutil.copytree(smoke_generator, weights / "generator")
    shipped.rewrite()
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
