"""A user's own Python code as a target or an encoder: `python:package.module:attr?labels=labels.txt`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.core import Case, Output, WeakspotError, nearest
from weakspot.core.registry import import_part, read_size, read_whole
from weakspot.models.compute import Batched, Batches
from weakspot.models.pictures import Reading, read_labels, stack_images

#: The most pictures that a function is given at once where nobody says so.
BATCH: Final = 1024


class FunctionClassifier(Batched):
    """A function from uint8 images (n, height, width, 3) to probabilities, logits, labels or their numbers.

    It may answer with arrays, lists, or tensors of torch on any device.

    `outputs` says which ("probabilities", "logits"), or "auto". At most `batch` pictures are given at once,
    fewer when memory is short. They are stretched to `size`, if there is one: height and width.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        labels: Sequence[str],
        outputs: str = "auto",
        name: str = "",
        batch: int | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.parents: Mapping[str, str] = {}
        self.network, self._size = function, size
        # It most likely computes on the GPU that its module has already used.
        torch: Any = sys.modules.get("torch")
        self.device = "cuda" if torch is not None and torch.cuda.is_initialized() else "cpu"
        self._read = Reading(self.labels, outputs=outputs, of=name or "the function")
        self._batches = Batches(name, batch or BATCH, device=self.device)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        parts = self._batches.run([case.input for case in cases], self._some)
        return [output for part in parts for output in part]

    def _some(self, images: Sequence[Any]) -> list[Output]:
        raw = _plain(self.network(stack_images(images, self._size)))
        if len(raw) == len(images) and all(isinstance(r, str) for r in raw):
            named = list(map(str, raw))
            if strange := [label for label in named if label not in self.labels]:
                among = f"one of its {len(self.labels)} labels"
                raise WeakspotError(
                    f"the function answers {strange[0][:80]!r}, which is not {among}",
                    fix=nearest(strange[0], self.labels) or "complete the labels file",
                )
            return list(map(Output, named))
        rows = np.asarray(raw)
        if rows.shape == (len(images),) and rows.dtype.kind in "iu":
            for number in rows:
                if not 0 <= number < len(self.labels):
                    raise WeakspotError(
                        f"the function answers with label number {number} of {len(self.labels)}",
                        fix="numbers count from 0; check the labels file",
                    )
            return [Output(self.labels[int(number)]) for number in rows]
        return self._read(rows)

    @property
    def doubt(self) -> str:
        return self._read.doubt


#: Methods of targets, encoders, captioners, generators, second opinions and language models. Who asks for one
#: checks the whole port.
_METHODS: Final = ("answer", "embed_texts", "embed_images", "captions", "generate", "doubts", "ask")


def _plain(raw: Any) -> Any:
    """Without torch: tensors, alone or in a list, as arrays on the host."""
    if isinstance(raw, list | tuple):
        return [_plain(row) for row in raw]
    if not hasattr(raw, "detach"):
        return raw
    raw = raw.detach()
    return (raw.float() if raw.is_floating_point() else raw).cpu().numpy()


def load(path: str, *, labels: str = "", outputs: str = "auto", batch: str = "", size: str = "") -> Any:
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
    return FunctionClassifier(
        found,
        labels=read_labels(Path(labels)),
        outputs=outputs,
        name=f"python:{path}",
        batch=read_whole("batch", batch, most=1 << 16),
        size=read_size(size),
    )
