"""A classifier's ONNX graph as a torch module that can be trained, and back into a graph: no pickles on the
way.

Layers with weights (Conv, Gemm, MatMul, normalisations) become modules of torch, so that the last one can
be found, frozen or given an adapter as in any other network; what lies between is carried out node by node.
Weights that a graph computes from constants (8-bit numbers times a scale) are computed once and become
plain weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from weakspot.core import WeakspotError

_Op = Callable[[list[Any], dict[str, Any]], Any]
#: ONNX's numbers of types.
_TYPES: Final = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64,
}  # fmt: skip


class _Step(NamedTuple):
    """A node: an operation, or the layer of that name."""

    op: _Op | None
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

    Args:
        path: The file.
        output: Which output has the scores; by default the first.

    Raises:
        WeakspotError: It has an operator that is not known here.
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
            if node.op_type not in _OPS and node.op_type not in _LAYERS:
                raise WeakspotError(
                    f"{path} has the operator {node.op_type[:60]}, which cannot be trained here",
                    fix="name the network it was made from: torch:package.module:attr?weights=FILE",
                )
            inputs = [name for name in node.input if name]
            known = all(name in constants for name in inputs)
            if known and (node.op_type in _OPS or node.op_type == "MatMul"):
                given = [constants.get(name) for name in node.input]
                results = _OPS.get(node.op_type, _product)(given, _attributes(node))
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
        """Logits (n, labels)."""
        values: dict[str, Any] = {self._input: images}
        for step in self._steps:
            given = [values[n] if n in values else self._constant(n, images) for n in step.inputs]
            results = (
                self.layers[step.layer](given[0]) if step.op is None else step.op(given, step.attributes)
            )
            values.update(zip(step.outputs, _several(results), strict=False))
            if self._output in step.outputs:
                break
        found: torch.Tensor = values[self._output]
        return found.flatten(1)

    def write(self, path: Path) -> None:
        """Write the graph with the weights as they are now; checked by ONNX's own checker."""
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
        if name not in self._homes:
            own = self._weights_by.get(name)
            found: torch.Tensor = self._constants[name] if own is None else self.weights[own]
            return found
        home = self._homes[name]
        layer = self.layers[home.layer]
        value: torch.Tensor = getattr(layer[1] if isinstance(layer, _Padded) else layer, home.attribute)
        return value.T if home.turned else value

    def _step(self, node: Any, constants: dict[str, Any]) -> _Step:
        """A module is named, not held: a copy of the whole must use its own."""
        attributes, inputs, outputs = _attributes(node), list(node.input), list(node.output)
        if (
            node.op_type in _LAYERS
            and inputs[1] in constants
            and (node.op_type != "MatMul" or constants[inputs[1]].ndim == 2)
        ):
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
        return _Step(_OPS.get(node.op_type, _product), "", attributes, inputs, outputs)

    def _key(self, node: Any) -> str:
        own = node.input[1].removesuffix(".weight")
        if own == node.input[1] or not re.fullmatch(r"[\w.]+", own):
            own = (
                next((part for part in node.name.split("/")[-2:-1] if re.fullmatch(r"[\w.]+", part)), "")
                or "layer"
            )
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


