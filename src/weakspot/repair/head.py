"""The last layer of a classifier: found by itself, or named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from weakspot.core import WeakspotError, nearest
from weakspot.repair.network import logits_of


def last_layer(
    module: nn.Module, batch: torch.Tensor, *, labels: int, name: str = ""
) -> tuple[str, nn.Module]:
    """The layer whose output are the logits, with its name.

    Without a name, the layers that run are watched on one batch: it is the last linear layer (or
    convolution) that has one output per label and whose output is what the module answers.

    Raises:
        WeakspotError: There is none, or none of that name; it says how to name it.
    """
    layers = {key: layer for key, layer in module.named_modules() if isinstance(layer, nn.Linear | nn.Conv2d)}
    if name:
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
        return name, found
    ran: list[tuple[str, Any]] = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, key=key: ran.append((key, out)))
        for key, layer in layers.items()
    ]
    try:
        module.eval()
        with torch.no_grad():
            answer = logits_of(module(batch))
    finally:
        for hook in hooks:
            hook.remove()
    for key, out in reversed(ran):
        flat = out.flatten(1) if isinstance(out, torch.Tensor) else None
        if (
            flat is not None
            and flat.shape == answer.shape
            and answer.shape[1] == labels
            and torch.allclose(flat, answer)
        ):
            return key, layers[key]
    raise WeakspotError(
        "the last layer of the network cannot be found: no linear layer's output is its answer",
        fix=f"name it: --layer NAME; its layers are: {_some(layers) or 'none'}",
    )


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
