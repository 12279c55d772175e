"""Planted failures: the classifier errs at the stated rates, and what is said of a text is true of it."""

from __future__ import annotations

import math

import pytest

from weakspot.core import Case, Hypothesis, WeakspotError
from weakspot.testing import check_source, check_target
from weakspot.world.grammar import base_sentence, complete, describe, parse
from weakspot.world.nature import PARENT_OF, probability
from weakspot.world.planted import (
    BASELINES,
    LEAST,
    RATES,
    TELLING,
    Planted,
    PlantedClassifier,
    WordsOnly,
    World,
    plant,
)
from weakspot.world.renderer import Renderer
from weakspot.world.scene import DEFAULTS, SUBJECTS, SceneSet

#: Two planted failures that overlap, one within a common attribute.
OVERLAPPING = World(
    7,
    "fly",
    0.01,
    (
        Planted(SceneSet.of({"on": ["plate"]}), 0.3, "bee"),
        Planted(SceneSet.of({"size": ["large"], "on": ["plate"]}), 0.8, "cat"),
        Planted(SceneSet.of({"light": ["dusk"]}), 0.5, "dog"),
    ),
)


def answers(world: World, text: str, n: int) -> list[tuple[Case, str]]:
    cases = WordsOnly().draw(Hypothesis(text), range(n), seed=3)
    return [(c, str(o.answer)) for c, o in zip(cases, PlantedClassifier(world).answer(cases), strict=True)]


def near(failures: int, n: int, rate: float) -> bool:
    """Within five standard deviations."""
    return abs(failures - n * rate) <= 5 * math.sqrt(n * rate * (1 - rate)) + 1


@pytest.mark.parametrize("seed", [1, 3, 7])
def test_it_errs_at_the_stated_rate_with_the_stated_answer(seed: int) -> None:
    world = plant(seed)
    base = base_sentence(world.label)
    for failure in world.failures:
        drawn = answers(world, f"{base} {failure.words}", 1500)
        own = [said for case, said in drawn if world.culprit(case.input) is failure]
        assert len(own) > 1200
        assert near(sum(said != world.label for said in own), len(own), failure.rate)
        assert {*own} == {world.label, failure.answer}


@pytest.mark.parametrize("seed", [1, 4])
def test_elsewhere_it_errs_at_the_low_rate_with_any_answer(seed: int) -> None:
    world = plant(seed)
    drawn = answers(world, base_sentence(world.label), 12_000)
    wrong = [said for case, said in drawn if said != world.label]
    assert near(len(wrong), len(drawn), world.baseline)
    outside = [said for case, said in drawn if world.culprit(case.input) is None]
    assert near(sum(said != world.label for said in outside), len(outside), world.error)
    assert len({said for said in outside if said != world.label}) > 3
    other = next(s for s in SUBJECTS if s != world.label)
    at_others = answers(world, base_sentence(other), 3000)
    assert near(sum(said != other for _, said in at_others), 3000, world.error)


@pytest.mark.parametrize(
    "more",
    [
        "",
        "it is on a plate.",
        "it is large.",
        "it is dusk. it is large.",
        "it is on a plate. it is dusk. it is large.",
        "it is on a flower.",
        "it is not on a plate.",
    ],
)
def test_what_is_true_of_a_text_is_what_sampling_shows(more: str) -> None:
    truth = OVERLAPPING.truth(f"{base_sentence('fly')} {more}")
    drawn = answers(OVERLAPPING, f"{base_sentence('fly')} {more}", 4000)
    wrong = [case for case, said in drawn if said != "fly"]
    assert near(len(wrong), len(drawn), truth.rate)
    for failure, share, common in zip(OVERLAPPING.failures, truth.shares, truth.common, strict=True):
        made = sum(OVERLAPPING.culprit(case.input) is failure for case in wrong)
        assert near(made, len(wrong), share)
        assert near(sum(failure.where.matches(case.input) for case, _ in drawn), len(drawn), common)


