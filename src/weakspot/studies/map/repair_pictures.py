"""The job that a map of pictures or scenes leaves: its parts of the pictures, or scenes drawn anew."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Hypothesis, Source, Stage, Target, WeakspotError
from weakspot.store import Run
from weakspot.studies.map.repair_modes import mapped_by, modes_to_repair
from weakspot.study.repairs import LEAST, Job, RepairTask, Spot, derived, mixed

Image = NDArray[np.uint8]


def picture_job(run: Run, settings: RepairTask, *, target: Target | None = None) -> Job:
    """The modes of a map of pictures or scenes."""
    from weakspot.studies.map.parts import image_parts, world_parts

    mapped = mapped_by(run, settings)
    modes = modes_to_repair(run, settings, mapped.concept_space)
    space = modes.space
    wanted: Any = target if target is not None else mapped.target
    build = image_parts if space.task == "image" else world_parts
    parts = build(mapped, space, target=wanted)
    common = {
        "target": parts.target,
        "name": mapped.target,
        "judge": parts.judge,
        "chosen": modes.chosen,
        "others": modes.others,
        "clean": Spot("as they are", (space.outside(),)),
        "space": space,
    }
    if space.task == "world":
        return _of_scenes(common, parts.source, settings)
    return _of_pictures(common, parts, run, mapped, modes.regions)


def _of_pictures(common: dict[str, Any], parts: Any, run: Run, mapped: Any, regions: Sequence[Any]) -> Job:
    from weakspot.sources.labelled import PARTS, part_digest, split
    from weakspot.sources.pixels import amounts_of, destroyed, transform
    from weakspot.sources.transform import TransformedImages
    from weakspot.tuning.lessons import ANYWHERE, Read, TransformedLessons

    images, space = parts.source.images, common["space"]
    cut = split(images, seed=mapped.seed, shares=mapped.parts or PARTS)
    for name in ("repair", "verification"):
        if len(cut.get(name, ())) < LEAST:
            raise WeakspotError(
                f"{len(cut.get(name, ()))} pictures are too few for {name}",
                fix=f"map with more pictures, so that {LEAST} at least are left for it",
            )
        then = run.config.digests.get(f"images for {name}")
        if then is not None and then != part_digest(images, cut[name]):
            raise WeakspotError(
                "the pictures are not those the map was made with (the digest differs)",
                fix="use the old ones, or map again",
            )
    mine = cut["repair"]
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
        seen = [i for name in ("discovery", "confirmation") for i in cut.get(name, ())]
        beside = of(seen, Read(images, seen)) if seen else None
        return of(mine, [images.picture(i) for i in mine], beside=beside)

    def samples(rate: float, seed: int) -> list[tuple[Image, str, str]]:
        rng = np.random.default_rng([seed, 31])
        rows = []
        for i in mine:
            if rng.random() < rate:
                mode, own = int(rng.integers(len(regions))), int(rng.integers(1 << 62))
                plain = images.picture(i)
                image = transformed([plain], [mode], [own])[0]
                why = "as it is" if image is plain else common["chosen"][mode].words
                rows.append((image, images.labels[i], why))
            else:
                rows.append((images.picture(i), images.labels[i], "as it is"))
        return rows

    return Job(
        **common,
        source=TransformedImages(images, space=space, parts={Stage.EXPLORE: cut["verification"]}),
        seed=derived(mapped.seed, "verification"),
        cluster=lambda case: case.caption,
        lessons=lessons,
        samples=samples,
        counts={name: len(some) for name, some in cut.items()},
        digests={k: v for k, v in parts.digests.items() if k.startswith("images")},
    )


#: Scenes that are drawn to learn from: of the weak spots, and as they are; and to say how far the weights are
#: moved.
SCENES, GUARDS = 3_000, 2_000


def _of_scenes(common: dict[str, Any], source: Source, settings: RepairTask) -> Job:
    """Scenes are drawn as they are needed; map, training and proof have seeds of their own."""
    from weakspot.tuning.lessons import DrawnLessons

    base = common["clean"].hypotheses[0]
    spots = [spot.hypotheses[0] for spot in common["chosen"]]

    def drawn(hypothesis: Hypothesis, n: int, what: str = "repair") -> list[Any]:
        return source.draw(hypothesis, range(n), seed=derived(settings.seed, what))

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

    return Job(
        **common, source=source, seed=derived(settings.seed, "verification"),
        lessons=lessons, samples=samples,
        counts={k: 2 * (n // len(spots)) * len(spots) for k, n in (("repair", SCENES), ("guard", GUARDS))},
    )  # fmt: skip
