"""What the verifier says of pictures, on a toy network whose weights are known, and the shipped one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.verifier import Guess, Seen, Verifier
from numpy.typing import NDArray
from tests.world import world_parts as parts
from tests.world.world_parts import VALUES, pictures
from training.manifest import rewrite

from weakspot.core import Hypothesis, WeakspotError
from weakspot.world.grammar import base_sentence
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, SUBJECTS

FLY, BEE = "a photo of a fly.", "a photo of a bee."


def colour(*rgb: int) -> NDArray[np.uint8]:
    return np.full((64, 64, 3), rgb, np.uint8)


def column(attribute: str, value: str) -> int:
    """Where a value stands in the row of all values."""
    row = [(name, v) for name, values in ATTRIBUTES.items() for v in values]
    return row.index((attribute, value))


@pytest.fixture
def known(weights: Path) -> Verifier:
    """Red is a fly, green a bee on a flower; blue is night, half and half with dusk."""
    w, b = np.zeros((3, VALUES), np.float32), np.zeros(VALUES, np.float32)
    for name, values in ATTRIBUTES.items():
        b[column(name, values[0])] = 5
    w[0, column("subject", "fly")] = w[1, column("subject", "bee")] = 20
    w[1, column("on", "flower")] = 20
    w[2, column("light", "night")] = w[2, column("light", "dusk")] = 20
    parts.write(
        weights / "classifier-fair.onnx",
        f"""g (float[n,3,64,64] image)
            => (float[n,16] logits, float[n,{VALUES}] attributes, float[n,3] features) {{
            features = ReduceMean<axes=[2,3],keepdims=0>(image)
            attributes = Gemm(features, w, b)
            logits = Slice(attributes, zero, sixteen, one)
        }}""",
        w=w,
        b=b,
        zero=np.array([0]),
        sixteen=np.array([16]),
        one=np.array([1]),
    )
    rewrite()
    return Verifier()


def test_it_says_what_it_sees(known: Verifier) -> None:
    red, green, blue = known.look([colour(255, 0, 0), colour(0, 255, 0), colour(0, 0, 255)])
    assert isinstance(red, Seen)
    assert list(red) == list(ATTRIBUTES)
    assert len(red) == 16
    fly = red["subject"]
    assert isinstance(fly, Guess)
    assert fly.value == "fly"
    assert fly.probability == pytest.approx(1, abs=1e-3)
    assert (green["subject"].value, green["on"].value) == ("bee", "flower")
    assert blue["light"].value in ("dusk", "night")
    assert blue["light"].probability == pytest.approx(0.5, abs=1e-3)
    assert blue.probability("light", ["dusk", "night"]) == pytest.approx(1, abs=1e-3)
    for seen in (red, green, blue):
        for name, values in ATTRIBUTES.items():
            assert seen.probability(name, values) == pytest.approx(1)
    assert repr(red).startswith("Seen(subject: fly 1.00, color: natural")


def test_it_says_whether_a_picture_shows_a_text(known: Verifier) -> None:
    red, green, blue = colour(255, 0, 0), colour(0, 255, 0), colour(0, 0, 255)
    table = [
        (red, FLY, {"subject": True}),
        (red, BEE, {"subject": False}),
        (green, f"{BEE} it is on a flower.", {"subject": True, "on": True}),
        (green, f"{FLY} it is on a flower.", {"subject": False, "on": True}),
        (green, f"{BEE} it is not on a flower.", {"subject": True, "on": False}),
        (red, f"{FLY} it is not on a flower.", {"subject": True, "on": True}),
        (blue, "it is dusk or night.", {"light": True}),
        (blue, "it is day.", {"light": False}),
        (red, "a picture.", {}),
    ]
    images, texts, expected = zip(*table, strict=True)
    assert known.verdicts(images, texts) == list(expected)
    shown = known.shows(images, texts)
    assert shown.dtype == np.bool_
    assert shown.tolist() == [all(e.values()) for e in expected]
    assert known.shows([blue], ["it is night."], threshold=0.4).all()
    assert not known.shows([blue], ["it is night."], threshold=0.6).any()


def test_features_and_batches(weights: Path) -> None:
    parts.fair(weights / "classifier-fair.onnx")
    rewrite()
    verifier, images = Verifier(), [*pictures(5), *pictures(2, size=32)]
    features = verifier.features(images)
    assert features.shape == (7, 8)
    assert features.dtype == np.float32
    verifier._graph.batch = 2
    np.testing.assert_allclose(verifier.features(images), features, atol=1e-5)
    assert [s["background"].value for s in verifier.look(images)] == [
        verifier.look([i])[0]["background"].value for i in images
    ]
    assert verifier.features([]).shape == (0, 8)
    assert verifier.look([]) == []
    assert verifier.shows([], []).shape == (0,)


def test_what_cannot_be_done_is_told(known: Verifier) -> None:
    with pytest.raises(WeakspotError, match="1 pictures and 2 texts"):
        known.shows([colour(0, 0, 0)], [FLY, BEE])
    with pytest.raises(WeakspotError, match="unicorn"):
        known.shows([colour(0, 0, 0)], ["a photo of a unicorn."])


def test_other_networks_are_refused(weights: Path) -> None:
    path = weights / "classifier-fair.onnx"
    for make, what in (
        (lambda: parts.fair(path, values=VALUES - 1), rf"wanted: \(any, {VALUES}\)"),
        (lambda: parts.classifier(path), "has the outputs logits; wanted: logits, attributes, features"),
    ):
        make()
        rewrite()
        with pytest.raises(WeakspotError, match=what) as error:
            Verifier()
        assert error.value.fix == "reinstall weakspot"


def test_the_shipped_verifier_sees_what_is_drawn() -> None:
    """Balanced scenes, where context does not help."""
    cases = [
        case
        for subject in SUBJECTS
        for case in Renderer(balanced=True).draw(Hypothesis(base_sentence(subject)), range(6), seed=77)
    ]
    verifier, images = Verifier(), [case.input for case in cases]
    seen = verifier.look(images)
    assert np.mean([s["subject"].value == c.expected for s, c in zip(seen, cases, strict=True)]) > 0.85
    shown = verifier.shows(images, [base_sentence(c.expected) for c in cases])
    wrong = verifier.shows(images, [base_sentence(SUBJECTS[SUBJECTS.index(c.expected) - 1]) for c in cases])
    assert shown.mean() > 0.8
    assert wrong.mean() < 0.1
    features = verifier.features(images)
    assert features.shape[0] == len(cases)
    assert np.isfinite(features).all()
