"""Image classifiers that are modules of torch, weights from a file, and TorchScript."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output, WeakspotError
from weakspot.core.registry import read_size, read_three, read_yes
from weakspot.models.compute import (
    Batched,
    Batches,
    Compiled,
    autocast,
    channels_last,
    computing,
    in_one_line,
    pictures_at_once,
)
from weakspot.models.hf.images import Prepare, by_name
from weakspot.models.hf.loading import folder_digest, read_options, revision_of
from weakspot.models.pictures import answers, columns, distinct, read_labels, to_probabilities
from weakspot.models.preprocess import Preprocess

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
        folder: Where its files are, if they are in one; their digest and revision are then the model's.
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
        parents: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name, self.device, self.dtype, self.prepare = name, device, dtype, prepare
        self.labels = distinct(labels, of=name)
        self.parents: Mapping[str, str] = parents or {}
        self.digest = f"{folder_digest(folder)}-{dtype}" if folder else digest
        self.folder, self.revision = folder, revision_of(folder) if folder else ""
        self._torch: Any = import_module("torch")
        self._model = channels_last(module.eval(), device)
        if compile:
            self._model = Compiled(self._model, name=name)
        size = batch or pictures_at_once(device, size=prepare.size, dtype=dtype, otherwise=BATCH)
        self._batches = Batches(name, size, device=device, dtype=dtype)

    def answer(self, cases: Sequence[Case]) -> list[Output]:
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


def read_weights(module: Any, path: Path, *, pickle: bool = False) -> None:
    """Fill a module from a file of safetensors, or of another kind where `pickle` allows it."""
    if path.suffix != ".safetensors":
        if not pickle:
            raise WeakspotError(
                f"{str(path)[:200]} is not a safetensors file",
                fix="convert it; pickles can run code and are not read",
            )
        try:
            tensors = import_module("torch").load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # of the file, or of what it would have run
            said = in_one_line(error, most=200)
            raise WeakspotError(
                f"the weights {str(path)[:200]} are no pickle of tensors alone: {said}",
                fix="check the file; convert it to safetensors where you trust it",
            ) from error
        fill(module, tensors, of=str(path))
        return
    library: Any = import_module("safetensors")
    try:
        tensors = import_module("safetensors.torch").load_file(str(path))
    except (OSError, library.SafetensorError) as error:
        raise WeakspotError(
            f"the weights {str(path)[:200]} cannot be read: {error}", fix="check the file"
        ) from error
    fill(module, tensors, of=str(path))


def fill(module: Any, tensors: Any, *, of: str) -> None:
    """Fill a module with tensors by name; one that lacks or is left over is an error."""
    fix = "name the network they were made with"
    try:
        lacking, strange = module.load_state_dict(tensors, strict=False)
    except RuntimeError as error:  # shapes differ
        said = str(error).splitlines()[-1].strip()[:200]
        raise WeakspotError(f"the weights {of[:200]} do not fit: {said}", fix=fix) from error
    lacking = [key for key in lacking if not key.endswith("num_batches_tracked")]
    if lacking or strange:
        which = f"{lacking[0]} is missing" if lacking else f"{strange[0]} is not the network's"
        raise WeakspotError(f"the weights {of[:200]} do not fit: {which}", fix=fix)


def load_torchscript(
    path: str,
    *,
    labels: str,
    size: str = "224",
    mean: str = "0,0,0",
    std: str = "1,1,1",
    code: str = "no",
    device: str = "auto",
    dtype: str = "float32",
    batch: str = "",
) -> ImageClassifier:
    """`torchscript:model.pt?labels=labels.txt&size=224&mean=0.485,0.456,0.406&std=0.229,0.224,0.225&code=yes`."""
    names, side = read_labels(Path(labels)), read_size(size)
    if not read_yes("code", code):
        raise WeakspotError(
            f"{path[:200]} is a program (TorchScript), which is not run unasked",
            fix="add &code=yes where you trust it; or export it as ONNX, or as safetensors with torch:…",
        )
    torch: Any = import_module("torch")
    how, _ = read_options(device=device, dtype=dtype, batch=batch)
    try:
        content = Path(path).read_bytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer versions advise against the format
            module = torch.jit.load(path, map_location=how["device"])
    except OSError as error:
        raise WeakspotError(f"{path[:200]} cannot be read: {error.strerror}", fix="check the path") from error
    except RuntimeError as error:
        raise WeakspotError(
            f"{path[:200]} is no TorchScript file: {str(error).strip().splitlines()[0][:200]}",
            fix="make it with torch.jit.save; a plain .pt is a pickle, and is not read",
        ) from error
    half = "" if how["dtype"] == "float32" else f"-{how['dtype']}"
    assert side is not None  # noqa: S101 (it has a default)
    return ImageClassifier(
        module,
        name=f"torchscript:{path}",
        labels=names,
        prepare=Preprocess(
            side, resample="BILINEAR", mean=tuple(read_three(mean)), std=tuple(read_three(std, above=0.0))
        ),
        digest=hashlib.sha256(content).hexdigest() + half,
        **how,
    )
