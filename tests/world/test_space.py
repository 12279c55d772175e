"""Spaces of scenes: draws are natural, moves leave the distribution as it is, states are pictures."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, ks_2samp, kstest

from weakspot.core import Hypothesis
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, Scene, SceneSet
from weakspot.world.space import ELEMENTS, FIRST, SceneSpace

FLY = Hypothesis(f"{base_sentence('fly')} it is on a flower.")
#: Nothing is said of the subject: it is drawn too, and the tables of everything else depend on it.
ANY = Hypothesis("a realistic photograph. it is in snow.")


def space_of(hypothesis: Hypothesis, **options: Any) -> SceneSpace:
    return SceneSpace(hypothesis, parse(hypothesis.text), **options)


def drawing(states: Any) -> Any:
    """The numbers of each element, as a view."""
    return states[:, states.shape[1] - len(ELEMENTS) * (FIRST + 1) :].reshape(len(states), len(ELEMENTS), -1)


def alike(one: list[Any], two: list[Any]) -> float:
    """The p-value of a chi-square test that two samples of words have one distribution."""
    a, b = Counter(one), Counter(two)
    common = [w for w in a | b if a[w] + b[w] >= 10]
    rare = [sum(n for w, n in c.items() if w not in common) for c in (a, b)]
    rows = np.array([[c[w] for w in common] + [r] for c, r in ((a, rare[0]), (b, rare[1]))])
    rows = rows[:, rows.sum(axis=0) > 0]
    return 1.0 if rows.shape[1] < 2 else float(chi2_contingency(rows).pvalue)


VIEWS: dict[str, Callable[[Scene], Any]] = {
    "background": lambda s: s.background,
    "on": lambda s: (s.on, s.on_color),
    "companion": lambda s: (s.companion, s.companion_at),
    "light and weather": lambda s: (s.light, s.weather),
    "subject and place": lambda s: (s.subject, s.position, s.count),
}


@pytest.mark.parametrize("hypothesis", [FLY, ANY])
@pytest.mark.parametrize("balanced", [False, True])
def test_draws_are_those_of_the_source(hypothesis: Hypothesis, balanced: bool) -> None:
    space, n = space_of(hypothesis, balanced=balanced), 4000
    drawn = [space.scene(s) for s in space.draw(np.random.default_rng(1), n)]
    meaning, choose, rng = parse(hypothesis.text), sample_uniform if balanced else sample, Random(2)
    usual = [choose(meaning, rng) for _ in range(n)]
    for view in VIEWS.values():
        assert alike([view(s) for s in drawn], [view(s) for s in usual]) > 1e-4
    assert all(meaning.matches(scene) for scene in drawn)


@pytest.mark.parametrize("hypothesis", [FLY, ANY])
@pytest.mark.parametrize("scale", [0.05, 0.5, 1.0])
def test_moves_leave_the_distribution_as_it_is(hypothesis: Hypothesis, scale: float) -> None:
    space, rng = space_of(hypothesis), np.random.default_rng(3)
    before = space.draw(rng, 4000)
    after = before
    for _ in range(6):
        after = space.move(rng, after, scale)
    assert np.mean((after != before).any(axis=1)) > 0.9
    # The samples are dependent, which makes them more alike than chance; so fresh draws are compared.
    moved, fresh = ([space.scene(s) for s in states] for states in (after, space.draw(rng, 4000)))
    for view in VIEWS.values():
        assert alike([view(s) for s in moved], [view(s) for s in fresh]) > 1e-4
    numbers = drawing(after)
    for i in range(len(ELEMENTS)):
        assert kstest(numbers[:, i, 0], "norm").pvalue > 1e-4
        assert kstest(numbers[:, i, FIRST], "uniform").pvalue > 1e-4


@pytest.mark.parametrize("hypothesis", [FLY, ANY])
def test_a_move_and_its_way_back_are_as_likely(hypothesis: Hypothesis) -> None:
    """Transitions of pairs of attributes: from a to b as often as from b to a, among draws."""
    space, rng = space_of(hypothesis), np.random.default_rng(4)
    before = space.draw(rng, 12000)
    after = space.move(rng, before, 0.3)
    scenes = [(space.scene(a), space.scene(b)) for a, b in zip(before, after, strict=True)]
    for view in VIEWS.values():
        pairs = [(view(a), view(b)) for a, b in scenes]
        there = Counter(pair for pair in pairs if pair[0] != pair[1])
        chi, degrees = 0.0, 0
        for (a, b), n in there.items():
            back = there[b, a]
            if str(a) < str(b) and n + back >= 10:
                chi, degrees = chi + (n - back) ** 2 / (n + back), degrees + 1
        assert chi <= degrees + 5 * np.sqrt(2 * max(degrees, 1))


def test_moves_change_either_the_scene_or_what_the_picture_shows() -> None:
    space, rng = space_of(Hypothesis(base_sentence("fly"))), np.random.default_rng(5)
    states = space.draw(rng, 40)
    moved = space.move(rng, states, 0.1)
    seen = []
    for a, b in zip(states, moved, strict=True):
        same_scene = space.scene(a) == space.scene(b)
        assert same_scene or np.array_equal(drawing(a[None]), drawing(b[None]))
        if same_scene and not np.array_equal(a, b):
            seen.append(not np.array_equal(space.picture(a), space.picture(b)))
    assert np.mean(seen) > 0.8  # a wall without features looks the same however it is drawn


def test_numbers_of_what_is_not_shown_change_nothing() -> None:
    space = space_of(
        Hypothesis(f"{base_sentence('crab')} it is day. the weather is clear. it is on nothing.")
    )
    state = space.draw(np.random.default_rng(6), 1)[0]
    other = state.copy()
    for element in ("sky", "support", "weather"):
        drawing(other[None])[0, ELEMENTS.index(element)] = 0.123
    assert not np.array_equal(state, other)
    assert np.array_equal(space.picture(state), space.picture(other))


def test_a_state_is_a_picture() -> None:
    renderer = Renderer(size=32)
    space = renderer.space(FLY)
    states = space.draw(np.random.default_rng(7), 6)
    cases = space.to_cases(states, range(10, 16))
    again = pickle.loads(pickle.dumps(space)).to_cases(states[::-1], range(6))[::-1]
    for case, twin, state in zip(cases, again, states, strict=True):
        assert np.array_equal(case.input, twin.input)
        assert case.input.shape == (32, 32, 3)
        assert (case.seed, case.caption, case.expected) == (twin.seed, twin.caption, "fly")
        assert "flower" in case.caption
        assert parse(case.caption).matches(space.scene(state))
    assert [case.index for case in cases] == list(range(10, 16))
    assert len({case.seed for case in cases}) == 6


def test_words_that_settle_the_scene_leave_the_drawing() -> None:
    rng, free = np.random.default_rng(8), space_of(FLY)
    scene = free.scene(free.draw(rng, 1)[0])
    settled = SceneSet.of({name: [getattr(scene, name)] for name in ATTRIBUTES})
    space = SceneSpace(FLY, settled)
    states = space.draw(rng, 50)
    moved = space.move(rng, states, 0.2)
    assert (states != moved).any(axis=1).all()
    assert {space.scene(s) for s in moved} == {scene}


def test_a_small_move_is_a_small_change() -> None:
    space, rng = space_of(Hypothesis(base_sentence("cat"))), np.random.default_rng(9)
    states = space.draw(rng, 60)

    def change(scale: float) -> float:
        pairs = zip(states, space.move(rng, states, scale), strict=True)
        same = [(a, b) for a, b in pairs if space.scene(a) == space.scene(b) and not np.array_equal(a, b)]
        return float(
            np.median([np.abs(space.picture(a) - space.picture(b).astype(float)).mean() for a, b in same])
        )

    assert change(0.001) < 0.3 * change(1.0)


def test_pictures_of_the_space_are_those_of_the_source() -> None:
    """The random numbers come by another way, but the pictures' colours have the same distribution."""
    renderer = Renderer(size=16)
    hypothesis = Hypothesis(f"{base_sentence('crab')} it is on a beach. it is day. the weather is clear.")
    space = renderer.space(hypothesis)
    one = [c.input.mean() for c in renderer.draw(hypothesis, range(250), seed=1)]
    two = [c.input.mean() for c in space.to_cases(space.draw(np.random.default_rng(2), 250), range(250))]
    assert ks_2samp(one, two).pvalue > 1e-4
