"""What `map` is made with: its settings, and the parts of a task.

A task (pictures, scenes of the world; texts and prompts likewise) brings a source that draws cells of its
space, a judge by discrepancy, and how inputs are parted. `TASKS` says who builds them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from weakspot.concepts.space import ConceptSpace, load_space, space_from
from weakspot.core import JUDGES, MODELS, SOURCES, Judge, Source, Stage, Target, WeakspotError
from weakspot.engine import Budget
from weakspot.engine.identity import digest_in
from weakspot.store import Run
from weakspot.studies.map.search.problem import ENDLESS
from weakspot.studies.map.search.rl import LEAST as AGENT
from weakspot.studies.map.search.searches import find
from weakspot.study.executors import unnamed
from weakspot.study.loading import check_seed, part

if TYPE_CHECKING:
    from weakspot.sources.transform import TransformedImages

#: Fewer queries say nothing of a landscape.
LEAST: Final = 50
#: The part of the budget that the search gets; the baseline and the confirmation share the rest.
SEARCHED: Final = 0.7
#: Of that, what a learned agent gets; the rest measures the landscape at random inputs.
LEARNED: Final = 0.6
#: Of that, what goes at the end to the cells of which least is known.
NARROWED: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSettings:
    """Which landscape, and how it is mapped; kept in run.yaml.

    Attributes:
        target: Name of the model.
        images: Where the inputs are: a folder, an .npz, world:N; "" where the task makes them.
        space: Name of the concept space.
        concepts: The space itself, so that a changed file changes no run.
        search: Name of the search.
        judge: Name of the judge.
        above: Cells with at least this rate belong to modes; by default half-way from the landscape's mean to
            its worst cell, but at least twice the baseline's rate and five points more.
        labels_file: Names of labels by WordNet id.
        parts: Shares of the inputs: discovery and confirmation are drawn here, repair and verification never.
        budget: Limits. The number of images is part of the design and cannot be changed later.
        fdr: Bound on the expected share of false findings.
        seed: Everything random follows from it.
    """

    target: str
    images: str = ""
    space: str = "image-125"
    concepts: dict[str, Any] = field(default_factory=dict)
    search: str = "auto"
    judge: str = "discrepancy"
    above: float | None = None
    labels_file: str | None = None
    parts: dict[str, float] = field(default_factory=dict)
    budget: str = "images=10000"
    fdr: float = 0.05
    seed: int = 0

    @property
    def queries(self) -> int:
        """The most queries: the budget's images, or where it says nothing of them its calls."""
        return int(_queries(self.budget))

    @property
    def concept_space(self) -> ConceptSpace:
        """The space."""
        return space_from(self.concepts) if self.concepts else load_space(self.space)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapParts:
    """What a task brings.

    Attributes:
        target: The model.
        source: Draws cells; with `place` and `contexts` if a policy can choose inputs.
        judge: By discrepancy.
        inputs: How many inputs a cell can show.
        digests: Of model and data, for run.yaml.
        counts: Inputs per part, for people.
        after: Called with the run when all has been asked, for what a task adds to the result.
        recipes: How a worker on another machine makes its source, target or judge.
    """

    target: Target
    source: Source
    judge: Judge
    inputs: int = ENDLESS
    digests: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    after: Callable[[Run], None] | None = None
    recipes: Mapping[str, Callable[[MapSettings], Any]] = field(default_factory=dict)


#: By the task of a space: "module:function" from (settings, space, target or its name) to parts.
TASKS: Final[dict[str, str]] = {
    "image": "weakspot.studies.map.parts:image_parts",
    "world": "weakspot.studies.map.parts:world_parts",
    "text": "weakspot.studies.map.tasks:text_parts",
    "prompt": "weakspot.studies.map.tasks:prompt_parts",
}


def _queries(budget: str) -> float:
    limits = Budget.parse(budget)
    return limits["calls"] if math.isinf(limits["images"]) else limits["images"]


