"""Repair, proved on inputs it never saw: the drawn world's classifier and encoder, real ResNets of CIFAR-10.

    python benchmarks/repair.py [world] [hunt] [mine] [cifar] [cifar56] [--methods full] [--epochs N]

All 6,000 pictures of CIFAR-10 are given to the map, which cuts them: a quarter is learnt from, another
quarter is asked at the very end and by nobody else. With `--apart N`, N pictures are in no folder that map or
repair ever saw, and are asked too. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import weakspot
from weakspot.core import MODELS, Case, Hypothesis, Stage
from weakspot.sources.labelled import labelled_images
from weakspot.sources.transform import TransformedImages
from weakspot.studies.map.result import MapResult
from weakspot.studies.repair.proof import change
from weakspot.studies.repair.result import Change
from weakspot.study.lifecycle import settings_of
from weakspot.study.reports import summary

DATA: Final = Path(os.environ.get("WEAKSPOT_DATA", Path(__file__).resolve().parents[2] / "shared"))
NAMES: Final = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
HEAD: Final = (
    "| what | cases | failed before | failed after | difference, points | removed | newly made |\n"
    "|---|---|---|---|---|---|---|"
)


def cifar(
    folder: Path,
    methods: list[str],
    *,
    apart: int = 0,
    which: str = "resnet20",
    seed: int = 1,
    epochs: int = 0,
    rate: float = 0.0,
    draw: int = 0,
) -> None:
    """A ResNet: map, repair of the two worst modes by each method, and what was kept apart."""
    pack = np.load(DATA / "data" / "cifar10" / "cifar10-test-6000.npz")
    order = np.random.default_rng(1).permutation(len(pack["images"]))
    for name, some in (("given", np.sort(order[apart:])), ("apart", order[:apart])):
        kept = {key: pack[key][some] for key in ("images", "labels", "index")}
        np.savez(folder / f"{name}.npz", **kept, names=np.array(NAMES))
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in NAMES))
    model = DATA / "models" / "resnet-cifar10" / f"{which}.onnx"
    target = f"onnx:{model}?labels={folder / 'labels.txt'}"
    run = folder / which
    if not run.exists():
        weakspot.map(
            target, images=folder / "given.npz", space="image-125", budget="images=4000", seed=seed, out=run
        ).close()
    for method in methods:
        kept_apart, out = folder / "apart.npz" if apart else None, folder / f"{which}-{method}"
        _repaired(which, run, method, out, kept_apart, modes="1,2", epochs=epochs, rate=rate, seed=draw)


def world(
    folder: Path,
    methods: list[str],
    *,
    epochs: int = 0,
    rate: float = 0.0,
    seed: int = 1,
    draw: int = 0,
) -> None:
    """The world's classifier on transformed pictures of the world."""
    if not (folder / "world").exists():
        weakspot.map(
            "world:classifier",
            images="world:4000",
            space="image-125",
            budget="images=4000",
            seed=seed,
            out=folder / "world",
        ).close()
    for method in methods:
        out = folder / f"world-{method}"
        _repaired("world:classifier", folder / "world", method, out, epochs=epochs, rate=rate, seed=draw)


def hunt(folder: Path, methods: list[str], *, epochs: int = 0, rate: float = 0.0, draw: int = 0) -> None:
    """The world's classifier and what a hunt for flies found; with another `draw`, other pictures."""
    if not (folder / "hunt").exists():
        weakspot.hunt(
            "world:classifier", label="fly", budget="images=6000", seed=7, out=folder / "hunt"
        ).close()
    for method in methods:
        out, who = folder / f"hunt-{method}-{draw}", "world:classifier, hunted"
        _repaired(who, folder / "hunt", method, out, modes="1", epochs=epochs, rate=rate, seed=draw)


def mine(folder: Path, methods: list[str], *, epochs: int = 0, rate: float = 0.0, draw: int = 0) -> None:
    """The text tower of the world's encoder and what a mine of it found; there is one method."""
    del methods
    if not (folder / "mine").exists():
        weakspot.mine(
            "world:encoder",
            reference="world:scenes",
            corpus="world?texts=600",
            budget="pairs=6000",
            out=folder / "mine",
        ).close()
    out = folder / "mine-full"
    _repaired("world:encoder, mined", folder / "mine", "full", out, epochs=epochs, rate=rate, seed=draw)


