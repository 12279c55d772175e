"""Batches of images as arrays, from images that may differ in size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import Case, WeakspotError

#: From bytes to [0, 1]. A product, because all adapters are to give a graph the very same numbers.
SCALE: Final = np.float32(1 / 255)


def stack(cases: Sequence[Case], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The cases' images as one array (n, height, width, 3), resized to (height, width) where needed.

    Raises:
        WeakspotError: A case's input is not an RGB image of uint8, or sizes differ and none is wanted.
    """
    return stack_images([case.input for case in cases], size)


def stack_images(images: Sequence[Any], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """As `stack`, from the images themselves; at least one."""
    fitting = []
    for image in images:
        if (
            not isinstance(image, np.ndarray)
            or image.ndim != 3
            or image.shape[2] != 3
            or image.dtype != np.uint8
        ):
            what = f"{image.shape} {image.dtype}" if isinstance(image, np.ndarray) else type(image).__name__
            raise WeakspotError(
                f"a model of images cannot look at {what}",
                fix="the source must draw RGB images: uint8, (height, width, 3)",
            )
        if size is not None and image.shape[:2] != size:
            image = np.asarray(Image.fromarray(image).resize((size[1], size[0]), Image.Resampling.BILINEAR))
        fitting.append(image)
    if len({i.shape for i in fitting}) > 1:
        raise WeakspotError(
            "the images differ in size",
            fix="give the model's size (onnx: and python: have size=224), or a source with one size",
        )
    return np.stack(fitting)


def planes(
    images: Sequence[Any], size: tuple[int, int] | None = None, *, batch: int = 64
) -> Iterator[NDArray[np.float32]]:
    """The images as (n, 3, height, width) in [0, 1], at most `batch` at a time, so that memory is bounded.

    Of no images there is one empty array, so that a graph still says how wide its answers are.
    """
    if not len(images):
        yield np.zeros((0, 3, *(size or (0, 0))), np.float32)
    for start in range(0, len(images), batch):
        part = stack_images(images[start : start + batch], size).transpose(0, 3, 1, 2)
        yield np.ascontiguousarray(part, np.float32) * SCALE
