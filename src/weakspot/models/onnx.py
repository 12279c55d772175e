"""Image classifiers in ONNX files, run by onnxruntime: `onnx:model.onnx?labels=labels.txt`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, Scores, WeakspotError
from weakspot.models.images import stack


class OnnxClassifier:
    """A classifier whose graph maps (n, 3, height, width) float32 to logits or probabilities (n, labels).

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
        options.log_severity_level = 3
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
        self._name = self._session.get_inputs()[0].name
        height, width = self._session.get_inputs()[0].shape[2:4]
        self._size = (height, width) if isinstance(height, int) and isinstance(width, int) else None
        self._scale = (1 / (255 * np.asarray(std, np.float32))).reshape(3, 1, 1)
        self._shift = (np.asarray(mean, np.float32) / np.asarray(std, np.float32)).reshape(3, 1, 1)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """The most probable label of each image, with all probabilities."""
        pixels = stack(cases, self._size).transpose(0, 3, 1, 2)
        batch = np.ascontiguousarray(pixels, np.float32) * self._scale - self._shift
        values = probabilities(self._session.run(None, {self._name: batch})[0], len(self.labels))
        return [Output(self.labels[int(row.argmax())], Scores(self.labels, row)) for row in values]


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
    if (raw >= 0).all() and np.allclose(raw.sum(1), 1, atol=1e-3):
        return np.asarray(raw, np.float32)
    grown = np.exp(raw - raw.max(1, keepdims=True))
    return np.asarray(grown / grown.sum(1, keepdims=True), np.float32)


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

    def three(text: str) -> list[float]:
        try:
            numbers = [float(x) for x in text.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != 3:
            raise WeakspotError(f"{text!r} is not three numbers", fix="write mean=0.485,0.456,0.406")
        return numbers

    return OnnxClassifier(Path(path), labels=read_labels(Path(labels)), mean=three(mean), std=three(std))
