"""Labelled pictures, transformed as a cell of a concept space says: rotate, darken, saturation, hue, blur, …

They are applied in one fixed order: first what moves the picture, then its colours and its light, then what
the air and the camera add. What is random follows from the case's seed alone. A cell's draws show each
picture of a part once, so a rate over all of them is the cell's true rate on these pictures.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Stage, WeakspotError, case_seed, check_known
from weakspot.sources.cells import CellSource, cell_of
from weakspot.sources.labelled import LabelledImages

Floats = NDArray[np.float32]
#: A picture with less contrast (standard deviation, of 255) shows nothing any more.
FLAT: Final = 1.0
_LUMA: Final = np.array([0.299, 0.587, 0.114], np.float32)
_YIQ: Final = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]])


class Destroyed(WeakspotError):
    """Nothing of the picture, or of the text, is left."""


def _rotate(images: Floats, degrees: float, _: Sequence[int]) -> Floats:
    pictures = (Image.fromarray(_bytes(image)) for image in images)
    turned = [picture.rotate(degrees, resample=Image.Resampling.BILINEAR) for picture in pictures]
    return np.stack([np.asarray(picture, np.float32) / 255 for picture in turned])


def _hue(images: Floats, degrees: float, _: Sequence[int]) -> Floats:
    angle = np.deg2rad(degrees)
    cos, sin = np.cos(angle), np.sin(angle)
    turn = np.array([[1, 0, 0], [0, cos, -sin], [0, sin, cos]], dtype=float)
    matrix = (np.linalg.inv(_YIQ) @ turn @ _YIQ).astype(np.float32)
    return np.asarray(images @ matrix.T, np.float32)


def _saturation(images: Floats, amount: float, _: Sequence[int]) -> Floats:
    grey = (images @ _LUMA)[..., None]
    return np.asarray(grey + np.float32(amount) * (images - grey), np.float32)


def _contrast(images: Floats, amount: float, _: Sequence[int]) -> Floats:
    mean = (images @ _LUMA).mean(axis=(1, 2))[:, None, None, None]
    return np.asarray(mean + np.float32(amount) * (images - mean), np.float32)


def _gamma(images: Floats, amount: float, _: Sequence[int]) -> Floats:
    return np.clip(images, 0, 1) ** np.float32(amount)


def _darken(images: Floats, share: float, _: Sequence[int]) -> Floats:
    return images * np.float32(1 - share)


def _fog(images: Floats, share: float, seeds: Sequence[int]) -> Floats:
    from scipy.ndimage import zoom

    height, width = images.shape[1:3]
    veils = []
    for seed in seeds:
        coarse = np.random.default_rng([seed, 1]).uniform(0.7, 1.0, (4, 4))
        veils.append(zoom(coarse, (height / 4, width / 4), order=1, grid_mode=True, mode="nearest"))
    veil = np.stack(veils).astype(np.float32)[..., None]
    return images * np.float32(1 - share) + np.float32(share) * veil


def _blur(images: Floats, percent: float, _: Sequence[int]) -> Floats:
    from scipy.ndimage import gaussian_filter

    wide = percent / 100 * min(images.shape[1:3])
    return np.asarray(gaussian_filter(images, sigma=(0, wide, wide, 0), mode="nearest"))


def _occlusion(images: Floats, share: float, seeds: Sequence[int]) -> Floats:
    height, width = images.shape[1:3]
    high, wide = (max(1, round(side * share**0.5)) for side in (height, width))
    images = images.copy()
    for image, seed in zip(images, seeds, strict=True):
        x, y = np.random.default_rng([seed, 2]).random(2)
        top, left = int(y * (height - high + 1)), int(x * (width - wide + 1))
        image[top : top + high, left : left + wide] = 0.5
    return images


def _noise(images: Floats, share: float, seeds: Sequence[int]) -> Floats:
    grain = [np.random.default_rng([seed, 3]).standard_normal(images.shape[1:], np.float32) for seed in seeds]
    return images + np.float32(share) * np.stack(grain)


def _jpeg(images: Floats, quality: float, _: Sequence[int]) -> Floats:
    packed = []
    for image in images:
        file = io.BytesIO()
        Image.fromarray(_bytes(image)).save(file, format="JPEG", quality=int(quality))
        packed.append(np.asarray(Image.open(file).convert("RGB"), np.float32) / 255)
    return np.stack(packed)


_Change = Callable[[Floats, float, Sequence[int]], Floats]
#: By name: how it is done, the amount that changes nothing, and the amounts there can be.
CHANGES: Final[Mapping[str, tuple[_Change, float, tuple[float, float]]]] = {
    "rotate": (_rotate, 0, (-360, 360)),
    "hue": (_hue, 0, (-360, 360)),
    "saturation": (_saturation, 1, (0, 10)),
    "contrast": (_contrast, 1, (0, 10)),
    "gamma": (_gamma, 1, (0.01, 100)),
    "darken": (_darken, 0, (0, 1)),
    "fog": (_fog, 0, (0, 1)),
    "blur": (_blur, 0, (0, 100)),
    "occlusion": (_occlusion, 0, (0, 1)),
    "noise": (_noise, 0, (0, 10)),
    "jpeg": (_jpeg, 100, (1, 100)),
}


def amounts_of(assignment: Mapping[str, str]) -> dict[str, float]:
    found = {}
    for name, value in assignment.items():
        check_known(name, CHANGES, f"no transformation of pictures is called {name[:60]!r}")
        low, high = CHANGES[name][2]
        try:
            amount = float(value)
        except ValueError:
            amount = float("nan")
        if not low <= amount <= high:
            raise WeakspotError(
                f"{name} cannot be {value[:60]!r}", fix=f"choose a number from {low:g} to {high:g}"
            )
        found[name] = amount
    return found


def transform(
    images: Sequence[NDArray[np.uint8]], amounts: Mapping[str, float], seeds: Sequence[int]
) -> list[NDArray[np.uint8]]:
    """Transformed pictures, in order, each with a seed; those of one size are done together."""
    wanted = [
        (change, amounts[name])
        for name, (change, plain, _) in CHANGES.items()
        if amounts.get(name, plain) != plain
    ]
    if not wanted:
        return [np.array(image) for image in images]
    found: dict[int, NDArray[np.uint8]] = {}
    sizes: dict[tuple[int, ...], list[int]] = {}
    for i, image in enumerate(images):
        sizes.setdefault(image.shape, []).append(i)
    for same in sizes.values():
        batch: Floats = np.asarray(np.stack([images[i] for i in same]) / np.float32(255), np.float32)
        for change, amount in wanted:
            batch = change(batch, amount, [seeds[i] for i in same])
        found.update(zip(same, _bytes(batch), strict=True))
    return [found[i] for i in range(len(images))]


def destroyed(image: NDArray[np.uint8], before: NDArray[np.uint8]) -> bool:
    """Whether nothing is left of a picture that had something in it."""
    return float(image.std()) < FLAT <= float(before.std())


def _bytes(images: Floats) -> NDArray[np.uint8]:
    return np.asarray(np.clip(images * 255 + 0.5, 0, 255), np.uint8)


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
        return 1

    def none_left(self, count: int) -> WeakspotError:
        return WeakspotError(f"there are only {count} pictures to draw from", fix="give more pictures")

    def seeds(self, own: int, number: int) -> int:
        return own

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says which picture it is."""
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
        rows = []
        for place in pictures:
            number = self.parts[stage][place]
            label = np.zeros(len(self._labels), np.float32)
            label[self._labels.index(self.images.labels[number])] = 1
            rows.append(np.concatenate([thumbnail(self.images.picture(number)), label]))
        return np.stack(rows)

    def probe(self) -> None:
        """Refuse, before a run, a single value that destroys the pictures."""
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
