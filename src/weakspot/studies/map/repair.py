"""The job that a map leaves to `repair`: its modes, learnt from the repair part and proved on verification.

Of a map of pictures or of texts these are parts of the inputs, each drawn once per mode in the proof, so that
pairs are independent of each other; scenes are drawn anew. Generators are in `repair_generator`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import MODELS, Hypothesis, Stage, Target, WeakspotError
from weakspot.models.summarise import Seq2Seq
from weakspot.report.people.preferences import modes_of, preferred
from weakspot.sources.documents import EditedTexts
from weakspot.sources.labelled import LabelledImages
from weakspot.sources.transform import Destroyed, TransformedImages, amounts_of, destroyed, transform
from weakspot.store import Run, write_whole
from weakspot.studies.map import repair_generator
from weakspot.studies.map.parts import MapParts, parts_of
from weakspot.studies.map.settings import MapSettings
from weakspot.study.lifecycle import settings_of
from weakspot.study.loading import rooted
from weakspot.study.repairs import (
    LEAST,
    Fitted,
    Job,
    Progress,
    RepairTask,
    Spot,
    chosen_of,
    derived,
    mixed,
    row_words,
)
from weakspot.tuning.lessons import ANYWHERE, DrawnLessons, Read, TransformedLessons

Image = NDArray[np.uint8]
#: Scenes that are drawn to learn from: of the weak spots, and as they are; and to say how far the weights are
#: moved.
SCENES, GUARDS = 3_000, 2_000
#: Fewer texts teach and prove nothing.
LEAST_TEXTS: Final = 5
#: Pairs over the landscape of texts at most: a summary takes its time.
DRAWS: Final = 2_000


def job(run: Run, settings: RepairTask, *, target: Target | None = None) -> Job:
    mapped = Mapped(run, settings, target)
    return JOBS[mapped.space.task](mapped, settings)


class Mapped:
    """A map, its modes that are to be repaired, and what it was made with: some inputs it did not draw."""

    def __init__(self, run: Run, settings: RepairTask, target: Target | None) -> None:
        self.settings: MapSettings = rooted(settings_of(run), settings.here, target=settings.target)
        self.parts: Any = parts_of(self.settings, {} if target is None else {"target": target})
        if type(self.parts) is MapParts:
            raise WeakspotError(
                "a map of cases that a source of your own drew cannot be repaired here",
                fix=f"repair takes maps of the tasks {', '.join(JOBS)}",
            )
        self.space: ConceptSpace = self.parts.space
        self.name, self._digests = self.settings.target, run.config.digests
        known: Any = modes_of(run)
        wanted = preferred(run) if settings.numbers is None else None
        numbers = chosen_of(settings, wanted, len(known), "mode")
        spots = [
            Spot(mode.words, (self.space.hypothesis(mode.region, origin="mode"),), number)
            for number, mode in enumerate(known, start=1)
        ]
        self.chosen = tuple(spots[number - 1] for number in numbers)
        self.others = tuple(spot for spot in spots if spot.number not in numbers)
        self.clean = Spot("as they are", (self.space.outside(),))
        self.regions: list[Region] = [known[number - 1].region for number in numbers]

    def kept(self, *, least: int) -> tuple[list[int], list[int]]:
        """The inputs that the map did not draw: those to learn from, and those that prove."""
        teaching, proving = (
            self.parts.kept(name, self._digests, least=least) for name in ("repair", "verification")
        )
        return teaching, proving

    def job(self, **own: Any) -> Job:
        common = {name: getattr(self.parts, name) for name in ("target", "judge", "counts", "digests")}
        common |= {name: getattr(self, name) for name in ("name", "chosen", "others", "clean", "space")}
        return Job(**common | own)


# -- pictures and scenes -----------------------------------------------------------------------------


def picture_job(mapped: Mapped, settings: RepairTask) -> Job:
    del settings
    parts, space, regions = mapped.parts, mapped.space, mapped.regions
    images: LabelledImages = parts.inputs
    mine, fresh = mapped.kept(least=LEAST)
    cells = [space.cells(region).tolist() for region in regions]

    def transformed(pictures: list[Image], modes: Sequence[int], seeds: Sequence[int]) -> list[Image]:
        """Pictures as a cell of their mode says; one of which that would leave nothing stays as it is."""
        by: dict[int, list[int]] = {}
        for i, (mode, seed) in enumerate(zip(modes, seeds, strict=True)):
            some = range(space.size) if mode == ANYWHERE else cells[mode]
            by.setdefault(random.Random(seed).choice(some), []).append(i)  # noqa: S311
        found: list[Image] = list(pictures)
        for cell, places in by.items():
            amounts = amounts_of(space.assignment(cell))
            after = transform([pictures[i] for i in places], amounts, [seeds[i] for i in places])
            for i, image in zip(places, after, strict=True):
                found[i] = pictures[i] if destroyed(image, pictures[i]) else image
        return found

    def lessons(labels: Sequence[str]) -> TransformedLessons:
        def of(some: Sequence[int], pictures: Sequence[Image], **more: Any) -> TransformedLessons:
            numbers = [list(labels).index(images.labels[i]) for i in some]
            return TransformedLessons(pictures, numbers, change=transformed, modes=len(regions), **more)

        # What the map saw teaches nothing, but may say how far the weights are moved.
        seen = [i for name in ("discovery", "confirmation") for i in parts.shared_out[name]]
        beside = of(seen, Read(images, seen)) if seen else None
        return of(mine, [images.picture(i) for i in mine], beside=beside)

    def samples(rate: float, seed: int) -> list[tuple[Image, str, str]]:
        rng = np.random.default_rng([seed, 31])
        rows = []
        for i in mine:
            plain = image = images.picture(i)
            why = "as it is"
            if rng.random() < rate:
                mode, own = int(rng.integers(len(regions))), int(rng.integers(1 << 62))
                image = transformed([plain], [mode], [own])[0]
                why = why if image is plain else mapped.chosen[mode].words
            rows.append((image, images.labels[i], why))
        return rows

    return mapped.job(
        source=TransformedImages(images, space=space, parts={Stage.EXPLORE: fresh}),
        seed=derived(mapped.settings.seed, "verification"),
        cluster=lambda case: case.caption,
        lessons=lessons,
        samples=samples,
    )


def scene_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of scenes: drawn as they are needed, each purpose with a seed of its own."""
    base = mapped.clean.hypotheses[0]
    spots = [spot.hypotheses[0] for spot in mapped.chosen]

    def drawn(hypothesis: Hypothesis, n: int, what: str = "repair") -> list[Any]:
        found: list[Any] = mapped.parts.source.draw(hypothesis, range(n), seed=derived(settings.seed, what))
        return found

    def lessons(labels: Sequence[str]) -> DrawnLessons:
        place = {label: i for i, label in enumerate(labels)}

        def of(n: int, what: str, **more: Any) -> DrawnLessons:
            weak = mixed([drawn(h, max(1, n // len(spots)), what) for h in spots])
            both = [
                [(c.input, place[c.expected]) for c in some] for some in (weak, drawn(base, len(weak), what))
            ]
            return DrawnLessons(*both, **more)

        return of(SCENES, "repair", beside=of(GUARDS, "guard"))

    def samples(rate: float, seed: int) -> list[tuple[Image, str, str]]:
        del seed
        weak = mixed([drawn(h, int(SCENES * rate) // len(spots)) for h in spots])
        usual = drawn(base, int(SCENES * (1 - rate)))
        return [(c.input, c.expected, c.hypothesis.text) for c in [*weak, *usual]]

    return mapped.job(
        source=mapped.parts.source,
        seed=derived(settings.seed, "verification"),
        lessons=lessons,
        samples=samples,
        counts={k: 2 * (n // len(spots)) * len(spots) for k, n in (("repair", SCENES), ("guard", GUARDS))},
    )


# -- texts -------------------------------------------------------------------------------------------


class OnceEach(EditedTexts):
    """Draws every text once per hypothesis."""

    def rounds(self, stage: Stage) -> int:
        del stage
        return 1


def text_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of a summariser, with the texts that the map had."""
    if settings.method == "last-layer":
        raise WeakspotError("a summariser has no last layer to train", fix="use --method full or lora")
    if settings.method != "data" and not isinstance(mapped.parts.target, Seq2Seq):
        raise WeakspotError(
            f"{mapped.name[:200]} cannot be trained here: it is not a summariser of transformers",
            fix="name it as hf:FOLDER, or use --method data for a trainer of your own",
        )
    parts, documents = mapped.parts, mapped.parts.inputs
    own, fresh = mapped.kept(least=LEAST_TEXTS)
    mine, proving = (OnceEach(documents, space=mapped.space, parts={Stage.EXPLORE: x}) for x in (own, fresh))

    def edit(text: str, seed: int) -> str:
        """A text as a cell of one of the modes says; one of which that would leave nothing stays as it is."""
        rng = np.random.default_rng(seed)
        region = mapped.regions[int(rng.integers(len(mapped.regions)))]
        try:
            return mine.edited(text, region, int(rng.integers(1 << 62)))
        except Destroyed:
            return text

    def lessons() -> Iterator[tuple[str, str]]:
        """Each text of the repair part with the summary that is wanted: the model's own where it was good."""
        cases = mine.draw(mapped.space.outside(), range(len(own)), seed=derived(settings.seed, "repair"))
        outputs = parts.target.answer(cases)
        rng = np.random.default_rng([settings.seed, 65])
        for case, output, verdict in zip(cases, outputs, parts.judge.judge(cases, outputs), strict=True):
            good = verdict.failed is False and rng.random() < settings.distil
            yield str(case.input), str(output.answer) if good else case.expected

    def fit(folder: Path, progress: Progress) -> Fitted:
        from weakspot.tuning.summariser import Lesson, SummariserSettings, fit_summariser, name_of_kept

        names = ("method", "rate", "epochs", "learning_rate", "device", "seed")
        rows = [Lesson(*row) for row in lessons()]
        trained = fit_summariser(
            parts.target,
            rows,
            edit,
            SummariserSettings(**{name: getattr(settings, name) for name in names}),
            out=folder / "model",
            folder=folder,
            progress=lambda epoch, of, row: progress(f"training: {row_words(row)}", epoch, of),
        )
        name = name_of_kept(folder / "model", was=mapped.name, target=parts.target)
        after: Any = MODELS.load(name)
        return Fitted(after, name, {**trained._asdict(), "pictures": len(rows), "kind": "texts"})

    def write(folder: Path) -> dict[str, Any]:
        """Texts, some of them edited, with their reference summaries, as lines of JSON."""
        rng = np.random.default_rng([settings.seed, 31])
        lines = []
        for i in own:
            changed, seed = bool(rng.random() < settings.rate), int(rng.integers(1 << 62))
            text = edit(documents.texts[i], seed) if changed else documents.texts[i]
            row = {"text": text, "summary": documents.summaries[i], "edited": changed}
            lines.append(json.dumps(row, ensure_ascii=False))
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "texts.jsonl", ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))
        return {"folder": str(folder), "pictures": len(lines), "kind": "texts"}

    return mapped.job(
        source=proving,
        seed=derived(mapped.settings.seed, "verification"),
        cluster=lambda case: case.caption,
        fit=fit,
        write=write,
        draws=DRAWS,
    )


#: By the task of a space.
JOBS: Final[Mapping[str, Callable[[Mapped, RepairTask], Job]]] = {
    "image": picture_job,
    "world": scene_job,
    "text": text_job,
    "prompt": repair_generator.job,
}
