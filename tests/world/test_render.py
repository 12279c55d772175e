"""Promises of the renderer: deterministic, complete, counterfactual, the same picture at every size."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest

from weakspot.core import WeakspotError
from weakspot.world.canvas import DRAWINGS
from weakspot.world.render import Picture, layout, render
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, SUBJECTS, Scene


def scene_with(subject: str, attribute: str, value: str) -> Scene:
    """A plain scene but for one attribute, and what must be said along with it."""
    values = {"subject": subject, attribute: value}
    if attribute == "on" and value in COLORED_SUPPORTS:
        values["on_color"] = "pink"
    if attribute == "on_color" and value != "none":
        values["on"] = "flower"
    if attribute == "companion" and value != "nothing":
        values["companion_at"] = "left"
    if attribute == "companion_at" and value != "none":
        values["companion"] = "ball"
    return Scene(**values)


def correlation(a: Picture, b: Picture) -> float:
    grey = [p.mean(axis=2).ravel() for p in (a, b)]
    return float(np.corrcoef(grey[0], grey[1])[0, 1])


BUSY = Scene(
    subject="crayfish", count="2", on="flower", on_color="blue", behind="net", hidden="partly",
    companion="cup", companion_at="left", background="riverbed", light="dusk", weather="rain",
)  # fmt: skip


def test_the_same_bytes_twice_and_in_a_fresh_process() -> None:
    first = render(BUSY, 7).tobytes()
    assert first == render(BUSY, 7).tobytes()
    script = (
        "import hashlib; from weakspot.world.render import render; from weakspot.world.scene import Scene; "
        f"print(hashlib.sha256(render({BUSY!r}, 7).tobytes()).hexdigest())"
    )
    fresh = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert fresh.stdout.strip() == hashlib.sha256(first).hexdigest()


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_value_of_every_attribute_renders_and_shows(subject: str) -> None:
    plain = render(Scene(subject=subject), 3, 32)
    for attribute, values in ATTRIBUTES.items():
        for value in values:
            if attribute == "subject":
                continue
            scene = scene_with(subject, attribute, value)
            picture = render(scene, 3, 32)
            assert picture.shape == (32, 32, 3)
            assert picture.dtype == np.uint8
            assert picture.std() > 2, scene
            assert np.array_equal(picture, plain) == (scene == Scene(subject=subject)), scene


@pytest.mark.parametrize(
    "attribute", [a for a in ATTRIBUTES if a not in ("subject", "on_color", "companion_at")]
)
def test_any_two_values_of_an_attribute_differ(attribute: str) -> None:
    pictures = {render(scene_with("cat", attribute, v), 5, 32).tobytes() for v in ATTRIBUTES[attribute]}
    assert len(pictures) == len(ATTRIBUTES[attribute])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_light_and_weather_keep_the_layout(subject: str) -> None:
    for seed in range(3):
        day = render(Scene(subject=subject, background="street"), seed)
        for change in ({"light": "dusk"}, {"light": "night"}, {"weather": "fog"}):
            other = render(Scene(subject=subject, background="street", **change), seed)
            assert correlation(day, other) > 0.75, change


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s != "fence"])
def test_colour_changes_nothing_but_colour(subject: str) -> None:
    """In a counterfactual pair the outline stays: what changes lies where the subject is."""
    plain = render(Scene(subject=subject, background="grey"), 11, 96).astype(int)
    red = render(Scene(subject=subject, background="grey", color="red"), 11, 96).astype(int)
    green = render(Scene(subject=subject, background="grey", color="green"), 11, 96).astype(int)
    changed = np.abs(red - green).sum(axis=2) > 60
    also = np.abs(plain - green).sum(axis=2) > 40
    assert changed.mean() > 0.01
    assert (changed & also).sum() > 0.5 * also.sum()


def test_an_attribute_leaves_the_other_elements_alone() -> None:
    """A support, a screen or a companion does not move the subject's own random stream."""
    for change in (
        {"on": "rock"},
        {"behind": "bars"},
        {"hidden": "half"},
        {"background": "snow"},
        {"light": "glare"},
    ):
        assert layout(Scene(subject="dog", **change), 4) == layout(Scene(subject="dog"), 4)
    one, mirrored = layout(Scene(subject="dog"), 4)[0], layout(Scene(subject="dog", pose="tilted left"), 4)[0]
    assert (one.x, one.y, one.half) == (mirrored.x, mirrored.y, mirrored.half)


@pytest.mark.parametrize("size", [16, 33, 64, 100, 256])
def test_sizes(size: int) -> None:
    picture = render(BUSY, 1, size)
    assert picture.shape == (size, size, 3)
    assert picture.dtype == np.uint8


@pytest.mark.parametrize("size", [15, 2049])
def test_sizes_out_of_range(size: int) -> None:
    with pytest.raises(WeakspotError, match="pixels"):
        render(BUSY, 1, size)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_same_picture_at_another_size(subject: str) -> None:
    for seed, background in enumerate(("meadow", "kitchen", "underwater")):
        scene = Scene(subject=subject, background=background)
        small = render(scene, seed, 64).astype(float)
        large = render(scene, seed, 128).astype(float)
        reduced = large.reshape(64, 2, 64, 2, 3).mean(axis=(1, 3))
        assert np.abs(reduced - small).mean() < 6
        assert correlation(reduced.astype(np.uint8), small.astype(np.uint8)) > 0.95


def test_seeds_vary_the_picture() -> None:
    for subject in SUBJECTS:
        pictures = [render(Scene(subject=subject, background="white"), seed, 32) for seed in range(6)]
        assert len({p.tobytes() for p in pictures}) == 6


def test_subjects_stay_in_the_picture() -> None:
    for size in ATTRIBUTES["size"]:
        for position in ATTRIBUTES["position"]:
            for count in ATTRIBUTES["count"]:
                for seed in range(5):
                    for spot in layout(Scene(subject="cat", size=size, position=position, count=count), seed):
                        assert 0.05 < spot.x < 0.95
                        assert 0.05 < spot.y < 0.95


def test_drawings_hold_nothing_but_numbers_names_and_colours() -> None:
    """They are run as Python, and without brackets and attributes can neither call nor reach anything."""
    words = [word for text in DRAWINGS["parts"].values() for word in text.split()]
    assert len(words) > 2000
    odd = [word for word in words if not re.fullmatch(r"[\w,:=+*#@.-]+", word) or re.search(r"\.\D|__", word)]
    assert not odd
