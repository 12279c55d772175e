"""The job that a map of pictures or scenes leaves: its parts of the pictures, or scenes drawn anew."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Hypothesis, Stage
from weakspot.sources.labelled import LabelledImages
from weakspot.sources.transform import TransformedImages, amounts_of, destroyed, transform
from weakspot.studies.map.repair import Mapped
from weakspot.study.repairs import LEAST, Job, RepairTask, derived, mixed
from weakspot.tuning.lessons import ANYWHERE, DrawnLessons, Read, TransformedLessons

Image = NDArray[np.uint8]


def picture_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of pictures: learnt from the repair part, proved on the verification part."""
    del settings
    parts, space, regions = mapped.parts, mapped.space, mapped.regions
    images: LabelledImages = parts.inputs
    mine, fresh = (
        parts.kept(name, mapped.run.config.digests, least=LEAST) for name in ("repair", "verification")
    )
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
            if rng.random() < rate:
                mode, own = int(rng.integers(len(regions))), int(rng.integers(1 << 62))
                plain = images.picture(i)
                image = transformed([plain], [mode], [own])[0]
                why = "as it is" if image is plain else mapped.chosen[mode].words
                rows.append((image, images.labels[i], why))
            else:
                rows.append((images.picture(i), images.labels[i], "as it is"))
        return rows

    return Job(
        target=parts.target,
        name=mapped.settings.target,
        judge=parts.judge,
        chosen=mapped.chosen,
        others=mapped.others,
        clean=mapped.clean,
        space=space,
        source=TransformedImages(images, space=space, parts={Stage.EXPLORE: fresh}),
        seed=derived(mapped.settings.seed, "verification"),
        cluster=lambda case: case.caption,
        lessons=lessons,
        samples=samples,
        counts=parts.counts,
        digests=parts.digests,
    )


#: Scenes that are drawn to learn from: of the weak spots, and as they are; and to say how far the weights are
#: moved.
SCENES, GUARDS = 3_000, 2_000


def scene_job(mapped: Mapped, settings: RepairTask) -> Job:
    """The modes of a map of scenes: drawn as they are needed, each purpose with a seed of its own."""
    parts, source = mapped.parts, mapped.parts.source
    base = mapped.clean.hypotheses[0]
    spots = [spot.hypotheses[0] for spot in mapped.chosen]

    def drawn(hypothesis: Hypothesis, n: int, what: str = "repair") -> list[Any]:
        drawn: list[Any] = source.draw(hypothesis, range(n), seed=derived(settings.seed, what))
        return drawn

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
        target=parts.target,
        name=mapped.settings.target,
        judge=parts.judge,
        chosen=mapped.chosen,
        others=mapped.others,
        clean=mapped.clean,
        space=mapped.space,
        source=source,
        seed=derived(settings.seed, "verification"),
        lessons=lessons,
        samples=samples,
        counts={k: 2 * (n // len(spots)) * len(spots) for k, n in (("repair", SCENES), ("guard", GUARDS))},
    )
