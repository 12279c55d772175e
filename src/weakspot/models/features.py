"""Pictures as features, by any network: an encoder, an output of an ONNX file, a function of yours.

world:encoder        onnx:model.onnx?output=pool&mean=0.485,0.456,0.406&std=0.229,0.224,0.225
python:package.module:attr       (an encoder, or a function from uint8 pictures to rows of numbers)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import MODELS, WeakspotError
from weakspot.core.ports import ImageEncoder
from weakspot.core.registry import import_part, parse_name, read_three, read_whole
from weakspot.models.onnx.graph import Graph
from weakspot.models.onnx.models import OnnxPictures
from weakspot.models.pictures import stack_images

#: From pictures (RGB, uint8) to one row of numbers each.
Extractor = Callable[[Sequence[NDArray[np.uint8]]], NDArray[np.floating[Any]]]

_OPTIONS: Final = ("output", "mean", "std", "device", "batch", "labels")


class OnnxFeatures(OnnxPictures):
    """An output of an ONNX file, without softmax; maps (n, channels, …) are averaged over the picture."""

    def __call__(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.floating[Any]]:
        rows = self.rows(images)
        return rows.mean(tuple(range(2, rows.ndim))) if rows.ndim > 2 else rows


def load(name: str) -> Extractor:
    """The extractor that a name names; see above."""
    parsed = parse_name(name)
    if parsed.scheme == "onnx" and parsed.rest:
        return _onnx(parsed.rest, parsed.options)
    if parsed.scheme == "python" and parsed.rest:
        model = import_part(parsed.rest)
        if callable(model) and not isinstance(model, ImageEncoder):
            return lambda images: np.asarray(model(stack_images(images)))
    else:
        model = MODELS.load(name)
    if not isinstance(model, ImageEncoder):
        raise WeakspotError(
            f"{name[:200]} gives no features of pictures",
            fix="use an encoder, e.g. world:encoder, or an output of an ONNX file: onnx:model.onnx?output=…",
        )
    return model.embed_images


def checked(extract: Extractor, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float64]:
    rows = np.asarray(extract(images), np.float64)
    if rows.ndim != 2 or len(rows) != len(images) or not rows.shape[1]:
        raise WeakspotError(
            f"the extractor gave the shape {rows.shape} for {len(images)} pictures",
            fix="it must give one row each",
        )
    if not np.isfinite(rows).all():
        raise WeakspotError("the extractor gave numbers that are not finite", fix="check its preprocessing")
    return rows


def _onnx(path: str, given: dict[str, str]) -> OnnxFeatures:
    unknown = [option for option in given if option not in _OPTIONS]
    if unknown:
        raise WeakspotError(
            f"'onnx' has no option {unknown[0][:80]!r} for features",
            fix=f"its options are: {', '.join(_OPTIONS)}",
        )
    most = read_whole("batch", given.get("batch", ""), most=1 << 20)
    return OnnxFeatures(
        Graph(Path(path), device=given.get("device", "auto"), batch=most),
        output=given.get("output", ""),
        mean=read_three(given.get("mean", "0,0,0")),
        std=read_three(given.get("std", "1,1,1"), above=0.0),
    )
