"""The searches by name. All spend the same budget of queries; `auto` is what wins in the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from weakspot.core import WeakspotError, nearest
from weakspot.studies.map.search.problem import Log


class Named(NamedTuple):
    """A search: the module and the function, and whether an agent learns it."""

    target: str
    learned: bool = False


SEARCHES: Final[Mapping[str, Named]] = {
    "thompson": Named("bandit:thompson"),
    "ucb": Named("bandit:ucb"),
    "gp": Named("model:gaussian_process"),
    "tpe": Named("model:parzen"),
    **{name: Named("rl:learn", learned=True) for name in ("dqn", "ppo", "dqn-micro", "ppo-micro")},
    "random": Named("searches:at_random"),
    "exhaustive": Named("searches:exhaustive"),
}
#: Finds the worst cells and modes with the fewest queries: see docs/results-map.md.
DEFAULT: Final = "thompson"
Search = Callable[[Log, np.random.Generator], Any]
#: Queries asked at once by searches that learn nothing.
BATCH: Final = 256


def find(name: str) -> Named:
    """The search of a name; an error says the nearest right one."""
    if name == "auto":
        return SEARCHES[DEFAULT]
    if name not in SEARCHES:
        raise WeakspotError(
            f"no search is called {name[:60]!r}",
            fix=nearest(name, SEARCHES) or f"choose from: auto, {', '.join(SEARCHES)}",
        )
    return SEARCHES[name]


def search(name: str) -> Search:
    """The function of a name, which spends a log's budget."""
    found = find(name)
    module, _, attribute = found.target.partition(":")
    function: Callable[..., Any] = getattr(import_module(f"weakspot.studies.map.search.{module}"), attribute)
    return partial(function, policy=name) if found.learned else function


def at_random(log: Log, rng: np.random.Generator) -> None:
    """Cells drawn uniformly."""
    while log.goes_on:
        log.ask(rng.choice(np.flatnonzero(log.open), min(BATCH, log.room)))


def exhaustive(log: Log, rng: np.random.Generator) -> None:
    """Every cell equally often, in rounds; within a round in random order."""
    size = log.problem.space.size
    if log.budget < size:
        raise WeakspotError(
            f"{log.budget:,} queries do not reach each of {size:,} cells",
            fix=f"give at least {size:,}, or use another search, which learns from the cells beside",
        )
    while log.goes_on:
        row = rng.permutation(np.flatnonzero(log.open))
        for at in range(0, len(row), BATCH):
            log.ask(row[at : at + BATCH])
