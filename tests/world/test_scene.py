from __future__ import annotations

import pytest

from weakspot.core.errors import WeakspotError
from weakspot.world.scene import ATTRIBUTES, DEFAULTS, PARENTS, SUBJECTS, Scene, SceneSet


def test_defaults_are_the_first_values() -> None:
    assert {name: values[0] for name, values in ATTRIBUTES.items() if name != "subject"} == dict(DEFAULTS)
    assert tuple(PARENTS) == SUBJECTS


@pytest.mark.parametrize(
    "wrong",
    [
        {"subject": "zebra"},
        {"subject": "fly", "on": "flower"},
        {"subject": "fly", "on_color": "red"},
        {"subject": "fly", "on": "leaf", "on_color": "red"},
        {"subject": "fly", "companion": "ball"},
        {"subject": "fly", "companion_at": "left"},
        {"subject": "fly", "background": "moon"},
    ],
)
def test_impossible_scenes_are_refused_with_a_fix(wrong: dict[str, str]) -> None:
    with pytest.raises(WeakspotError) as error:
        Scene(**wrong)
    assert error.value.fix


def test_sets_are_normalised() -> None:
    a = SceneSet.of({"size": ["large", "small"], "subject": ["bee", "fly"], "light": ATTRIBUTES["light"]})
    b = SceneSet.of({"subject": ["fly", "bee"], "size": ["small", "large"]})
    assert a == b
    assert hash(a) == hash(b)
    assert a["size"] == ("small", "large")
    assert a["light"] == ATTRIBUTES["light"]


def test_matches_and_intersection() -> None:
    flowers = SceneSet.of({"on": ["flower"]})
    flies = SceneSet.of({"subject": ["fly"]})
    fly = Scene(subject="fly", on="flower", on_color="red")
    assert (flowers & flies).matches(fly)
    assert not (flowers & SceneSet.of({"on_color": ["yellow"]})).matches(fly)
    with pytest.raises(WeakspotError, match="nothing is left for on"):
        flowers & SceneSet.of({"on": ["leaf"]})


@pytest.mark.parametrize("wrong", [{"wings": ["2"]}, {"size": ["tiny"]}, {"size": []}])
def test_impossible_sets_are_refused(wrong: dict[str, list[str]]) -> None:
    with pytest.raises(WeakspotError):
        SceneSet.of(wrong)
