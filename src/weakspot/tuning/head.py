"""What of a network is trained: its last layer, found or named; or adapters of low rank (LoRA, by peft)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
    layers = {key: layer for key, layer in module.named_modules() if isinstance(layer, nn.Linear | nn.Conv2d)}
    watched: Mapping[str, nn.Module] = {name: _named(module, name, layers)} if name else layers
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
            given = "no numbers" if said is None else f"{said.shape[1]:,} numbers a picture"
            found = f"gives {given}" if ran else "does not run"
            width = {key: layer.weight.shape[0] for key, layer in layers.items()}
            fitting = [key for key in layers if width[key] == labels]
            raise WeakspotError(
                f"the layer {name[:80]!r} {found}; the last one gives one number per label ({labels})",
                fix=f"choose from: {_some(fitting) or _some(layers) or 'none'}",
            )
        return Head(name, watched[name], said.shape == answer.shape and torch.allclose(said, answer))
    for key, out in reversed(ran):
        flat, wanted = _flat(out), (len(answer), labels)
        if flat is not None and flat.shape == answer.shape == wanted and torch.allclose(flat, answer):
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


def _flat(out: Any) -> torch.Tensor | None:
    return out.flatten(1) if isinstance(out, torch.Tensor) and out.ndim > 1 else None


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


def _some(names: Iterable[str]) -> str:
    """The last few, which are the likely ones."""
    every = [name[:60] for name in names]
    return ("… " if len(every) > 8 else "") + ", ".join(every[-8:])


def need_peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise WeakspotError(f"LoRA needs peft: {error}", fix="pip install 'weakspot[hf]'") from error
    return peft


def adapted(module: nn.Module, *, rank: int, but: nn.Module | None = None) -> nn.Module:
    """The module, changed in place, with an adapter beside each linear layer and convolution except `but`.

    Only adapters are trained. `but` is a layer that shares its weights with another.
    """
    peft = need_peft()
    chosen = [
        name
        for name, layer in module.named_modules()
        if layer is not but
        and (isinstance(layer, nn.Linear) or (isinstance(layer, nn.Conv2d) and layer.groups == 1))
    ]
    if not chosen:
        raise WeakspotError("the network has no linear layer and no convolution", fix="use --method full")
    config = peft.LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=chosen, lora_dropout=0.0)
    found: nn.Module = peft.inject_adapter_in_model(config, module)
    for name, p in found.named_parameters():
        p.requires_grad_("lora_" in name)
    return found


def merged(module: nn.Module) -> nn.Module:
    """The module with its adapters added to the weights, as if there had been none."""
    for name, layer in list(module.named_modules()):
        if hasattr(layer, "base_layer") and hasattr(layer, "merge"):
            layer.merge()
            parent, _, own = name.rpartition(".")
            module.get_submodule(parent)._modules[own] = layer.base_layer
    return module
