"""Landscapes: intervals cover whatever policy drew; distances see where; all against another route."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.studies.map.map_parts import planted, small_space
from threadpoolctl import threadpool_limits

from weakspot.stats.distances import entropy, wasserstein, without_location
from weakspot.stats.landscape import fit, rates, sampled, smoothness

SPACE = small_space()
EVERY = np.arange(SPACE.size)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):  # small matrices
        yield


def adaptive(failed: np.ndarray, rng: np.random.Generator, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """A greedy policy that leaves cells after bad luck: the worst that could be done to an interval."""
    cells, inputs = failed.shape
    order = np.stack([rng.permutation(inputs) for _ in range(cells)])
    n, f = np.zeros(cells, int), np.zeros(cells, int)
    for step in range(queries):
        mean = (f + 0.5) / (n + 1)
        cell = int(np.argmax(np.where(n < inputs, mean, -1))) if step % 3 and step > cells else step % cells
        if n[cell] < inputs:
            f[cell] += failed[cell, order[cell, n[cell]]]
            n[cell] += 1
    return f, n


@pytest.mark.parametrize("rough", [0.0, 0.5])
def test_intervals_cover_the_truth_whatever_policy_drew(rough: float) -> None:
    prior, covered, narrower = smoothness(SPACE.distances()), [], []
    for seed in range(3):
        failed = planted(SPACE, seed=seed, rough=rough) > 0
        truth, rng = failed.mean(1), np.random.default_rng(seed)
        for f, n in (adaptive(failed, rng, 2500), adaptive(failed, rng, 600)):
            found = rates(fit(prior, EVERY, f, n), EVERY)
            covered.append(((found.low <= truth) & (truth <= found.high)).mean())
            narrower.append((found.high - found.low).mean())
    assert np.mean(covered) >= 0.95
    assert np.mean(narrower) < 0.5


def test_cells_that_were_never_asked_are_inferred_with_wider_intervals() -> None:
    failed = planted(SPACE, rough=0.0) > 0
    asked = EVERY[EVERY % 3 != 0]
    n = np.full(len(asked), 60)
    found = rates(fit(smoothness(SPACE.distances()), asked, failed[asked, :60].sum(1), n), EVERY)
    left = np.setdiff1d(EVERY, asked)
    wide = found.high - found.low
    assert wide[left].mean() > wide[asked].mean()
    assert np.abs(found.rate - failed.mean(1))[left].mean() < 0.06


def test_nothing_asked_is_known_to_be_unknown() -> None:
    found = rates(fit(smoothness(SPACE.distances()), [], [], []), EVERY[:5])
    assert (found.low < 0.05).all()
    assert (found.high > 0.95).all()


def test_draws_have_the_posteriors_mean_and_spread() -> None:
    failed = planted(SPACE) > 0
    found = fit(smoothness(SPACE.distances()), EVERY[:100], failed[:100, :40].sum(1), np.full(100, 40))
    draws = sampled(found, np.random.default_rng(0), 1500)
    mean, low, high = rates(found, EVERY, width=1.0)
    assert np.abs(draws.mean(0) - mean).max() < 0.02
    inside = ((draws > low) & (draws < high)).mean(0)
    assert abs(inside.mean() - 0.683) < 0.02
    assert inside.min() > 0.6


def test_an_axis_without_influence_is_averaged_over() -> None:
    rng = np.random.default_rng(0)
    p = np.repeat([0.1, 0.2, 0.3, 0.4, 0.5], 25)
    found = fit(smoothness(SPACE.distances()), EVERY, rng.binomial(20, p), np.full(125, 20))
    assert np.abs(rates(found, EVERY).rate - p).mean() < 0.4 * np.sqrt(p * (1 - p) / 20).mean()


def test_counts_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="between 0"):
        fit(smoothness(SPACE.distances()), [0], [3], [2])


def test_w1_agrees_with_the_plain_linear_programme() -> None:
    space = small_space(values=3, axes=3)
    far = space.distances()
    grid = space.grid
    cost = np.sum([far[a][np.ix_(grid[:, a], grid[:, a])] for a in range(3)], axis=0)
    rng = np.random.default_rng(0)
    p, q = rng.random(27), rng.random(27) ** 3
    size = len(p)
    rows = np.kron(np.eye(size), np.ones(size)), np.kron(np.ones(size), np.eye(size))
    plain = linprog(
        cost.ravel(), A_eq=np.vstack(rows), b_eq=np.concatenate([p / p.sum(), q / q.sum()]), method="highs"
    )
    assert wasserstein(p, q, far) == pytest.approx(plain.fun, abs=1e-8)


def test_w1_sees_where_failures_are_and_the_published_distance_does_not() -> None:
    far = SPACE.distances()
    rate = (planted(SPACE) > 0).mean(1)
    moved = rate[::-1].copy()  # the same rates in other cells
    assert without_location(rate, moved) < 1e-12
    assert wasserstein(rate, moved, far) > 0.05
    one, beside, opposite = (np.eye(125)[i] for i in (0, 25, 124))
    assert wasserstein(one, beside, far) == pytest.approx(0.25)
    assert wasserstein(one, opposite, far) > 2
    assert wasserstein(rate, rate, far) == 0.0
    assert wasserstein(one, opposite, far) == pytest.approx(wasserstein(opposite, one, far))


def test_entropy() -> None:
    assert entropy(np.eye(8)[0]) == 0.0
    assert entropy(np.ones(8)) == pytest.approx(1.0)
    assert entropy([1, 1, 0, 0]) == pytest.approx(math.log(2) / math.log(4))
    assert entropy(np.zeros(4)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="finite"):
        entropy([math.nan, 1.0])
