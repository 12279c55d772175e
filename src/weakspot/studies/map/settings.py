"""What `map` is asked to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, Self

from pydantic import AfterValidator, model_validator

from weakspot.core import WeakspotError, check_known
from weakspot.study.options import (
    BudgetOption,
    FailedOption,
    FdrOption,
    GroupColumnOption,
    LabelColumnOption,
    LabelsFileOption,
    Option,
    PredictionColumnOption,
    SeedOption,
    StudySettings,
)

if TYPE_CHECKING:
    from weakspot.concepts.space import ConceptSpace
    from weakspot.engine import Lane
    from weakspot.records import Roles

#: Fewer queries say nothing of a landscape.
LEAST: Final = 50
#: The part of the budget that the search gets; the baseline and the confirmation share the rest.
SEARCHED: Final = 0.7
#: The same of a table, whose usual rate follows from its cells: no rows are read for a baseline first.
SEARCHED_OF_TABLE: Final = 0.8
#: Of that, what a learned agent gets; the rest measures the landscape at random inputs.
LEARNED: Final = 0.6
#: The space that a run has if nobody names one.
SPACE: Final = "image-125"


class MapTask(NamedTuple):
    """What people call a task: the tasks of spaces that it means, and the space it has if none is named."""

    spaces: tuple[str, ...]
    space: str


TASKS: Final = {
    "image": MapTask(("image", "world"), SPACE),
    "text": MapTask(("text",), "text-16"),
    "generator": MapTask(("prompt",), "prompt-27"),
}


# The imports of these checks are not needed for the help of the command.


def _space(text: str) -> object:
    from weakspot.concepts.space import load_space

    return load_space(text)


def _task(text: str) -> str:
    if text:
        check_known(text, TASKS, f"no task is called {text[:60]!r}")
    return text


def _search(text: str) -> str:
    from weakspot.studies.map.search.searches import find

    find(text)
    return text


def _rate(rate: float | None) -> float | None:
    if rate is not None and not 0 < rate < 1:
        raise WeakspotError(f"a rate cannot be {rate}", fix="write e.g. --above 0.3")
    return rate


def _columns(given: str | tuple[str, ...]) -> tuple[str, ...]:
    names = given.split(",") if isinstance(given, str) else given
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _shares(text: str) -> str:
    shares_of(text)
    return text


class MapSettings(StudySettings):
    """Map where a model fails: which concepts, how much of them, together with which others.

    Each cell of a concept space says how to change a picture (rotated 10°, darkened 30 %). A search finds the
    cells that fail, and every cell gets a rate with an interval. Failing regions are put into words and
    confirmed on pictures that the search never saw. One quarter of the pictures is kept untouched for repair,
    and another for its verification.

    A table of results needs no model: its columns are the concepts, and the search reads its rows.
    """

    target: Annotated[
        str,
        Option(
            "The model, e.g. world:classifier (see: weakspot list models), or a table of its results.",
            "MODEL",
            names="model",
            port="Target | Generator | Any",
            argument=True,
        ),
    ]
    concepts: Annotated[
        str | tuple[str, ...],
        AfterValidator(_columns),
        Option("Of a table: the columns to map over, e.g. distance,diameter,rotation.", "COLUMNS"),
    ] = ""
    images: Annotated[
        str,
        Option(
            "Labelled pictures: a folder (of folders by label, or with labels.jsonl), .npz, world:2000.",
            "WHERE",
            names="inputs",
        ),
    ] = ""
    space: Annotated[
        str,
        Option(
            "image-125, image-5^k, image:rotate,fog,…, world, text-16, prompt-27, or a YAML file.",
            "SPACE",
            checked=_space,
            named=lambda space: f"object:{space.name}",
        ),
    ] = SPACE
    task: Annotated[
        str,
        AfterValidator(_task),
        Option("image, text or generator; by default what the space is of.", "TASK"),
    ] = ""
    documents: Annotated[
        str,
        Option(
            "Texts with summaries: .jsonl, or a folder; by default twenty that come with weakspot.",
            "WHERE",
            names="inputs",
        ),
    ] = ""
    search: Annotated[
        str,
        AfterValidator(_search),
        Option("auto, thompson, ucb, gp, tpe, dqn, ppo, dqn-micro, ppo-micro, random, exhaustive.", "SEARCH"),
    ] = "auto"
    judge: Annotated[
        str,
        Option(
            "What a failure is, e.g. discrepancy?measure=doubt&epsilon=0.9.",
            "JUDGE",
            names="judge",
            port="Judge",
        ),
    ] = "discrepancy"
    source: Annotated[
        str | None,
        Option("Draws the cells instead of the task's own source.", "SOURCE", names="source", port="Source"),
    ] = None
    above: Annotated[
        float | None,
        AfterValidator(_rate),
        Option(
            "Cells that fail at least this often are modes; by default, those far above the rest.", "RATE"
        ),
    ] = None
    labels_file: LabelsFileOption = None
    label: LabelColumnOption = ""
    prediction: PredictionColumnOption = ""
    failed: FailedOption = ""
    group: GroupColumnOption = ""
    parts: Annotated[
        str,
        AfterValidator(_shares),
        Option(
            "Shares of the inputs, e.g. discovery=0.4,confirmation=0.1,repair=0.25,verification=0.25.",
            "SHARES",
            named=lambda shares: ",".join(f"{name}={share}" for name, share in shares.items()),
        ),
    ] = ""
    budget: BudgetOption = "images=10000"
    fdr: FdrOption = 0.05
    seed: SeedOption = 0
    axes: Annotated[
        dict[str, Any] | None, Option("The space itself, so that a changed file changes no run.", inner=True)
    ] = None

    @property
    def queries(self) -> int:
        """The most queries: the budget's images, or where it says nothing of them its calls."""
        return int(self._limit)

    @property
    def searching(self) -> int:
        """The queries of the search."""
        return int((SEARCHED_OF_TABLE if self.concepts else SEARCHED) * self.queries)

    @property
    def _limit(self) -> float:
        from weakspot.engine.stop import Budget

        limits = Budget.parse(self.budget)
        return limits["calls"] if math.isinf(limits["images"]) else limits["images"]

    @property
    def shares(self) -> dict[str, float]:
        """Of the inputs, by the parts' names; {} for the task's own."""
        return shares_of(self.parts)

    @property
    def space_name(self) -> str:
        """The space that is meant: the task's own where none is named."""
        if self.concepts:
            return ", ".join(self.concepts)
        return TASKS[self.task].space if self.task and self.space == SPACE else self.space

    @property
    def concept_space(self) -> ConceptSpace:
        from weakspot.concepts.space import load_space, space_from

        return space_from(self.axes) if self.axes else load_space(self.space_name)

    @property
    def table_roles(self) -> Roles:
        """The columns that somebody named."""
        from weakspot.records import Roles

        return Roles(label=self.label, prediction=self.prediction, group=self.group)

    @model_validator(mode="after")
    def _can_be_meant(self) -> Self:
        limit = self._limit
        if math.isinf(limit):
            raise WeakspotError(
                "the budget has no number of images or calls", fix="write e.g. images=10k,seconds=600"
            )
        if limit < LEAST:
            raise WeakspotError(
                f"{limit:.0f} queries are too few to map anything", fix=f"give {LEAST} at least"
            )
        self._check_agent()
        self._check_table()
        if self.concepts:  # the space is that of the table
            return self
        if self.axes or not self.space.startswith("object:"):  # otherwise it is checked when it is there
            self._check_space(self.concept_space)
        return self

    def _check_table(self) -> None:
        if not self.concepts:
            of_tables = [name for name in ("label", "prediction", "failed", "group") if getattr(self, name)]
            if of_tables:
                raise WeakspotError(
                    f"{of_tables[0]!r} is for tables, but no column of a table is named to map over",
                    fix="add --concepts, e.g. --concepts distance,diameter",
                )
            return
        defaults = {name: field.default for name, field in self.fields().items()}
        others = ("images", "documents", "space", "task", "source", "judge", "labels_file")
        odd = [name for name in others if getattr(self, name) != defaults[name]]
        if odd:
            raise WeakspotError(
                f"{odd[0]!r} does not go with concepts that are columns of a table",
                fix=f"leave --{odd[0].replace('_', '-')} out, or the concepts",
            )
        from weakspot.studies.map.search.rl import AGENTS

        if self.search in AGENTS:
            raise WeakspotError(
                f"{self.search} chooses inputs, but a cell of a table has only its own rows",
                fix="use --search auto",
            )

    def _check_agent(self) -> None:
        from weakspot.studies.map.search.rl import AGENTS
        from weakspot.studies.map.search.rl import LEAST as AGENT

        if self.search in AGENTS and int(LEARNED * int(SEARCHED * self.queries)) < AGENT:
            least = math.ceil(math.ceil(AGENT / LEARNED) / SEARCHED)
            raise WeakspotError(
                f"{self.queries:,} queries are too few for {self.search}: an agent gets {LEARNED:.0%} of the "
                f"{SEARCHED:.0%} that search, and fewer than {AGENT} teach it nothing",
                fix=f"give images={least}, or use --search auto",
            )

    def _check_space(self, space: ConceptSpace) -> None:
        if self.task and space.task not in TASKS[self.task].spaces:
            raise WeakspotError(
                f"the space {space.name[:80]!r} is one of the task {space.task!r}, not of {self.task!r}",
                fix=f"use --space {TASKS[self.task].space}, or leave --task out",
            )
        if self.documents and space.task != "text":
            raise WeakspotError(f"the space {space.name[:80]!r} needs no texts", fix="leave --documents out")
        if self.images and space.task in ("text", "prompt"):
            raise WeakspotError(
                f"the space {space.name[:80]!r} needs no pictures",
                fix="name texts with --documents" if space.task == "text" else "leave --images out",
            )
        if self.search == "exhaustive" and self.queries * SEARCHED < space.size:
            raise WeakspotError(
                f"the space {space.name!r} has {space.size:,} cells, more than the search has queries",
                fix=f"give images={math.ceil(space.size / SEARCHED)}, or use --search auto, "
                "which learns from neighbouring cells",
            )

    def resumed(self, budget: str) -> Self:
        """The number of images is part of the design: how they are shared out follows from it."""
        settings = self.changed(budget=budget)
        if settings.queries != self.queries:
            raise WeakspotError(
                f"this run was laid out for {self.queries:,} images, which cannot be changed now",
                fix=f"keep images={self.queries} and change the other limits, or begin a new run",
            )
        return settings


