"""The search of `pairs` with torch, for a GPU: the same pairs, by the same rule of order.

Short rows are rounded to half precision, and what the rounding can change is measured and allowed for. Where
Triton is installed one kernel multiplies and compares, and only the hits are written to memory. Hits are
computed again in float32, then float64. Everything stays on the device but the candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from weakspot.core import WeakspotError
from weakspot.studies.mine.pair_rule import PUBLISHED, PairRule
from weakspot.studies.mine.pairs import Accept, Best, Pairs, Progress, check_rows, pairs_of_tile
from weakspot.studies.mine.shorten import FEW, Short, best_length, rounding

#: See `weakspot.studies.mine.shorten.RECHECK`: a GPU gathers rows slowly, and multiplies tiles fast.
RECHECK: Final = 1_000_000.0
LENGTHS: Final = (64, 128, 192, 256, 384, 512, 768, 1024)
TILE: Final = 16_384  # rows and columns of a tile without Triton, and rows that the kernel takes at once
_GATHER: Final = 1 << 29  # bytes of gathered rows at once
_LEARN, _TRY = 4096, 1024

#: Hits of the sieve, as two columns of row numbers, and how many pairs have been sieved by then.
Hits = Iterator[tuple[Any, Any, int]]


def find_pairs_torch(
    tested: Any,
    reference: Any,
    *,
    rule: PairRule = PUBLISHED,
    limit: int | None = None,
    accept: Accept | None = None,
    device: str = "auto",
    kernel: str = "auto",
    tile: int = TILE,
    progress: Progress | None = None,
) -> Pairs:
    """As `find_pairs`; rows may be of numpy or of torch, and rows of torch stay on the device they are on.

    `device` is where rows of numpy go: "auto" (CUDA if there is one), "cpu", "cuda", "cuda:1"; `kernel` is
    "triton", "torch", or "auto": Triton on CUDA where it is installed. `tile` rows are sieved at once.
    """
    torch: Any = import_module("torch")
    a, b = (_on(torch, rows, device) for rows in (tested, reference))
    check_rows(a, b, limit=limit)
    n = len(a)
    short = halve(a, above=rule.above)
    sieve = _sieve(kernel, a.device.type)
    best = Best(rule.above, limit)
    for first, second, done in sieve(short, lambda: best.bar - short.slack, tile):
        rough = _products(torch, a, first, second, torch.float32)
        near = rough > best.bar - rounding(a.shape[1])
        first, second = first[near], second[near]
        alike = _products(torch, a, first, second, torch.float64)
        kept = (alike > rule.above) & (alike >= best.bar)
        first, second, alike = first[kept], second[kept], alike[kept]
        above = len(first)
        if accept is not None and len(first):
            allowed = accept(first.cpu().numpy(), second.cpu().numpy())
            kept = torch.from_numpy(np.asarray(allowed, np.bool_)).to(a.device)
            first, second, alike = first[kept], second[kept], alike[kept]
        apart = _products(torch, b, first, second, torch.float64)
        kept = rule.keeps(alike, apart)
        first, second, alike, apart = (c[kept].cpu().numpy() for c in (first, second, alike, apart))
        best.add(Pairs(first, second, alike, apart, above))
        if progress is not None:
            progress(done, n * (n - 1) // 2)
    return best.pairs()


def halve(vectors: Any, *, above: float, recheck: float = RECHECK) -> Short:
    """Short rows in half precision, as `weakspot.studies.mine.shorten.shorten` makes them in float32.

    With p rounded to p̂ and e the largest ‖p − p̂‖ of all rows, p·q ≤ p̂·q̂ + 2e + e². The last number, the
    length of the rest, is rounded up, so that it stays a bound.
    """
    torch: Any = import_module("torch")
    n, width = vectors.shape
    basis, length = None, width
    if n > FEW:
        rng = np.random.default_rng(0)
        some = torch.from_numpy(np.sort(rng.choice(n, min(n, _LEARN), replace=False))).to(vectors.device)
        basis = torch.linalg.eigh(vectors[some].T @ vectors[some])[1].flip(1)
        tried = vectors[some[:: max(1, len(some) // (2 * _TRY))]][: 2 * _TRY] @ basis
        length = best_length(tried[::2], tried[1::2], above=above, recheck=recheck, lengths=LENGTHS)
    rows = torch.empty((n, length), dtype=torch.float16, device=vectors.device)
    if basis is not None and length < width:
        basis = torch.linalg.qr(basis[:, : length - 1].double())[0]
    off = torch.zeros((), dtype=torch.float64, device=vectors.device)
    step = max(1, _GATHER // (8 * width))
    for at in range(0, n, step):
        part = vectors[at : at + step].double()
        cut = part if basis is None or length == width else part @ basis
        kept = rows[at : at + step, : cut.shape[1]]
        kept.copy_(cut)
        off = torch.maximum(off, (cut - kept.double()).norm(dim=1).max())
        if cut.shape[1] < length:
            rest = ((part**2).sum(1) - (cut**2).sum(1)).clip(0).add(1e-9).sqrt()
            half = rest.half()
            rows[at : at + step, -1] = torch.where(half.double() < rest, (rest * (1 + 2.0**-9)).half(), half)
    error = float(off) if n else 0.0
    # Tensor cores may cut bits where float32 would round; and a tile in half precision rounds its products
    # and the threshold they are compared with, by 2⁻¹¹ and 2⁻¹² at most.
    return Short(rows, 2 * error + error**2 + length * 2.0**-20 + 2.0**-10)


def _sieve(kernel: str, device: str) -> Callable[[Short, Callable[[], float], int], Hits]:
    if kernel not in ("auto", "torch", "triton"):
        raise WeakspotError(f"there is no kernel {kernel[:80]!r}", fix="choose auto, torch or triton")
    if kernel == "triton" or (kernel == "auto" and device == "cuda" and find_spec("triton") is not None):
        from weakspot.studies.mine.pairs_triton import hits

        return hits
    return _tiles


def _tiles(short: Short, cut: Callable[[], float], size: int) -> Hits:
    """Tiles by one matrix product each. A CPU multiplies the same rounded numbers as float32."""
    rows = short.rows if short.rows.device.type != "cpu" else short.rows.float()
    n, done = len(rows), 0
    import_module("torch").backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    for top in range(0, n, size):
        for left in range(top, n, size):
            product = rows[top : top + size] @ rows[left : left + size].T
            mask = product > cut()
            if top == left:
                mask = mask.triu_(1)
            done += pairs_of_tile(*mask.shape, diagonal=top == left)
            first, second = mask.nonzero().unbind(1)
            yield first + top, second + left, done


def _products(torch: Any, rows: Any, first: Any, second: Any, dtype: Any) -> Any:
    step = max(1, _GATHER // (16 * rows.shape[1]))
    out = torch.empty(len(first), dtype=dtype, device=rows.device)
    for at in range(0, len(first), step):
        a, b = (rows[which[at : at + step]].to(dtype) for which in (first, second))
        torch.sum(a.mul_(b), 1, out=out[at : at + step])
    return out


def _on(torch: Any, rows: Any, device: str) -> Any:
    if isinstance(rows, np.ndarray):
        place = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        try:
            # A mapped file cannot be written to, which torch warns of; it is copied to the device anyway.
            return torch.from_numpy(rows if rows.flags.writeable else rows.copy()).to(place)
        except (RuntimeError, AssertionError) as error:  # torch says so when there is no such device
            raise WeakspotError(
                f"the rows cannot be put on {device[:80]!r}: {str(error).splitlines()[0]}",
                fix="use another device, or the search on the CPU",
            ) from error
    return rows
