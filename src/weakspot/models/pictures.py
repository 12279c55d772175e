"""Pictures in, labels and probabilities out: what models of pictures have in common.

Logits and probabilities are told apart row by row, so that no answer depends on what else is in the batch.
Numbers between 0 and 1 that do not sum to 1, and rows of one sum that may be percentages, are read as logits,
which keeps the order of the labels but not how sure the model is; that is a doubt, which is logged once and
shown by `weakspot doctor`, until the user says which.
"""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from weakspot.core import Output, Scores, WeakspotError
from weakspot.core.errors import check_known, explained, system_reason

#: From bytes to [0, 1]. A product, because all adapters are to give a graph the very same numbers.
SCALE: Final = np.float32(1 / 255)


def stack_images(images: Sequence[Any], size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """At least one image as one array (n, height, width, 3), resized to (height, width) where needed."""
    fitting = []
    for image in images:
        array = isinstance(image, np.ndarray)
        if not array or image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
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


def png(picture: NDArray[np.uint8]) -> bytes:
    """A picture as a file, without loss; it is to be sent soon, so it is packed fast."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG", compress_level=1)
    return file.getvalue()


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


log: Final = logging.getLogger("weakspot.models")
#: What to do about outputs that are not clear.
SAY: Final = "let each row sum to 1, or say ?outputs=logits or ?outputs=probabilities"
#: What a model's outputs can be said to be.
OUTPUTS: Final = ("auto", "probabilities", "logits")
#: How far the sum of probabilities may be from 1: half precision and quantised heads round.
LOOSE: Final = 0.01
#: What shares are given of where it is not 1: percentages, bytes, per mille.
WHOLES: Final = (100.0, 255.0, 1000.0)
#: Below this it is left as it is.
TIGHT: Final = 1e-3


def to_probabilities(raw: NDArray[Any], labels: int, *, outputs: str = "auto") -> NDArray[np.float32]:
    """Rows of probabilities from what a model gave, one row a picture; `outputs` is one of `OUTPUTS`."""
    raw = np.asarray(raw, np.float32)
    if raw.ndim != 2 or raw.shape[1] != labels:
        raise WeakspotError(
            f"the model answers with shape {raw.shape} for {labels} labels",
            fix="give it one label per output, in the model's order",
        )
    if not np.isfinite(raw).all():
        raise WeakspotError(
            "the model answered with numbers that are not finite", fix="check its preprocessing"
        )
    if outputs == "logits":
        return softmax(raw)
    given, sums = _given(raw)
    if outputs == "probabilities" and not given.all():
        row = int(np.flatnonzero(~given)[0])
        raise WeakspotError(
            f"the model's outputs are not probabilities: {_range_of(raw[row])}",
            fix="let each row sum to 1, or say outputs=logits if a softmax is still to come",
        )
    fitted = np.where(np.abs(sums - 1) < TIGHT, raw, raw / np.where(given[:, None], sums, 1))
    return np.asarray(np.where(given[:, None], fitted, softmax(raw)), np.float32)


def doubt(raw: NDArray[Any]) -> str:
    """Why it is not clear what outputs are; "" where it is."""
    raw = np.asarray(raw, np.float32)
    given, _ = _given(raw)
    unclear = ((raw >= 0) & (raw <= 1)).all(1) & ~given
    if unclear.any():
        return f"outputs are neither probabilities nor plain logits: {_range_of(raw[unclear][0])}"
    if len(raw) and (raw >= 0).all() and not given.any() and _of_one_sum(raw):
        return f"outputs seem to be shares of one sum, such as percentages: {_range_of(raw[0])}"
    return ""


def _of_one_sum(raw: NDArray[np.float32]) -> bool:
    """Whether all rows have the same sum, or the only one has a sum that shares are often given of."""
    sums = raw.sum(1, dtype=np.float64)
    known = np.array([*WHOLES, *(sums[:1] if len(raw) > 1 else ())])
    near = np.abs(sums[:, None] - known) <= LOOSE * known
    return bool(near.all(0).any()) and raw.shape[1] > 1


class Reading:
    """Reads what a classifier gives; `doubt` is of the first row that gave reason for it."""

    def __init__(self, labels: Sequence[str], *, outputs: str = "auto", of: str = "the model") -> None:
        check_known(outputs, OUTPUTS, f"outputs cannot be {outputs[:80]!r}")
        self.labels, self.outputs, self.of = tuple(labels), outputs, of
        self.doubt = ""

    def __call__(self, raw: Any) -> list[Output]:
        raw = np.asarray(raw, np.float32)
        rows = to_probabilities(raw, len(self.labels), outputs=self.outputs)
        if self.outputs == "auto" and not self.doubt and (found := doubt(raw)):
            self.doubt = found
            log.warning("%s: %s; %s", self.of[:200], found, SAY)
        return answers(rows, self.labels)


def _given(raw: NDArray[np.float32]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows are probabilities, and the sums of all."""
    sums = raw.sum(1, dtype=np.float64, keepdims=True)
    return (raw >= 0).all(1) & (np.abs(sums[:, 0] - 1) <= LOOSE), sums


def _range_of(row: NDArray[np.float32]) -> str:
    return f"they lie between {row.min():.3g} and {row.max():.3g} and sum to {row.sum():.4g}"


def softmax(raw: NDArray[Any]) -> NDArray[np.float32]:
    grown = np.exp(raw - raw.max(1, keepdims=True))
    return np.asarray(grown / grown.sum(1, keepdims=True), np.float32)


def answers(rows: NDArray[np.float32], labels: tuple[str, ...]) -> list[Output]:
    """The most probable label of each row, with all probabilities."""
    return [Output(labels[int(row.argmax())], Scores(labels, row)) for row in rows]


def distinct(labels: Iterable[Any], *, of: str) -> tuple[str, ...]:
    """Names of labels as a head has them, none twice: ImageNet has two cranes and two maillots."""
    times: dict[str, int] = {}
    found = []
    for label in labels:
        name = " ".join(str(label).split())
        if not name:
            raise WeakspotError(f"{of[:200]} has a label without a name", fix="give them: ?labels=labels.txt")
        times[name] = times.get(name, 0) + 1
        found.append(name if times[name] == 1 else f"{name} #{times[name]}")
    if not found:
        raise WeakspotError(f"{of[:200]} does not say what its labels are", fix="add ?labels=labels.txt")
    return tuple(found)


def columns(head: int, labels: Sequence[str], *, of: str) -> None:
    """An error unless there is one label per output."""
    if head != len(labels):
        raise WeakspotError(
            f"{of[:200]} has {head} outputs, and there are {len(labels)} labels",
            fix="check the labels file: one label a line, in the model's order",
        )


#: Longer metadata are not read, in characters.
LONGEST: Final = 4_000_000


def read_labels(path: Path) -> list[str]:
    """One label a line; blank lines are an error, since the order carries the meaning."""
    what, fix = f"the labels file {path} cannot be read", "one label a line, in UTF-8"
    with explained(what, OSError, UnicodeDecodeError, fix=fix, why=system_reason):
        lines = path.read_text("utf-8").splitlines()
    if not lines or any(not line.strip() for line in lines):
        what = "has an empty line" if lines else "is empty"
        raise WeakspotError(f"the labels file {path} {what}", fix="one label a line, in the model's order")
    return [line.strip() for line in lines]


def label_names(text: str, *, of: object) -> tuple[str, ...]:
    """Labels written as a JSON list, a mapping from numbers to names, or one a line."""
    if not text.strip() or len(text) > LONGEST:
        return ()
    found: Any = None
    for read in (json.loads, ast.literal_eval):  # literals alone: nothing is run
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            found = read(text)
            break
    if isinstance(found, Mapping):
        return in_order(found, of=of)
    return distinct(found if isinstance(found, list) else text.splitlines(), of=str(of))


def in_order(names: Mapping[Any, Any], *, of: object) -> tuple[str, ...]:
    """A mapping from numbers (or numerals) to names, as a row."""
    try:
        by_number = {int(key): value for key, value in names.items()}
        return distinct([by_number[i] for i in range(len(by_number))], of=str(of))
    except (KeyError, TypeError, ValueError):
        raise WeakspotError(
            f"the labels of {str(of)[:200]} are not numbered from 0", fix="give them: ?labels=labels.txt"
        ) from None
