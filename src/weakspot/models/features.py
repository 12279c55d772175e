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
from weakspot.core.registry import import_part, parse_name
from weakspot.models.images import stack_images
from weakspot.models.onnx.classifier import _Input, _scores, _three
from weakspot.models.onnx.graph import Graph

#: From pictures (RGB, uint8) to one row of numbers each.
Extractor = Callable[[Sequence[NDArray[np.uint8]]], NDArray[np.floating[Any]]]

_OPTIONS: Final = ("output", "mean", "std", "device", "batch", "labels")


class OnnxFeatures:
    """An output of an ONNX file, as it is: no softmax; maps (n, channels, …) are averaged over the picture.

    Args:
        path: The file.
        output: Which output; by default the first.
        mean: Subtracted from pixels in [0, 1], per channel.
        std: Divides the result, per channel.
        device: "auto", "cpu" or "cuda".
        batch: The largest batch of one run.
    """

    def __init__(
        self,
        path: Path,
        *,
        output: str = "",
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (1.0, 1.0, 1.0),
        device: str = "auto",
        batch: int | None = None,
    ) -> None:
        self._graph = Graph(path, device=device, batch=batch)
        self._takes, self._gives = _Input.of(self._graph), _scores(self._graph, output)
        self._scale = (1 / (255 * np.asarray(std, np.float32))).reshape(3, 1, 1)
        self._shift = (np.asarray(mean, np.float32) / np.asarray(std, np.float32)).reshape(3, 1, 1)

    def __call__(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.floating[Any]]:
        """One row per picture."""
        pixels, rows = stack_images(images, self._takes.size), list[NDArray[Any]]()
        while (start := sum(map(len, rows))) < len(pixels):  # the batch may have halved in between
            batch: NDArray[Any] = pixels[start : start + self._graph.batch].transpose(0, 3, 1, 2)
            if self._takes.dtype != np.uint8:
                batch = np.ascontiguousarray(batch, np.float32) * self._scale - self._shift
            if self._takes.channels_last:
                batch = batch.transpose(0, 2, 3, 1)
            [given] = self._graph.run({self._takes.name: batch}, [self._gives.name])
            rows.append(given.mean(tuple(range(2, given.ndim))) if given.ndim > 2 else given)
        return np.concatenate(rows)


def load(name: str) -> Extractor:
    """The extractor that a name names; see above.

    Raises:
        WeakspotError: There is no such model, or it gives no features.
    """
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
    """The features of some pictures, one finite row each.

    Raises:
        WeakspotError: The extractor gave something else.
    """
    rows = np.asarray(extract(images), np.float64)
    if rows.ndim != 2 or len(rows) != len(images) or not rows.shape[1]:
        raise WeakspotError(
            f"the extractor gave the shape {rows.shape} for {len(images)} pictures",
            fix="it must give one row each",
        )
    if not np.isfinite(rows).all():
        raise WeakspotError("the extractor gave numbers that are not finite", fix="check its preprocessing")
    return rows


def _onnx(path: str, options: dict[str, str]) -> OnnxFeatures:
    unknown = [option for option in options if option not in _OPTIONS]
    if unknown:
        raise WeakspotError(
            f"'onnx' has no option {unknown[0][:80]!r} for features",
            fix=f"its options are: {', '.join(_OPTIONS)}",
        )
    batch = options.get("batch", "")
    if batch and not (batch.isdecimal() and 0 < int(batch[:7]) < 1_000_000):
        raise WeakspotError(f"batch cannot be {batch[:80]!r}", fix="write a whole number from 1 on")
    return OnnxFeatures(
        Path(path),
        output=options.get("output", ""),
        mean=_three(options.get("mean", "0,0,0")),
        std=_three(options.get("std", "1,1,1"), above=0.0),
        device=options.get("device", "auto"),
        batch=int(batch) if batch else None,
    )
