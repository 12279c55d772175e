"""What the world's text-to-image models draw: by the verifier's word, beside drawn pictures, and as a sheet.

    python benchmarks/world_generator.py [--prompts 1000] [--json FILE] [--sheet FILE]     (make bench-world)

Prompts are those a study writes: a subject and up to five sentences, every value as likely as any other. The
table of failures over the whole grid is read (training/generated.py makes it on a GPU), all else is measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from scipy.stats import spearmanr

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.verifier import Verifier
from training.texts import prompt

from weakspot.stats import fid, kid, wilson
from weakspot.world import shipped
from weakspot.world.generator import load
from weakspot.world.grammar import parse
from weakspot.world.nature import sample
from weakspot.world.render import render

Picture = NDArray[np.uint8]
SEED = 5_000_000_000_000
MODELS = ("generator", "generator-small")
#: Failures of `world:classifier` on pictures that `world:generator` made, cell by cell of the grid.
TABLE = "generated.csv"
SHEET = (
    "a photo of a cat. it is on a red cushion.", "a photo of a fly. it is on a flower.",
    "a photo of a duck. the background is the sea.", "a photo of a wolf. the background is snow.",
    "a photo of a mushroom. the background is a forest.", "a photo of a boat. it is night.",
    "a photo of a crab. the background is a beach.", "a photo of a dog. it is behind a fence.",
    "a photo of a butterfly. it is blue.", "a photo of a snow leopard. it is snowing.",
    "a photo of a goldfish. it is underwater.", "a photo of a car. it is raining.",
    "a photo of a ladybird. it is on a leaf.", "a photo of a bee. there are three of them.",
    "a photo of a crayfish. the background is a riverbed.", "a photo of a cat. it is in a living room.",
)  # fmt: skip


def drawn(texts: Sequence[str], first: int) -> list[Picture]:
    """A drawn picture of each text."""
    scenes = [sample(parse(text), random.Random(first + i)) for i, text in enumerate(texts)]
    return [render(scene, first + i) for i, scene in enumerate(scenes)]


def generated(model: str, texts: Sequence[str], first: int) -> list[Picture]:
    """A picture of each text by a model, some at a time so that the wait can be seen."""
    maker, pictures = load(model), []
    for i in range(0, len(texts), 50):
        some = texts[i : i + 50]
        pictures += list(maker.generate(list(some), range(first + i, first + i + len(some))))
        print(f"\r  {len(pictures):,} of {len(texts):,}", end="", flush=True)
    print("\r" + " " * 30, end="\r")
    return pictures


def adherence(verifier: Verifier, pictures: Sequence[Picture], texts: Sequence[str]) -> dict[str, list[bool]]:
    """For every attribute that was asked for, whether the verifier sees it, picture by picture."""
    fits: dict[str, list[bool]] = {}
    for verdict in verifier.verdicts(pictures, texts):
        for name, right in verdict.items():
            fits.setdefault(name, []).append(right)
    return fits


def measure(model: str, n: int, verifier: Verifier) -> dict[str, Any]:
    """Adherence and distances of one model."""
    rng = random.Random(SEED)
    texts = [prompt(rng, rng.randint(0, 5)) for _ in range(n)]
    real, others = drawn(texts, SEED), drawn(texts, SEED + 10**6)
    made = generated(model, texts, SEED % 2**31)
    ours, ceiling = (adherence(verifier, pictures, texts) for pictures in (made, real))
    print(f"world:{model} on {n:,} prompts, by the verifier's word (beside it: drawn pictures)")
    for name, fits in ours.items():
        low, high = wilson(sum(fits), len(fits))
        best = np.mean(ceiling[name])
        print(f"  {name:<14}{np.mean(fits):7.1%} [{low:.1%}, {high:.1%}] of {len(fits):,}   drawn {best:.1%}")
    a, b, c = (verifier.features(pictures) for pictures in (made, real, others))
    far = {"fid": fid(a, b), "kid": kid(a, b), "fid_of_drawn": fid(c, b), "kid_of_drawn": kid(c, b)}
    print(f"  FID {far['fid']:.2f} (two drawn sets {far['fid_of_drawn']:.2f}), "
          f"KID {far['kid']:.4f} ({far['kid_of_drawn']:.4f})\n")  # fmt: skip
    return {"adherence": {name: float(np.mean(fits)) for name, fits in ours.items()}, **far}


def agreement() -> dict[str, float]:
    """Rank correlation over the grid of failure rates on generated and on drawn pictures."""
    rates = []
    for name in (TABLE, "truth.csv"):
        with shipped.file(name).open(encoding="utf-8") as file:
            rows = csv.DictReader(file)
            rates.append({(r["subject"], r["sentence"]): int(r["failures"]) / int(r["n"]) for r in rows})
    cells = [cell for cell in rates[0] if cell in rates[1]]
    rank = float(spearmanr(*([of[cell] for cell in cells] for of in rates)).statistic)
    print(f"Failures of world:classifier, generated and drawn: Spearman {rank:.3f} over {len(cells):,} cells")
    return {"spearman": rank, "cells": len(cells)}


def sheet(path: Path, side: int = 4, edge: int = 160) -> None:
    """A picture of pictures with their words, to look at."""
    pictures = generated("generator", SHEET[: side * side], 11)
    room, gap = 30, 12
    page = Image.new("RGB", (side * (edge + gap) + gap, side * (edge + room + gap) + gap), (250, 249, 246))
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(11)
    for i, (picture, text) in enumerate(zip(pictures, SHEET, strict=False)):
        x, y = gap + i % side * (edge + gap), gap + i // side * (edge + room + gap)
        page.paste(Image.fromarray(picture).resize((edge, edge), Image.Resampling.BICUBIC), (x, y))
        who, _, what = text.removeprefix("a photo of ").partition(". ")
        pen.text((x, y + edge + 2), f"{who}.\n{what}", fill=(60, 58, 54), font=font, spacing=1)
    page.quantize(256).save(path, optimize=True)


def main(n: int, as_json: Path | None, picture: Path | None) -> None:
    results: dict[str, Any] = {model: measure(model, n, Verifier()) for model in MODELS}
    results["agreement"] = agreement()
    if picture:
        sheet(picture)
    if as_json:
        as_json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prompts", type=int, default=1_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sheet", type=Path, help="a picture of pictures")
    args = parser.parse_args()
    main(args.prompts, args.json, args.sheet)
