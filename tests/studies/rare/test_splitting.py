"""Splitting: planted rates of 1e-5 are found with a fiftieth of the evaluations, and traps are survived."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from benchmarks.rare import plain_draws
from scipy.stats import binom, norm

from weakspot.sources.spaces import Choices, Gaussian, Space, States
from weakspot.studies.rare.splitting import Rare, rare_rate

Problem = tuple[Space, Callable[[Any], Any], float]


class Joined:
    """Several spaces side by side, such as a scene's choices and a generator's noise.

    A state is one row of numbers, the parts one after the other; `split` takes it apart. A move moves one
    part, picked at random for each state.
    """

    def __init__(self, *parts: Space) -> None:
        if not parts:
            raise ValueError("At least one space is needed.")
        self.parts = parts
        self._shapes = [part.draw(np.random.default_rng(0), 1).shape[1:] for part in parts]
        self._ends = np.cumsum([math.prod(shape) for shape in self._shapes])

    def split(self, states: States) -> list[States]:
        """The states of each part, in their own shapes; numbers of choices come back as floats."""
        columns = np.split(states, self._ends[:-1], axis=1)
        return [c.reshape(len(states), *shape) for c, shape in zip(columns, self._shapes, strict=True)]

    def draw(self, rng: np.random.Generator, n: int) -> States:
        return self._join([part.draw(rng, n) for part in self.parts], n)

    def move(self, rng: np.random.Generator, states: States, scale: float) -> States:
        chosen = rng.integers(len(self.parts), size=len(states))
        pieces = self.split(states)
        for i, part in enumerate(self.parts):
            picked = chosen == i
            pieces[i] = pieces[i].copy()
            pieces[i][picked] = part.move(rng, pieces[i][picked], scale)
        return self._join(pieces, len(states))

    @staticmethod
    def _join(pieces: Sequence[States], n: int) -> States:
        return np.concatenate([np.asarray(piece, dtype=float).reshape(n, -1) for piece in pieces], axis=1)


def linear() -> Problem:
    """The margin falls along one direction of 50; the truth is a normal tail."""
    direction = np.ones(50) / math.sqrt(50)
    return Gaussian(50), lambda x: norm.isf(1e-5) - x @ direction, 1e-5


def conjunction() -> Problem:
    """Five of eight choices must hold at once; each gives some credit, and three others a little noise."""
    credit = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    noise = np.array([0.0, 0.005, 0.01, 0.015])

    def margin(x: Any) -> Any:
        return 0.95 - (x[:, :5] == 0) @ credit - noise[x[:, 5:]].sum(axis=1)

    planted = np.array(list(itertools.product((0, 1), repeat=5)))  # 1 stands for the nine other values
    mildest = np.pad(planted, ((0, 0), (0, 3)), constant_values=0)
    worst = np.pad(planted, ((0, 0), (0, 3)), constant_values=3)
    chance = np.prod(np.where(planted == 0, 0.1, 0.9), axis=1)
    truth = float(chance[margin(mildest) < 0].sum())
    assert truth == pytest.approx(float(chance[margin(worst) < 0].sum()))  # the noise decides nothing
    return Choices([[0.1] * 10] * 5 + [[0.25] * 4] * 3), margin, truth


def two_modes() -> Problem:
    """Two failures in opposite directions, six and four in a million."""
    high, low = norm.isf(6e-6), norm.isf(4e-6)
    return Gaussian(20), lambda x: np.minimum(high - x[:, 0], low + x[:, 0]), 1e-5


def uneven() -> Problem:
    """The mode with six tenths of the failures shows late: its margin falls twice as steeply."""
    early, late = norm.isf(4e-6), norm.isf(6e-6)
    truth = 1 - (1 - 4e-6) * (1 - 6e-6)
    return Gaussian(20), lambda x: np.minimum(early - x[:, 0], 2 * (late - x[:, 1])), truth


def estimates(problem: Problem, *, budget: int, times: int = 40) -> list[Rare]:
    space, margin, _ = problem
    return [rare_rate(space, margin, budget=budget, seed=seed) for seed in range(times)]


def covering(found: list[Rare], truth: float) -> float:
    return float(np.mean([r.low <= truth <= r.high for r in found]))


@pytest.mark.parametrize(("make", "gain"), [(linear, 50), (conjunction, 50), (two_modes, 50), (uneven, 10)])
def test_a_planted_rate_is_found(make: Callable[[], Problem], gain: float) -> None:
    """Forty times: within a factor of 2, covered by nine tenths, with a fiftieth of the evaluations.

    Where half of the failures show late the saving is a twentieth, and the spread of the repeats says so.
    """
    problem = make()
    truth = problem[2]
    found = estimates(problem, budget=60_000)
    off = [abs(math.log(r.rate / truth)) for r in found]
    saved = np.median([plain_draws(r.rate, r.low, r.high) / r.evaluations for r in found])
    width = np.median([r.high / r.low for r in found])
    print(
        f"{make.__name__}: covered {covering(found, truth):.0%}, off by at most {math.exp(max(off)):.2f}, ",
        end="",
    )
    print(f"ends {width:.1f} apart, {saved:.0f} times fewer evaluations than plain sampling")
    assert covering(found, truth) >= 0.9
    assert np.mean([o <= math.log(2) for o in off]) >= (0.9 if make is uneven else 1.0)
    assert saved >= gain
    assert all(r.method == "splitting" and r.evaluations <= 60_000 for r in found)
    assert np.mean([r.rate for r in found]) == pytest.approx(truth, rel=0.25)


def test_repeats_are_unbiased_however_few_the_moves() -> None:
    space, margin, truth = two_modes()
    found = rare_rate(space, margin, budget=400_000, seed=1, repeats=400, moves=1)
    error = np.std(found.repeats) / math.sqrt(400)
    assert abs(found.rate - truth) <= 4 * error
    assert error < 0.2 * truth


def test_choices_and_noise_together() -> None:
    space = Joined(Choices([[0.1] * 10] * 2), Gaussian(2, 5))

    def margin(x: Any) -> Any:
        choices, noise = space.split(x)
        assert noise.shape[1:] == (2, 5)
        return norm.isf(1e-3) - noise[:, 1, 0] + 0.8 * (choices != 0).sum(axis=1)

    chances = ((0, 0.01), (1, 0.18), (2, 0.81))
    truth = sum(p * float(norm.sf(norm.isf(1e-3) + 0.8 * k)) for k, p in chances)
    found = estimates((space, margin, truth), budget=30_000, times=20)
    assert covering(found, truth) >= 0.9


def test_what_is_found_fails() -> None:
    space, margin, _ = conjunction()
    found = rare_rate(space, margin, budget=20_000, seed=3)
    assert len(found.found) > 10
    assert np.all(margin(found.found) < 0)
    assert 1 <= found.roots <= 60
    assert list(found.ladder) == sorted(found.ladder, reverse=True)
    assert len(found.repeats) == 12
    assert found.note == ""


def flat(x: Any) -> Any:
    return np.where(x[:, 0] > norm.isf(1e-5), -1.0, 1.0)


def dead_end(x: Any) -> Any:
    return np.where(x[:, 1] > norm.isf(1e-5), -1.0, 0.1 + 0.5 * np.exp(-x[:, 0]))


def never(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(x[:, 0]))


@pytest.mark.parametrize(("margin", "truth"), [(flat, 1e-5), (dead_end, 1e-5), (never, 0.0)])
def test_a_margin_that_leads_nowhere_is_not_believed(margin: Callable[[Any], Any], truth: float) -> None:
    found = estimates((Gaussian(3), margin, truth), budget=10_000)
    assert covering(found, truth) >= 0.9
    for r in found:
        assert r.method == "plain" or not r.agree
        assert r.note
        assert r.high >= 2e-4


def test_what_the_margin_hides_stays_under_the_ceiling() -> None:
    """A second failure that no margin leads to, ten times as common: the interval is of the first alone."""

    def margin(x: Any) -> Any:
        return np.where(x[:, 1] > norm.isf(1e-5), -1.0, norm.isf(1e-6) - x[:, 0])

    found = estimates((Gaussian(3), margin, 1.1e-5), budget=20_000, times=10)
    assert covering(found, 1.1e-5) < 0.9
    assert all(r.ceiling >= 1.1e-5 for r in found)


@pytest.mark.parametrize("truth", [0.3, 0.01])
def test_common_failures_are_counted(truth: float) -> None:
    found = estimates((Gaussian(3), lambda x: norm.isf(truth) - x[:, 0], truth), budget=4000, times=20)
    assert covering(found, truth) >= 0.9
    assert np.mean([r.method == "plain" for r in found]) >= 0.9


@pytest.mark.parametrize("budget", [1, 50, 1999, 2000, 2500, 7000])
@pytest.mark.parametrize("make", [linear, conjunction])
def test_the_budget_is_never_exceeded(make: Callable[[], Problem], budget: int) -> None:
    space, margin, _ = make()
    asked = 0

    def counted(x: Any) -> Any:
        nonlocal asked
        asked += len(x)
        return margin(x)

    found = rare_rate(space, counted, budget=budget, seed=2)
    assert asked == found.evaluations <= budget


def test_the_same_seed_asks_for_the_same_states_in_the_same_order() -> None:
    space, margin, _ = two_modes()

    def trace(seed: int) -> tuple[str, Rare]:
        seen = hashlib.sha256()

        def watched(x: Any) -> Any:
            seen.update(np.ascontiguousarray(x).tobytes())
            return margin(x)

        found = rare_rate(space, watched, budget=5000, seed=seed)
        return seen.hexdigest(), found

    (first, a), (second, b), (other, _) = trace(5), trace(5), trace(6)
    assert first == second != other
    assert (a.rate, a.low, a.high, a.repeats) == (b.rate, b.low, b.high, b.repeats)


@pytest.mark.parametrize("scale", [0.1, 0.5, 1.0])
def test_moves_are_reversible(scale: float) -> None:
    """A draw and its proposal are exchangeable, for noise and for choices."""
    rng = np.random.default_rng(1)
    x = Gaussian(2).draw(rng, 200_000)
    y = Gaussian(2).move(rng, x, scale)
    for power in (1, 2, 3):
        assert np.mean(x**power * y) == pytest.approx(float(np.mean(y**power * x)), abs=0.03)
    assert y.std() == pytest.approx(1.0, abs=0.01)
    space = Choices([[0.2, 0.8], [0.5, 0.3, 0.2]])
    c = space.draw(rng, 200_000)
    d = space.move(rng, c, scale)
    codes, proposed = c @ [3, 1], d @ [3, 1]
    flow = np.zeros((6, 6))
    np.add.at(flow, (codes, proposed), 1 / 200_000)
    assert np.abs(flow - flow.T).max() < 0.004
    np.testing.assert_allclose(np.bincount(proposed, minlength=6) / 200_000, flow.sum(axis=1), atol=0.005)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="needs a budget"):
        rare_rate(Gaussian(2), flat, budget=0)
    with pytest.raises(ValueError, match="two repeats"):
        rare_rate(Gaussian(2), flat, budget=10, repeats=1)
    with pytest.raises(ValueError, match="one number a state"):
        rare_rate(Gaussian(2), lambda x: x, budget=3000)
    with pytest.raises(ValueError, match="not NaN"):
        rare_rate(Gaussian(2), lambda x: x[:, 0] * np.nan, budget=3000)
    with pytest.raises(ValueError, match="positive numbers"):
        Gaussian(0)
    with pytest.raises(ValueError, match="sum to 1"):
        Choices([[0.5, 0.6]])
    with pytest.raises(ValueError, match="At least one space"):
        Joined()


def test_where_repeats_disagree_the_rest_of_the_budget_lowers_the_ceiling() -> None:
    space, margin, truth = uneven()
    found = [r for r in estimates((space, margin, truth), budget=8_000, times=12) if not r.agree]
    assert found
    for r in found:
        if r.method == "splitting":
            assert r.evaluations == 8_000
            assert r.high == pytest.approx(max(r.ceiling, r.rate))
    assert covering(found, truth) >= 0.9


def test_moves_that_change_nothing_are_made_up_for() -> None:
    """Twelve choices of which nine in ten are made alike: most proposals change nothing, and cost nothing."""
    space = Choices([[0.9, 0.1]] * 12)

    def margin(x: Any) -> Any:
        return 6.5 - x.sum(axis=1)  # seven or more rare choices

    truth = float(binom.sf(6, 12, 0.1))
    found = estimates((space, margin, truth), budget=20_000, times=20)
    assert covering(found, truth) >= 0.9
    assert np.median([r.evaluations for r in found]) >= 15_000
