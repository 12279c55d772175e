"""The job that a map leaves to `repair`: its modes, by the task of its space."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Target, WeakspotError
from weakspot.report.people.preferences import modes_of, preferred
from weakspot.store import Run
from weakspot.studies.map.parts import MapParts, parts_of
from weakspot.studies.map.settings import MapSettings
from weakspot.study.lifecycle import settings_of
from weakspot.study.loading import rooted
from weakspot.study.repairs import Job, RepairTask, Spot, chosen_of

#: By the task of a space, where a job is made of what was mapped.
JOBS: Final = {
    "image": "repair_pictures:picture_job",
    "world": "repair_pictures:scene_job",
    "text": "repair_text:text_job",
    "prompt": "repair_prompt:prompt_job",
}


class Mapped(NamedTuple):
    """A map, the modes of it that are to be repaired, and what it was made with: some inputs it did not
    draw.
    """

    run: Run
    settings: MapSettings
    parts: Any
    spots: tuple[Spot, ...]
    numbers: list[int]
    regions: list[Region]

    @property
    def space(self) -> ConceptSpace:
        space: ConceptSpace = self.parts.space
        return space

    @property
    def chosen(self) -> tuple[Spot, ...]:
        """The modes that are to be repaired."""
        return tuple(self.spots[number - 1] for number in self.numbers)

    @property
    def others(self) -> tuple[Spot, ...]:
        """The others, which must not get worse."""
        return tuple(spot for spot in self.spots if spot.number not in self.numbers)

    @property
    def clean(self) -> Spot:
        """Inputs as they are."""
        return Spot("as they are", (self.space.outside(),))


def job(run: Run, settings: RepairTask, *, target: Target | None = None) -> Job:
    """The modes of a map: the repair part of its inputs teaches, and the verification part proves."""
    mapped = rooted(settings_of(run), settings.here, target=settings.target)
    parts: MapParts = parts_of(mapped, {} if target is None else {"target": target})
    if type(parts) is MapParts:
        raise WeakspotError(
            "a map of cases that a source of your own drew cannot be repaired here",
            fix=f"repair takes maps of the tasks {', '.join(JOBS)}",
        )
    known: Any = modes_of(run)
    numbers = chosen_of(settings, preferred(run) if settings.numbers is None else None, len(known), "mode")
    spots = tuple(
        Spot(mode.words, (parts.space.hypothesis(mode.region, origin="mode"),), number)
        for number, mode in enumerate(known, start=1)
    )
    module, _, name = JOBS[parts.space.task].partition(":")
    build: Callable[..., Job] = getattr(import_module(f"weakspot.studies.map.{module}"), name)
    regions = [known[number - 1].region for number in numbers]
    return build(Mapped(run, mapped, parts, spots, numbers, regions), settings)