def test_a_text_says_a_failure_exactly_or_not() -> None:
    both = OVERLAPPING.failures[1]
    says = {
        text: OVERLAPPING.same(f"{base_sentence('fly')} {text}", both)
        for text in (
            "it is large. it is on a plate.",
            "it is on a plate. it is large. it is large.",
            "it is large.",
            "it is on a plate.",
            "it is on a plate. it is large. it is dusk.",
            "it is on a flower. it is large.",
            "it is not small or medium-sized. it is on a plate.",
        )
    }
    assert [*says.values()] == [True, True, False, False, False, False, True]


@pytest.mark.parametrize(
    "text", ["a unicorn.", "a photo of a cat.", "a photo of a fly. it is on a yellow plate."]
)
def test_words_that_no_scene_of_the_label_fits_are_an_error(text: str) -> None:
    with pytest.raises(WeakspotError):
        OVERLAPPING.truth(text)


def test_worlds_are_as_promised() -> None:
    worlds = [plant(seed) for seed in range(40)]
    assert len({world.label for world in worlds}) > 10
    assert {len(world.failures) for world in worlds} == {1, 2, 3}
    assert {len(f.where.allowed) for w in worlds for f in w.failures} == {1, 2}
    for world in worlds:
        assert BASELINES[0] <= world.error < world.baseline <= BASELINES[1] * (1 + 1e-9)
        named = [name for f in world.failures for name, _ in f.where.allowed]
        assert len(named) == len(set(named))
        assert len({world.label, *(f.answer for f in world.failures)}) == 1 + len(world.failures)
        for failure in world.failures:
            common = probability(failure.where, world.label)
            assert RATES[0] <= failure.rate <= RATES[1]
            assert common * failure.rate >= LEAST
            assert parse(failure.words) == failure.where
            for name, values in failure.where.allowed:
                assert len(values) == 1
                assert values[0] not in (DEFAULTS[name], "none")
                alone = SceneSet.of({name: values})
                assert (
                    len(named) == 1
                    or name in PARENT_OF
                    or len(failure.where.allowed) == 1
                    or (common <= TELLING * probability(alone, world.label))
                )


def test_captions_say_what_is_planted() -> None:
    """Each planted sentence, or a more special one, is in the caption of every scene of the failure."""
    for world in map(plant, range(8)):
        for failure in world.failures:
            text = f"{base_sentence(world.label)} {failure.words}"
            for case in WordsOnly().draw(Hypothesis(text), range(10), seed=0):
                said = parse(case.caption.removeprefix(base_sentence(world.label)))
                assert {name for name, _ in failure.where.allowed} <= {name for name, _ in said.allowed}


def test_a_world_follows_from_its_seed_and_a_case_from_both_seeds() -> None:
    assert plant(5) == plant(5) != plant(6)
    world = plant(5)
    base = Hypothesis(base_sentence(world.label))
    cases = check_source(WordsOnly(), base)
    check_target(PlantedClassifier(world), cases)
    many = WordsOnly().draw(base, range(1500), seed=1)
    said = [o.answer for o in PlantedClassifier(world).answer(many)]
    assert said == [o.answer for case in many for o in PlantedClassifier(plant(5)).answer([case])]
    other = World(world.seed + 1, world.label, world.error, world.failures)
    assert said != [o.answer for o in PlantedClassifier(other).answer(many)]
    assert PlantedClassifier(world).digest != PlantedClassifier(other).digest


def test_without_pictures_everything_else_is_the_renderer_s() -> None:
    world = plant(2)
    words = Hypothesis(f"{base_sentence(world.label)} {world.failures[0].words}")
    target = PlantedClassifier(world)
    drawn, plain = (s.draw(words, range(40), seed=4) for s in (Renderer(size=16), WordsOnly()))
    for one, other in zip(drawn, plain, strict=True):
        assert (one.seed, one.caption, one.expected) == (other.seed, other.caption, other.expected)
        assert complete(parse(one.caption)) == other.input
        assert describe(other.input) == other.caption
    assert [o.answer for o in target.answer(drawn)] == [o.answer for o in target.answer(plain)]
