"""Where the trials of a study are drawn: on this machine, or by workers on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from weakspot.core import WeakspotError
from weakspot.engine import Cluster, Executor

#: Which part of a study a pool of workers has, and how a worker makes it.
Recipes = Mapping[str, Callable[[], Any]]
#: Studies whose trials follow from their words and numbers alone, so that anybody can draw them.
SPREAD: Final = ("hunt", "map")
#: The others, and why they stay here.
HERE: Final[Mapping[str, str]] = {
    "rare": "each picture begins from one that was judged before it, in this process",
    "repair": "it trains one model",
}


def check_spread(study: str, named: str | Executor | Cluster | None) -> None:
    """Refuse another machine for a study that is done on this one.

    Args:
        study: Its name.
        named: Where it is to be done; "local" and None are always right.
    """
    if study in SPREAD or named is None or named == "local":
        return
    raise WeakspotError(
        f"{study} is not spread over machines: {HERE.get(study, 'it draws no trials')}",
        fix=f"leave the executor out; {' and '.join(SPREAD)} can be spread",
    )


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
