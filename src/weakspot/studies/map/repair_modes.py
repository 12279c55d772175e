"""The job that a map leaves to `repair`: its modes, by the task of its space."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Target, WeakspotError
from weakspot.store import Run
from weakspot.study.repairs import Job, RepairTask, Spot, chosen_of

#: By the task of a space, "module:function" from (run, settings, target) to a job.
MAPS: Final[dict[str, str]] = {
    "image": "weakspot.studies.map.repair_pictures:picture_job",
    "world": "weakspot.studies.map.repair_pictures:picture_job",
    "text": "weakspot.studies.map.repair_text:text_job",
    "prompt": "weakspot.studies.map.repair_prompt:prompt_job",
}


def map_job(run: Run, settings: RepairTask, *, target: Target | None = None) -> Job:
    """The modes of a map: the repair part is learnt from, the verification part proves it."""
    from weakspot.studies.map.parts import settings_of

    task = settings_of(run).concept_space.task
    if task not in MAPS:
        raise WeakspotError(
            f"a map of the task {task[:60]!r} cannot be repaired here",
            fix=f"repair takes maps of the tasks {', '.join(MAPS)}",
        )
    module, _, name = MAPS[task].partition(":")
    build: Callable[..., Job] = getattr(import_module(module), name)
    return build(run, settings, target=target)


class Modes(NamedTuple):
    """The modes of a map.

    Attributes:
        space: What they are regions of.
        numbers: Those that are to be repaired.
        spots: All of them.
        regions: Of those that are to be repaired.
    """

    space: ConceptSpace
    numbers: list[int]
    spots: list[Spot]
    regions: list[Any]

    @property
    def chosen(self) -> tuple[Spot, ...]:
        """Those that are to be repaired."""
        return tuple(self.spots[i - 1] for i in self.numbers)

    @property
    def others(self) -> tuple[Spot, ...]:
        """The others, which must not get worse."""
        return tuple(spot for spot in self.spots if spot.number not in self.numbers)


def modes_to_repair(run: Run, settings: RepairTask, space: ConceptSpace) -> Modes:
    """Of all modes of a map those that are meant.

    Raises:
        WeakspotError: There is none of that number.
    """
    from weakspot.studies.map.preferences import modes_of, preferred

    known = modes_of(run)
    numbers = chosen_of(settings, preferred(run) if settings.numbers is None else None, len(known), "mode")
    regions = [tuple(tuple(v) for v in mode["region"]) for mode in known]
    spots = [
        Spot(mode["words"], (space.hypothesis(region, origin="mode"),), i)
        for i, (mode, region) in enumerate(zip(known, regions, strict=True), start=1)
    ]
    return Modes(space, numbers, spots, [regions[i - 1] for i in numbers])


def mapped_by(run: Run, settings: RepairTask) -> Any:
    """The settings of a map, its paths as they were meant, and with another target if one is named."""
    from weakspot.studies.map.parts import settings_of
    from weakspot.study.paths import rooted

    return rooted(settings_of(run), settings.here, target=settings.target)
