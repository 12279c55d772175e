"""A torch module as a target: `torch:package.module:attr?weights=FILE.safetensors&labels=labels.txt`.

The attribute is a module, or a class or function that makes one; weights are read from safetensors alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import torch
from torch import nn

from weakspot.core import Case, Output, WeakspotError
from weakspot.core.registry import import_part, read_size, read_three, read_whole, read_yes
from weakspot.models.compute import Batches, Compiled, channels_last, choose_dtype, free, pictures_at_once
from weakspot.models.pictures import read_labels, stack_images
from weakspot.models.torch.classifier import read_weights
from weakspot.tuning.network import SHOWN, Network, digest_of, save_labels, save_weights


class TorchClassifier:
    """A classifier in torch: from pictures (n, 3, height, width), scaled to [0, 1] and normalised, to logits.

    Pictures are resized to `size`, height and width. A repaired model has a name only if `origin` names the
    package, module and attribute that make it.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        labels: Sequence[str],
        mean: Sequence[float] = (0.0, 0.0, 0.0),
        std: Sequence[float] = (1.0, 1.0, 1.0),
        size: tuple[int, int] | None = None,
        origin: str = "",
        parents: Mapping[str, str] | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch: int | None = None,
        compile: bool = False,
    ) -> None:
        self.module, self.labels, self.parents = module.eval(), tuple(labels), parents or {}
        self.mean, self.std, self.size, self.origin = tuple(mean), tuple(std), size, origin
        name = origin or type(module).__name__
        network = self._network = self.network(name).to(device)
        network.dtype = choose_dtype(dtype, network.device)
        network.module = channels_last(network.module, network.device)
        self.digest = digest_of(module) + ("" if network.dtype == "float32" else f"-{network.dtype}")
        most = pictures_at_once(network.device, size=size or (224, 224), dtype=network.dtype, otherwise=SHOWN)
        self._batches = Batches(name, batch or most, device=network.device, dtype=network.dtype)
        network.batches = self._batches
        network.compiled = Compiled(module, name=name) if compile else None
        self._released = False

    @property
    def device(self) -> str:
        return self._network.device

    @property
    def dtype(self) -> str:
        return self._network.dtype

    @property
    def about(self) -> str:
        return self._batches.about

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        if self._released:
            raise WeakspotError(f"{self._batches.name[:200]} was released", fix="load it again")
        return self._network.answer(cases)

    def release(self) -> None:
        """Free the memory; the model can no longer be used."""
        device, self._released = self._network.device, True
        del self.module, self._network
        free(device)

    def network(self, name: str) -> Network:
        mean, std = (torch.tensor(v, dtype=torch.float32).reshape(3, 1, 1) for v in (self.mean, self.std))

        def prepare(images: Sequence[Any]) -> torch.Tensor:
            stacked = stack_images(images, self.size).transpose(0, 3, 1, 2)
            return (torch.from_numpy(np.ascontiguousarray(stacked)).float() / 255 - mean) / std

        return Network(name, self.module, self.labels, prepare, self._keep, self.parents)

    def _keep(self, module: nn.Module, folder: Path) -> str:
        file, labels = folder / "model.safetensors", folder / "labels.txt"
        save_weights(module, file)
        save_labels(self.labels, labels)
        if not self.origin:
            return ""
        options = {"weights": str(file), "labels": str(labels)}
        if any(self.mean) or set(self.std) != {1.0}:
            options |= {key: ",".join(f"{v:.9g}" for v in getattr(self, key)) for key in ("mean", "std")}
        if self.size:
            options["size"] = f"{self.size[0]}x{self.size[1]}"
        return f"torch:{self.origin}?{urlencode(options, safe='/,')}"


def load(
    path: str,
    *,
    labels: str,
    weights: str = "",
    mean: str = "0,0,0",
    std: str = "1,1,1",
    size: str = "",
    device: str = "auto",
    dtype: str = "float32",
    batch: str = "",
    compile: str = "no",
) -> TorchClassifier:
    """`torch:package.module:attr?weights=FILE.safetensors&labels=labels.txt&mean=…&std=…&size=224`."""
    found = _made(path)
    if weights:
        read_weights(found, Path(weights))
    elif digest_of(found) != digest_of(_made(path)):
        raise WeakspotError(
            f"torch:{path[:200]} makes a network with random weights, different ones each time",
            fix="add weights=FILE.safetensors, or let what makes it load its weights",
        )
    return TorchClassifier(
        found,
        labels=read_labels(Path(labels)),
        mean=read_three(mean),
        std=read_three(std, above=0.0),
        size=read_size(size),
        origin=path,
        device=device,
        dtype=dtype,
        batch=read_whole("batch", batch, most=1 << 16),
        compile=read_yes("compile", compile),
    )


def _made(path: str) -> nn.Module:
    found = import_part(path)
    if not isinstance(found, nn.Module) and (inspect.isfunction(found) or inspect.ismethod(found)):
        found = found()
    if not isinstance(found, nn.Module):
        fix = "name a module, or a class or function without arguments that makes one"
        raise WeakspotError(f"torch:{path[:200]} is {type(found).__name__}, not a module of torch", fix=fix)
    return found
