"""How a map's workers on other machines make their part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from weakspot.core import WeakspotError
from weakspot.core.ports import Waiting
from weakspot.studies.map.parts import MapParts, parts_of
from weakspot.studies.map.settings import MapSettings


def workers(
    settings: MapSettings, parts: MapParts, objects: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """How workers on other machines make their part; an error where the judge is of this machine."""
    if isinstance(parts.judge, Waiting):
        raise WeakspotError(
            "people rate outputs that lie in a folder of this machine", fix="leave the executor out"
        )
    return {
        pool: partial(
            part_of_worker,
            pool,
            settings,
            {name: objects[name] for name in needed if name in objects},
            labels=parts.labels,
            digests=parts.digests,
        )
        for pool, needed in parts.needs.items()
    }


def part_of_worker(
    pool: str,
    settings: MapSettings,
    objects: Mapping[str, Any],
    *,
    labels: tuple[str, ...],
    digests: Mapping[str, str],
) -> Any:
    """One part, made in a worker; it need not have the model, which knows the labels."""
    parts = parts_of(settings, objects)
    parts.labels = labels
    if pool == "source" and parts.digests != digests:
        raise WeakspotError(
            "the inputs on this machine are not those of the run (their digest differs)",
            fix="give all machines the same files, over a shared file system or as copies",
        )
    return getattr(parts, pool)