def check(settings: MapSettings) -> None:
    """Refuse settings that cannot be meant, before anything is loaded or written."""
    space = settings.concept_space
    check_seed(settings.seed)
    named = find(settings.search)
    images = _queries(settings.budget)
    if math.isinf(images):
        raise WeakspotError(
            "the budget has no number of images or calls", fix="write e.g. images=10k,seconds=600"
        )
    if images < LEAST:
        raise WeakspotError(f"{images:.0f} queries are too few to map anything", fix=f"give {LEAST} at least")
    if named.learned and int(LEARNED * int(SEARCHED * images)) < AGENT:
        least = math.ceil(math.ceil(AGENT / LEARNED) / SEARCHED)
        raise WeakspotError(
            f"{images:,.0f} queries are too few for {settings.search}: an agent gets {LEARNED:.0%} of the "
            f"{SEARCHED:.0%} that search, and fewer than {AGENT} teach it nothing",
            fix=f"give images={least}, or use --search auto",
        )
    if settings.search == "exhaustive" and images * SEARCHED < space.size:
        raise WeakspotError(
            f"the space {space.name!r} has {space.size:,} cells, more than the search has queries",
            fix=f"give images={math.ceil(space.size / SEARCHED):,}".replace(",", "")
            + ", or use --search auto, which learns from the cells beside",
        )
    if settings.above is not None and not 0 < settings.above < 1:
        raise WeakspotError(f"a rate cannot be {settings.above}", fix="write e.g. --above 0.3")
    if not 0 < settings.fdr < 1:
        raise WeakspotError(f"a false-discovery rate cannot be {settings.fdr}", fix="write e.g. --fdr 0.05")


def load(settings: MapSettings, *, target: Any = None, source: Any = None, judge: Any = None) -> MapParts:
    """Build the parts of the space's task; objects may be given in place of names."""
    space = settings.concept_space
    if source is not None:
        model = _model(settings, target)
        return MapParts(
            target=model,
            source=source,
            judge=_judge(settings, judge),
            inputs=int(getattr(source, "inputs", ENDLESS)),
            digests=_digest("target", model),
            recipes=_recipes(partial(_itself, thing=source), target=target, judge=judge),
        )
    if space.task not in TASKS:
        raise WeakspotError(
            f"nothing draws the task {space.task!r} of the space {space.name!r} yet",
            fix=f"give a source from Python: weakspot.map(…, source=…); built in are: {', '.join(TASKS)}",
        )
    module, _, name = TASKS[space.task].partition(":")
    build: Callable[..., MapParts] = getattr(import_module(module), name)
    return _held(build(settings, space, target=target, judge=judge))


def recipes_of(settings: MapSettings, parts: MapParts) -> dict[str, Callable[[], Any]]:
    """How workers on other machines make the parts; see `weakspot.study.executors`.

    Args:
        settings: As run.yaml has them, so that all load the same revision of a model.
        parts: As loaded here.

    Raises:
        WeakspotError: The judge keeps what it was asked, which workers would not share.
    """
    if hasattr(parts.judge, "hold"):
        raise WeakspotError(
            "people rate outputs that lie in a folder of this machine", fix="leave the executor out"
        )
    return {pool: partial(make, settings) for pool, make in parts.recipes.items()}


def _held(parts: MapParts) -> MapParts:
    """A run that ends while outputs wait for people's ratings has not finished."""
    hold: Callable[[], None] | None = getattr(parts.judge, "hold", None)
    if hold is None:
        return parts

    def after(run: Run) -> None:
        try:
            hold()
        except WeakspotError as error:
            run.ledger.set_fact("state", f"stopped: broken: {error.what}")
            raise
        if parts.after is not None:
            parts.after(run)

    return replace(parts, after=after)


def image_parts(
    settings: MapSettings, space: ConceptSpace, *, target: Any = None, judge: Any = None
) -> MapParts:
    """Pictures of a folder, transformed."""
    from weakspot.sources.labelled import part_digest

    if not settings.images:
        raise WeakspotError("no pictures are named", fix="--images FOLDER, or --images world:2000")
    model = _model(settings, target)
    labels = tuple(getattr(model, "labels", ()))
    source, parts = _pictures(settings, space=space, labels=labels)
    images = source.images
    source.probe()
    there = partial(same_inputs, make=partial(_pictures, space=space, labels=labels), digest=images.digest)
    return MapParts(
        target=model,
        source=source,
        judge=_judge(settings, judge),
        inputs=len(parts["discovery"]),
        digests={
            **_digest("target", model),
            "images": images.digest,
            **{f"images for {name}": part_digest(images, some) for name, some in parts.items()},
        },
        counts={name: len(some) for name, some in parts.items()},
        recipes=_recipes(there, target=target, judge=judge),
    )


