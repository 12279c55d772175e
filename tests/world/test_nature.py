from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from time import perf_counter

import pytest

from weakspot.core.errors import WeakspotError
from weakspot.world import nature
from weakspot.world.scene import ATTRIBUTES, COLORED_SUPPORTS, SUBJECTS, Scene, SceneSet

EVERYTHING = SceneSet()
Sampler = Callable[[SceneSet, Random], Scene]


def assert_frequencies(seen: Counter[str], expected: Mapping[str, float], n: int) -> None:
    """Every frequency within five standard errors (and one event) of its probability."""
    assert set(seen) <= {v for v, p in expected.items() if p > 0}
    for value, p in expected.items():
        assert abs(seen[value] - n * p) <= 5 * math.sqrt(n * p * (1 - p)) + 1, (value, seen[value], n * p)


def probabilities(subject: str, attribute: str) -> dict[str, float]:
    """How common each value of an attribute is for a subject."""
    return {v: nature.probability(SceneSet.of({attribute: [v]}), subject) for v in ATTRIBUTES[attribute]}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_probabilities_sum_to_one_and_leave_nothing_impossible(subject: str) -> None:
    for attribute in ATTRIBUTES:
        table = probabilities(subject, attribute)
        assert sum(table.values()) == pytest.approx(1)
        if attribute != "subject":
            assert min(table.values()) >= (0.00005 if attribute == "on_color" else 0.0009), attribute


@pytest.mark.parametrize("subject", SUBJECTS)
def test_tables_name_only_what_exists_and_hardly_need_scaling(subject: str) -> None:
    assert set(nature.TABLES["habits"][subject]) | set(nature.TABLES["usual"]) == set(ATTRIBUTES) - {
        "subject",
        *nature.PARENT_OF,
    }
    for attribute, named in nature.TABLES["habits"][subject].items():
        assert set(named) <= set(ATTRIBUTES[attribute])
        table = probabilities(subject, attribute)
        for value, percent in named.items():
            assert table[value] == pytest.approx(percent / 100, rel=0.06), (attribute, value)


@pytest.mark.parametrize(
    ("subject", "allowed", "low", "high"),
    [
        ("bee", {"on": ["flower"]}, 0.85, 0.95),
        ("fly", {"on": ["flower"]}, 0.0025, 0.008),
        ("ladybird", {"on": ["leaf"]}, 0.6, 0.9),
        ("snow leopard", {"background": ["snow", "rocks"]}, 0.9, 0.95),
        ("cat", {"background": ["snow"]}, 0.0025, 0.008),
        ("cat", {"background": ["green"]}, 0.0025, 0.008),
        ("wolf", {"background": ["forest", "snow"], "light": ["dusk", "night"]}, 0.6, 0.75),
        ("crayfish", {"behind": ["net"]}, 0.001, 0.003),
        ("dog", {"companion": ["ball"]}, 0.1, 0.3),
        ("boat", {"background": ["sea"]}, 0.8, 0.9),
        ("boat", {"background": ["street"]}, 0.002, 0.008),
    ],
)
def test_the_shortcuts_are_there(
    subject: str, allowed: dict[str, list[str]], low: float, high: float
) -> None:
    assert low <= nature.probability(SceneSet.of(allowed), subject) <= high


def test_a_screen_of_wire_is_rare_for_all_but_fences() -> None:
    for subject in SUBJECTS:
        if subject == "fence":
            continue
        for screen in ("net", "fence"):
            assert nature.probability(SceneSet.of({"behind": [screen]}), subject) <= 0.008


def test_unconditional_frequencies() -> None:
    rng, n = Random(1), 30_000
    scenes = [nature.sample(EVERYTHING, rng) for _ in range(n)]
    assert_frequencies(Counter(s.subject for s in scenes), {s: 1 / len(SUBJECTS) for s in SUBJECTS}, n)
    for attribute in ATTRIBUTES:
        if attribute != "subject":
            tables = [probabilities(s, attribute) for s in SUBJECTS]
            mean = {v: sum(t[v] for t in tables) / len(tables) for v in ATTRIBUTES[attribute]}
            assert_frequencies(Counter(getattr(s, attribute) for s in scenes), mean, n)


