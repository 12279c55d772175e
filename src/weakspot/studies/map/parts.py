"""What `map` is made with: the model, what draws the cells, the judge, and how inputs are shared out.

Each task (pictures, scenes of the world, texts, prompts) has its own; see `weakspot.studies.map.tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, Final

from weakspot.concepts.space import ConceptSpace
from weakspot.core import JUDGES, MODELS, SOURCES, Classifier, Judge, Source, Target, WeakspotError
from weakspot.core.ports import Probing, Waiting
from weakspot.studies.map.bias import Bias
from weakspot.studies.map.settings import MapSettings
from weakspot.study.loading import part

#: The judge that a run is given if nobody chooses one.
UNCHOSEN: Final = "discrepancy"


class MapParts:
    """What the settings name, made when it is first asked for, so that a worker elsewhere makes its part
    alone.

    This one draws with a source of one's own.
    """

    #: The parts, in the order in which they are made, and the objects that each is made of.
    needs: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "target": ("target",), "source": ("source",), "judge": ("judge",),
    }  # fmt: skip

    def __init__(self, settings: MapSettings, objects: Mapping[str, Any]) -> None:
        self.settings, self.objects = settings, objects
        self.space: ConceptSpace = settings.concept_space

    @cached_property
    def target(self) -> Target:
        found: Target = part(self.objects.get("target"), self.settings.target, MODELS, Target)
        return found

    @property
    def model(self) -> Any:
        return self.target

    @cached_property
    def source(self) -> Source:
        found: Source = part(self.objects.get("source"), self.settings.source or "", SOURCES, Source)
        return found

    @cached_property
    def judge(self) -> Judge:
        """Says what a failure is: Δ > ε."""
        name, given = self.settings.judge, self.objects.get("judge")
        if name == UNCHOSEN and given is None:
            name = self.usual_judge
        found: Judge = part(given, name, JUDGES, Judge)
        return found

    @property
    def verdicts(self) -> Judge:
        """The judge, as the frame knows it."""
        return self.judge

    @property
    def usual_judge(self) -> str:
        """The judge of the task."""
        return UNCHOSEN

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Of the model, if it is a classifier."""
        return tuple(self.target.labels) if isinstance(self.target, Classifier) else ()

    @cached_property
    def shared_out(self) -> dict[str, list[int]]:
        """Numbers of the inputs of each part; {} where inputs are made as they are needed."""
        return {}

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the inputs, for run.yaml."""
        return {}

    @property
    def note(self) -> str:
        """What is to be known of the result."""
        return ""

    @property
    def bias(self) -> Bias | None:
        """Measures how often a generator shows the values of an attribute."""
        return None

    @property
    def counts(self) -> dict[str, int]:
        """Inputs per part, for people."""
        return {name: len(some) for name, some in self.shared_out.items()}


def load(settings: MapSettings, **objects: Any) -> MapParts:
    """Make all parts, and look whether the inputs can be drawn."""
    parts = parts_of(settings, objects)
    for name in parts.needs:
        getattr(parts, name)
        if name == "source" and isinstance(parts.source, Probing):
            parts.source.probe()
    return parts


def parts_of(settings: MapSettings, objects: Mapping[str, Any]) -> MapParts:
    """The parts of the space's task; none is made yet."""
    if settings.source or objects.get("source") is not None:
        return MapParts(settings, objects)
    from weakspot.studies.map.tasks import PARTS_BY_TASK

    space = settings.concept_space
    if space.task not in PARTS_BY_TASK:
        raise WeakspotError(
            f"nothing draws the task {space.task!r} of the space {space.name!r} yet",
            fix=f"name a source that does: --source; built in are: {', '.join(PARTS_BY_TASK)}",
        )
    return PARTS_BY_TASK[space.task](settings, objects)


def named(parts: MapParts) -> dict[str, Any]:
    """What has a digest and a revision, by the setting that names it."""
    return {"target": parts.model, "judge": parts.judge}


def workers(
    settings: MapSettings, parts: MapParts, objects: Mapping[str, Any]
) -> dict[str, Callable[[], Any]]:
    """How workers on other machines make their part; an error where they would have to share the judge's
    memory.
    """
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
    """One part, made in a worker that may have neither the model, which knows the labels, nor the same
    inputs.
    """
    parts = parts_of(settings, objects)
    parts.labels = labels
    if pool == "source" and parts.digests != digests:
        raise WeakspotError(
            "the inputs on this machine are not those of the run (their digest differs)",
            fix="give all machines the same files, over a shared file system or as copies",
        )
    return getattr(parts, pool)
