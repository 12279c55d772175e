"""Measure a generator: does it draw what it is told, how near are its pictures to drawn ones, and does a
classifier fail on them where it fails on drawn ones?

    python training/generated.py --generator weights/generator --weights weights --out generated

Writes <out>.json (adherence by guidance, FID, KID, rank correlation) and <out>.csv (failures of the
classifier on generated pictures for every cell of the fixed grid). A GPU makes it minutes.
"""

from __future__ import annotations

import csv
import random
import time
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from diffusers import StableDiffusionPipeline
from export import run_onnx, write_results
from flags import settings
from graphs import OnDevice
from scipy.stats import spearmanr
from texts import prompt

from weakspot.stats import fid, kid
from weakspot.world.grammar import base_sentence, parse
from weakspot.world.nature import sample
from weakspot.world.render import render
from weakspot.world.scene import ATTRIBUTES, SUBJECTS


@dataclass
class Settings:
    """All that the measurement depends on, besides the models."""

    #: Folder of the pipeline.
    generator: str = "generator"
    #: Folder with classifier.onnx, classifier-fair.onnx, truth.csv.
    weights: str = "."
    #: The results are written to <out>.json and <out>.csv.
    out: str = "generated"
    #: Solver steps.
    steps: int = 8
    #: Guidances to compare on the prompts, with commas; the first that draws the subject and the background
    #: as often as `enough` says is used for everything else, or the one that draws most subjects.
    guidances: str = "2.0"
    #: Shares of prompts whose subject and whose background are to be there.
    enough: str = "0.96,0.93"
    #: Prompts of zero to five sentences.
    prompts: int = 1_000
    #: Pictures for FID and KID.
    pictures: int = 5_000
    #: Pictures per cell of the grid, in turns of 50; 0 leaves the grid out.
    cell: int = 400
    #: No further turn of the grid begins after this many seconds; 0 never stops.
    seconds: float = 0.0
    #: Pictures drawn at once.
    batch: int = 1_000
    #: Compile the U-Net (GPU).
    compiled: bool = False
    #: Of prompts and noise.
    seed: int = 3_000_000_019
    smoke: bool = False


def main(s: Settings) -> None:
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if s.smoke:
        s.prompts, s.pictures, s.cell, s.batch, device = 8, 8, 0, 8, "cpu"
    torch.backends.cuda.matmul.allow_tf32 = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtype = torch.float16 if device == "cuda" else torch.float32
        pipeline = StableDiffusionPipeline.from_pretrained(s.generator, torch_dtype=dtype).to(device)
    pipeline.set_progress_bar_config(disable=True)
    weights = Path(s.weights)

    if s.compiled:
        pipeline.unet = torch.compile(pipeline.unet)

    def draw(texts: list[str], guidance: float, seed: int) -> np.ndarray:
        """Generated pictures, uint8 (n, 64, 64, 3); whole batches only, so that one compilation serves."""
        parts = []
        for i in range(0, len(texts), s.batch):
            some = texts[i : i + s.batch]
            noise = torch.Generator("cpu").manual_seed(seed + i)
            out = pipeline(
                some + some[:1] * (s.batch - len(some)), num_inference_steps=s.steps,
                guidance_scale=guidance, generator=noise,
                output_type="pt",
            ).images[: len(some)]  # fmt: skip
            parts.append((out.permute(0, 2, 3, 1) * 255).round().byte().cpu().numpy())
        return np.concatenate(parts)

    rng = random.Random(s.seed)
    texts = [prompt(rng, rng.randint(0, 5)) for _ in range(max(s.prompts, s.pictures))]
    results: dict[str, object] = {"steps": s.steps, "by_guidance": {}}
    said = texts[: s.prompts]
    drawn = render_all(texts[: s.pictures], 0)
    results["drawn"] = adherence(drawn[: s.prompts], said[: len(drawn)], weights)
    for guidance in map(float, s.guidances.split(",")):
        results["by_guidance"][guidance] = adherence(draw(said, guidance, s.seed % 2**31), said, weights)
        print(guidance, results["by_guidance"][guidance], f"{time.time() - began:.0f} s", flush=True)
    chosen = choose(results["by_guidance"], tuple(map(float, s.enough.split(","))))
    generated = draw(texts[: s.pictures], chosen, s.seed % 2**31 + 1)
    others = render_all(texts[: s.pictures], 10**9)
    a, b, c = (features(images, weights) for images in (generated, drawn, others))
    results |= {
        "guidance": chosen, "pictures": s.pictures, "fid": fid(a, b), "kid": kid(a, b),
        "fid_of_drawn": fid(c, b), "kid_of_drawn": kid(c, b),
    }  # fmt: skip
    print({k: v for k, v in results.items() if "id" in k}, f"{time.time() - began:.0f} s", flush=True)
    results |= {"settings": vars(s)}
    write_results(Path(f"{s.out}.json"), results)
    rows: list[dict[str, object]] = []
    for turn in range(0, s.cell, TURN):
        if turn and s.seconds and time.time() - began > s.seconds:
            break
        more = grid(lambda words, seed: draw(words, chosen, seed), weights, s, turn)
        rows = added(rows, more)
        write(rows, Path(f"{s.out}.csv"))
        results["grid"] = correlation(rows, weights)
        print(results["grid"], f"{time.time() - began:.0f} s", flush=True)
        write_results(Path(f"{s.out}.json"), results | {"seconds": time.time() - began})


#: Pictures per cell at a time.
TURN = 50