def shares_of(text: str) -> dict[str, float]:
    """Shares of inputs, as "discovery=0.4,confirmation=0.6": by the parts' names."""
    shares: dict[str, float] = {}
    for pair in filter(None, text.split(",")):
        name, _, share = pair.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            shares[name.strip()] = 0.0
    wrong = [name for name, share in shares.items() if not (name and 0 < share < math.inf)]
    wrong += [name for name in ("discovery", "confirmation") if shares and name not in shares]
    if wrong:
        raise WeakspotError(
            f"the parts {text[:80]!r} give no share to {wrong[0]!r}",
            fix="write e.g. discovery=0.4,confirmation=0.1,repair=0.25,verification=0.25",
        )
    return shares


def resolve(settings: MapSettings, objects: dict[str, Any]) -> MapSettings:
    """The space, as it is now: run.yaml keeps all of it. A table is read for it, and handed on."""
    from weakspot.concepts.recorded import space_of
    from weakspot.studies.map.table import table_of

    table = table_of(settings, objects.get("target"))
    if table is not None:
        for name in settings.concepts:
            if name in table.used:
                raise WeakspotError(
                    f"the column {name[:80]!r} says whether a row failed, so it cannot be a concept",
                    fix="name columns that say what the input is",
                )
        objects["target"] = table
        return settings.changed(axes=space_of(table.records, settings.concepts).to_json())
    space = objects.get("space") or settings.concept_space
    return settings.changed(space=settings.space_name, axes=space.to_json())


def title(settings: MapSettings) -> str:
    return f"mapping {settings.target} over {settings.space_name.removeprefix('object:')}"


def subject(settings: MapSettings, _: object) -> str:
    return settings.concept_space.name


_DOING: Final = {
    "baseline": "inputs as they are",
    "search": "searching",
    "confirm": "confirming on fresh inputs",
}


def progress(phase: str, lanes: Sequence[Lane], spent: Mapping[str, float]) -> str:
    from weakspot.report.format import count, percent, shorten

    line = f"{_DOING.get(phase, phase)} · {count(spent['images'])} queries"
    worst = max((lane for lane in lanes if lane.tally.n), key=lambda lane: lane.tally.rate, default=None)
    if worst is None:
        return line
    words = shorten(worst.hypothesis.text, 60)
    return f"{line} · {percent(worst.tally.rate)} of {count(worst.tally.n)}: {words}"
