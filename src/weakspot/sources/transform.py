"""Labelled pictures, transformed as a cell of a concept space says.

A cell's draws go through the pictures of a part in an order of its own, each picture once: so a cell has as
many draws as the part has pictures, and a rate over all of them is the cell's true rate on these pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed
from weakspot.sources.cells import CellSource, cell_of
from weakspot.sources.labelled import LabelledImages
from weakspot.sources.pixels import Destroyed, amounts_of, destroyed, transform

#: Pixels of a side of the thumbnail that a policy sees.
THUMB: Final = 6
#: Pictures looked at to see whether a value destroys them.
PROBED: Final = 4


class TransformedImages(CellSource):
    """Draws pictures of a part, transformed by the hypothesis' concepts; see `CellSource`."""

    sees = "a thumbnail of the picture, and its label"

    def __init__(
        self, images: LabelledImages, *, space: ConceptSpace, parts: Mapping[Stage, Sequence[int]]
    ) -> None:
        super().__init__(space, parts)
        self.images = images
        self._labels = sorted(set(images.labels))
        for axis in space.axes:
            for value in axis.values:
                amounts_of({axis.name: value})

    def rounds(self, stage: Stage) -> int:
        """Each picture is shown once."""
        return 1

    def none_left(self, count: int) -> WeakspotError:
        """That all pictures were drawn."""
        return WeakspotError(f"there are only {count} pictures to draw from", fix="give more pictures")

    def seeds(self, own: int, number: int) -> int:
        """What the order of the one round follows from."""
        return own

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
            cell = None if region is None else cell_of(self.space, region, own)
            picture = self.number_of(hypothesis, index, seed=seed)
            by_cell.setdefault(cell, []).append((index, own, picture))
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
    small = Image.fromarray(image).resize((THUMB, THUMB), Image.Resampling.BOX)
    return np.asarray(np.asarray(small, np.float32) / 255, np.float32).ravel()
