"""What `map` is made with, by task: the model, what draws the cells, the judge, how inputs are shared out.

A classifier is shown changed pictures or scenes. A summariser is shown edited texts, and the judge compares
with the reference summary. Of a generator the pictures are what is looked at, so it stands in the source; the
target is the one who looks (`weakspot.judges.picture.Viewer`), and the pictures are kept with their prompts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, Final

from weakspot.concepts.space import ConceptSpace
from weakspot.core import (
    JUDGES,
    MODELS,
    SOURCES,
    Classifier,
    Hypothesis,
    Judge,
    Source,
    Stage,
    Target,
    WeakspotError,
)
from weakspot.core.ports import Probing
from weakspot.core.question import AnswersQuestions
from weakspot.judges.picture import PictureJudge, Viewer
from weakspot.models.summarise import Asked
from weakspot.records import Judged
from weakspot.report.format import plural
from weakspot.sources import recorded_cells as recorded
from weakspot.sources.documents import Documents, EditedTexts, documents
from weakspot.sources.generate import PromptPictures, generator
from weakspot.sources.labelled import LEAST, PARTS, LabelledImages, labelled_images, part_digest, split
from weakspot.sources.transform import TransformedImages
from weakspot.store import png
from weakspot.studies.map.landscape import Bias
from weakspot.studies.map.settings import MapSettings
from weakspot.studies.map.table import read_table
from weakspot.study.loading import nameless, part

#: The parts of texts, with the share each gets.
PARTS_OF_TEXTS: Final = {"discovery": 0.4, "confirmation": 0.2, "repair": 0.2, "verification": 0.2}
#: The same where there are few: every part needs some.
FEW, PARTS_OF_FEW = 60, {"discovery": 0.25, "confirmation": 0.25, "repair": 0.25, "verification": 0.25}

FEW_NOTE: Final = (
    "The texts are few, so each was shown several times, edited in different places: rates and findings "
    "are of these texts, and more texts would say more."
)
#: The judge of settings in which nobody chose one; the task's own is taken then.
UNCHOSEN: Final = "discrepancy"


class MapParts:
    """What the settings name, made when it is first asked for: a worker elsewhere makes its part alone.

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
        name, given = self.settings.judge, self.objects.get("judge")
        own = name == UNCHOSEN and given is None
        found: Judge = part(given, self.usual_judge if own else name, JUDGES, Judge)
        return found

    @property
    def verdicts(self) -> Judge:
        """The judge, as the frame knows it."""
        return self.judge

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Of the model, if it is a classifier."""
        return tuple(self.target.labels) if isinstance(self.target, Classifier) else ()

    @cached_property
    def shared_out(self) -> dict[str, list[int]]:
        """Numbers of the inputs of each part; {} where inputs are made as they are needed."""
        return {}

    @property
    def digests(self) -> Mapping[str, str]:
        return {}

    @property
    def usual_judge(self) -> str:
        """The judge of the task."""
        return UNCHOSEN

    @property
    def note(self) -> str:
        """What is to be known of the result."""
        return ""

    @property
    def bias(self) -> Bias | None:
        """Measures how often a generator shows the values of an attribute."""
        return None

    def before(self, hypothesis: Hypothesis, index: int) -> bytes:
        """The picture that a case was made of, as it is kept; b"" where there is none."""
        return b""

    @property
    def counts(self) -> dict[str, int]:
        """Inputs per part, for people."""
        return {name: len(some) for name, some in self.shared_out.items()}


class _Collected(MapParts):
    """Inputs of a collection, in parts that share none; `kind` says what they are."""

    kind: ClassVar[str]
    inputs: Any

    @property
    def digests(self) -> Mapping[str, str]:
        parts = self.shared_out.items()
        each = {f"{self.kind} for {name}": part_digest(self.inputs, some) for name, some in parts}
        return {self.kind: self.inputs.digest} | each

    @property
    def drawn(self) -> dict[Stage, list[int]]:
        parts = self.shared_out
        return {Stage.EXPLORE: parts["discovery"], Stage.CONFIRM: parts["confirmation"]}

    def kept(self, name: str, then: Mapping[str, str], *, least: int) -> list[int]:
        """A part's inputs that no map drew, if there are enough, and the same as when the map was made."""
        some, what = self.shared_out.get(name, []), "pictures" if self.kind == "images" else self.kind
        if len(some) < least:
            raise WeakspotError(
                f"{len(some)} {what} are too few for {name}",
                fix=f"map with more {what}, so that {least} at least are left for it",
            )
        if then.get(f"{self.kind} for {name}") not in (None, part_digest(self.inputs, some)):
            raise WeakspotError(
                f"the {what} are not those the map was made with (the digest differs)",
                fix="use the old ones, or map again",
            )
        return some


