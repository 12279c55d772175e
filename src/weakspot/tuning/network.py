"""A classifier that can be trained: its torch module, what it is given, how it is kept.

Whatever was mapped or hunted, an ONNX file, the world's own classifier, a torch module or a classifier of a
library, becomes a `Network`, and a repaired network is again something that a name names.
"""

from __future__ import annotations

import copy
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import numpy as np
import torch
from torch import nn

from weakspot.core import Case, Output, Scores, WeakspotError, nearest, parse_name
from weakspot.models.compute import Batches, Compiled, autocast, choose_device, computing
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.models.pictures import stack_images, to_probabilities
from weakspot.models.preprocess import CONFIG
from weakspot.models.torch.classifier import ImageClassifier

#: Pictures that are shown at once where nothing is learnt.
SHOWN: Final = 256
#: The least probability that a logarithm is taken of.
LEAST: Final = 1e-7
#: How to name what can be trained.
HOW: Final = (
    "name it as onnx:FILE.onnx?labels=…, hf:FOLDER or torch:package.module:attr?weights=…&labels=…, "
    "or use --method data"
)

_WEIGHTS: Final = "model.safetensors"
#: Options that are of the old weights.
_OLD: Final = ("revision", "pickle", "weights")


@dataclass(eq=False)
class Network:
    """A classifier as torch sees it.

    `module` goes from what `prepare` makes of RGB pictures (uint8) to logits (n, labels), or to probabilities
    where `odds` is false. `keep` writes its weights to a folder and returns their name as a target. `batches`
    says how many pictures are shown at once where nothing is learnt, and `compiled` is then asked instead.
    """

    name: str
    module: nn.Module
    labels: tuple[str, ...]
    prepare: Callable[[Sequence[Any]], torch.Tensor]
    keep: Callable[[nn.Module, Path], str]
    parents: Mapping[str, str] = field(default_factory=dict)
    device: str = "cpu"
    dtype: str = "float32"
    batches: Batches | None = None
    compiled: Compiled | None = None
    odds: bool = True

    def logits(self, images: Sequence[Any]) -> torch.Tensor:
        self.module.eval()
        batches = self.batches or Batches("", SHOWN, device=self.device)
        with torch.no_grad():
            return torch.cat(batches.run(images, self._some))

    def _some(self, images: Sequence[Any]) -> torch.Tensor:
        pixels = self.prepare(images).to(self.device)
        if self.device.startswith("cuda") and pixels.ndim == 4:
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        with computing(self.device), autocast(self.device, self.dtype):
            return logits_of((self.compiled or self.module)(pixels)).float().cpu()

    def look(self, batch: torch.Tensor) -> None:
        self.module.eval()
        with torch.no_grad():
            said = logits_of(self.module(batch)).float()
        self.odds = bool((said < 0).any() or ((said.sum(1) - 1).abs() > 1e-3).any())

    def read(self, answer: Any) -> torch.Tensor:
        """Logits from what the module returned, so that answers are compared on one scale."""
        said = logits_of(answer)
        return said if self.odds else said.clamp(min=LEAST).log()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        if not cases:
            return []
        values = to_probabilities(self.logits([case.input for case in cases]).numpy(), len(self.labels))
        return [Output(self.labels[int(row.argmax())], Scores(self.labels, row)) for row in values]

    def to(self, device: str) -> Network:
        """Move it: "cpu", "cuda", or "auto"."""
        self.device = choose_device(device)
        self.module = self.module.to(self.device)
        return self


def logits_of(answer: Any) -> torch.Tensor:
    """The logits in what a module returned: a tensor, the first of several, or `.logits` of it."""
    found = getattr(answer, "logits", answer)
    found = found[0] if isinstance(found, list | tuple) else found
    if not isinstance(found, torch.Tensor):
        what = f"the module answers with {type(found).__name__}, not with logits"
        raise WeakspotError(what, fix="return a tensor (n, labels)")
    return found.flatten(1)


def network_of(target: Any, *, name: str) -> Network:
    """The network behind a target, or an error if it cannot be trained."""
    from weakspot.tuning.torch_model import TorchClassifier

    if isinstance(target, Network):
        return target
    if isinstance(target, ImageClassifier):
        return _of_library(target, name)
    if isinstance(target, TorchClassifier):
        return target.network(name)
    if isinstance(target, OnnxClassifier):
        return _of_onnx(target, name)
    raise WeakspotError(
        f"{name[:200]} cannot be trained here: it is not a network of torch, of one of its "
        f"libraries or of ONNX",
        fix=HOW,
    )


