"""Concept spaces: words, metrics, cells and regions; what is no space is refused with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from weakspot.concepts.space import Axis, ConceptSpace, load_space, space_from
from weakspot.core import Hypothesis, WeakspotError


def test_the_papers_grid_has_125_cells_and_words() -> None:
    space = load_space("image-125")
    assert space.size == 125
    assert space.words(124) == "rotated 10°, darkened 50 %, colour at 70 %"
    assert (
        space.words(62) == "darkened 30 %, colour at 60 %"
    )  # a picture that is not turned is not said to be
    assert space.words(((0, 1), (2, 3, 4), (0, 1, 2, 3, 4))) == "rotated −10° or −5°, darkened 30 % to 50 %"
    assert space.words(space.whole) == "anywhere"


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("image-5^1", 5),
        ("image-5^5", 3125),
        ("image-5^8", 390_625),
        ("image:fog,jpeg", 25),
        ("world", 2000),
        ("text-16", 16),
        ("prompt-27", 27),
    ],
)
def test_built_in_spaces(name: str, size: int) -> None:
    space = load_space(name)
    assert space.size == size
    assert space_from(space.to_json()) == space
    some = [0, size // 3, size - 1]
    assert len({space.words(cell) for cell in some}) == 3
    for cell in some:
        hypothesis = space.hypothesis(cell)
        assert space.read(hypothesis) == space.region(cell)
        assert space.number(space.cell(cell)) == cell


def test_every_cell_of_a_space_is_said_differently() -> None:
    for name in ("image-125", "world", "text-16", "prompt-27"):
        space = load_space(name)
        assert len({space.words(cell) for cell in range(space.size)}) == space.size


def test_regions_are_hypotheses_and_come_back() -> None:
    space = load_space("image-125")
    region = ((0, 4), (4,), tuple(range(5)))
    hypothesis = space.hypothesis(region)
    assert dict(hypothesis.concepts) == {"rotate": "-10|10", "darken": "0.5"}
    assert space.read(hypothesis) == region
    assert len(space.cells(region)) == 10
    assert space.read(space.outside()) is None
    assert space.hypothesis(3, policy="dqn").id != space.hypothesis(3).id
    with pytest.raises(WeakspotError, match="no axis 'tilt'"):
        space.read(Hypothesis("x", (("tilt", "1"),)))


def test_metrics() -> None:
    line = Axis("a", ("0", "1", "4"))
    assert np.allclose(line.distances(), [[0, 0.25, 1], [0.25, 0, 0.75], [1, 0.75, 0]])
    ring = Axis("b", ("0", "90", "180", "270"), "circular")
    assert ring.distances()[0].tolist() == [0, 0.5, 1, 0.5]
    assert ring.beside(0) == [1, 3]
    kinds = Axis("c", ("x", "y", "z"), "categorical")
    assert kinds.beside(1) == [0, 2]
    space = ConceptSpace("s", (line, ring, kinds))
    assert len(space.beside(0)) == 1 + 2 + 2
    assert {space.number((1, 0, 0)), space.number((0, 3, 0)), space.number((0, 0, 2))} <= set(space.beside(0))


@pytest.mark.parametrize(
    ("axis", "what"),
    [
        ({"name": "a", "values": [1]}, "has 1 value: nothing can vary"),
        ({"name": "a", "values": []}, "has 0 values"),
        ({"name": "a", "values": [1, 1.0]}, "a value twice"),
        ({"name": "a", "values": [1, 2], "metric": "orderd"}, "metric 'orderd'"),
        ({"name": "a b", "values": [1, 2]}, "cannot be called"),
        ({"name": "a", "values": ["x|y", "z"]}, "not a short text"),
        ({"name": "a", "values": [1, 2], "plain": 3}, "named as its plain value"),
        ({"name": "a", "values": [1, 2], "words": "it is so"}, "worded alike"),
        ({"name": "a", "values": [1, 2], "colour": "red"}, "says 'colour'"),
        ({"values": [1, 2]}, "no name"),
        ("a", "no name"),
    ],
)
def test_a_wrong_axis_is_refused(tmp_path: Path, axis: Any, what: str) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({"name": "own", "axes": [axis]}))
    with pytest.raises(WeakspotError, match=what) as error:
        load_space(str(path))
    assert error.value.fix


def test_wrong_spaces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeakspotError, match="did you mean 'image-125'"):
        load_space("image-152")
    with pytest.raises(WeakspotError, match="no axis 'fogg'"):
        load_space("image:fogg")
    with pytest.raises(WeakspotError, match="cannot be read"):
        load_space(str(tmp_path / "none.yaml"))
    (tmp_path / "bad.yaml").write_text("axes: [")
    with pytest.raises(WeakspotError, match="not valid YAML"):
        load_space(str(tmp_path / "bad.yaml"))
    many = {"axes": [{"name": f"a{i}", "values": list(range(10))} for i in range(7)]}
    with pytest.raises(WeakspotError, match="10,000,000 cells"):
        space_from(many)
    with pytest.raises(WeakspotError, match="has no axes"):
        space_from({"axes": []})


def test_a_space_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "name: night\naxes:\n"
        "  - {name: darken, values: [0, 0.9], words: 'darkened {percent}', plain: 0}\n"
        "  - {name: hue, values: [0, 120, 240], metric: circular, words: {120: green, 240: blue}, plain: 0}\n"
    )
    space = load_space(str(path))
    assert [space.words(c) for c in range(6)] == [
        "as it is", "green", "blue", "darkened 90 %", "darkened 90 %, green", "darkened 90 %, blue",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("axis", "values", "said"),
    [
        ("on", ("nothing", "flower", "leaf"), "it is on nothing, a flower or a leaf."),
        ("on", ("flower",), "it is on a flower."),
        ("on", ("nothing",), ""),
        ("background", ("forest", "snow"), "the background is a forest or snow."),
        ("light", ("dusk", "night", "glare"), "it is dusk or night, or there is glare."),
        ("weather", ("clear", "fog"), "it is clear or foggy."),
    ],
)
def test_several_values_of_a_scene_are_one_sentence(axis: str, values: tuple[str, ...], said: str) -> None:
    space = load_space("world")
    one = next(a for a in space.axes if a.name == axis)
    assert one.phrase([one.values.index(value) for value in values]) == said


def test_numbers_may_be_given_as_numbers() -> None:
    axis = Axis("darken", (0, 0.5, 1.0), plain=0)  # type: ignore[arg-type]
    assert (axis.values, axis.plain) == (("0", "0.5", "1"), "0")