class Pictures(_Collected):
    kind = "images"

    @cached_property
    def inputs(self) -> LabelledImages:
        settings = self.settings
        if not settings.images:
            raise WeakspotError("no pictures are named", fix="--images FOLDER, or --images world:2000")
        return labelled_images(settings.images, labels=self.labels, labels_file=settings.labels_file)

    @cached_property
    def shared_out(self) -> dict[str, list[int]]:
        return split(self.inputs, seed=self.settings.seed, shares=self.settings.shares or PARTS)

    @cached_property
    def source(self) -> TransformedImages:
        return TransformedImages(self.inputs, space=self.space, parts=self.drawn)

    def before(self, hypothesis: Hypothesis, index: int) -> bytes:
        number = self.source.number_of(hypothesis, index, seed=self.settings.seed)
        return png(self.inputs.picture(number))


class Scenes(MapParts):
    """Scenes of the world, drawn as they are needed: no two parts ever share one."""

    @cached_property
    def source(self) -> Source:
        found: Source = SOURCES.load("world:cells", space=self.space)
        return found


class Texts(_Collected):
    """Texts with reference summaries, edited."""

    kind = "texts"
    usual_judge = "summary"
    needs: ClassVar = {"source": ("source",), "target": ("target",), "judge": ("judge",)}

    @cached_property
    def inputs(self) -> Documents:
        return documents(self.settings.documents)

    @cached_property
    def shared_out(self) -> dict[str, list[int]]:
        texts: Any = self.inputs
        shares = self.settings.shares or (PARTS_OF_FEW if len(texts) < FEW else PARTS_OF_TEXTS)
        needed = math.ceil(LEAST / min(shares.values()) * sum(shares.values()))
        if len(texts) < needed:
            raise WeakspotError(
                f"{len(texts)} texts are too few to split into {len(shares)} parts",
                fix=f"give {needed} at least",
            )
        return split(texts, seed=self.settings.seed, shares=shares)

    @cached_property
    def source(self) -> EditedTexts:
        return EditedTexts(self.inputs, space=self.space, parts=self.drawn)

    @cached_property
    def model(self) -> Any:
        return part(self.objects.get("target"), self.settings.target, MODELS, Target)

    @cached_property
    def target(self) -> Target:
        found: Target = Asked(self.model) if isinstance(self.model, AnswersQuestions) else self.model
        return found

    @property
    def note(self) -> str:
        """What rates over few texts are rates of."""
        return FEW_NOTE if self.source.rounds(Stage.CONFIRM) > 1 else ""


class Prompts(MapParts):
    """Prompts of a space, the pictures that a generator makes of them, and one who looks at these."""

    needs: ClassVar = {"judge": ("judge",), "source": ("target",), "target": ("judge",)}

    @property
    def usual_judge(self) -> str:
        known = (registry.beside(self.settings.target, "judge") for registry in (MODELS, SOURCES))
        return next(filter(None, known), "picture")

    @cached_property
    def source(self) -> PromptPictures:
        return PromptPictures(generator(self.objects.get("target"), self.settings.target), space=self.space)

    @property
    def model(self) -> Any:
        return self.source.generator

    @cached_property
    def target(self) -> Target:
        ours = self.judge if isinstance(self.judge, PictureJudge) else None
        return Viewer(ours.encoder if ours else None, attribute=ours.attribute if ours else ())

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return ()

    @property
    def bias(self) -> Bias | None:
        ours = self.judge if isinstance(self.judge, PictureJudge) else None
        return Bias(self.space, ours.attribute, ours.wanted) if ours and ours.attribute else None


class Recorded(MapParts):
    """Rows of a table: their cells, answers and verdicts are what was recorded."""

    needs: ClassVar = {"source": ("target",), "target": ("target",), "judge": ("target",)}

    @cached_property
    def table(self) -> Judged:
        given = self.objects.get("target")
        if given is None and self.settings.target.startswith("object:"):
            raise nameless(self.settings.target)
        return read_table(self.settings, given)

    @cached_property
    def source(self) -> recorded.RecordedCells:
        settings = self.settings
        return recorded.RecordedCells(
            self.table,
            space=self.space,
            columns=tuple(settings.concepts),
            seed=settings.seed,
            shares=settings.shares or recorded.PARTS,
        )

    @cached_property
    def target(self) -> Target:
        return recorded.RecordedAnswers(self.table)

    @cached_property
    def judge(self) -> Judge:
        return recorded.RecordedVerdicts(self.table)

    @cached_property
    def shared_out(self) -> dict[str, list[int]]:
        return self.source.shared_out

    @property
    def digests(self) -> Mapping[str, str]:
        return {"rows": self.source.digest}

    @property
    def note(self) -> str:
        table, source = self.table, self.source
        notes = [f"A failure is: {table.rule}."]
        if empty := int((source.population == 0).sum()):
            notes.append(f"{empty:,} of {self.space.size:,} cells have no row and are left out.")
        if source.outside:
            notes.append(f"{plural(source.outside, 'row')} without a value of a concept are left out.")
        if table.left_out:
            notes.append(
                f"{plural(len(table.left_out), 'row')} could not be used: {table.left_out[0].reason}."
            )
        return " ".join(notes)


PARTS_BY_TASK: Final[Mapping[str, type[MapParts]]] = {
    "image": Pictures,
    "world": Scenes,
    "text": Texts,
    "prompt": Prompts,
}


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
    if settings.concepts:
        return Recorded(settings, objects)
    if settings.source or objects.get("source") is not None:
        return MapParts(settings, objects)
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
