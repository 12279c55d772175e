"""Pictures as a network was trained on them: size, crop and scale, read from its configuration.

Where an image processor of transformers does no more than resize, cut, scale and normalise, `Preprocess` does
the same for a whole batch at once, with Pillow and numpy alone; everything else the processor does itself, in
its variant for Pillow, so that torchvision is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import WeakspotError
from weakspot.core.errors import explained, in_one_line, kind_and_reason
from weakspot.models.hf.loading import NOTHING, Trust, quiet, reading
from weakspot.models.pictures import stack_images

CONFIG: Final = "preprocessor_config.json"


class Plain(NamedTuple):
    """An image processor that resizes, cuts, scales and normalises, in this order, and does nothing else."""

    #: A size that is one number is both sides, not the shorter one.
    square: bool
    #: The middle is cut out where it does not say.
    cut: bool
    #: Pillow's filter where it does not say; None where it must.
    resample: int | None


#: By the first part of the name of its class.
PLAIN: Final = {
    "Beit": Plain(True, False, 3),
    "Bit": Plain(False, True, 3),
    "Blip": Plain(True, False, 3),
    "CLIP": Plain(False, True, 3),
    "ConvNext": Plain(False, False, None),
    "MobileNetV1": Plain(False, True, 2),
    "MobileNetV2": Plain(False, True, 2),
    "Siglip": Plain(True, False, 3),
    "ViT": Plain(True, False, 2),
}
#: Settings that are followed, and those that change nothing of a picture.
_KNOWN: Final = {
    "size", "crop_size", "crop_pct", "resample", "rescale_factor", "image_mean", "image_std",
    "do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb", "do_reduce_labels",
    "image_processor_type", "feature_extractor_type", "processor_class", "_processor_class",
    "_valid_processor_keys", "default_to_square", "data_format", "input_data_format", "device",
    "disable_grouping", "return_tensors",
}  # fmt: skip
_RESAMPLE: Final = {0: "NEAREST", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC", 4: "BOX", 5: "HAMMING"}


class Preprocess(NamedTuple):
    """From RGB bytes to what a tower takes."""

    #: Height and width of what is given to the tower.
    size: tuple[int, int]
    #: Resize the shorter side to this and cut out the middle; None stretches to `size`.
    shortest: int | None = None
    resample: str = "BICUBIC"
    #: Bytes are multiplied by this; None leaves them bytes.
    scale: float | None = 1 / 255
    #: Then this is subtracted, per channel.
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
        short = min(picture.size)  # the libraries round the longer side like this
        wide, high = (max(1, int(self.shortest * side / short)) for side in picture.size)
        picture = picture.resize((wide, high), how)
        left, top = (wide - width) // 2, (high - height) // 2
        return np.asarray(picture.crop((left, top, left + width, top + height)))  # beyond the edge is black


def read_preprocess(folder: Path) -> Preprocess | None:
    """What `preprocessor_config.json` says; None if there is none."""
    path = folder / CONFIG
    if not path.is_file():
        return None
    broken = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
    unknown = f"{path} asks for pictures to be prepared in a way weakspot does not know"
    options = "use options of the name, if it has any (onnx: has mean, std and size)"
    with (
        explained(f"{path} cannot be read", *broken, fix="copy the folder again", why=kind_and_reason),
        explained(unknown, Unprepared, fix=f"{options}, or load the model with hf:"),
    ):
        content = json.loads(path.read_bytes())
        return of_settings(content.get("image_processor", content))


class Unprepared(ValueError):
    """Settings that `Preprocess` cannot follow exactly; it says which."""


def of_settings(content: Mapping[str, Any]) -> Preprocess:
    """From the settings of an image processor of transformers; a missing one is a KeyError."""
    named = str(content.get("image_processor_type") or content.get("feature_extractor_type") or "")
    kind = named.removesuffix("Fast").removesuffix("ImageProcessor").removesuffix("FeatureExtractor")
    if named and kind not in PLAIN:
        raise Unprepared(f"by {named[:80]}")
    strange = sorted(
        key for key, value in content.items() if key not in _KNOWN and value not in (None, False)
    )
    if strange:
        raise Unprepared(f"with {strange[0][:80]}")
    plain = PLAIN.get(kind, Plain(square=not content.get("do_center_crop"), cut=True, resample=3))
    if not content.get("do_resize", True):
        raise Unprepared("without a resize")
    size, shortest = _fitted(
        content, plain, convnext=kind == "ConvNext" or (not kind and "crop_pct" in content)
    )
    resample = content.get("resample", plain.resample)
    if resample is None:
        raise Unprepared("without saying its resample")
    scale = float(content.get("rescale_factor", 1 / 255)) if content.get("do_rescale", True) else 1.0
    normal = content.get("do_normalize", True)
    return Preprocess(
        size=size,
        shortest=shortest,
        resample=_RESAMPLE[int(resample)],
        scale=scale,
        mean=tuple(map(float, content["image_mean"])) if normal else (0.0, 0.0, 0.0),
        std=tuple(map(float, content["image_std"])) if normal else (1.0, 1.0, 1.0),
    )


def _fitted(
    content: Mapping[str, Any], plain: Plain, *, convnext: bool
) -> tuple[tuple[int, int], int | None]:
    """Height and width in the end, and the shorter side before the cut."""
    size = content["size"]
    if convnext:
        # ResNets of transformers share it: below 384 pixels a part is cut out, above it is stretched.
        side = int(size["shortest_edge"] if isinstance(size, Mapping) else size)
        return (side, side), None if side >= 384 else int(side / float(content["crop_pct"]))
    cuts = content.get("do_center_crop", plain.cut)
    if isinstance(size, int):
        size = {"height": size, "width": size} if plain.square else {"shortest_edge": size}
    if set(size) == {"height", "width"}:
        if cuts and "do_center_crop" in content:
            raise Unprepared("with a cut after stretching")
        return (int(size["height"]), int(size["width"])), None
    if set(size) != {"shortest_edge"} or not cuts:
        raise Unprepared(f"with the size {dict(size)}{'' if cuts else ' and no cut'}"[:200])
    crop = content.get("crop_size", size["shortest_edge"])
    crop = {"height": crop, "width": crop} if isinstance(crop, int) else crop
    return (int(crop["height"]), int(crop["width"])), int(size["shortest_edge"])


#: Where settings of a processor may lie.
FILES: Final = (CONFIG, "processor_config.json")


class Processor:
    """The library's own image processor, from pictures to what the network is called with, by name.

    The size is height and width of what it makes of a square picture.
    """

    def __init__(self, library: Any, *, of: Path) -> None:
        self._library, self._of = library, of
        shape = next(iter(self([np.zeros((64, 64, 3), np.uint8)]).values())).shape
        self.size: tuple[int, int] = (shape[2], shape[3]) if len(shape) == 4 else (224, 224)

    def __call__(self, images: Sequence[Any]) -> dict[str, NDArray[Any]]:
        shown = [stack_images([image])[0] for image in images]
        with reading(self._of, self._failed):
            made = self._library(images=shown, return_tensors="np", input_data_format="channels_last")
            fields = {str(name): np.asarray(value) for name, value in made.items()}
        return {n: np.asarray(v, np.float32) if v.dtype.kind == "f" else v for n, v in fields.items()}

    def _failed(self, of: Path, error: Exception) -> WeakspotError:
        who = f"{type(self._library).__name__}, which prepares the pictures of {str(of)[:200]}"
        said = in_one_line(error, most=200)  # mostly that sizes differ
        fix = "use a source whose pictures have one size, or another model"
        return WeakspotError(f"{who}, failed: {said}", fix=fix)


#: What prepares pictures: one array, or several by name.
Prepare = Preprocess | Processor


def prepare_of(folder: Path, *, trust: Trust = NOTHING) -> Prepare | None:
    """How pictures are prepared for a model; None where its folder says nothing of it."""
    if not any((folder / name).is_file() for name in FILES):
        return None
    transformers = import_module("transformers")
    new = int(transformers.__version__.split(".")[0]) >= 5
    without_torchvision: dict[str, Any] = {"backend": "pil"} if new else {"use_fast": False}
    what = f"it is not known how to prepare pictures for {folder}"
    needs = "some processors need torchvision, and one that comes with the model needs ?code=yes"
    with quiet(), explained(what, Exception, fix=f"check its {CONFIG}; {needs}", why=in_one_line):
        library = transformers.AutoImageProcessor.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust.code, **without_torchvision
        )
        settings = {key: value for key, value in library.to_dict().items() if value is not None}
    try:
        return of_settings(settings)
    except (Unprepared, KeyError, TypeError, ValueError):
        return Processor(library, of=folder)


def prepared_by(prepare: Prepare | None, *, of: object) -> Prepare:
    """What prepares the pictures of a folder; an error where the folder says nothing of it."""
    if prepare is None:
        raise WeakspotError(
            f"{of} has no {CONFIG}, so it is not known how to prepare its pictures",
            fix="copy that file from where the model came from",
        )
    return prepare


def by_name(given: NDArray[Any] | Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """What was prepared, as a network is called with it."""
    return given if isinstance(given, Mapping) else {"pixel_values": given}
