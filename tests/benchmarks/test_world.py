"""`make bench-world` on nearly nothing: it runs, and its figures are what they say."""

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from numpy.typing import NDArray

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import world  # noqa: E402
from weakspot.world.classifier import FAIR, NATURAL  # noqa: E402


def test_classifiers_encoder_and_captioner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world.main(16, tmp_path / "results.json", tmp_path / "captioner.svg")
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results["classifiers"]) == {*NATURAL, FAIR}
    assert all(results["classifiers"][name]["natural"] > 0.7 for name in NATURAL)
    assert results["encoder"]["natural"]["image_to_text"] > 0.7
    assert results["captioner"]["per_attribute"]["subject"] > 0.7
    assert 0 <= results["captioner"]["calibration_error"] < 0.3
    assert "expected calibration error" in capsys.readouterr().out
    ElementTree.fromstring((tmp_path / "captioner.svg").read_text())


@pytest.mark.skipif(not (find_spec("torch") and find_spec("diffusers")), reason="needs weakspot[hf]")
def test_generators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from benchmarks import world_generator

    world_generator.main(2, tmp_path / "results.json", None)
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results) == {*world_generator.MODELS, "agreement"}
    assert results["agreement"]["spearman"] > 0.8
    assert np.isfinite([results[model]["fid"] for model in world_generator.MODELS]).all()
    assert "of 2 " in capsys.readouterr().out


class Even:
    """Gives every text the same probability, and keeps what was said before."""

    def __init__(self) -> None:
        self.before: list[str] = []

    def log_probabilities(
        self, images: Sequence[Any], sentences: Sequence[str], *, prefix: str, end: bool = False
    ) -> NDArray[np.float64]:
        self.before += [prefix] if end else []
        return np.full((1, len(sentences)), np.log(0.5))


def test_captions_are_drawn_as_in_training() -> None:
    """What comes next is always among what is asked for; the end and plain things come too."""
    model, n = Even(), 400
    p, came = world.next_sentences(model, n)
    assert (p == 0.5).all()
    assert came.sum() == n
    assert sum(len(world._sentences(name)) for name in world.SLOTS) == 160
    assert " ".join(model.before).count("the weather is clear.") > 3  # plain, so of chatty captions
    said = [text.count(". ") for text in model.before]
    assert 0 < said.count(4) < said.count(1) <= 1.3 * said.count(0)  # fewer captions have a fifth place


def test_bins_tell_what_is_said_from_what_is_true() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(40_000)
    for row in world.reliability(p, rng.random(40_000) < p):
        assert abs(row["said"] - row["true"]) < 0.03
    off = world.reliability(p, rng.random(40_000) < p**2)
    assert max(row["said"] - row["true"] for row in off) > 0.15
