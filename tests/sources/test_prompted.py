"""Prompts of a space, and the pictures of whoever draws."""

from __future__ import annotations

import numpy as np
import pytest
from tests.studies.map.map_tasks_toy import Painter

from weakspot.concepts.space import load_space, space_from
from weakspot.core import MODELS, WeakspotError
from weakspot.sources.generate import PromptPictures, SourceAsGenerator, generator, prompt_of
from weakspot.testing import check_generator, check_source

SPACE = load_space("prompt-27")


def test_a_cell_is_a_sentence() -> None:
    prompts = [prompt_of(SPACE, cell) for cell in range(SPACE.size)]
    assert len(set(prompts)) == 27
    assert prompts[0] == "a photo of a friendly doctor in the office."
    assert "a photo of an ambitious engineer in the kitchen." in prompts


def test_lists_can_be_replaced_and_other_axes_are_said_one_after_the_other() -> None:
    axes = [
        {"name": "adjective", "values": ["old", "young"], "metric": "categorical"},
        {"name": "profession", "values": ["nurse", "judge"], "metric": "categorical"},
        {"name": "place", "values": ["ward", "court"], "metric": "categorical"},
    ]
    own = space_from({"name": "own", "task": "prompt", "axes": axes})
    assert prompt_of(own, 0) == "a photo of an old nurse in the ward."
    assert prompt_of(load_space("prompt-world"), 0) == (
        "a realistic photograph of a fly (insect). it is on a flower. the background is a meadow."
    )


def test_it_is_a_source_whose_cases_expect_their_prompt() -> None:
    source = PromptPictures(Painter(), space=SPACE)
    for where in (SPACE.hypothesis(5), SPACE.outside(), SPACE.hypothesis(((0,), (0, 1), (2,)))):
        for case in check_source(source, where):
            assert case.expected == case.caption
            assert case.input.shape == (8, 8, 3)
    baseline = source.draw(SPACE.outside(), range(200), seed=0)
    assert len({case.expected for case in baseline}) > 20  # any cell at random


def test_every_prompt_of_the_world_can_be_drawn() -> None:
    space = load_space("prompt-world")
    made = generator(None, "world:renderer")
    assert isinstance(made, SourceAsGenerator)
    check_generator(made, [prompt_of(space, 0), prompt_of(space, 26)])
    for cell in range(space.size):
        [picture] = made.generate([prompt_of(space, cell)], [cell])
        assert np.ptp(picture) > 50


def test_a_pipeline_is_loaded_by_its_name_with_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def load(name: str) -> Painter:
        asked.append(name)
        return Painter()

    monkeypatch.setattr(MODELS, "load", load)
    assert isinstance(generator(None, "diffusers:owner/name?steps=2"), Painter)
    assert asked == ["diffusers:owner/name?steps=2"]


class Short(Painter):
    def generate(self, prompts: object, seeds: object) -> list[np.ndarray]:
        return []


def test_who_draws_nothing_is_told() -> None:
    with pytest.raises(WeakspotError, match="0 pictures for 2 prompts"):
        PromptPictures(Short(), space=SPACE).draw(SPACE.hypothesis(0), [0, 1], seed=0)
    with pytest.raises(WeakspotError, match="generates no pictures"):
        generator(None, "world:classifier")
    with pytest.raises(WeakspotError, match="no model is called"):
        generator(None, "wrld:renderer")
    with pytest.raises(WeakspotError, match="has no name"):
        generator(None, "object:toy.Painter")
