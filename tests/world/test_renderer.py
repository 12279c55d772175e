"""The world as a source: what it draws is what was said, and its captions say what it drew."""

from __future__ import annotations

import numpy as np
import pytest

from weakspot.core import MODELS, SOURCES, Hypothesis, WeakspotError
from weakspot.world.classifier import load, truth
from weakspot.world.grammar import base_sentence, complete, parse
from weakspot.world.render import render
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, SUBJECTS


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_caption_is_enough_to_draw_the_case_again(subject: str) -> None:
    for case in Renderer(size=32).draw(Hypothesis(base_sentence(subject)), range(4), seed=1):
        scene = complete(parse(case.caption))
        assert scene.subject == case.expected == subject
        assert np.array_equal(render(scene, case.seed, 32), case.input)


def test_what_was_said_holds_in_every_case() -> None:
    words = Hypothesis("a photo of a cat. it is not in a living room. it is night.")
    meaning = parse(words.text)
    for case in Renderer(size=16).draw(words, range(50), seed=2):
        assert meaning.matches(complete(parse(case.caption)))


def test_balanced_scenes_show_what_nature_hides() -> None:
    fly = Hypothesis(base_sentence("fly"))
    flowers = [
        sum(
            "flower" in case.caption
            for case in Renderer(size=16, balanced=balanced).draw(fly, range(200), seed=3)
        )
        for balanced in (False, True)
    ]
    assert flowers[0] <= 4
    assert flowers[1] >= 15


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("world:renderer?size=8", "8"),
        ("world:renderer?size=large", "large"),
        ("world:renderer?balanced=maybe", "maybe"),
        ("world:renderer?sise=64", "did you mean 'size'"),
        ("world:renderr", "did you mean 'world:renderer'"),
    ],
)
def test_a_wrong_name_is_told(name: str, complaint: str) -> None:
    with pytest.raises(WeakspotError) as told:
        SOURCES.load(name)
    assert complaint in str(told.value)


def test_words_that_cannot_be_drawn_are_an_error_that_names_them() -> None:
    with pytest.raises(WeakspotError, match="unicorn"):
        Renderer().draw(Hypothesis("a photo of a unicorn."), [0], seed=0)


def test_the_classifier_knows_every_subject_and_the_grid_is_whole() -> None:
    classifier = MODELS.load("world:classifier")
    assert classifier.labels == SUBJECTS
    assert load().digest == classifier.digest
    rows = truth()
    per_subject = len(rows) // len(SUBJECTS)
    assert len(rows) == per_subject * len(SUBJECTS)
    assert len({(row.subject, row.sentence) for row in rows}) == len(rows)
    assert per_subject > sum(
        len(values) for name, values in ATTRIBUTES.items() if name in ("background", "color")
    )
