"""What the nodes of an ONNX graph do that have no weights, in torch.

An operation takes the node's inputs (None for one that is left out) and its attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.nn import functional as F  # noqa: N812

from weakspot.core import WeakspotError

Operation = Callable[[list[Any], dict[str, Any]], Any]
#: ONNX's numbers of types.
_TYPES: Final = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64,
}  # fmt: skip


def product(x: list[Any], _: dict[str, Any]) -> Any:
    """MatMul, where neither side is a weight."""
    return x[0] @ x[1]


def _given(x: list[Any], i: int, otherwise: Any = None) -> Any:
    return x[i] if len(x) > i and x[i] is not None else otherwise


def _ints(value: Any) -> list[int]:
    return [int(i) for i in (value.tolist() if hasattr(value, "tolist") else value)]


def _slice(x: list[Any], _: dict[str, Any]) -> Any:
    data, starts, ends = x[0], _ints(x[1]), _ints(x[2])
    axes, steps = _ints(_given(x, 3, range(len(starts)))), _ints(_given(x, 4, [1] * len(starts)))
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        long = data.shape[axis]
        stop = end if step > 0 or end > -long - 1 else None
        places = torch.tensor(range(long)[start:stop:step], dtype=torch.int64, device=data.device)
        data = data.index_select(axis, places)
    return data


def _pad(x: list[Any], a: dict[str, Any]) -> Any:
    pads = _ints(x[1])
    if a.get("mode", b"constant") != b"constant":
        raise WeakspotError("the graph pads other than with a constant", fix="name its torch module")
    half, flat = len(pads) // 2, []
    for axis in reversed(range(half)):
        flat += [pads[axis], pads[half + axis]]
    return F.pad(x[0], flat, value=float(_given(x, 2, 0.0)))


def _reshape(x: list[Any], _: dict[str, Any]) -> Any:
    wanted = _ints(x[1])
    return x[0].reshape([x[0].shape[i] if n == 0 else n for i, n in enumerate(wanted)])


def _axes(x: list[Any], a: dict[str, Any]) -> list[int]:
    return _ints(_given(x, 1, a.get("axes", range(x[0].ndim))))


def _keeps(a: dict[str, Any]) -> bool:
    return bool(a.get("keepdims", 1))


def _triangle(x: list[Any], a: dict[str, Any]) -> Any:
    side = torch.triu if a.get("upper", 1) else torch.tril
    return side(x[0], diagonal=int(_given(x, 1, 0)))


def _squeeze(x: list[Any], a: dict[str, Any]) -> Any:
    axes = _ints(_given(x, 1, a.get("axes", [])))
    return x[0].squeeze(tuple(axes)) if axes else x[0].squeeze()


def _unsqueeze(x: list[Any], a: dict[str, Any]) -> Any:
    data = x[0]
    for axis in sorted(_ints(_given(x, 1, a.get("axes")))):
        data = data.unsqueeze(axis)
    return data


def _gather(x: list[Any], a: dict[str, Any]) -> Any:
    axis, places = int(a.get("axis", 0)), x[1]
    if places.ndim == 0:
        return x[0].select(axis, int(places))
    if places.ndim == 1:
        return x[0].index_select(axis, places % x[0].shape[axis])
    return x[0][places]


def _split(x: list[Any], a: dict[str, Any]) -> Any:
    axis = int(a.get("axis", 0))
    sizes = _ints(_given(x, 1, a.get("split", [])))
    return list(x[0].split(sizes or x[0].shape[axis] // a["outputs"], axis))


def _pool(pool: Callable[..., Any]) -> Operation:
    def run(x: list[Any], a: dict[str, Any]) -> Any:
        pads = list(a.get("pads", [0] * 4))
        given, size = x[0], (tuple(a["kernel_shape"]), tuple(a.get("strides", [1, 1])))
        if any(pads) and pool is F.avg_pool2d:
            return pool(given, *size, pads[:2], count_include_pad=bool(a.get("count_include_pad", 0)))
        if any(pads):
            given = F.pad(given, (pads[1], pads[3], pads[0], pads[2]), value=-torch.inf)
        return pool(given, *size)

    return run


def _clip(x: list[Any], a: dict[str, Any]) -> Any:
    ends = _given(x, 1, a.get("min")), _given(x, 2, a.get("max"))
    return x[0].clamp(*(None if end is None else float(end) for end in ends))


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
    zero = _given(x, 2, torch.zeros_like(scale))
    shape = [1] * x[0].ndim
    if scale.ndim == 1:
        shape[axis] = -1
    return (x[0].float() - zero.float().reshape(shape)) * scale.reshape(shape)


#: By the name that ONNX gives an operation.
OPERATIONS: Final[dict[str, Operation]] = {
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