def choose(by_guidance: dict[float, dict[str, float]], enough: tuple[float, float]) -> float:
    """The first guidance that draws enough, else the one that draws most subjects."""
    for guidance, shares in by_guidance.items():
        if shares["subject"] >= enough[0] and shares["background"] >= enough[1]:
            return guidance
    return max(by_guidance, key=lambda g: by_guidance[g]["subject"])


def added(rows: list[dict[str, object]], more: list[dict[str, object]]) -> list[dict[str, object]]:
    """Two tables of the same cells as one."""
    if not rows:
        return more
    names = ("n", "failures", "valid_failures", "looked", "valid")
    return [a | {k: a[k] + b[k] for k in names} for a, b in zip(rows, more, strict=True)]


def render_all(texts: list[str], first: int) -> np.ndarray:
    """One drawn picture of each text."""
    scenes = [sample(parse(text), random.Random(first + i)) for i, text in enumerate(texts)]
    return np.stack([render(scene, first + i) for i, scene in enumerate(scenes)])


@cache
def on_device(path: Path) -> OnDevice:
    return OnDevice(path, "cuda")


def looked_at(path: Path, images: np.ndarray) -> list[np.ndarray]:
    """All outputs of a classifier for pictures: on the GPU, or by onnxruntime where there is none."""
    if torch.cuda.is_available():
        return on_device(path)(images)
    return run_onnx(path, {"image": images.transpose(0, 3, 1, 2).astype(np.float32) / 255})


def adherence(images: np.ndarray, texts: list[str], weights: Path) -> dict[str, float]:
    """Share of pictures in which the fair classifier sees what the text says, attribute by attribute."""
    _, logits, _ = looked_at(weights / "classifier-fair.onnx", images)
    ends = np.cumsum([len(v) for v in ATTRIBUTES.values()])
    parts = np.split(logits, ends[:-1], axis=1)
    right: dict[str, list[bool]] = {}
    for i, text in enumerate(texts[: len(images)]):
        for name, allowed in parse(text).allowed:
            index = list(ATTRIBUTES).index(name)
            right.setdefault(name, []).append(ATTRIBUTES[name][int(parts[index][i].argmax())] in allowed)
    shares = {name: float(np.mean(right[name])) for name in ATTRIBUTES if name in right}
    return shares | {"n_background": len(right.get("background", []))}


def features(images: np.ndarray, weights: Path) -> np.ndarray:
    return looked_at(weights / "classifier-fair.onnx", images)[2].astype(np.float64)


def grid(draw, weights: Path, s: Settings, turn: int) -> list[dict[str, object]]:
    """Failures of the classifier on generated pictures of every cell that truth.csv has.

    While some pictures are drawn, those before are looked at.
    """
    with (weights / "truth.csv").open(encoding="utf-8") as file:
        cells = [(r["subject"], r["sentence"]) for r in csv.DictReader(file)]
    together = max(1, s.batch // TURN)
    waiting: list[Future[list[dict[str, object]]]] = []
    with ThreadPoolExecutor(2) as pool:
        for i in range(0, len(cells), together):
            part = cells[i : i + together]
            texts = [f"{base_sentence(who)} {what}".strip() for who, what in part for _ in range(TURN)]
            images = draw(texts, s.seed % 2**31 + 1000 * turn + i)
            waiting.append(pool.submit(counted, part, images, weights))
            if len(waiting) > 3:
                waiting[-3].result()  # no more than a few batches in memory
    return [row for part in waiting for row in part.result()]


def counted(part: list[tuple[str, str]], images: np.ndarray, weights: Path) -> list[dict[str, object]]:
    """One row per cell. The verifier looks at every failure, and at four pictures of each cell anyway."""
    labels = np.repeat([SUBJECTS.index(who) for who, _ in part], TURN)
    wrong = looked_at(weights / "classifier.onnx", images)[0].argmax(1) != labels
    some = np.arange(len(labels)) % TURN < 4
    looked = np.flatnonzero(wrong | some)
    seen = np.zeros(len(labels), bool)
    said = looked_at(weights / "classifier-fair.onnx", images[looked])[0]
    seen[looked] = said.argmax(1) == labels[looked]
    table = [c.reshape(-1, TURN).sum(1) for c in (wrong, wrong & seen, some, some & seen)]
    names = ("failures", "valid_failures", "looked", "valid")
    return [
        {"subject": who, "sentence": what, "n": TURN}
        | {name: int(k) for name, k in zip(names, counts, strict=True)}
        for (who, what), counts in zip(part, zip(*table, strict=True), strict=True)
    ]


def correlation(rows: list[dict[str, object]], weights: Path) -> dict[str, float]:
    """Rank correlation of failure rates on generated and on drawn pictures over the grid."""
    with (weights / "truth.csv").open(encoding="utf-8") as file:
        true = {(r["subject"], r["sentence"]): int(r["failures"]) / int(r["n"]) for r in csv.DictReader(file)}
    drawn = [true[r["subject"], r["sentence"]] for r in rows]
    return {
        "cells": len(rows),
        "spearman": float(spearmanr(drawn, [r["failures"] / r["n"] for r in rows]).statistic),
        "n": rows[0]["n"],
        "spearman_valid": float(spearmanr(drawn, [r["valid_failures"] / r["n"] for r in rows]).statistic),
        "valid": sum(r["valid"] for r in rows) / sum(r["looked"] for r in rows),
    }


def write(rows: list[dict[str, object]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(settings(Settings, __doc__))
