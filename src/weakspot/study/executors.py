"""Where the trials of a study are drawn: on this machine, or by workers on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from weakspot.core import WeakspotError
from weakspot.engine import Cluster, Executor

#: Which part of a study a pool of workers has, and how a worker makes it.
Recipes = Mapping[str, Callable[[], Any]]


def check_executor(named: str | Executor | Cluster | None) -> None:
    """Refuse a name of an executor that cannot be read, before anything is loaded."""
    if not isinstance(named, str) or named == "local":
        return
    from weakspot.engine.ray_settings import RaySettings

    if not named.strip():
        raise WeakspotError("the executor has no name", fix="choose local or ray")
    RaySettings.parse(named)


@contextmanager
def executor_for(
    named: str | Executor | Cluster | None,
    recipes: Callable[[], Recipes],
    *,
    many: bool,
    here: Mapping[str, Any] | None = None,
) -> Iterator[Executor | Cluster | None]:
    """Where the trials are drawn, closed in the end; None is this machine, as suits the source.

    Args:
        named: "local", "ray:ADDRESS?OPTIONS", or the thing itself.
        recipes: Says by pool (source, target, judge) what makes its part; asked for Ray alone. What has a
            name is loaded by each worker itself, an object is sent to it.
        many: The source computes in Python, so that it can use every processor.
        here: The parts as this machine has them, by pool: workers with other models are refused.
    """
    if not isinstance(named, str) or named == "local":
        yield None if isinstance(named, str) else named
        return
    from weakspot.engine.ray import RayExecutor
    from weakspot.engine.ray_settings import RaySettings

    chosen = RaySettings.parse(named)
    with RayExecutor(chosen, recipes(), many=many, here=here) as executor:
        yield executor


def unnamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The objects among what was given, by what they are; None for what has a name."""
    return {what: None if isinstance(thing, str) else thing for what, thing in given.items()}
