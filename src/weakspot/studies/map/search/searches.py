"""The searches by name. All spend the same budget of queries; `auto` is what wins in the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np

from weakspot.core import WeakspotError, nearest
from weakspot.studies.map.search.problem import Log


class Named(NamedTuple):
    """A search: where it is, and a line about it."""

    target: str
    about: str
    learned: bool = False


_HOME: Final = "weakspot.studies.map.search"
SEARCHES: Final[Mapping[str, Named]] = {
    "thompson": Named(f"{_HOME}.bandit:thompson", "bandit: where posterior draws disagree on the worst"),
    "ucb": Named(f"{_HOME}.bandit:ucb", "bandit: the upper end of what is believed"),
    "gp": Named(f"{_HOME}.model:gaussian_process", "Gaussian process on Δ, expected improvement"),
    "tpe": Named(f"{_HOME}.model:parzen", "Parzen estimators on Δ"),
    "dqn": Named(f"{_HOME}.rl:dqn", "deep Q-learning, macroscopic", learned=True),
    "ppo": Named(f"{_HOME}.rl:ppo", "proximal policy optimisation, macroscopic", learned=True),
    "dqn-micro": Named(f"{_HOME}.rl:dqn_micro", "deep Q-learning, small steps", learned=True),
    "ppo-micro": Named(f"{_HOME}.rl:ppo_micro", "policy optimisation, small steps", learned=True),
    "random": Named(f"{_HOME}.simple:at_random", "cells at random"),
    "exhaustive": Named(f"{_HOME}.simple:exhaustive", "every cell equally often"),
}
#: Finds the worst cells and modes with the fewest queries: see docs/results-map.md.
DEFAULT: Final = "thompson"
Search = Callable[[Log, np.random.Generator], Any]


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
    module, _, attribute = find(name).target.partition(":")
    found: Search = getattr(import_module(module), attribute)
    return found