def _conv(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    weight, bias = weights[0], weights[1] if len(weights) > 1 else None
    kernel, group = list(weight.shape[2:]), int(a.get("group", 1))
    strides, dilations = list(a.get("strides", [1, 1])), list(a.get("dilations", [1, 1]))
    pads = list(a.get("pads", [0] * 4))
    auto = a.get("auto_pad", b"NOTSET").decode()
    if weight.ndim != 4 or auto in ("SAME_UPPER", "SAME_LOWER"):
        raise WeakspotError(
            "a convolution of the graph is of a kind that cannot be trained here", fix="name its torch module"
        )
    even = pads[:2] == pads[2:]
    layer = nn.Conv2d(
        weight.shape[1] * group, weight.shape[0], tuple(kernel), tuple(strides),
        (pads[0], pads[1]) if even else 0, tuple(dilations), group, bias is not None,
    )  # fmt: skip
    _fill(layer, weight, bias)
    return layer if even else _Padded(nn.ZeroPad2d((pads[1], pads[3], pads[0], pads[2])), layer)


def _gemm(weights: list[Any], a: dict[str, Any]) -> nn.Module:
    if a.get("transA", 0) or a.get("alpha", 1.0) != 1.0 or a.get("beta", 1.0) != 1.0:
        raise WeakspotError(
            "a linear layer of the graph is scaled, which cannot be trained here", fix="name its torch module"
        )
    turned, bias = bool(a.get("transB", 0)), weights[1] if len(weights) > 1 else None
    weight = weights[0] if turned else weights[0].T
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
    bias = weights[1] if len(weights) > 1 else None
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

# -- everything else -------------------------------------------------------------------------------


def _product(x: list[Any], _: dict[str, Any]) -> Any:
    return x[0] @ x[1]


def _ints(value: Any) -> list[int]:
    return [int(i) for i in (value.tolist() if hasattr(value, "tolist") else value)]


def _slice(x: list[Any], _: dict[str, Any]) -> Any:
    data, starts, ends = x[0], _ints(x[1]), _ints(x[2])
    axes = _ints(x[3]) if len(x) > 3 and x[3] is not None else list(range(len(starts)))
    steps = _ints(x[4]) if len(x) > 4 and x[4] is not None else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        long = data.shape[axis]
        if step > 0:
            places = torch.arange(*slice(start, end, step).indices(long), device=data.device)
        else:
            places = torch.tensor(
                list(range(long))[slice(start, end if end > -long - 1 else None, step)], device=data.device
            )
        data = data.index_select(axis, places)
    return data


def _pad(x: list[Any], a: dict[str, Any]) -> Any:
    pads = _ints(x[1])
    if a.get("mode", b"constant") != b"constant":
        raise WeakspotError("the graph pads other than with a constant", fix="name its torch module")
    half, flat = len(pads) // 2, []
    for axis in reversed(range(half)):
        flat += [pads[axis], pads[half + axis]]
    return F.pad(x[0], flat, value=float(x[2]) if len(x) > 2 and x[2] is not None else 0.0)


def _reshape(x: list[Any], _: dict[str, Any]) -> Any:
    wanted = _ints(x[1])
    return x[0].reshape([x[0].shape[i] if n == 0 else n for i, n in enumerate(wanted)])


def _axes(x: list[Any], a: dict[str, Any]) -> list[int]:
    return _ints(x[1]) if len(x) > 1 and x[1] is not None else list(a.get("axes", range(x[0].ndim)))


def _keeps(a: dict[str, Any]) -> bool:
    return bool(a.get("keepdims", 1))


def _triangle(x: list[Any], a: dict[str, Any]) -> Any:
    side = torch.triu if a.get("upper", 1) else torch.tril
    return side(x[0], diagonal=int(x[1]) if len(x) > 1 and x[1] is not None else 0)


def _squeeze(x: list[Any], a: dict[str, Any]) -> Any:
    axes = _ints(x[1]) if len(x) > 1 else list(a.get("axes", []))
    return x[0].squeeze(tuple(axes)) if axes else x[0].squeeze()


def _unsqueeze(x: list[Any], a: dict[str, Any]) -> Any:
    data = x[0]
    for axis in sorted(_ints(x[1]) if len(x) > 1 else list(a["axes"])):
        data = data.unsqueeze(axis)
    return data


def _gather(x: list[Any], a: dict[str, Any]) -> Any:
    axis, places = int(a.get("axis", 0)), x[1]
    if places.ndim == 0:
        return x[0].select(axis, int(places))
    return (
        torch.stack([x[0].select(axis, int(i)) for i in places.flatten()], axis)
        if places.ndim == 1
        else x[0][places]
    )


def _split(x: list[Any], a: dict[str, Any]) -> Any:
    axis = int(a.get("axis", 0))
    sizes = _ints(x[1]) if len(x) > 1 and x[1] is not None else list(a.get("split", []))
    return list(x[0].split(sizes or x[0].shape[axis] // a["outputs"], axis))


def _pool(pool: Callable[..., Any]) -> _Op:
    def run(x: list[Any], a: dict[str, Any]) -> Any:
        pads = list(a.get("pads", [0] * 4))
        given = (
            F.pad(x[0], (pads[1], pads[3], pads[0], pads[2]), value=-torch.inf)
            if any(pads) and pool is F.max_pool2d
            else x[0]
        )
        if any(pads) and pool is F.avg_pool2d:
            return pool(given, tuple(a["kernel_shape"]), tuple(a.get("strides", [1, 1])), (pads[0], pads[1]),
                        count_include_pad=bool(a.get("count_include_pad", 0)))  # fmt: skip
        return pool(given, tuple(a["kernel_shape"]), tuple(a.get("strides", [1, 1])))

    return run


def _clip(x: list[Any], a: dict[str, Any]) -> Any:
    low = x[1] if len(x) > 1 and x[1] is not None else a.get("min")
    high = x[2] if len(x) > 2 and x[2] is not None else a.get("max")
    return x[0].clamp(None if low is None else float(low), None if high is None else float(high))


def _constant(_: list[Any], a: dict[str, Any]) -> Any:
    if "value" in a:
        return a["value"]
    found = next((a[k] for k in ("value_float", "value_floats", "value_int", "value_ints") if k in a), None)
    if found is None:
        raise WeakspotError(
            "a constant of the graph is neither number nor tensor", fix="name its torch module"
        )
    return torch.tensor(found)


def _filled(x: list[Any], a: dict[str, Any]) -> Any:
    value = a.get("value", torch.zeros(1))
    return torch.full(_ints(x[0]), value.item(), dtype=value.dtype)


def _quantised(x: list[Any], a: dict[str, Any]) -> Any:
    scale, axis = x[1], int(a.get("axis", 1))
    zero = x[2] if len(x) > 2 and x[2] is not None else torch.zeros_like(scale)
    shape = [1] * x[0].ndim
    if scale.ndim == 1:
        shape[axis] = -1
    return (x[0].float() - zero.float().reshape(shape)) * scale.reshape(shape)


_OPS: Final[dict[str, _Op]] = {
    "Add": lambda x, _: x[0] + x[1],
    "AveragePool": _pool(F.avg_pool2d),
    "Cast": lambda x, a: x[0].to(_TYPES[a["to"]]),
    "Clip": _clip,
    "Concat": lambda x, a: torch.cat(list(x), int(a["axis"])),
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "DequantizeLinear": _quantised,
    "Div": lambda x, _: x[0] / x[1] if x[0].is_floating_point() else x[0] // x[1],
    "Equal": lambda x, _: x[0] == x[1],
    "Erf": lambda x, _: torch.erf(x[0]),
    "Exp": lambda x, _: x[0].exp(),
    "Expand": lambda x, _: x[0] * torch.ones(_ints(x[1]), dtype=x[0].dtype, device=x[0].device),
    "Flatten": lambda x, a: x[0].flatten(int(a.get("axis", 1))),
    "Gather": _gather,
    "Gelu": lambda x, a: F.gelu(x[0], approximate=a.get("approximate", b"none").decode()),
    "GlobalAveragePool": lambda x, _: x[0].mean((2, 3), keepdim=True),
    "HardSigmoid": lambda x, a: (x[0] * a.get("alpha", 0.2) + a.get("beta", 0.5)).clamp(0, 1),
    "HardSwish": lambda x, _: F.hardswish(x[0]),
    "Identity": lambda x, _: x[0],
    "LeakyRelu": lambda x, a: F.leaky_relu(x[0], a.get("alpha", 0.01)),
    "MaxPool": _pool(F.max_pool2d),
    "Mul": lambda x, _: x[0] * x[1],
    "Pad": _pad,
    "Pow": lambda x, _: x[0] ** x[1],
    "ReduceL2": lambda x, a: torch.linalg.vector_norm(x[0], dim=_axes(x, a), keepdim=_keeps(a)),
    "ReduceMean": lambda x, a: x[0].mean(_axes(x, a), keepdim=_keeps(a)),
    "ReduceSum": lambda x, a: x[0].sum(_axes(x, a), keepdim=_keeps(a)),
    "Relu": lambda x, _: F.relu(x[0]),
    "Reshape": _reshape,
    "Shape": lambda x, _: torch.tensor(x[0].shape),
    "Sigmoid": lambda x, _: x[0].sigmoid(),
    "Slice": _slice,
    "Softmax": lambda x, a: x[0].softmax(int(a.get("axis", -1))),
    "Split": _split,
    "Sqrt": lambda x, _: x[0].sqrt(),
    "Squeeze": _squeeze,
    "Sub": lambda x, _: x[0] - x[1],
    "Tanh": lambda x, _: x[0].tanh(),
    "Transpose": lambda x, a: x[0].permute(list(a["perm"])) if "perm" in a else x[0].T,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueeze,
    "Where": lambda x, _: torch.where(x[0], x[1], x[2]),
}  # fmt: skip
