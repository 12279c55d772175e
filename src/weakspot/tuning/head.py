"""The last layer of a classifier: found by itself, or named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from weakspot.core import WeakspotError, nearest
from weakspot.tuning.network import logits_of


class Head(NamedTuple):
    """The last layer of a classifier; `answers` where its output is what the network answers.

    If not, the network computes something after it (a softmax, a temperature), and all of it must be run.
    """

    name: str
    layer: nn.Module
    answers: bool


def last_layer(module: nn.Module, batch: torch.Tensor, *, labels: int, name: str = "") -> Head:
    """The layer with one output per label: the one named, or the last linear or convolutional layer whose
    output on one batch is what the module answers. The error says how to name it.
    """
    layers: dict[str, nn.Module] = {
        key: layer for key, layer in module.named_modules() if isinstance(layer, nn.Linear | nn.Conv2d)
    }
    watched = layers
    if name:
        watched = {name: _named(module, name, layers)}
    ran: list[tuple[str, Any]] = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, key=key: ran.append((key, out)))
        for key, layer in watched.items()
    ]
    try:
        module.eval()
        with torch.no_grad():
            answer = logits_of(module(batch))
    finally:
        for hook in hooks:
            hook.remove()
    if name:
        said = _flat(ran[-1][1]) if ran else None
        if said is None or said.shape != (len(batch), labels):
            found = "does not run" if not ran else f"gives {'no numbers' if said is None else _many(said)}"
            raise WeakspotError(
                f"the layer {name[:80]!r} {found}; the last one gives one number per label ({labels})",
                fix=f"choose from: {_some(_fitting(layers, labels)) or _some(layers) or 'none'}",
            )
        return Head(name, watched[name], said.shape == answer.shape and torch.allclose(said, answer))
    for key, out in reversed(ran):
        flat = _flat(out)
        if (
            flat is not None
            and flat.shape == answer.shape
            and answer.shape[1] == labels
            and torch.allclose(flat, answer)
        ):
            return Head(key, layers[key], answers=True)
    raise WeakspotError(
        "the last layer of the network cannot be found: no linear layer's output is its answer",
        fix=f"name it: --layer NAME; its layers are: {_some(layers) or 'none'}",
    )


def _named(module: nn.Module, name: str, layers: Mapping[str, nn.Module]) -> nn.Module:
    try:
        found = module.get_submodule(name)
    except AttributeError:
        hint = nearest(name, layers)
        raise WeakspotError(
            f"the network has no layer {name[:80]!r}", fix=hint or f"its layers are: {_some(layers)}"
        ) from None
    if not list(found.parameters()):
        raise WeakspotError(
            f"the layer {name[:80]!r} has nothing to train", fix=f"choose from: {_some(layers)}"
        )
    return found


def _fitting(layers: Mapping[str, nn.Module], labels: int) -> dict[str, nn.Module]:
    """Those with one output per label."""
    wide = {
        key: getattr(layer, "out_features", getattr(layer, "out_channels", 0))
        for key, layer in layers.items()
    }
    return {key: layers[key] for key, width in wide.items() if width == labels}


def _flat(out: Any) -> torch.Tensor | None:
    return out.flatten(1) if isinstance(out, torch.Tensor) and out.ndim > 1 else None


def _many(said: torch.Tensor) -> str:
    return f"{said.shape[1]:,} numbers a picture"


def reaching(module: nn.Module, head: nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    """What reaches the last layer; the layers before it do not change."""
    seen: list[torch.Tensor] = []

    def features(batch: torch.Tensor) -> torch.Tensor:
        hook = head.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
        try:
            with torch.no_grad():
                module(batch)
        finally:
            hook.remove()
        return seen.pop()

    return features


def _some(names: Mapping[str, Any]) -> str:
    """The last few, which are the likely ones."""
    kept = [name[:60] for name in list(names)[-8:]]
    return ("… " if len(names) > 8 else "") + ", ".join(kept)
