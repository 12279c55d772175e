"""Pictures as an image tower was trained on them: size, crop and scale, read from its configuration.

The same arithmetic for every library, with Pillow and numpy alone: no model hub's code, no torchvision.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import WeakspotError
from weakspot.models.images import stack_images

CONFIG: Final = "preprocessor_config.json"
_RESAMPLE: Final = {0: "NEAREST", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC", 4: "BOX", 5: "HAMMING"}


class Preprocess(NamedTuple):
    """From RGB bytes to what a tower takes.

    Attributes:
        size: Height and width of what is given to the tower.
        shortest: Resize the shorter side to this and cut out the middle; None stretches to `size`.
        resample: The name of Pillow's filter.
        scale: Bytes are multiplied by this; None leaves them bytes.
        mean: Then this is subtracted, per channel.
        std: And divided by this.
    """

    size: tuple[int, int]
    shortest: int | None = None
    resample: str = "BICUBIC"
    scale: float | None = 1 / 255
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    def __call__(self, images: Sequence[Any]) -> NDArray[Any]:
        """A batch: (n, 3, height, width), float32, or uint8 where nothing is scaled."""
        batch = stack_images([self.fit(image) for image in images]).transpose(0, 3, 1, 2)
        if self.scale is None:
            return np.ascontiguousarray(batch)
        mean, std = (np.asarray(v, np.float32).reshape(3, 1, 1) for v in (self.mean, self.std))
        scaled = np.ascontiguousarray(batch, np.float32) * np.float32(self.scale)
        return np.asarray((scaled - mean) / std, np.float32)

    def fit(self, image: Any) -> NDArray[np.uint8]:
        """One picture, resized and cut, still in bytes."""
        picture = Image.fromarray(stack_images([image])[0])
        height, width = self.size
        how = Image.Resampling[self.resample]
        if self.shortest is None:
            return np.asarray(picture.resize((width, height), how))
        ratio = self.shortest / min(picture.size)
        wide, high = (max(1, int(side * ratio)) for side in picture.size)
        if picture.width <= picture.height:
            wide = self.shortest
        else:
            high = self.shortest
        picture = picture.resize((wide, high), how)
        left, top = (wide - width) // 2, (high - height) // 2
        return np.asarray(picture.crop((left, top, left + width, top + height)))  # beyond the edge is black


def read_preprocess(folder: Path) -> Preprocess | None:
    """What `preprocessor_config.json` says; None if there is none.

    Raises:
        WeakspotError: It cannot be read, or asks for something that is not known here.
    """
    path = folder / CONFIG
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_bytes())
        return _read(content.get("image_processor", content))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeakspotError(
            f"{path} cannot be read: {type(error).__name__}: {error}", fix="copy the folder again"
        ) from error


def _read(content: Mapping[str, Any]) -> Preprocess:
    size, shortest = content["size"], None
    if "crop_pct" in content and "shortest_edge" in (size if isinstance(size, Mapping) else {}):
        # ConvNeXt's way, which ResNets of transformers share: below 384 pixels a part is cut out.
        side = int(size["shortest_edge"])
        whole = side >= 384
        shares = {} if whole else {"do_center_crop": True, "crop_size": side}
        larger = {"shortest_edge": int(side / float(content["crop_pct"]))}
        size = {"height": side, "width": side} if whole else larger
        content = {**content, "do_center_crop": False, **shares}
    if isinstance(size, int):
        size = {"shortest_edge": size} if content.get("do_center_crop") else {"height": size, "width": size}
    if "shortest_edge" in size:
        shortest = int(size["shortest_edge"])
        crop = content.get("crop_size", shortest) if content.get("do_center_crop", True) else shortest
        size = {"height": crop, "width": crop} if isinstance(crop, int) else crop
    elif content.get("do_center_crop"):
        raise ValueError("a crop after stretching is not known here")
    scale = float(content.get("rescale_factor", 1 / 255)) if content.get("do_rescale", True) else 1.0
    normal = content.get("do_normalize", True)
    return Preprocess(
        size=(int(size["height"]), int(size["width"])),
        shortest=shortest,
        resample=_RESAMPLE[int(content.get("resample", 3))],
        scale=scale,
        mean=tuple(map(float, content["image_mean"])) if normal else (0.0, 0.0, 0.0),
        std=tuple(map(float, content["image_std"])) if normal else (1.0, 1.0, 1.0),
    )
