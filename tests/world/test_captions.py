"""Captions vary, but what they say is true, and the grammar understands it."""

from __future__ import annotations

from random import Random

import pytest
from training.texts import default_tokens, prompt

from weakspot.world.grammar import caption, deny, parse
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.scene import ATTRIBUTES, SceneSet
from weakspot.world.words import Words


@pytest.mark.parametrize("choose", [sample, sample_uniform])
def test_captions_are_true_of_their_scene(choose) -> None:
    words = Words(default_tokens())
    for i in range(1500):
        rng = Random(i)
        scene = choose(SceneSet(), rng)
        text = caption(scene, rng)
        assert parse(text).matches(scene), text
        spelled = [words.tokens[t] for t in words.encode(text)]
        assert not any(t.startswith("#") or t == "<unknown>" for t in spelled), text


def test_captions_vary_and_follow_from_the_seed() -> None:
    scene = sample_uniform(SceneSet(), Random(3))
    texts = [caption(scene, Random(i)) for i in range(200)]
    assert texts == [caption(scene, Random(i)) for i in range(200)]
    assert len(set(texts)) > 100
    assert any(" not " in t or " no " in t for t in texts)
    assert any(t.count(".") <= 1 for t in texts)


@pytest.mark.parametrize("sentences", range(6))
def test_prompts_are_understood_and_say_so_much(sentences: int) -> None:
    for i in range(150):
        text = prompt(Random(i), sentences)
        said = parse(text)
        assert len(said["subject"]) == 1
        assert text.count(".") == sentences + 1
        assert sample(said, Random(i)) is not None  # nature can show it


def test_a_denial_leaves_the_rest_open() -> None:
    for name, values in ATTRIBUTES.items():
        if name in ("subject", "on_color", "companion_at"):
            continue
        value = next(v for v in values[1:] if v != "nothing")
        assert parse(f"a photo of a fly. {deny(name, value)}")[name] == tuple(v for v in values if v != value)
