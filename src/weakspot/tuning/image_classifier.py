"""Image classifiers of transformers, timm and torchvision as networks that can be trained.

A repaired one is kept in the form of its library, as safetensors: the whole folder of a `hf:` or `timm:`
model, the weights of a `torchvision:` one.
"""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import torch
from torch import nn

from weakspot.core import WeakspotError, parse_name
from weakspot.models.compute import Compiled
from weakspot.models.preprocess import CONFIG
from weakspot.models.torch.classifier import ImageClassifier
from weakspot.tuning.network import HOW, Network, save_labels, save_weights

WEIGHTS: Final = "model.safetensors"
#: Options that are of the old weights.
_OLD: Final = ("revision", "pickle", "weights")


def of_library(target: ImageClassifier, name: str) -> Network:
    """A copy of the classifier that can be trained; an error for TorchScript, whose layers cannot be
    changed.
    """
    module: Any = target._model.module if isinstance(target._model, Compiled) else target._model
    if isinstance(module, torch.jit.ScriptModule):
        raise WeakspotError(f"{name[:200]} cannot be trained here: it is a TorchScript file", fix=HOW)
    own = copy.deepcopy(module).to("cpu").float().eval()

    def prepare(images: Sequence[Any]) -> torch.Tensor:
        return torch.from_numpy(target.prepare(images)).float()

    def keep(trained: nn.Module, folder: Path) -> str:
        return kept(trained, folder, target=target, name=name)

    return Network(name, own, target.labels, prepare, keep, target.parents)


def kept(trained: Any, folder: Path, *, target: ImageClassifier, name: str) -> str:
    """Write a classifier as its library reads it, and return its name as a target; "" for an object without
    one.
    """
    from weakspot.models.hf.loading import quiet

    scheme, path, options = parse_name(name)
    options = {key: value for key, value in options.items() if key not in _OLD}
    if scheme == "hf" and target.folder is not None:
        with quiet():
            trained.save_pretrained(folder)
        shutil.copyfile(target.folder / CONFIG, folder / CONFIG)
        return _named(f"hf:{folder}", options)
    save_weights(trained, folder / WEIGHTS)
    if scheme == "timm" and target.folder is not None:
        shutil.copyfile(target.folder / "config.json", folder / "config.json")
        return _named(f"timm:{folder}", options)
    if scheme == "torchvision":
        labels = folder / "labels.txt"
        save_labels(target.labels, labels)
        own = {"weights": str(folder / WEIGHTS), "labels": str(labels)}
        return _named(f"torchvision:{path}", options | own)
    return ""


def _named(name: str, options: dict[str, str]) -> str:
    return name + (f"?{urlencode(options, safe='/,')}" if options else "")