def _pictures(
    settings: MapSettings, *, space: ConceptSpace, labels: tuple[str, ...]
) -> tuple[TransformedImages, dict[str, list[int]]]:
    """What draws the pictures, and the parts they are cut into."""
    from weakspot.sources.labelled import PARTS, labelled_images, split
    from weakspot.sources.transform import TransformedImages

    images = labelled_images(settings.images, labels=labels, labels_file=settings.labels_file)
    parts = split(images, seed=settings.seed, shares=settings.parts or PARTS)
    drawn = {Stage.EXPLORE: parts["discovery"], Stage.CONFIRM: parts["confirmation"]}
    return TransformedImages(images, space=space, parts=drawn), parts


def same_inputs(
    settings: MapSettings, *, make: Callable[[MapSettings], tuple[Any, Any]], digest: str
) -> Source:
    """The source, in a worker; its pictures or texts must be those that the run began with.

    Args:
        settings: Of the run.
        make: Gives the source, which has the inputs as `images` or `documents`, and its parts.
        digest: Of all inputs, where the run is kept.
    """
    source: Any = make(settings)[0]
    inputs = source.images if hasattr(source, "images") else source.documents
    if inputs.digest != digest:
        raise WeakspotError(
            "the inputs on this machine are not those of the run (their digest differs)",
            fix="give all machines the same files, over a shared file system or as copies",
        )
    found: Source = source
    return found


def world_parts(
    settings: MapSettings, space: ConceptSpace, *, target: Any = None, judge: Any = None
) -> MapParts:
    """Scenes of the world, drawn as they are needed: no two parts ever share one."""
    model = _model(settings, target)
    return MapParts(
        target=model,
        source=_scenes(settings, space=space),
        judge=_judge(settings, judge),
        digests=_digest("target", model),
        recipes=_recipes(partial(_scenes, space=space), target=target, judge=judge),
    )


def _scenes(_: MapSettings, *, space: ConceptSpace) -> Source:
    found: Source = SOURCES.load("world:cells", space=space)
    return found


def settings_of(run: Run, *, budget: str | None = None) -> MapSettings:
    """The settings of a run as its run.yaml has them, with the budget it was last given."""
    given = dict(run.config.settings)
    wrong = [*(set(given) - {f.name for f in fields(MapSettings)}), *({"target"} - set(given))]
    if wrong:
        raise WeakspotError(
            f"the settings in {run.folder / 'run.yaml'} do not fit map: {wrong[0][:80]!r}",
            fix="restore the file from a copy",
        )
    begun = MapSettings(**given)
    latest = budget if budget is not None else run.ledger.fact("budget")
    settings = MapSettings(**(given | ({} if latest is None else {"budget": latest})))
    check(settings)
    if settings.queries != begun.queries:
        raise WeakspotError(
            f"this run was laid out for {begun.queries:,} images, which cannot be changed now",
            fix=f"keep images={begun.queries} and change the other limits, or begin a new run",
        )
    return settings


def _recipes(
    source: Callable[[MapSettings], Any], *, target: Any, judge: Any
) -> dict[str, Callable[[MapSettings], Any]]:
    own = unnamed({"target": target, "judge": judge})
    return {
        "source": source,
        "target": partial(_model, given=own["target"]),
        "judge": partial(_judge, given=own["judge"]),
    }


def _itself(_: MapSettings, *, thing: Any) -> Any:
    return thing


def _model(settings: MapSettings, given: Any) -> Target:
    found: Target = part(given, settings.target, MODELS, Target)
    return found


def _judge(settings: MapSettings, given: Any) -> Judge:
    found: Judge = part(given, settings.judge, JUDGES, Judge)
    return found


def _digest(what: str, thing: object) -> dict[str, str]:
    digest = digest_in(thing)
    return {} if digest is None else {what: digest}
