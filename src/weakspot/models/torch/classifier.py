"""What image classifiers in torch have in common, whichever library they come from: timm, transformers, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output
from weakspot.models.compute.batches import Batched, Batches
from weakspot.models.compute.device import Compiled, autocast, channels_last, pictures_at_once
from weakspot.models.compute.gate import computing
from weakspot.models.hf.images import Prepare, by_name
from weakspot.models.scores import answers, columns, distinct, to_probabilities

#: Pictures at once where the device does not tell its memory: on a CPU more make nothing faster.
BATCH: Final = 32


class ImageClassifier(Batched):
    """See `weakspot.core.Classifier`. Every output is read as logits, as these libraries promise.

    Args:
        module: On its device and in float32, from what is prepared, mostly (n, 3, height, width), to logits,
            or to something with `.logits`.
        prepare: From pictures to what the module takes.
        batch: Pictures at once; by default what the free memory will do for. Halved by itself when memory
            is short, and remembered.
        compile: Make it faster with torch.compile: slow to begin.
        folder: Where its files are, if they are in one.
    """

    def __init__(
        self,
        module: Any,
        *,
        name: str,
        labels: Sequence[Any],
        prepare: Prepare,
        device: str = "cpu",
        dtype: str = "float32",
        batch: int | None = None,
        compile: bool = False,
        digest: str | None = None,
        revision: str = "",
        parents: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name, self.device, self.dtype, self.prepare = name, device, dtype, prepare
        self.labels = distinct(labels, of=name)
        self.parents: Mapping[str, str] = parents or {}
        self.digest, self.revision, self.folder = digest, revision, folder
        self._torch: Any = import_module("torch")
        self._model = channels_last(module.eval(), device)
        if compile:
            self._model = Compiled(self._model, name=name)
        size = batch or pictures_at_once(device, size=prepare.size, dtype=dtype, otherwise=BATCH)
        self._batches = Batches(name, size, device=device, dtype=dtype)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        if not cases:
            return []
        rows = np.concatenate(self._batches.run([case.input for case in cases], self._logits))
        return answers(to_probabilities(rows, len(self.labels), outputs="logits"), self.labels)

    def _logits(self, images: Sequence[Any]) -> NDArray[np.float32]:
        prepared = self.prepare(images)
        several = isinstance(prepared, Mapping)
        shown = {name: self._moved(value) for name, value in by_name(prepared).items()}
        with self._torch.inference_mode(), computing(self.device), autocast(self.device, self.dtype):
            given = self._model(**shown) if several else self._model(shown["pixel_values"])
            rows = np.asarray(getattr(given, "logits", given).float().cpu().numpy(), np.float32)
        if rows.ndim == 2:
            columns(rows.shape[1], self.labels, of=self.name)
        return rows

    def _moved(self, values: NDArray[Any]) -> Any:
        """On the device; whole numbers, such as a mask, stay whole."""
        torch = self._torch
        made = torch.from_numpy(values)
        if values.dtype.kind not in "fu":
            return made.to(self.device)
        if self.device.startswith("cuda"):
            made = made.pin_memory().to(self.device, non_blocking=True)
            if made.ndim == 4:
                made = made.contiguous(memory_format=torch.channels_last)
        return made.to(self.device, torch.float32)
