"""ONNX graphs of the world's classifiers on a GPU, where onnxruntime was built without one.

Only the operations that these graphs have; `run_onnx` of export.py is the reference (tested).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch.nn import functional as F


class OnDevice:
    """A graph with one input, its operations done by torch.

    Args:
        path: The ONNX file.
        device: "cuda" or "cpu".
    """

    def __init__(self, path: Path, device: str) -> None:
        graph = onnx.load(path).graph
        self.device = device
        self.nodes = [self._node(node) for node in graph.node if node.op_type != "Constant"]
        self.input, self.outputs = graph.input[0].name, [o.name for o in graph.output]
        arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
        constants = [node for node in graph.node if node.op_type == "Constant"]
        arrays |= {node.output[0]: numpy_helper.to_array(node.attribute[0].t) for node in constants}
        self.known: dict[str, Any] = {"": None}
        for name, array in arrays.items():  # whole numbers are places and axes, which Python reads
            value = torch.tensor(array)
            self.known[name] = value if value.dtype == torch.int64 else value.to(device)

    @staticmethod
    def _node(node: Any) -> tuple[Callable[..., Any], list[str], str, dict[str, Any]]:
        settings = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        return OPERATIONS[node.op_type], list(node.input), node.output[0], settings

    @torch.inference_mode()
    def __call__(self, images: np.ndarray, batch: int = 2_000) -> list[np.ndarray]:
        """All outputs for pictures, uint8 (n, edge, edge, 3)."""
        parts = []
        for start in range(0, len(images), batch):
            some = torch.from_numpy(images[start : start + batch]).to(self.device)
            values = self.known | {self.input: some.permute(0, 3, 1, 2).float() / 255}
            for operation, names, out, how in self.nodes:
                values[out] = operation(*(values[name] for name in names), **how)
            parts.append([values[name].cpu().numpy() for name in self.outputs])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _conv(x: Any, w: Any, b: Any = None, **how: Any) -> Any:
    top, left, bottom, right = how.get("pads", [0, 0, 0, 0])
    if (top, left) != (bottom, right):
        x, top, left = F.pad(x, (left, right, top, bottom)), 0, 0
    return F.conv2d(x, w, b, how.get("strides", [1, 1]), (top, left), 1, how.get("group", 1))


def _gemm(a: Any, b: Any, c: Any = 0, **how: Any) -> Any:
    return (a.T if how.get("transA") else a) @ (b.T if how.get("transB") else b) + c


def _slice(x: Any, starts: Any, ends: Any, axes: Any, steps: Any = None) -> Any:
    for i, (start, end, axis) in enumerate(zip(starts.tolist(), ends.tolist(), axes.tolist(), strict=True)):
        step = int(steps[i]) if steps is not None else 1
        if step < 0:  # torch has no negative steps; these graphs only turn a whole axis round
            x = x.flip(axis)
        else:
            x = x[(slice(None),) * (axis % x.dim()) + (slice(start, end, step),)]
    return x


def _mean(x: Any, axes: Any, **how: Any) -> Any:
    return x.mean([int(axis) for axis in axes], bool(how.get("keepdims", 1)))


#: numpy's kinds of number by ONNX's numbers.
_KINDS = {1: torch.float32, 6: torch.int32, 7: torch.int64, 10: torch.float16}
OPERATIONS: dict[str, Callable[..., Any]] = {
    "Add": lambda a, b: a + b,
    "BatchNormalization": lambda x, w, b, mean, var, epsilon=1e-5, **_: F.batch_norm(
        x, mean, var, w, b, eps=epsilon
    ),
    "Cast": lambda x, to: x.to(_KINDS[to]),
    "Concat": lambda *xs, axis: torch.cat(xs, axis),
    "Conv": lambda *a, **how: _conv(*a, **{k: v for k, v in how.items() if k != "kernel_shape"}),
    "Div": lambda a, b: a / b,
    "Flatten": lambda x, axis=1: x.flatten(axis),
    "Gather": lambda x, index, axis=0: x.index_select(axis, index.to(x.device)),
    "Gemm": _gemm,
    "Identity": lambda x: x,
    "MatMul": lambda a, b: a @ b,
    "Mul": lambda a, b: a * b,
    "ReduceMean": _mean,
    "Relu": F.relu,
    "Slice": _slice,
    "Sub": lambda a, b: a - b,
}
