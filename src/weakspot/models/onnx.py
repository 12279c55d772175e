"""Image classifiers in ONNX files, run by onnxruntime: `onnx:model.onnx?labels=labels.txt`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, Scores, WeakspotError
from weakspot.models.images import stack

_DTYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}


class OnnxClassifier:
    """A classifier whose graph maps images to logits or probabilities (n, labels).

    The images are (n, 3, height, width) or (n, height, width, 3), whichever the graph says; floating-point
    ones are scaled to [0, 1] and normalised, uint8 ones are given as they are. A size or a batch that the
    graph fixes is kept to.

    Args:
        path: The ONNX file.
        labels: Names of the outputs, in order.
        parents: The wider class of each label, where known.
        mean: Subtracted from pixels in [0, 1], per channel.
        std: Divides the result, per channel.
        threads: Of onnxruntime for one batch; 0 lets it choose.
        digest: The SHA-256 the file must have, if it is to be checked.
    """

    def __init__(
        self,
        path: Path,
        *,
        labels: Sequence[str],
        parents: Mapping[str, str] | None = None,
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (1.0, 1.0, 1.0),
        threads: int = 0,
        digest: str | None = None,
    ) -> None:
        import onnxruntime

        try:
            content = path.read_bytes()
        except OSError as error:
            raise WeakspotError(
                f"the model {path} cannot be read: {error.strerror}", fix="check the path"
            ) from error
        self.digest = hashlib.sha256(content).hexdigest()
        if digest is not None and digest != self.digest:
            raise WeakspotError(
                f"{path} is not the file it should be (its SHA-256 differs)", fix="reinstall it"
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4  # what goes wrong is raised; it need not be printed as well
        try:
            self._session: Any = onnxruntime.InferenceSession(
                content, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's exceptions share no public base class
            raise WeakspotError(
                f"{path} is not an ONNX model that can be run: {str(error).splitlines()[0][:200]}",
                fix="export it again, with a file of one piece",
            ) from error
        self.labels = tuple(labels)
        self.parents: Mapping[str, str] = parents or {}
        self._takes = _Input.of(self._session, path)
        columns = self._session.get_outputs()[0].shape[-1:]
        if columns and isinstance(columns[0], int) and columns[0] != len(self.labels):
            raise WeakspotError(
                f"{path} has {columns[0]} outputs, and there are {len(self.labels)} labels",
                fix="check the labels file: one label a line, in the model's order",
            )
        if self._takes.dtype == np.uint8 and (any(mean) or set(std) != {1.0}):
            raise WeakspotError(
                f"{path} takes pixels as they are, so mean and std mean nothing", fix="leave them out"
            )
        self._scale = (1 / (255 * np.asarray(std, np.float32))).reshape(3, 1, 1)
        self._shift = (np.asarray(mean, np.float32) / np.asarray(std, np.float32)).reshape(3, 1, 1)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """The most probable label of each image, with all probabilities."""
        takes = self._takes
        batch: NDArray[Any] = stack(cases, takes.size).transpose(0, 3, 1, 2)
        if takes.dtype != np.uint8:
            batch = (np.ascontiguousarray(batch, np.float32) * self._scale - self._shift).astype(takes.dtype)
        if takes.channels_last:
            batch = batch.transpose(0, 2, 3, 1)
        raw = np.concatenate([self._run(part) for part in takes.parts(np.ascontiguousarray(batch))])
        values = probabilities(raw[: len(cases)], len(self.labels))
        return [Output(self.labels[int(row.argmax())], Scores(self.labels, row)) for row in values]

    def _run(self, batch: NDArray[Any]) -> NDArray[np.float32]:
        return np.asarray(self._session.run(None, {self._takes.name: batch})[0], np.float32)


class _Input(NamedTuple):
    """What a graph wants to be given; `size` and `batch` are None where it takes any."""

    name: str
    dtype: Any
    channels_last: bool
    size: tuple[int, int] | None
    batch: int | None

    @classmethod
    def of(cls, session: Any, path: Path) -> _Input:
        """Read it off the session; an error if it is not one batch of RGB images."""
        first = session.get_inputs()[0]
        shape = [d if isinstance(d, int) else None for d in first.shape]
        dtype = _DTYPES.get(first.type)
        last = len(shape) == 4 and shape[3] == 3 and shape[1] != 3
        images = len(session.get_inputs()) == 1 and len(shape) == 4 and dtype is not None
        if not images or shape[3 if last else 1] not in (3, None):
            raise WeakspotError(
                f"{path} does not take one batch of RGB images but {first.type} {first.shape}",
                fix="export it with the input (n, 3, height, width) or (n, height, width, 3)",
            )
        height, width = shape[1:3] if last else shape[2:4]
        size = (height, width) if height is not None and width is not None else None
        return cls(first.name, dtype, last, size, shape[0])

    def parts(self, images: NDArray[Any]) -> list[NDArray[Any]]:
        """The images in batches of the fixed size, the last filled up with its last image."""
        if self.batch is None:
            return [images]
        short = -len(images) % self.batch
        full = np.concatenate([images, np.repeat(images[-1:], short, axis=0)])
        return list(full.reshape(-1, self.batch, *images.shape[1:]))


def probabilities(raw: NDArray[np.float32], labels: int) -> NDArray[np.float32]:
    """Rows of probabilities from logits or from probabilities.

    Raises:
        WeakspotError: Other than one column per label, or a value that is not finite.
    """
    if raw.ndim != 2 or raw.shape[1] != labels:
        raise WeakspotError(
            f"the model answers with shape {raw.shape} for {labels} labels", fix="check the labels file"
        )
    if not np.isfinite(raw).all():
        raise WeakspotError(
            "the model answered with numbers that are not finite", fix="check its preprocessing"
        )
    # Row by row, so that no answer depends on what else is in the batch.
    given = (raw >= 0).all(1, keepdims=True) & (np.abs(raw.sum(1, keepdims=True) - 1) < 1e-3)
    grown = np.exp(raw - raw.max(1, keepdims=True))
    return np.asarray(np.where(given, raw, grown / grown.sum(1, keepdims=True)), np.float32)


def read_labels(path: Path) -> list[str]:
    """One label a line; blank lines are an error, since the order carries the meaning."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WeakspotError(
            f"the labels file {path} cannot be read: {error}", fix="one label a line, in UTF-8"
        ) from error
    if not lines or any(not line.strip() for line in lines):
        raise WeakspotError(
            f"the labels file {path} has an empty line", fix="one label a line, in the model's order"
        )
    return [line.strip() for line in lines]


def load(path: str, *, labels: str, mean: str = "0,0,0", std: str = "1,1,1") -> OnnxClassifier:
    """`onnx:model.onnx?labels=labels.txt&mean=0.485,0.456,0.406&std=0.229,0.224,0.225`."""
    return OnnxClassifier(
        Path(path), labels=read_labels(Path(labels)), mean=_three(mean), std=_three(std, above=0.0)
    )


def _three(text: str, *, above: float = -math.inf) -> list[float]:
    try:
        numbers = [float(x) for x in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not all(math.isfinite(x) and x > above for x in numbers):
        positive = " positive" if above == 0 else ""
        raise WeakspotError(f"{text[:80]!r} is not three{positive} numbers", fix="write 0.485,0.456,0.406")
    return numbers