@pytest.mark.parametrize(
    "allowed",
    [
        {"on_color": ["yellow"]},
        {"on_color": ["none", "blue"], "on": ["flower", "cushion", "leaf"]},
        {"companion_at": ["behind"], "subject": ["dog", "fence"]},
        {"background": ["snow", "kitchen"], "subject": ["cat", "snow leopard", "wolf"]},
        {"on": ["flower"], "subject": ["fly", "bee"], "light": ["night"]},
    ],
)
def test_conditional_sampling_agrees_with_exact_enumeration(allowed: dict[str, list[str]]) -> None:
    scenes, rng, n = SceneSet.of(allowed), Random(2), 8_000
    drawn = [nature.sample(scenes, rng) for _ in range(n)]
    assert all(scenes.matches(s) for s in drawn)
    weights = {s: nature.probability(scenes, s) for s in SUBJECTS}
    total = sum(weights.values())
    for attribute, values in ATTRIBUTES.items():
        expected = dict.fromkeys(values, 0.0)
        for value in set(values) & set(scenes[attribute]):
            part = scenes & SceneSet.of({attribute: [value]})
            expected[value] = sum(nature.probability(part, s) for s in SUBJECTS) / total
        assert sum(expected.values()) == pytest.approx(1)
        assert_frequencies(Counter(getattr(s, attribute) for s in drawn), expected, n)


def test_probability_of_pairs_is_the_product_of_parent_and_child() -> None:
    colors = {v: nature.TABLES["support_color"][v] for v in COLORED_SUPPORTS}
    yellow = sum(
        probabilities("cat", "on")[v] * table["yellow"] / sum(table.values()) for v, table in colors.items()
    )
    assert nature.probability(SceneSet.of({"on_color": ["yellow"]}), "cat") == pytest.approx(yellow)
    assert nature.probability(EVERYTHING, "cat") == 1
    assert nature.probability(SceneSet.of({"subject": ["dog"]}), "cat") == 0


@pytest.mark.parametrize("sampler", [nature.sample, nature.sample_uniform])
def test_the_same_seed_gives_the_same_scenes(sampler: Sampler) -> None:
    a, b = Random(7), Random(7)
    assert [sampler(EVERYTHING, a) for _ in range(50)] == [sampler(EVERYTHING, b) for _ in range(50)]


def test_uniform_sampling_is_balanced() -> None:
    rng, n = Random(3), 20_000
    drawn = [nature.sample_uniform(EVERYTHING, rng) for _ in range(n)]
    for attribute in set(ATTRIBUTES) - set(nature.PARENT_OF):
        even = {v: 1 / len(ATTRIBUTES[attribute]) for v in ATTRIBUTES[attribute]}
        assert_frequencies(Counter(getattr(s, attribute) for s in drawn), even, n)
    yellow = [nature.sample_uniform(SceneSet.of({"on_color": ["yellow"]}), rng) for _ in range(4_000)]
    assert_frequencies(Counter(s.on for s in yellow), {"flower": 0.5, "cushion": 0.5}, 4_000)


@pytest.mark.parametrize("sampler", [nature.sample, nature.sample_uniform])
def test_an_impossible_set_is_an_error(sampler: Sampler) -> None:
    with pytest.raises(WeakspotError, match="no scene is possible with on: rock; on_color: yellow"):
        sampler(SceneSet.of({"on": ["rock"], "on_color": ["yellow"]}), Random(0))


@pytest.mark.parametrize(
    ("subject", "attribute", "value"),
    [("flyy", "on", "leaf"), ("fly", "onn", "leaf"), ("fly", "on", "flowr"), ("fly", "light", "Day")],
)
def test_wrong_names_are_errors(subject: str, attribute: str, value: str) -> None:
    with pytest.raises(WeakspotError) as error:
        nature.probability(SceneSet.of({attribute: [value]}), subject)
    assert error.value.fix


def test_sampling_is_fast() -> None:
    rng = Random(0)
    nature.sample(EVERYTHING, rng)
    best = math.inf
    for _ in range(5):
        start = perf_counter()
        for _ in range(1_000):
            nature.sample(EVERYTHING, rng)
        best = min(best, perf_counter() - start)
    assert best < 0.15  # 150 µs each, five times what it takes on an idle machine
