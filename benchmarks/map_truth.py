"""The exhaustive truth of a failure landscape, computed once: Δ of every picture in every cell.

    python benchmarks/map_truth.py NAME [--threads 2]

Kept in the user's cache, by the digests of model and pictures. `benchmarks/map_search.py` reads it. Cells are
kept as they are done: one that is stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.space import ConceptSpace, load_space
from weakspot.core import MODELS, Case, Stage
from weakspot.judges.discrepancy import margin
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.sources.labelled import LabelledImages, labelled_images, split
from weakspot.sources.transform import TransformedImages, thumbnail

DATA: Final = Path(os.environ.get("WEAKSPOT_DATA", Path(__file__).resolve().parents[2] / "shared"))
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "weakspot" / "map"
CIFAR: Final = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
#: By name: target, pictures, space, pictures per cell.
LANDSCAPES: Final = {
    "world-125": ("world:classifier", "world:2500", "image-125", 1000),
    "resnet20-125": ("resnet20", "cifar10", "image-125", 1000),
    "resnet56-125": ("resnet56", "cifar10", "image-125", 1000),
    "world-3125": ("world:classifier", "world:2500", "image-5^5", 200),
    "resnet20-3125": ("resnet20", "cifar10", "image-5^5", 500),
    "resnet56-3125": ("resnet56", "cifar10", "image-5^5", 500),
}


@dataclass(frozen=True)
class Truth:
    """What every query would answer.

    Attributes:
        name: Of the landscape.
        space: Its concepts.
        delta: Cells × pictures; a failure is above 0.
        contexts: Per picture what a policy may see.
    """

    name: str
    space: ConceptSpace
    delta: NDArray[np.float32]
    contexts: NDArray[np.float32]

    @property
    def failed(self) -> NDArray[np.bool_]:
        return self.delta > 0

    @property
    def rates(self) -> NDArray[np.float64]:
        return np.asarray(self.failed.mean(axis=1))


def target_of(name: str, threads: int) -> Any:
    """The model under test."""
    if name.startswith("world:"):
        return MODELS.load(name)
    return OnnxClassifier(DATA / "models" / "resnet-cifar10" / f"{name}.onnx", labels=CIFAR, threads=threads)


def truth(name: str, *, threads: int = 1, quiet: bool = False) -> Truth:
    """Read it from the cache, or compute it."""
    model, where, space_name, count = LANDSCAPES[name]
    space, target = load_space(space_name), target_of(model, threads)
    images = labelled_images(str(DATA / "data" / "cifar10") if where == "cifar10" else where)
    part = split(images, seed=0)["discovery"][:count]
    told = f"{getattr(target, 'digest', model)} {images.digest} {space.to_json()} {count} 2"
    file = CACHE / f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:16]}.npz"
    if file.exists():
        with np.load(file) as kept:
            return Truth(name, space, kept["delta"], kept["contexts"])
    file.parent.mkdir(parents=True, exist_ok=True)
    begun = file.with_suffix(".begun.npy")
    delta = _ask(space, images, part, target, quiet, begun)
    labels = sorted(set(images.labels))
    shown = [
        np.concatenate([thumbnail(images.picture(i)), np.eye(len(labels))[labels.index(images.labels[i])]])
        for i in part
    ]
    contexts = np.stack(shown).astype(np.float32)
    np.savez(file.with_suffix(".part.npz"), delta=delta, contexts=contexts)
    file.with_suffix(".part.npz").replace(file)
    begun.unlink()
    return Truth(name, space, delta, contexts)


def _ask(
    space: ConceptSpace, images: LabelledImages, part: list[int], target: Any, quiet: bool, begun: Path
) -> NDArray[np.float32]:
    source = TransformedImages(images, space=space, parts={Stage.EXPLORE: part})
    shape, began = (space.size, len(part)), time.monotonic()
    delta = np.lib.format.open_memmap(begun, mode="r+" if begun.exists() else "w+", dtype="f4", shape=shape)
    place = {f"picture {images.names[i]}": at for at, i in enumerate(part)}
    for cell in range(space.size):
        if delta[cell].all():  # a cell that is not done has zeros
            continue
        cases: list[Case] = source.draw(space.hypothesis(cell), range(len(part)), seed=0)
        for case, output in zip(cases, target.answer(cases), strict=True):
            delta[cell, place[case.caption]] = margin(case, output)
        if not quiet and cell % max(1, space.size // 20) == 0:
            print(f"  {cell:,} of {space.size:,} cells · {time.monotonic() - began:.0f} s", flush=True)
    return np.array(delta)


def main() -> None:
    """Compute what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(LANDSCAPES))
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    for name in given.names:
        found = truth(name, threads=given.threads)
        rates = np.sort(found.rates)[::-1]
        print(
            f"{name}: {found.delta.size:,} queries, mean {rates.mean():.3f}, worst {np.round(rates[:8], 3)}"
        )


if __name__ == "__main__":
    main()
