"""A classifier's ONNX graph as a torch module that can be trained, and back into a graph, without pickles.

Layers with weights become modules of torch, so that they can be found, frozen or given an adapter; what lies
between is carried out node by node. Weights that a graph computes from constants become plain weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from weakspot.core import WeakspotError
from weakspot.tuning.onnx_operations import OPERATIONS, Operation, product


class _Step(NamedTuple):
    """A node: an operation, or the layer of that name."""

    op: Operation | None
    layer: str
    attributes: dict[str, Any]
    inputs: list[str]
    outputs: list[str]


class _Home(NamedTuple):
    """Where a constant of the graph lives: an attribute of a layer, turned or not."""

    layer: str
    attribute: str
    turned: bool


#: The attributes in which layers hold their inputs after the first, in the order of ONNX.
_HELD: Final = ("weight", "bias", "running_mean", "running_var")


class OnnxModule(nn.Module):
    """A classifier read from an ONNX file. Forward takes what the graph takes and gives logits.

    `output` names the output with the scores; by default it is the first.
    """

    def __init__(self, path: Path, *, output: str = "") -> None:
        super().__init__()
        import onnx
        from onnx import numpy_helper

        self._model = onnx.load(str(path), load_external_data=False)
        graph = self._model.graph
        names = {i.name for i in graph.initializer}
        self._input = next(i.name for i in graph.input if i.name not in names)
        constants = {i.name: _tensor(numpy_helper.to_array(i)) for i in graph.initializer}
        steps: list[Any] = []
        for node in graph.node:
            if node.op_type not in OPERATIONS and node.op_type not in _LAYERS:
                raise WeakspotError(
                    f"{path} has the operator {node.op_type[:60]}, which cannot be trained here",
                    fix="name the network it was made from: torch:package.module:attr?weights=FILE",
                )
            inputs = [name for name in node.input if name]
            known = all(name in constants for name in inputs)
            if known and (node.op_type in OPERATIONS or node.op_type == "MatMul"):
                given = [constants.get(name) for name in node.input]
                results = OPERATIONS.get(node.op_type, product)(given, _attributes(node))
                constants.update(zip(node.output, _several(results), strict=False))
            else:
                steps.append(node)
        self.layers = nn.ModuleDict()
        self.weights = nn.ParameterDict()
        self._weights_by: dict[str, str] = {}  # name of a constant → its key in `weights`
        self._homes: dict[str, _Home] = {}  # name of a constant → where its value is by now
        self._steps = [self._step(node, constants) for node in steps]
        wanted = output or graph.output[0].name
        last = next((n for n in steps if wanted in n.output), None)
        self._output = last.input[0] if last is not None and last.op_type == "Softmax" else wanted
        self._constants = constants

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        values: dict[str, Any] = {self._input: images}
        for step in self._steps:
            given = [values[n] if n in values else self._constant(n, images) for n in step.inputs]
            results = step.op(given, step.attributes) if step.op else self.layers[step.layer](given[0])
            values.update(zip(step.outputs, _several(results), strict=False))
            if self._output in step.outputs:
                break
        found: torch.Tensor = values[self._output]
        return found.flatten(1)

    def write(self, path: Path) -> None:
        import onnx
        from onnx import numpy_helper

        changed = onnx.ModelProto()
        changed.CopyFrom(self._model)
        graph = changed.graph
        made = {name for step in self._steps for name in step.outputs}
        kept = [node for node in graph.node if any(name in made for name in node.output)]
        used = {name for node in kept for name in node.input if name} | {o.name for o in graph.output}
        del graph.node[:], graph.initializer[:]
        graph.node.extend(kept)
        for name in sorted(used & set(self._constants)):
            value = self._value(name)
            graph.initializer.append(numpy_helper.from_array(value.detach().cpu().numpy().copy(), name))
        del graph.value_info[:]
        onnx.checker.check_model(changed)
        path.write_bytes(changed.SerializeToString())

    # -- from nodes to steps ---------------------------------------------------------------------------

    def _constant(self, name: str, like: torch.Tensor) -> Any:
        if not name:
            return None
        if name in self._weights_by:
            return self.weights[self._weights_by[name]]
        value = self._constants[name]
        if value.is_floating_point() and value.device != like.device:
            value = self._constants[name] = value.to(like.device)
        return value

    def _value(self, name: str) -> torch.Tensor:
        home = self._homes.get(name)
        if home is None:
            own = self._weights_by.get(name)
            found: torch.Tensor = self._constants[name] if own is None else self.weights[own]
            return found
        layer = self.layers[home.layer]
        value: torch.Tensor = getattr(layer[1] if isinstance(layer, _Padded) else layer, home.attribute)
        return value.T if home.turned else value

    def _step(self, node: Any, constants: dict[str, Any]) -> _Step:
        """A module is named, not held: a copy of the whole must use its own."""
        attributes, inputs, outputs = _attributes(node), list(node.input), list(node.output)
        weight = constants.get(inputs[1]) if node.op_type in _LAYERS else None
        if weight is not None and (node.op_type != "MatMul" or weight.ndim == 2):
            key = self._key(node)
            self.layers[key] = _LAYERS[node.op_type]([constants.get(name) for name in inputs[1:]], attributes)
            turned = node.op_type in ("Gemm", "MatMul") and not attributes.get("transB", 0)
            for name, attribute in zip(inputs[1:], _HELD, strict=False):
                if name:
                    self._homes[name] = _Home(key, attribute, turned and attribute == "weight")
            return _Step(None, key, attributes, inputs[:1], outputs)
        if node.op_type == "Add":
            for name in inputs:
                value = constants.get(name)
                if value is not None and value.is_floating_point() and value.numel() > 1:
                    key = re.sub(r"\W", "_", name)
                    self.weights[key], self._weights_by[name] = nn.Parameter(value.clone()), key
        return _Step(OPERATIONS.get(node.op_type, product), "", attributes, inputs, outputs)

    def _key(self, node: Any) -> str:
        own = node.input[1].removesuffix(".weight")
        if own == node.input[1] or not re.fullmatch(r"[\w.]+", own):
            own = next((p for p in node.name.split("/")[-2:-1] if re.fullmatch(r"[\w.]+", p)), "layer")
        key = own.replace(".", "_")
        return key if key not in self.layers else f"{key}_{len(self.layers)}"


def _tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))


def _several(results: Any) -> Sequence[Any]:
    return results if isinstance(results, list | tuple) else [results]


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper, numpy_helper

    found = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in ("Constant", "ConstantOfShape") and "value" in found:
        found["value"] = _tensor(numpy_helper.to_array(found["value"]))
    found["outputs"] = len(node.output)
    return found


# -- layers with weights ---------------------------------------------------------------------------


class _Padded(nn.Sequential):
    """A convolution whose padding differs from side to side."""


def _bias(weights: list[Any]) -> Any:
    return weights[1] if len(weights) > 1 else None


def _conv(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    weight, bias = weights[0], _bias(weights)
    kernel, group = list(weight.shape[2:]), int(a.get("group", 1))
    strides, dilations = list(a.get("strides", [1, 1])), list(a.get("dilations", [1, 1]))
    pads = list(a.get("pads", [0] * 4))
    auto = a.get("auto_pad", b"NOTSET").decode()
    if weight.ndim != 4 or auto in ("SAME_UPPER", "SAME_LOWER"):
        what = "a convolution of the graph is of a kind that cannot be trained here"
        raise WeakspotError(what, fix="name its torch module")
    even = pads[:2] == pads[2:]
    layer = nn.Conv2d(
        weight.shape[1] * group, weight.shape[0], tuple(kernel), tuple(strides),
        (pads[0], pads[1]) if even else 0, tuple(dilations), group, bias is not None,
    )  # fmt: skip
    _fill(layer, weight, bias)
    return layer if even else _Padded(nn.ZeroPad2d((pads[1], pads[3], pads[0], pads[2])), layer)


def _gemm(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    if a.get("transA", 0) or a.get("alpha", 1.0) != 1.0 or a.get("beta", 1.0) != 1.0:
        what = "a linear layer of the graph is scaled, which cannot be trained here"
        raise WeakspotError(what, fix="name its torch module")
    weight, bias = weights[0] if a.get("transB", 0) else weights[0].T, _bias(weights)
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias is not None)
    _fill(layer, weight, bias)
    return layer


def _normal(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    scale, bias, mean, var = weights[:4]
    layer = nn.BatchNorm2d(len(scale), eps=float(a.get("epsilon", 1e-5)))
    _fill(layer, scale, bias)
    layer.running_mean, layer.running_var = mean.clone(), var.clone()
    return layer


def _layer_norm(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    bias = _bias(weights)
    layer = nn.LayerNorm(tuple(weights[0].shape), eps=float(a.get("epsilon", 1e-5)), bias=bias is not None)
    _fill(layer, weights[0], bias)
    return layer


def _fill(layer: Any, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias.reshape(layer.bias.shape))


_LAYERS: Final[dict[str, Callable[[list[Any], dict[str, Any]], nn.Module]]] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _gemm,
    "BatchNormalization": _normal,
    "LayerNormalization": _layer_norm,
}