def _repaired(
    who: str,
    run: Path,
    method: str,
    out: Path,
    apart: Path | None = None,
    *,
    modes: str = "preferred",
    epochs: int = 0,
    seed: int = 0,
    rate: float = 0.0,
) -> None:
    began, spent = time.monotonic(), time.process_time()
    if not out.exists():
        weakspot.repair(
            run,
            modes=modes,
            method=method,
            rate=rate,
            epochs=epochs,
            out=out,
            device="cpu",
            draws=3_000,
            seed=seed,
        ).close()
    with weakspot.open_run(str(out)) as done:
        result = summary(done)["result"]
    print(f"\n### {who} · {method}: {result['verdict']}\n\n{HEAD}")
    more = [row for row in [result["elsewhere"], *result["new"]] if row is not None]
    for row in [*result["chosen"], *result["others"], result["clean"], *more]:
        print(_line(row))
    if apart is not None:
        for found in _elsewhere(run, result, apart):
            print(_line(found.plain()))
    training = result["training"]
    print(
        f"\n{training['parameters']:,} numbers trained on {training['pictures']:,} "
        f"{training.get('kind', 'pictures')}, "
        f"{training['epochs']} rounds (best {training['best']}), "
        f"{100 * training.get('way', 1.0):.0f} % of the way; {time.process_time() - spent:.0f} s of CPU, "
        f"{time.monotonic() - began:.0f} s by the clock."
    )
    if landscape := result["landscape"]:
        print(
            f"Landscape: {landscape['removed']:,} failures removed and {landscape['made']:,} made in "
            f"{landscape['n']:,} pairs; W₁ {landscape['distance']:.4f} (p {landscape['p']}), "
            f"without location {landscape['unplaced']:.5f}."
        )
    (out / "benchmark.json").write_text(json.dumps(result, indent=1))


def _elsewhere(run: Path, result: dict[str, Any], apart: Path) -> list[Change]:
    """The same modes, and plain pictures, on pictures that are in no folder of the map."""
    with weakspot.open_run(str(run)) as mapped:
        space = settings_of(mapped).concept_space
        regions = {mode.words: mode.region for mode in (MapResult.of(mapped) or MapResult()).modes}
    images = labelled_images(str(apart))
    source = TransformedImages(images, space=space, parts={Stage.EXPLORE: range(len(images))})
    models = [MODELS.load(result["target"]), MODELS.load(result["model"])]
    wanted: list[tuple[str, Hypothesis]] = [
        (row["words"], space.hypothesis(regions[row["words"]])) for row in result["chosen"]
    ]
    found = []
    for words, hypothesis in [*wanted, ("as they are", space.outside())]:
        cases: list[Case] = source.draw(hypothesis, range(len(images)), seed=99)
        before, after = (
            np.array([o.answer != c.expected for o, c in zip(model.answer(cases), cases, strict=True)])
            for model in models
        )
        found.append(change(f"*kept apart*: {words}", before, after))
    return found


def _line(row: dict[str, Any]) -> str:
    n = max(row["n"], 1)
    ends = f"{100 * row['difference']:+.1f} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]".replace(
        "-", "−"
    )
    return (
        f"| {row['words']} | {row['n']:,} | {100 * row['before'] / n:.1f} % | "
        f"{100 * row['after'] / n:.1f} % | {ends} | {row['removed']:,} | {row['made']:,} |"
    )


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", nargs="*", default=["world", "hunt", "mine", "cifar"])
    parser.add_argument("--methods", default="last-layer,full")
    parser.add_argument("--apart", type=int, default=0, help="pictures of CIFAR-10 that no folder holds")
    parser.add_argument("--seed", type=int, default=1, help="of a map, and so of its parts")
    parser.add_argument("--epochs", type=int, default=0, help="rounds at most; 0: the method's own number")
    parser.add_argument(
        "--rate",
        type=float,
        default=0.0,
        help="share of the inputs transformed; the method's own if left out",
    )
    parser.add_argument("--draw", type=int, default=0, help="seed of the repair, and of all that it draws")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    folder = given.out or Path(tempfile.mkdtemp(prefix="repair-"))
    folder.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"epochs": given.epochs, "rate": given.rate, "draw": given.draw}
    network = partial(cifar, apart=given.apart, seed=given.seed, **how)
    measured: dict[str, Callable[[Path, list[str]], None]] = {
        "world": partial(world, seed=given.seed, **how),
        "hunt": partial(hunt, **how),
        "mine": partial(mine, **how),
        "cifar": network,
        "cifar56": partial(network, which="resnet56"),
    }
    for name in given.which:
        measured[name](folder, given.methods.split(","))


if __name__ == "__main__":
    main()
