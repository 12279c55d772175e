"""The tasks of `map` beside pictures: a summariser under edits of texts, a text-to-image generator.

A summariser is a target as any other: the source edits texts, the judge compares with the reference summary.
Of a generator the pictures are what is looked at, so it stands in the source; the target is the one who looks
(`weakspot.judges.picture.Viewer`), and the pictures are kept as evidence with their prompts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from weakspot.concepts.space import ConceptSpace, load_space
from weakspot.core import JUDGES, MODELS, Judge, Stage, Target, WeakspotError, nearest
from weakspot.engine.identity import digest_in
from weakspot.store import Run
from weakspot.studies.map.bias import Bias
from weakspot.studies.map.parts import MapParts, MapSettings, same_inputs
from weakspot.study.executors import unnamed
from weakspot.study.loading import part

if TYPE_CHECKING:
    from weakspot.sources.prompted import PromptPictures
    from weakspot.sources.rewrite import EditedTexts

#: The parts of texts, with the share each gets.
PARTS: Final = {"discovery": 0.4, "confirmation": 0.2, "repair": 0.2, "verification": 0.2}
#: The same where there are few: every part needs some.
FEW, PARTS_OF_FEW = 60, {"discovery": 0.25, "confirmation": 0.25, "repair": 0.25, "verification": 0.25}
#: The judge that a run is given if nobody chooses one.
UNCHOSEN: Final = "discrepancy"

FEW_NOTE: Final = (
    "The texts are few, so each was shown several times, edited at other places: rates and findings are of "
    "these texts, and more texts would say more."
)


class Task(NamedTuple):
    """What a person calls a task: the tasks of spaces it means, and the space it has if none is named."""

    spaces: tuple[str, ...]
    space: str


TASKS: Final = {
    "image": Task(("image", "world"), "image-125"),
    "text": Task(("text",), "text-16"),
    "generator": Task(("prompt",), "prompt-27"),
}


def space_for(task: str, space: str, *, usual: str = "image-125") -> str:
    """The space of a task.

    Args:
        task: "image", "text", "generator"; "" for whatever the space is of.
        space: As it was named; the task's own if it is `usual`.
        usual: The name that stands for "none was named".

    Raises:
        WeakspotError: There is no such task, or the space is of another.
    """
    if not task:
        return space
    if task not in TASKS:
        raise WeakspotError(
            f"no task is called {task[:60]!r}", fix=nearest(task, TASKS) or f"choose from: {', '.join(TASKS)}"
        )
    chosen = TASKS[task].space if space == usual else space
    own = load_space(chosen).task
    if own not in TASKS[task].spaces:
        raise WeakspotError(
            f"the space {chosen[:80]!r} is one of the task {own!r}, not of {task!r}",
            fix=f"use --space {TASKS[task].space}, or leave --task out",
        )
    return chosen


def inputs_for(space: str, *, images: str, documents: str) -> str:
    """Where the inputs of a space are, of the two ways to say it.

    Raises:
        WeakspotError: The way does not fit the space.
    """
    task = load_space(space).task
    if documents and task != "text":
        raise WeakspotError(f"the space {space[:80]!r} needs no texts", fix="leave --documents out")
    if images and task in ("text", "prompt"):
        raise WeakspotError(
            f"the space {space[:80]!r} needs no pictures",
            fix="name texts with --documents" if task == "text" else "leave --images out",
        )
    return documents or images


def text_parts(
    settings: MapSettings, space: ConceptSpace, *, target: Any = None, judge: Any = None
) -> MapParts:
    """Texts with reference summaries, edited."""
    from weakspot.sources.labelled import part_digest

    source, parts = _texts(settings, space=space)
    texts: Any = source.documents
    model, digests = _summariser(settings, target)
    own = unnamed({"target": target, "judge": judge})
    return MapParts(
        target=model,
        source=source,
        judge=_judge(settings, judge, usual="summary"),
        inputs=source.inputs,
        digests={
            **digests,
            "texts": texts.digest,
            **{f"texts for {name}": part_digest(texts, some) for name, some in parts.items()},
        },
        counts={name: len(some) for name, some in parts.items()},
        after=_few if source.rounds(Stage.CONFIRM) > 1 else None,
        recipes={
            "source": partial(same_inputs, make=partial(_texts, space=space), digest=texts.digest),
            "target": partial(_writer, given=own["target"]),
            "judge": partial(_judge, given=own["judge"], usual="summary"),
        },
    )


def _texts(settings: MapSettings, *, space: ConceptSpace) -> tuple[EditedTexts, dict[str, list[int]]]:
    """What edits the texts, and the parts they are cut into."""
    from weakspot.sources.documents import documents
    from weakspot.sources.labelled import LEAST, split
    from weakspot.sources.rewrite import EditedTexts

    texts: Any = documents(settings.images)
    shares = settings.parts or (PARTS_OF_FEW if len(texts) < FEW else PARTS)
    needed = math.ceil(LEAST / min(shares.values()) * sum(shares.values()))
    if len(texts) < needed:
        raise WeakspotError(
            f"{len(texts)} texts are too few to split into {len(shares)} parts", fix=f"give {needed} at least"
        )
    parts = split(texts, seed=settings.seed, shares=shares)
    drawn = {Stage.EXPLORE: parts["discovery"], Stage.CONFIRM: parts["confirmation"]}
    return EditedTexts(texts, space=space, parts=drawn), parts


def _summariser(settings: MapSettings, given: Any) -> tuple[Target, dict[str, str]]:
    """Who writes the summaries, and its digest; a chat model is asked for one."""
    from weakspot.models.summarise import Asked

    model = part(given, settings.target, MODELS, Target)
    return Asked(model) if hasattr(model, "answer_questions") else model, _digest("target", model)


def _writer(settings: MapSettings, *, given: Any) -> Target:
    return _summariser(settings, given)[0]


def _few(run: Run) -> None:
    """Say what rates over few texts are rates of."""
    result = run.ledger.fact("map")
    if result is not None and FEW_NOTE not in result["note"]:
        run.ledger.set_fact("map", result | {"note": f"{result['note']} {FEW_NOTE}".strip()})


def prompt_parts(
    settings: MapSettings, space: ConceptSpace, *, target: Any = None, judge: Any = None
) -> MapParts:
    """Prompts of a space, pictures of a generator, and one who looks at them."""
    from weakspot.judges.picture import PictureJudge

    usual = "picture?encoder=world:encoder" if settings.target.startswith("world:") else "picture"
    looks = _judge(settings, judge, usual=usual)
    source = _drawn(settings, space=space, given=target)
    source.probe()
    own = unnamed({"target": target, "judge": judge})
    judged = partial(_judge, given=own["judge"], usual=usual)
    ours = looks if isinstance(looks, PictureJudge) and looks.attribute else None
    return MapParts(
        target=_viewer(looks),
        source=source,
        judge=looks,
        digests=_digest("target", source.generator) | _digest("judge", looks),
        after=Bias(space, ours.attribute, ours.wanted) if ours else None,
        recipes={
            "source": partial(_drawn, space=space, given=own["target"]),
            "target": partial(_viewing, judge=judged),
            "judge": judged,
        },
    )


def _drawn(settings: MapSettings, *, space: ConceptSpace, given: Any) -> PromptPictures:
    """What draws the pictures."""
    from weakspot.sources.prompted import PromptPictures, generator

    return PromptPictures(generator(given, settings.target), space=space)


def _viewer(judge: Judge) -> Target:
    """Who looks at the pictures, for a judge."""
    from weakspot.judges.picture import PictureJudge, Viewer

    ours = judge if isinstance(judge, PictureJudge) else None
    return Viewer(ours.encoder if ours else None, attribute=ours.attribute if ours else ())


def _viewing(settings: MapSettings, *, judge: Callable[[MapSettings], Judge]) -> Target:
    return _viewer(judge(settings))


def _judge(settings: MapSettings, given: Any, *, usual: str) -> Judge:
    """The judge that was chosen, or the task's own."""
    name = settings.judge
    if name == UNCHOSEN and (given is None or isinstance(given, str)):
        name, given = usual, None
    found: Judge = part(given, name, JUDGES, Judge)
    return found


def _digest(what: str, thing: object) -> dict[str, str]:
    digest = digest_in(thing)
    return {} if digest is None else {what: digest}
