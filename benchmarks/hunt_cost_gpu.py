"""`hunt_cost.py` with the neural generator, on one GPU: each pair in a process of its own.

    python benchmarks/hunt_cost_gpu.py --json cost.json [--budget 30000] [--most 30000] [--probe 400]

The generator draws on the GPU. So that its pictures do not wait for the processor, the classifier and the
verifier run there too, as the same networks in torch (`OnTorch`, a few lines that read the ONNX files);
`--check` compares them with onnxruntime. Pairs are written as they are finished, so that a run that is
stopped keeps what it has.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.hunt_cost import HEADLINE, Pair, Plan

from benchmarks import hunt_cost, hunt_cost_show
from weakspot.models.onnx import graph as onnx_graph

#: Networks that run in torch.
MOVED: Final = ("classifier.onnx", "classifier-fair.onnx")


class OnTorch:
    """An ONNX graph of the world's classifiers, run by torch. It stands in for onnxruntime's session."""

    def __init__(self, path: Path, device: str = "cuda") -> None:
        import onnx
        import torch

        model = onnx.load(path)
        self._torch, self._device, self._nodes = torch, device, list(model.graph.node)
        self._names = [tensor.name for tensor in model.graph.output]
        self._known = {
            one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()).to(device)
            for one in model.graph.initializer
        }

    def run(self, names: Sequence[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        torch = self._torch
        # As precise as onnxruntime, here alone: the generator may round.
        with torch.inference_mode(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            values = dict(self._known)
            values |= {name: torch.from_numpy(array).to(self._device) for name, array in feed.items()}
            for node in self._nodes:
                given: list[Any] = [values[name] if name else None for name in node.input]
                values[node.output[0]] = self._result(node, given)
            return [values[name].cpu().numpy() for name in names or self._names]

    def _result(self, node: Any, given: list[Any]) -> Any:
        import onnx

        torch = self._torch
        said = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        first: Any = given[0] if given else None
        rest: list[Any] = given[1:]
        match node.op_type:
            case "Constant":
                return torch.from_numpy(np.asarray(onnx.numpy_helper.to_array(said["value"])).copy()).to(
                    self._device
                )
            case "Conv":
                pads = said.get("pads", [0, 0, 0, 0])
                first = torch.nn.functional.pad(first, (pads[1], pads[3], pads[0], pads[2]))
                bias = rest[1] if len(rest) > 1 else None
                strides = said.get("strides", [1, 1])
                return torch.nn.functional.conv2d(
                    first, rest[0], bias, strides, 0, said.get("dilations", [1, 1]), said.get("group", 1)
                )
            case "BatchNormalization":
                scale, bias, mean, var = rest
                return torch.nn.functional.batch_norm(
                    first, mean, var, scale, bias, eps=said.get("epsilon", 1e-5)
                )
            case "Gemm":
                weight = rest[0].T if said.get("transB") else rest[0]
                return first @ weight + (rest[1] if len(rest) > 1 else 0)
            case "ReduceMean":
                axes = rest[0].tolist() if rest and rest[0] is not None else said.get("axes")
                return first.mean(axes, keepdim=bool(said.get("keepdims", 1)))
            case "Cast":
                kind = onnx.helper.tensor_dtype_to_np_dtype(said["to"])
                return first.to(torch.from_numpy(np.zeros(1, kind)).dtype)
            case "Slice":
                starts, ends, axes, *steps = (one.tolist() for one in rest if one is not None)
                step = steps[0] if steps else [1] * len(starts)
                for start, end, axis, by in zip(starts, ends, axes, step, strict=True):
                    places = range(*slice(start, end, by).indices(first.shape[axis]))
                    first = first.index_select(axis, torch.tensor(places, device=first.device))
                return first
            case "Gather":
                return torch.index_select(first, said.get("axis", 0), rest[0].reshape(-1).long()).reshape(
                    *first.shape[: said.get("axis", 0)],
                    *rest[0].shape,
                    *first.shape[said.get("axis", 0) + 1 :],
                )
            case "Concat":
                return torch.cat(given, said["axis"])
            case "Flatten":
                return first.flatten(said.get("axis", 1))
            case "Relu":
                return first.relu()
            case "Identity":
                return first
            case "MatMul":
                return first @ rest[0]
            case "Add":
                return first + rest[0]
            case "Sub":
                return first - rest[0]
            case "Mul":
                return first * rest[0]
            case "Div":
                return first / rest[0]
        raise NotImplementedError(f"no {node.op_type} here")  # an ONNX file that is not one of the world's


def move(device: str = "cuda") -> None:
    """From now on the world's classifiers are run by torch."""
    made = onnx_graph.Graph.__init__

    def on_torch(self: Any, path: Path, **options: Any) -> None:
        made(self, path, **options)
        if path.name in MOVED:
            self.session, self.batch = OnTorch(path, device), 512

    onnx_graph.Graph.__init__ = on_torch  # type: ignore[method-assign]


def check(device: str) -> float:
    """The largest difference between torch and onnxruntime, in logits, on random pictures."""
    from weakspot.world import shipped

    images = np.random.default_rng(0).integers(0, 256, (64, 3, 64, 64)).astype(np.float32)
    worst = 0.0
    for name in MOVED:
        graph = onnx_graph.Graph(shipped.file(name), device="cpu")
        shown = images.astype(graph.inputs[0].dtype)
        [one] = graph.run({graph.inputs[0].name: shown}, ["logits"])
        [other] = OnTorch(graph.path, device).run(["logits"], {graph.inputs[0].name: shown})
        worst = max(worst, float(np.abs(one - other).max()))
    return worst


def one_pair(pair: Pair, plan: Plan) -> dict[str, Any]:
    """A pair, in a process of its own."""
    import torch

    torch.set_num_threads(1)
    move()
    began = time.monotonic()
    return hunt_cost.compare(pair, plan) | {"seconds": time.monotonic() - began}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--source", default="world:generator?batch=128")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--budget", type=int, default=30_000, help="images of one of our hunts at most")
    parser.add_argument("--most", type=int, default=30_000, help="images drawn of a baseline at most")
    parser.add_argument("--probe", type=int, default=400, help="images of a published caption at most")
    parser.add_argument(
        "--fresh", type=int, default=1_024, help="fresh images for the truth of a caption at most"
    )
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--check", action="store_true", help="only compare the networks with onnxruntime")
    given = parser.parse_args(arguments)
    if given.check:
        import torch

        print(f"largest difference in logits {check('cuda' if torch.cuda.is_available() else 'cpu'):.2g}")
        return
    plan = Plan(
        source=given.source, budget=given.budget, probe=given.probe, most=given.most, fresh=given.fresh,
        seed=given.seed, last=0, sentences=(3,),
    )  # fmt: skip
    results: dict[str, Any] = {"plan": asdict(plan), "limit": HEADLINE, "rows": []}
    pairs = hunt_cost.pairs(given.pairs)
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(one_pair, pair, plan) for pair in pairs]
        for done in as_completed(jobs):
            results["rows"].append(done.result())
            results["summary"] = {"3": hunt_cost.summary(results["rows"], "3")}
            given.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
            print(hunt_cost_show.lines(results["rows"][-1]), flush=True)
    print(hunt_cost_show.totals(results))


if __name__ == "__main__":
    main()
