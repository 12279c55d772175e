"""What image classifiers in torch have in common, whichever library they come from: timm, transformers, …"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, WeakspotError
from weakspot.models.batches import Batches, free
from weakspot.models.preprocess import Preprocess
from weakspot.models.scores import answers, columns, distinct, to_probabilities

#: Pictures at once: on a CPU more make nothing faster.
BATCH: Final = 32
GPU_BATCH: Final = 256


class ImageClassifier:
    """See `weakspot.core.Classifier`. Every output is read as logits, as these libraries promise.

    Args:
        module: On its device, from (n, 3, height, width) to logits, or to something with `.logits`.
        name: For people and for the log.
        labels: Names of the outputs, in order.
        prepare: From pictures to what the module takes.
        device: Where the module is.
        dtype: Its number format.
        batch: Pictures at once; halved by itself when memory is short.
        digest: Of the files it was read from.
        revision: The commit on the hub, where it came from there.
        parents: The wider class of each label, where known.
    """

    def __init__(
        self,
        module: Any,
        *,
        name: str,
        labels: Sequence[Any],
        prepare: Preprocess,
        device: str = "cpu",
        dtype: str = "float32",
        batch: int | None = None,
        digest: str | None = None,
        revision: str = "",
        parents: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.device, self.dtype, self.prepare = name, device, dtype, prepare
        self.labels = distinct(labels, of=name)
        self.parents: Mapping[str, str] = parents or {}
        self.digest, self.revision = digest, revision
        self._torch: Any = import_module("torch")
        self._module = module.eval()
        if device.startswith("cuda"):
            self._module = self._module.to(memory_format=self._torch.channels_last)
        size = batch or (GPU_BATCH if device.startswith("cuda") else BATCH)
        self._batches = Batches(name, size, device=device, dtype=dtype)

    @property
    def about(self) -> str:
        """One line: what runs where."""
        return self._batches.about

    @property
    def batch(self) -> int:
        """Pictures at once, now."""
        return self._batches.size

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`."""
        if not cases:
            return []
        rows = np.concatenate(self._batches.run([case.input for case in cases], self._logits))
        return answers(to_probabilities(rows, len(self.labels), outputs="logits"), self.labels)

    def _logits(self, images: Sequence[Any]) -> NDArray[np.float32]:
        if self._module is None:
            raise WeakspotError(f"{self.name} was released", fix="load it again")
        torch = self._torch
        pixels = torch.from_numpy(self.prepare(images))
        if self.device.startswith("cuda"):
            pixels = pixels.pin_memory().to(self.device, non_blocking=True)
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        with torch.inference_mode():
            given = self._module(pixels.to(self.device, getattr(torch, self.dtype)))
        rows = np.asarray(getattr(given, "logits", given).float().cpu().numpy(), np.float32)
        if rows.ndim == 2:
            columns(rows.shape[1], self.labels, of=self.name)
        return rows

    def release(self) -> None:
        """Free the memory; the classifier can no longer be used."""
        self._module = None
        free(self.device)