def _of_onnx(target: OnnxClassifier, name: str) -> Network:
    from weakspot.tuning.onnx_module import OnnxModule

    path, takes, gives = target.graph.path, target._takes, target._gives
    try:
        module = OnnxModule(path, output=gives.name)
    except ImportError as error:
        what = f"reading {path} needs a library: {error}"
        raise WeakspotError(what, fix="pip install 'weakspot[torch]'") from error
    scale, shift = target._scale, target._shift

    def prepare(images: Sequence[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(target._prepare(stack_images(images, takes.size))))

    def keep(trained: nn.Module, folder: Path) -> str:
        assert isinstance(trained, OnnxModule)  # noqa: S101 (it is the one from above)
        file, labels = folder / "model.onnx", folder / "labels.txt"
        trained.write(file)
        save_labels(target.labels, labels)
        options = {"labels": str(labels), "output": gives.name}
        if takes.dtype != np.uint8 and (shift.any() or not np.allclose(scale * 255, 1)):
            std = 1 / (255 * scale.ravel())
            options["std"] = ",".join(f"{float(s):.9g}" for s in std)
            options["mean"] = ",".join(f"{float(m):.9g}" for m in shift.ravel() * std)
        return f"onnx:{file}?{urlencode(options, safe='/,')}"

    network = Network(name, module.eval(), target.labels, prepare, keep, target.parents)
    _same(network, target, takes.size or (64, 64))
    return network


def _same(network: Network, target: OnnxClassifier, size: tuple[int, int]) -> None:
    """Refuse a module that does not answer as the file does."""
    noise = np.random.default_rng(0).integers(0, 256, (4, *size, 3), np.uint8)
    shown: list[Any] = [SimpleNamespace(input=image) for image in noise]  # what a target looks at of a case
    wanted = np.stack([o.scores.values for o in target.answer(shown) if o.scores is not None])
    got = np.stack([o.scores.values for o in network.answer(shown) if o.scores is not None])
    if not np.allclose(wanted, got, atol=1e-3):
        raise WeakspotError(
            f"{network.name[:200]}, read as a torch module, does not answer as the file does "
            f"(probabilities differ by {np.abs(wanted - got).max():.3g})",
            fix=HOW,
        )


def _of_library(target: ImageClassifier, name: str) -> Network:
    """A copy that can be trained; an error for TorchScript, whose layers cannot be changed."""
    module: Any = target.network.module if isinstance(target.network, Compiled) else target.network
    if isinstance(module, torch.jit.ScriptModule):
        raise WeakspotError(f"{name[:200]} cannot be trained here: it is a TorchScript file", fix=HOW)
    own = copy.deepcopy(module).to("cpu").float().eval()

    def prepare(images: Sequence[Any]) -> torch.Tensor:
        return torch.from_numpy(target.prepare(images)).float()

    keep = partial(_kept, target=target, name=name)
    return Network(name, own, target.labels, prepare, keep, target.parents)


def _kept(trained: Any, folder: Path, *, target: ImageClassifier, name: str) -> str:
    """Write a classifier as its library reads it, as safetensors; its name as a target, "" if it has none."""
    from weakspot.models.hf.loading import quiet

    scheme, path, options = parse_name(name)
    options = {key: value for key, value in options.items() if key not in _OLD}
    if scheme == "hf" and target.folder is not None:
        with quiet():
            trained.save_pretrained(folder)
        shutil.copyfile(target.folder / CONFIG, folder / CONFIG)
        return _named(f"hf:{folder}", options)
    save_weights(trained, folder / _WEIGHTS)
    if scheme == "timm" and target.folder is not None:
        shutil.copyfile(target.folder / "config.json", folder / "config.json")
        return _named(f"timm:{folder}", options)
    if scheme == "torchvision":
        labels = folder / "labels.txt"
        save_labels(target.labels, labels)
        own = {"weights": str(folder / _WEIGHTS), "labels": str(labels)}
        return _named(f"torchvision:{path}", options | own)
    return ""


def _named(name: str, options: dict[str, str]) -> str:
    return name + (f"?{urlencode(options, safe='/,')}" if options else "")


def save_weights(module: nn.Module, path: Path) -> None:
    from safetensors.torch import save_file

    save_file({k: v.detach().cpu().contiguous().clone() for k, v in module.state_dict().items()}, str(path))


def save_labels(labels: Sequence[str], path: Path) -> None:
    path.write_text("".join(f"{label}\n" for label in labels), "utf-8")


def digest_of(module: nn.Module) -> str:
    found = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        found.update(key.encode())
        found.update(value.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


# -- what of it is trained: its last layer, found or named; or adapters of low rank (LoRA, by peft) -----


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
    watched: Mapping[str, nn.Module] = {name: _layer_named(module, name, layers)} if name else layers
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
            fitting = [key for key, layer in layers.items() if layer.weight.shape[0] == labels]
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


def _layer_named(module: nn.Module, name: str, layers: Mapping[str, nn.Module]) -> nn.Module:
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
