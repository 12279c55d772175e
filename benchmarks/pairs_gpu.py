"""`benchmarks/pairs.py --device cuda`: the pair search on a GPU, from rows in its memory to the checked list.

Needs this repository, torch and numpy; Triton where torch brings it. One line per variant: the published
arithmetic (both full products in float32, timed on a share of the blocks), the plain half-precision triangle
(the arithmetic alone, nothing looked at), and ours by each kernel. Events of the device are timed, after a
warm-up, and the best of the turns counts. The list is compared with float32 products of a part of the rows
against all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

if find_spec("weakspot") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

WIDTH, BLOCK, ABOVE, GAP = 768, 1024, 0.9, 0.2
#: Rows that are compared with all others in float32.
CHECKED = 8192
NEAR = 2e-6
SCENES = 6250


def made(torch: Any, n: int, *, device: str, flat: bool) -> tuple[Any, Any]:
    """Rows as `pairs.made` makes them, on the device."""
    deviations = torch.from_numpy(import_module("pairs").spectrum(WIDTH, flat).astype(np.float32)).to(device)
    random = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> Any:
        return torch.randn(shape, generator=random, device=device)

    def uniform(low: float, high: float) -> Any:
        values = torch.rand((scenes, 1), generator=random, device=device)
        return (low + (high - low) * values)[group]

    scenes = min(SCENES, n // 4 + 1)
    group = torch.randperm(n, generator=random, device=device) % scenes
    close, common = uniform(0.3, 0.98), 0.0 if flat else 0.35

    def rows(close: Any) -> Any:
        x = normal(scenes, WIDTH)[group] * close.sqrt()
        x += normal(n, WIDTH) * (1 - close).sqrt()
        x *= deviations * (1 - common) ** 0.5
        x[:, WIDTH // 2] += common**0.5
        x = x @ torch.linalg.qr(normal(WIDTH, WIDTH))[0]
        return x / x.norm(dim=1, keepdim=True)

    return rows(close), rows(close * uniform(0.4, 1.0))


def seconds(torch: Any, work: Callable[[], Any], *, turns: int) -> tuple[float, Any]:
    """The best time of several turns after a warm-up, and what the last one gave."""
    gave, best = work(), float("inf")
    for _ in range(turns):
        if not torch.cuda.is_available():  # so that this file can be tried without a GPU
            import time

            began = time.perf_counter()
            gave = work()
            best = min(best, time.perf_counter() - began)
            continue
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        gave = work()
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 1000)
    return best, gave


def published(a: Any, b: Any, share: float) -> Callable[[], int]:
    """Both full products in float32 and the published comparison, on a share of the blocks of rows."""

    def work() -> int:
        found = 0
        for at in range(0, max(1, int(share * len(a))), BLOCK):
            clip, other = a[at : at + BLOCK] @ a.T, b[at : at + BLOCK] @ b.T
            found += len(((clip > ABOVE) & ((clip - other).abs() > GAP)).nonzero())
        return found

    return work


def triangle(rows: Any, tile: int) -> Callable[[], None]:
    """The upper triangle's products alone, in the rows' own precision."""

    def work() -> None:
        for top in range(0, len(rows), tile):
            for left in range(top, len(rows), tile):
                rows[top : top + tile] @ rows[left : left + tile].T

    return work


def check(torch: Any, pairs: Any, a: Any, b: Any) -> str:
    """Compare the pairs of some rows with float32 products of these rows and all others."""
    n, step = len(a), 512
    some = torch.randperm(n, generator=torch.Generator().manual_seed(1))[:CHECKED].sort()[0].to(a.device)
    theirs, on_edge = [], 0
    for at in range(0, len(some), step):
        rows = some[at : at + step]
        clip, other = a[rows] @ a.T, b[rows] @ b.T
        near = ((clip - ABOVE).abs() < NEAR) | (((clip - other - GAP).abs() < NEAR) & (clip > ABOVE - NEAR))
        on_edge += int(near.sum())
        first, second = ((clip > ABOVE) & (clip - other > GAP) & ~near).nonzero().unbind(1)
        first = rows[first]
        theirs.append((torch.minimum(first, second) * n + torch.maximum(first, second))[first != second])
    expected = torch.cat(theirs).unique()
    first, second = (torch.from_numpy(x).to(a.device) for x in (pairs.first, pairs.second))
    chosen = torch.isin(first, some) | torch.isin(second, some)
    ours = (first * n + second)[chosen]
    missing = int((~torch.isin(expected, ours)).sum())
    extra = int((~torch.isin(ours, expected)).sum())
    verdict = (
        "the same" if missing == 0 and extra <= on_edge else f"NOT the same: {missing} missing, {extra} more"
    )
    return f"{len(expected):,} pairs of {len(some):,} rows: {verdict} as float32 ({on_edge} on a threshold)"


def measure_gpu(n: int, *, device: str, flat: bool, turns: int) -> None:
    """All variants on the same rows."""
    torch: Any = import_module("torch")
    from weakspot.studies.mine.pairs_torch import find_pairs_torch, halve

    cuda = device.startswith("cuda")
    a, b = made(torch, n, device=device, flat=flat)
    short = halve(a, above=ABOVE)
    name = torch.cuda.get_device_name(a.device) if cuda else "CPU"
    print(f"{n:,} rows × {WIDTH} × 2 on {name}; short rows of {short.rows.shape[1]}, slack {short.slack:.4f}")
    share = min(1.0, 16 * BLOCK / n)
    took, _ = seconds(torch, published(a, b, share), turns=1)
    blocks = -(-n // BLOCK)
    some = min(16, blocks)
    print(f"  published, float32          {took * blocks / some:8.3f} s  (from {some} of {blocks} blocks)")
    for what, rows in (("bfloat16 triangle", a.bfloat16()), ("short half triangle", short.rows)):
        if not cuda:
            rows = rows.float()
        took, _ = seconds(torch, triangle(rows, 16384), turns=turns)
        print(f"  {what:<27} {took:8.3f} s  (the products alone)")
    took, _ = seconds(torch, lambda: halve(a, above=ABOVE), turns=turns)
    print(f"  shortening                  {took:8.3f} s  (part of ours)")
    variants: dict[str, dict[str, Any]] = {f"ours, torch, tiles of {t}": {"kernel": "torch", "tile": t}
                                           for t in (8192, 16384, 32768)}  # fmt: skip
    if cuda and find_spec("triton") is not None:
        variants |= {f"ours, triton, panels of {t}": {"kernel": "triton", "tile": t} for t in (16384, 65536)}
    for what, options in variants.items():
        try:
            took, pairs = seconds(torch, partial(find_pairs_torch, a, b, **options), turns=turns)
        except Exception as error:  # a variant that fails says so, and the others are still measured
            print(f"  {what:<27} failed: {type(error).__name__}: {str(error).splitlines()[0][:150]}")
            continue
        print(f"  {what:<27} {took:8.3f} s  {len(pairs):,} pairs of {pairs.alike:,} above {ABOVE}; "
              + check(torch, pairs, a, b))  # fmt: skip
    if cuda:
        print(f"  peak GPU memory {torch.cuda.max_memory_allocated(a.device) / 1e9:.1f} GB")
