"""Adapters of low rank (LoRA, by peft): few numbers are trained, then merged into the weights."""

from __future__ import annotations

from typing import Any

from torch import nn

from weakspot.core import WeakspotError


def need_peft() -> Any:
    """The library, or an error that says how to install it."""
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
            parent = module.get_submodule(name.rpartition(".")[0])
            setattr(parent, name.rpartition(".")[2], layer.base_layer) if not isinstance(
                parent, nn.ModuleDict | nn.Sequential
            ) else parent._modules.__setitem__(name.rpartition(".")[2], layer.base_layer)
    return module
