"""A planted landscape: inputs differ in how hard they are, cells in how much they add; all is known."""

from __future__ import annotations

import numpy as np
from benchmarks.map_table import Table
from numpy.typing import NDArray

from weakspot.concepts.space import Axis, ConceptSpace
from weakspot.stats.landscape import logits
from weakspot.studies.map.search.problem import Log
from weakspot.studies.map.search.searches import largest


def small_space(values: int = 5, axes: int = 3) -> ConceptSpace:
    names = ("turn", "shade", "grain", "blur")[:axes]
    metrics = ("ordered", "ordered", "circular", "categorical")
    numbers = tuple(str(i) for i in range(values))
    return ConceptSpace("planted", tuple(Axis(n, numbers, m) for n, m in zip(names, metrics, strict=False)))


def planted(space: ConceptSpace, inputs: int = 300, seed: int = 0, rough: float = 0.2) -> NDArray[np.float32]:
    """Δ of every cell and input: worst at the far corner, second worst at the near one."""
    rng = np.random.default_rng(seed)
    places = space.grid / (np.asarray(space.shape) - 1)
    far, near = np.abs(places - 1).sum(1), np.abs(places - 0).sum(1)
    effect = 3.0 * np.exp(-2 * far) + 2.4 * np.exp(-2 * near) + rough * rng.standard_normal(space.size)
    hard = rng.normal(-2.2, 1.5, inputs)
    noise = 0.5 * rng.standard_normal((space.size, inputs))
    return np.asarray(effect[:, None] + hard[None, :] + noise, np.float32)


def table(space: ConceptSpace, delta: NDArray[np.float32], seed: int = 0) -> Table:
    rng = np.random.default_rng(99)
    contexts = rng.random((delta.shape[1], 4)).astype(np.float32)
    return Table(space, delta, contexts, seed=seed)


def worst_cells(log: Log, k: int) -> NDArray[np.int64]:
    """The k cells that are believed to fail most, worst first, by all that the log knows."""
    mean, variance = logits(log.sharpened(log.prior()), np.arange(log.problem.space.size))
    rate = 1 / (1 + np.exp(-mean / np.sqrt(1 + np.pi * variance / 8)))
    return largest(log.finite(rate), k)
