"""The sieve of `pairs_torch` as one Triton kernel: products, comparison and list of the hits.

A program multiplies 128 by 128 short rows in tensor cores, keeps the products in registers, and appends the
numbers of those above the threshold to a list, at a place that an atomic counter gives out. The similarity
matrix is never written to memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import triton
import triton.language as tl

_ROOM, _MOST = 1 << 22, 1 << 27  # hits that a list has room for at first, and before a panel is cut in two

ROWS, COLUMNS, NUMBERS = 128, 128, 64  # what a program works on at once: rows, columns, and numbers of each
WARPS: Final = 8
STAGES: Final = 3  # stages of loading ahead


@triton.jit(do_not_specialize=["n", "top", "room", "panel"])  # type: ignore[untyped-decorator]
def _kernel(  # type: ignore[no-untyped-def]
    rows, n, top, cut, counter, first, second, room, panel,
    LENGTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    # Neighbours share their columns, so that these come from the cache; a panel's rows stay in it anyway.
    at = tl.program_id(0)
    start_i = top + (at % panel) * BM
    start_j = top + (at // panel) * BN
    if start_i < start_j + BN:
        i = start_i + tl.arange(0, BM)
        j = start_j + tl.arange(0, BN)
        k = tl.arange(0, BK)
        a_at = rows + i.to(tl.int64)[:, None] * LENGTH + k[None, :]
        b_at = rows + j.to(tl.int64)[None, :] * LENGTH + k[:, None]
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(0, LENGTH, BK):
            a = tl.load(a_at, mask=i[:, None] < n, other=0.0)
            b = tl.load(b_at, mask=j[None, :] < n, other=0.0)
            total = tl.dot(a, b, total)
            a_at += BK
            b_at += BK
        hit = (total > cut) & (i[:, None] < j[None, :]) & (j[None, :] < n)
        if tl.max(hit.to(tl.int32)) > 0:
            here = tl.zeros((BM, BN), dtype=tl.int32)
            place = tl.atomic_add(counter + here, here + 1, mask=hit)
            fits = hit & (place < room)
            tl.store(first + place, here + i[:, None], mask=fits)
            tl.store(second + place, here + j[None, :], mask=fits)


def hits(short: Any, cut: Callable[[], float], size: int) -> Any:
    """Hits of the sieve, panel by panel of `size` rows; see `pairs_torch`."""
    rows = short.rows.contiguous()
    n, length = rows.shape
    if length % NUMBERS:  # zeros change no product
        rows = torch.nn.functional.pad(rows, (0, -length % NUMBERS))
        length = rows.shape[1]
    counter = torch.zeros(1, dtype=torch.int32, device=rows.device)
    places = torch.empty((2, _ROOM), dtype=torch.int32, device=rows.device)
    size = max(1, size // ROWS) * ROWS  # no program reaches from one panel into the next
    panels = [(top, min(size, n - top)) for top in range(0, n, size)][::-1]
    done = 0
    while panels:
        top, height = panels.pop()
        blocks = -(-height // ROWS)
        counter.zero_()
        _kernel[(blocks * -(-(n - top) // COLUMNS),)](
            rows, n, top, cut(), counter, places[0], places[1], places.shape[1], blocks,
            LENGTH=length, BM=ROWS, BN=COLUMNS, BK=NUMBERS,
            num_warps=WARPS, num_stages=STAGES,
        )  # fmt: skip
        count = int(counter)
        if count > places.shape[1]:
            if count > _MOST and height > ROWS:
                half = -(-height // (2 * ROWS)) * ROWS
                panels += [(top + half, height - half), (top, half)]
            else:
                panels.append((top, height))
                places = torch.empty((2, count + (count >> 2)), dtype=torch.int32, device=rows.device)
            continue
        done += height * (height - 1) // 2 + height * (n - top - height)
        yield places[0, :count].long(), places[1, :count].long(), done
