"""Labelled pictures, transformed as a cell of a concept space says.

A cell's draws go through the pictures of a part in an order of its own, each picture once: so a cell has as
many draws as the part has pictures, and a rate over all of them is the cell's true rate on these pictures.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, Region
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.sources.labelled import LabelledImages
from weakspot.sources.pixels import Destroyed, amounts_of, destroyed, transform

#: Pixels of a side of the thumbnail that a policy sees.
THUMB: Final = 6
#: Pictures looked at to see whether a value destroys them.
PROBED: Final = 4


class TransformedImages:
    """Draws pictures of a part, transformed by the hypothesis' concepts.

    Args:
        parts: Which pictures each stage draws from, by their numbers.
    """

    sees = "a thumbnail of the picture, and its label"

    def __init__(
        self, images: LabelledImages, *, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]
    ) -> None:
        self.images, self.space = images, space
        self.parts = {stage: tuple(some) for stage, some in parts.items()}
        self._placed: dict[tuple[str, int], int] = {}
        self._labels = sorted(set(images.labels))
        self._order = lru_cache(maxsize=4096)(self._shuffled)
        for axis in space.axes:
            for value in axis.values:
                amounts_of({axis.name: value})

    @property
    def inputs(self) -> int:
        """Pictures, for discovery."""
        return len(self.parts[Stage.EXPLORE])

    distinct = inputs

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many draws there are: of a policy's own choices any number, otherwise each picture once."""
        del seed
        return 1 << 31 if "policy" in dict(hypothesis.concepts) else len(self.parts[stage])

    def place(self, hypothesis: Hypothesis, index: int, picture: int) -> None:
        """Say which picture (by its place in the stage's part) a draw shows that a policy has chosen."""
        self._placed[hypothesis.id, index] = picture

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says which picture it is.

        Raises:
            Destroyed: A transformation leaves nothing of a picture.
        """
        region = self.space.read(hypothesis)
        found: dict[int, Case] = {}
        by_cell: dict[int | None, list[tuple[int, int, int]]] = {}
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            cell = None if region is None else self._cell(region, own)
            by_cell.setdefault(cell, []).append((index, own, self._picture(hypothesis, index, seed)))
        for cell, rows in by_cell.items():
            before = [self.images.picture(picture) for _, _, picture in rows]
            amounts = {} if cell is None else amounts_of(self.space.assignment(cell))
            after = transform(before, amounts, [own for _, own, _ in rows])
            for (index, own, picture), old, new in zip(rows, before, after, strict=True):
                if destroyed(new, old):
                    raise Destroyed(
                        f"{hypothesis.text[:200]} leaves nothing of {self.images.names[picture][:80]}"
                    )
                caption = f"picture {self.images.names[picture]}"
                found[index] = Case(hypothesis, index, own, new, self.images.labels[picture], caption)
        return [found[index] for index in indices]

    def _cell(self, region: Region, own: int) -> int:
        """A cell of a region; of several, one at random."""
        if all(len(values) == 1 for values in region):
            return self.space.number([values[0] for values in region])
        rng = random.Random(own)  # noqa: S311
        return self.space.number([rng.choice(values) for values in region])

    def place_of(self, hypothesis: Hypothesis, index: int, *, seed: int) -> int:
        """Which picture of the stage's part a draw shows, by its place there."""
        placed = self._placed.get((hypothesis.id, index))
        if placed is not None:
            return placed
        stage = Stage.of(index)
        at, count = index - stage.start, len(self.parts[stage])
        if at >= count:
            raise WeakspotError(f"there are only {count} pictures to draw from", fix="give more pictures")
        return int(self._order(hypothesis, stage, seed)[at])

    def _picture(self, hypothesis: Hypothesis, index: int, seed: int) -> int:
        return self.parts[Stage.of(index)][self.place_of(hypothesis, index, seed=seed)]

    def _shuffled(self, hypothesis: Hypothesis, stage: Stage, seed: int) -> NDArray[np.int64]:
        rng = np.random.default_rng(case_seed(seed, hypothesis, stage.start))
        return rng.permutation(len(self.parts[stage]))

    def contexts(self, pictures: Sequence[int], *, stage: Stage = Stage.EXPLORE) -> NDArray[np.float32]:
        """What a policy may see of pictures (by their places): a thumbnail, and the right label."""
        rows = []
        for place in pictures:
            number = self.parts[stage][place]
            label = np.zeros(len(self._labels), np.float32)
            label[self._labels.index(self.images.labels[number])] = 1
            rows.append(np.concatenate([thumbnail(self.images.picture(number)), label]))
        return np.stack(rows)

    def probe(self) -> None:
        """Look, before a run, whether a single value destroys the pictures.

        Raises:
            Destroyed: One does; it says which.
        """
        some = [self.images.picture(i) for i in self.parts[Stage.EXPLORE][:PROBED]]
        for axis in self.space.axes:
            for place, value in enumerate(axis.values):
                after = transform(some, amounts_of({axis.name: value}), list(range(len(some))))
                if all(destroyed(new, old) for new, old in zip(after, some, strict=True)):
                    raise Destroyed(
                        f"{axis.phrase([place]) or value} leaves nothing of the pictures",
                        fix=f"take the value {value} off the axis {axis.name}",
                    )


def thumbnail(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """A picture as a few numbers from 0 to 1."""
    from PIL import Image

    small = Image.fromarray(image).resize((THUMB, THUMB), Image.Resampling.BOX)
    return np.asarray(np.asarray(small, np.float32) / 255, np.float32).ravel()
