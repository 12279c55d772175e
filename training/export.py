"""From a trained module to a small ONNX file: weights kept as 8-bit integers with one scale a row.

onnxruntime turns them back into floats when it loads the file, so running costs nothing extra; what the
rounding costs in quality is in every result, because results are measured on the written files.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn


def save(
    model: nn.Module,
    examples: tuple[torch.Tensor, ...],
    path: Path,
    *,
    inputs: dict[str, dict[int, str]],
    outputs: dict[str, dict[int, str]],
    bits: int = 8,
) -> None:
    """Write a module as ONNX.

    Args:
        model: The module; left on the CPU, in evaluation mode.
        examples: One tensor per input.
        path: Where to.
        inputs: Names, each with its dynamic axes.
        outputs: Likewise.
        bits: 8 or 32 for each weight.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.cpu().float().eval(),
            examples,
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=inputs | outputs,
            opset_version=17,
            dynamo=False,
        )
    if bits == 8:
        shrink(path)
    print(f"{path.name}: {path.stat().st_size / 1e6:.2f} MB", flush=True)


def shrink(path: Path) -> None:
    """Replace every large float weight by integers, a cast and a product, which are folded at load."""
    import onnx
    from onnx import helper, numpy_helper

    FLOAT = onnx.TensorProto.FLOAT  # noqa: N806
    model = onnx.load(path)
    graph = model.graph
    fresh, kept = [], []
    for tensor in graph.initializer:
        weight = numpy_helper.to_array(tensor)
        if weight.dtype != np.float32 or weight.size < 1024 or weight.ndim < 2:
            kept.append(tensor)
            continue
        options = [_round(weight, axis) for axis in range(2 if weight.ndim == 2 else 1)]
        small, scale = min(options, key=lambda o: float(np.abs(o[0] * o[1] - weight).mean()))
        kept += [
            numpy_helper.from_array(small, f"{tensor.name}.int8"),
            numpy_helper.from_array(scale, f"{tensor.name}.scale"),
        ]
        fresh += [
            helper.make_node("Cast", [f"{tensor.name}.int8"], [f"{tensor.name}.cast"], to=FLOAT),
            helper.make_node("Mul", [f"{tensor.name}.cast", f"{tensor.name}.scale"], [tensor.name]),
        ]
    nodes = [*fresh, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    onnx.save(model, path)


def _round(weight: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    others = tuple(i for i in range(weight.ndim) if i != axis)
    scale = np.maximum(np.abs(weight).max(others, keepdims=True), 1e-8).astype(np.float32) / 127
    return np.rint(weight / scale).astype(np.int8), scale


def run_onnx(path: Path, feed: dict[str, np.ndarray], batch: int = 250, threads: int = 0) -> list[np.ndarray]:
    """All outputs of a graph for arrays that share their first axis."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    n = len(next(iter(feed.values())))
    parts = [
        session.run(None, {name: array[i : i + batch] for name, array in feed.items()})
        for i in range(0, n, batch)
    ]
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def write_results(path: Path, results: dict[str, Any]) -> None:
    """Results as JSON, and on the screen without the curve."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps({k: v for k, v in results.items() if k != "curve"}), flush=True)
