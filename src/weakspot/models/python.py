"""A user's own Python code as a target or an encoder: `python:package.module:attr?labels=labels.txt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.core import Case, Output, Scores, Target, TextEncoder, WeakspotError
from weakspot.core.registry import import_part
from weakspot.models.images import stack
from weakspot.models.onnx import probabilities, read_labels


class FunctionClassifier:
    """A function from uint8 images (n, height, width, 3) to probabilities, logits or labels.

    Args:
        function: Called with one batch of images.
        labels: Names of the columns, in order.
        parents: The wider class of each label, where known.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        labels: Sequence[str],
        parents: Mapping[str, str] | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.parents: Mapping[str, str] = parents or {}
        self._function = function

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        raw = self._function(stack(cases))
        if len(raw) == len(cases) and all(isinstance(r, str) for r in raw):
            return [Output(str(label)) for label in raw]
        values = probabilities(np.asarray(raw, np.float32), len(self.labels))
        return [Output(self.labels[int(row.argmax())], Scores(self.labels, row)) for row in values]


def load(path: str, *, labels: str = "") -> Target | TextEncoder:
    """A Target or an encoder as it is, or a function together with its labels file."""
    found = import_part(path)
    if isinstance(found, Target | TextEncoder):
        return found
    if not callable(found):
        raise WeakspotError(
            f"python:{path} is neither a Target nor a function nor an encoder",
            fix="see docs/concepts.md, Ports",
        )
    if not labels:
        raise WeakspotError(
            f"python:{path} is a function, so its labels must be given", fix="add ?labels=labels.txt"
        )
    return FunctionClassifier(found, labels=read_labels(Path(labels)))
