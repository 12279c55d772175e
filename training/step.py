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


class Muon:
    """Steps of equal size in all directions for weights that are matrices, AdamW for the others.

    The momentum of a matrix (a convolution's kernel counts as one, a row per channel) is made orthogonal by
    five Newton-Schulz steps, all matrices of a shape at once, and scaled so that the same rate suits both.

    Args:
        weights: Parameters with gradients.
        names: Of the parameters.
        rate: The rate, a tensor that can be filled between steps.
        device: "cuda" or "cpu".
        aside: Parts of names that are left to AdamW: embeddings, the first and the last layers.
    """

    def __init__(
        self,
        weights: list[torch.nn.Parameter],
        names: list[str],
        rate: torch.Tensor,
        device: str,
        *,
        aside: tuple[str, ...] = ("embedding", "conv_in", "conv_out"),
    ) -> None:
        pairs = list(zip(weights, names, strict=True))
        matrices = [w for w, name in pairs if w.ndim > 1 and not any(part in name for part in aside)]
        kept = {id(w) for w in matrices}
        options = {"fused": True, "capturable": True} if device == "cuda" else {}
        others = [w for w in weights if id(w) not in kept]
        self.adamw = torch.optim.AdamW(others, lr=rate, weight_decay=0.01, betas=(0.9, 0.99), **options)
        self.rate, self.groups = rate, {}
        for w in matrices:
            self.groups.setdefault(tuple(w.flatten(1).shape), []).append(w)
        self.momenta = {
            shape: torch.zeros(len(group), *shape, device=device) for shape, group in self.groups.items()
        }

    @torch.no_grad()
    def step(self) -> None:
        """One step along the gradients."""
        self.adamw.step()
        for shape, group in self.groups.items():
            gradient = torch.stack([w.grad.flatten(1) for w in group])
            momentum = self.momenta[shape].lerp_(gradient, 0.05)
            move = orthogonal(gradient.lerp(momentum, 0.95)) * (0.2 * max(shape) ** 0.5)
            for w, part in zip(group, move, strict=True):
                w.mul_(1 - self.rate * 0.01).sub_(self.rate * part.view_as(w))


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """Matrices with nearly the same singular vectors and singular values near one: (n, rows, columns)."""
    x = matrices.bfloat16()
    wide = x.shape[1] <= x.shape[2]
    x = x if wide else x.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return (x if wide else x.mT).float()
