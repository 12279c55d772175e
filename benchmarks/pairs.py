"""Pair search against the published script's arithmetic and against faiss: side by side, in one run.

    python benchmarks/pairs.py                              25,000 and 100,000 rows × 768, on the CPU
    python benchmarks/pairs.py --rows 25000 --turns 5
    python benchmarks/pairs.py --matrices tested.npy reference.npy
    python benchmarks/pairs.py --device cuda                616,767 rows × 768 × 2 encoders, on a GPU

Rows are made with the spectrum and the similarities that CLIP's captions have (a common direction with a
third of the length, a long tail, groups of near-copies); `--flat` makes rows without any such structure, the
worst case for short rows. "published" is both full products in float32 in blocks of 1,024, with torch where
it is installed; on many rows it may be timed on a share of its blocks (`--share`), which is said. faiss is
measured where it is installed (`pip install faiss-cpu`; it belongs to no extra): IndexFlatIP.range_search
for the tested encoder, then the reference for what it found. Turns alternate, the best of each counts, by the
clock and by the CPU's time, which tells more on a machine that others use too.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

if find_spec("weakspot") is None:  # on a machine that has only this folder, numpy and torch
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

WIDTH, BLOCK, ABOVE, GAP = 768, 1024, 0.9, 0.2
COCO = 616_767
#: What captions speak of. More captions speak of the same: a fixed share of all pairs is alike.
SCENES = 6250
#: float32 and float64 may disagree about a pair that is so near a threshold.
NEAR = 2e-6
Matrix = NDArray[np.float32]
Numbers = set[tuple[int, int]]


def spectrum(width: int, flat: bool) -> NDArray[np.float64]:
    """Standard deviations of the directions; captions of CLIP ViT-B/32 decay about like this."""
    i = np.arange(width)
    variance = np.ones(width) if flat else np.exp(-i / (0.3 * width)) / (i + 3.0)
    return np.asarray(np.sqrt(variance / variance.sum()))


def made(n: int, *, seed: int, flat: bool = False) -> tuple[Matrix, Matrix]:
    """Rows of a tested and of a reference encoder: captions of some scenes, more or less alike."""
    rng = np.random.default_rng(seed)
    scenes = min(SCENES, n // 4 + 1)
    group = rng.permutation(n) % scenes
    close = rng.uniform(0.3, 0.98, scenes)[group, None]
    common = 0.0 if flat else 0.35

    def rows(close: NDArray[np.float64]) -> Matrix:
        deviations = spectrum(WIDTH, flat)
        x = rng.standard_normal((scenes, WIDTH), np.float32)[group] * np.sqrt(close)
        x += rng.standard_normal((n, WIDTH), np.float32) * np.sqrt(1 - close)
        x *= deviations * np.sqrt(1 - common)
        x += np.sqrt(common) * np.eye(1, WIDTH, WIDTH // 2)
        turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0].astype(np.float32)
        x = x.astype(np.float32) @ turn  # no direction is anybody's axis
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)

    return rows(close), rows(close * rng.uniform(0.4, 1.0, (scenes, 1))[group])


def published(tested: Matrix, reference: Matrix, share: float) -> tuple[Numbers, float]:
    """Both full products, block by block; returns the pairs and the share of the blocks that was done."""
    corners = [(i, j) for i in range(0, len(tested), BLOCK) for j in range(0, len(tested), BLOCK)]
    if share < 1:
        rng = np.random.default_rng(0)
        corners = [corners[k] for k in sorted(rng.permutation(len(corners))[: int(share * len(corners)) + 1])]
    found: Numbers = set()
    use_torch = find_spec("torch") is not None
    lib: Any = import_module("torch") if use_torch else np
    a, b = (lib.from_numpy(m) if use_torch else m for m in (tested, reference))
    for i, j in corners:
        clip = a[i : i + BLOCK] @ a[j : j + BLOCK].T
        other = b[i : i + BLOCK] @ b[j : j + BLOCK].T
        hits = (clip > ABOVE) & (abs(clip - other) > GAP)
        rows = hits.nonzero()
        rows = np.stack(rows, 1) if isinstance(rows, tuple) else rows.numpy()
        found.update((min(p, q), max(p, q)) for p, q in (rows + np.array([i, j])).tolist() if p != q)
    return found, len(corners) / (-(-len(tested) // BLOCK)) ** 2


def by_faiss(tested: Matrix, reference: Matrix) -> Numbers:
    """IndexFlatIP.range_search over all rows, then the reference."""
    index = import_module("faiss").IndexFlatIP(tested.shape[1])
    index.add(tested)
    found: Numbers = set()
    for at in range(0, len(tested), BLOCK):
        limits, near, second = index.range_search(tested[at : at + BLOCK], ABOVE)
        first = np.repeat(np.arange(at, at + len(limits) - 1), np.diff(limits).astype(np.int64))
        once = first < second
        first, second, near = first[once], second[once], near[once]
        kept = near - np.einsum("ij,ij->i", reference[first], reference[second]) > GAP
        found.update(zip(first[kept].tolist(), second[kept].tolist(), strict=True))
    return found


def differ(ours: Numbers, theirs: Numbers, tested: Matrix, reference: Matrix) -> str:
    """Whether the pairs are the same but for those that lie on a threshold to the last bits of float32."""
    odd = np.array(sorted(ours ^ theirs), np.int64).reshape(-1, 2)
    a, b = (
        np.einsum("ij,ij->i", *(m[odd[:, k]].astype(np.float64) for k in (0, 1))) for m in (tested, reference)
    )
    apart = (np.abs(a - ABOVE) > NEAR) & (np.abs(a - b - GAP) > NEAR)
    if apart.any():
        return f"NOT the same pairs ({apart.sum()} differ)"
    return "the same pairs" + (f" ({len(odd)} within {NEAR:g} of a threshold)" if len(odd) else "")


def measure(tested: Matrix, reference: Matrix, *, what: str, turns: int, share: float) -> None:
    """All ways, in turns, on the same rows."""
    from weakspot.studies.mine.pairs import find_pairs

    n = len(tested)
    print(f"{n:,} rows × {tested.shape[1]}, {what}, {n * (n - 1) // 2:,} pairs")
    ours = set()

    def search() -> Numbers:
        nonlocal ours
        pairs = find_pairs(tested, reference)
        ours = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
        return ours

    tracemalloc.start()
    search()
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    rows = (tested.nbytes + reference.nbytes) / 1e6
    print(f"  memory: the rows {rows:,.0f} MB, the search at its peak {most:,.0f} MB more")
    ways: dict[str, Callable[[], Any]] = {"ours": search}
    if find_spec("faiss") is not None:
        ways["faiss"] = lambda: by_faiss(tested, reference)
    ways["published"] = lambda: published(tested, reference, share)
    best, work, gave = dict.fromkeys(ways, float("inf")), dict.fromkeys(ways, float("inf")), dict[str, Any]()
    for turn in range(turns):
        for name, way in ways.items():
            if turn and name == "published" and share < 1:
                continue
            began, used = time.perf_counter(), time.process_time()
            gave[name] = way()
            best[name] = min(best[name], time.perf_counter() - began)
            work[name] = min(work[name], time.process_time() - used)
            print(f"    turn {turn + 1}: {name}, {time.perf_counter() - began:.2f} s", file=sys.stderr)
    done = gave["published"][1]
    best["published"] /= done
    work["published"] /= done
    print(f"  {'ours':<10} {best['ours']:>9.2f} s {work['ours']:>9.2f} s of CPU   {len(ours):,} pairs")
    for name in list(ways)[1:]:
        if name == "published" and done < 1:
            verdict = "all its pairs are ours" if gave[name][0] <= ours else "it has pairs that we have not"
            verdict += f"; timed on {done:.1%} of the blocks"
        else:
            verdict = differ(ours, gave[name] if name == "faiss" else gave[name][0], tested, reference)
        times = f"{best[name] / best['ours']:.1f}×, of CPU {work[name] / work['ours']:.1f}×"
        print(f"  {name:<10} {best[name]:>9.2f} s {work[name]:>9.2f} s of CPU   slower {times}; {verdict}")
    if find_spec("faiss") is None:
        print("  faiss is not installed: pip install faiss-cpu")


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", help="25000 100000; on a GPU 616767")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--share", type=float, help="of the published blocks; 1, with 50,000 rows or more 0.05"
    )
    parser.add_argument("--flat", action="store_true", help="rows without structure")
    parser.add_argument("--matrices", nargs=2, metavar="NPY", help="rows of length 1, tested and reference")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, or torch-cpu to try the GPU's code")
    args = parser.parse_args()
    if args.device != "cpu":
        gpu = import_module("pairs_gpu")
        for n in args.rows or [COCO]:
            gpu.measure_gpu(n, device=args.device.removeprefix("torch-"), flat=args.flat, turns=args.turns)
        return
    if args.matrices:
        tested, reference = (np.load(path, allow_pickle=False) for path in args.matrices)
        measure(tested, reference, what="given", turns=args.turns, share=args.share or 1.0)
        return
    for n in args.rows or [25_000, 100_000]:
        tested, reference = made(n, seed=0, flat=args.flat)
        share = args.share or (1.0 if n < 50_000 else 0.05)
        what = "without structure" if args.flat else "like captions"
        measure(tested, reference, what=what, turns=args.turns, share=share)


if __name__ == "__main__":
    main()
