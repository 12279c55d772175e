"""Batches of images as arrays, from cases whose images may differ in size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import Case, WeakspotError


def stack(cases: Sequence[Case], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The cases' images as one array (n, height, width, 3), resized to (height, width) where needed.

    Raises:
        WeakspotError: A case's input is not an RGB image of uint8, or sizes differ and none is wanted.
    """
    images = []
    for case in cases:
        image = case.input
        if (
            not isinstance(image, np.ndarray)
            or image.ndim != 3
            or image.shape[2] != 3
            or image.dtype != np.uint8
        ):
            shape = getattr(image, "shape", type(image).__name__)
            raise WeakspotError(
                f"an image classifier cannot look at {shape}", fix="the source must draw RGB images"
            )
        if size is not None and image.shape[:2] != size:
            image = np.asarray(Image.fromarray(image).resize((size[1], size[0]), Image.Resampling.BILINEAR))
        images.append(image)
    if len({i.shape for i in images}) > 1:
        raise WeakspotError(
            "the images differ in size", fix="give the model's size, or a source with one size"
        )
    return np.stack(images)
