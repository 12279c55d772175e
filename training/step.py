"""A training loop's step: its rate, and on a GPU its recording.

These networks are so small that a GPU waits for Python much of the time. A step is therefore recorded once as
a CUDA graph, from choosing the pictures to the optimizer, and replayed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch


def adamw(parameters: Iterable[Any], device: str, **options: Any) -> tuple[torch.optim.AdamW, torch.Tensor]:
    """The optimizer, and its rate as a tensor that can be filled between steps."""
    rate = torch.tensor(0.0, device=device)
    if device == "cuda":
        options |= {"fused": True, "capturable": True}
    return torch.optim.AdamW(parameters, lr=rate, **options), rate


def cosine(done: float, peak: float, *, warm: float = 0.1) -> float:
    """The rate after a share of the steps: up in a line, down like a cosine."""
    if done < warm:
        return peak * done / warm + 1e-7
    return peak * (0.5 + 0.5 * math.cos(math.pi * (done - warm) / (1 - warm))) + 1e-7


def recorded(
    step: Callable[[], None], device: str, *, also: Callable[[], None] | None = None
) -> Callable[[], None]:
    """The same step, replayed from a recording where that is possible. It runs a few times on the way.

    Args:
        step: One step of training.
        device: "cuda" or "cpu", where it is left as it is.
        also: The same step in another way (compiled); the quicker of the two is taken.
    """
    if device != "cuda":
        return step
    torch.backends.cudnn.benchmark = True
    plain = _record(step) or step
    if also is None:
        return plain
    began = time.time()
    other = _record(also)
    if other is None:
        return plain
    ready, times = time.time() - began, [_seconds(plain), _seconds(other)]
    print(f"step {times[0]:.4f} s, compiled {times[1]:.4f} s (ready after {ready:.0f} s)", flush=True)
    return other if times[1] < times[0] else plain


def _record(step: Callable[[], None]) -> Callable[[], None] | None:
    """A replay of the step; None, with a line that says why, where it cannot be recorded."""
    try:
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(4):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
    except Exception as error:  # a compiler may raise anything
        print(f"not recorded: {str(error).splitlines()[0] if str(error) else error!r}", flush=True)
        torch.cuda.synchronize()
        return None
    return graph.replay


def _seconds(step: Callable[[], None], turns: int = 12) -> float:
    step()
    torch.cuda.synchronize()
    began = time.time()
    for _ in range(turns):
        step()
    torch.cuda.synchronize()
    return (time.time() - began) / turns


class Masters:
    """Full-precision weights of networks that compute in half precision.

    Args:
        networks: Cast to bfloat16 on a GPU, left as they are elsewhere.
        device: "cuda" or "cpu".
    """

    def __init__(self, networks: Iterable[torch.nn.Module], device: str) -> None:
        networks = list(networks)
        before = [p.detach().float().clone() for net in networks for p in net.parameters()]
        if device == "cuda":
            for net in networks:
                net.bfloat16()
        self.low = [p for net in networks for p in net.parameters()]
        self.weights = [torch.nn.Parameter(w) for w in before]
        for weight in self.weights:
            weight.grad = torch.zeros_like(weight)

    def take(self) -> None:
        """Copy the networks' gradients here."""
        pairs = [(w.grad, p.grad) for w, p in zip(self.weights, self.low, strict=True) if p.grad is not None]
        torch._foreach_copy_([to for to, _ in pairs], [source for _, source in pairs])
        for p in self.low:
            p.grad = None

    @torch.no_grad()
    def give(self, weights: list[torch.Tensor] | None = None) -> None:
        """Copy the weights (or others of the same shapes) to the networks."""
        torch._foreach_copy_(self.low, weights or self.weights)
