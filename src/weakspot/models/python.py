"""A user's own Python code as a target or an encoder: `python:package.module:attr?labels=labels.txt`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from weakspot.core import Case, Output, WeakspotError, nearest
from weakspot.core.registry import import_part
from weakspot.models.images import stack
from weakspot.models.onnx import read_labels
from weakspot.models.scores import Reading


class FunctionClassifier:
    """A function from uint8 images (n, height, width, 3) to probabilities, logits or labels.

    Args:
        function: Called with one batch of images.
        labels: Names of the columns, in order.
        parents: The wider class of each label, where known.
        outputs: "probabilities", "logits", or "auto" to tell them apart; see `weakspot.models.scores`.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        labels: Sequence[str],
        parents: Mapping[str, str] | None = None,
        outputs: str = "auto",
    ) -> None:
        self.labels = tuple(labels)
        self.parents: Mapping[str, str] = parents or {}
        self._function = function
        self._read = Reading(self.labels, outputs=outputs)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        raw = self._function(stack(cases))
        if len(raw) == len(cases) and all(isinstance(r, str) for r in raw):
            return [Output(self._known(str(label))) for label in raw]
        return self._read(raw)

    @property
    def doubt(self) -> str:
        """Why it is not clear what the outputs are; "" where it is."""
        return self._read.doubt

    def _known(self, label: str) -> str:
        if label not in self.labels:
            raise WeakspotError(
                f"the function answers {label[:80]!r}, which is not one of its {len(self.labels)} labels",
                fix=nearest(label, self.labels) or "complete the labels file",
            )
        return label


#: Methods of targets, encoders, captioners, generators, second opinions and language models. Who asks for one
#: checks the whole port.
_METHODS: Final = ("answer", "embed_texts", "embed_images", "captions", "generate", "doubts", "ask")


def load(path: str, *, labels: str = "", outputs: str = "auto") -> Any:
    """A model of any port as it is, or a function together with its labels file."""
    found = import_part(path)
    if any(hasattr(found, method) for method in _METHODS):
        return found
    if not callable(found):
        raise WeakspotError(
            f"python:{path} is neither a model nor a function",
            fix=f"it must have one of: {', '.join(_METHODS)}; see docs/concepts.md, Ports",
        )
    if not labels:
        raise WeakspotError(
            f"python:{path} is a function, so its labels must be given", fix="add ?labels=labels.txt"
        )
    return FunctionClassifier(found, labels=read_labels(Path(labels)), outputs=outputs)
