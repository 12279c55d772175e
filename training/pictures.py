"""Pictures of the world for training, drawn on all cores: images, what is in them, texts about them.

    python training/pictures.py --cache pics natural:200000000:400000:3 balanced:300000000:1000000:0

The training scripts call `draw`. With a cache folder a set is drawn once and shared by scripts that run at
the same time: whoever comes second waits for it. Picture i of a set follows from its first seed plus i alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from flags import wait
from texts import default_tokens, prompt

from weakspot.world.grammar import caption, describe, parse
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import layout, render
from weakspot.world.scene import ATTRIBUTES, Scene, SceneSet
from weakspot.world.words import Words

#: No text is longer, in tokens with beginning and end.
LENGTH = 112
#: How a prompt may begin, instead of the base sentence of a hunt.
OPENINGS = ("a photo of", "a picture of")
CHUNK = 250


@dataclass
class Pictures:
    """n pictures.

    Attributes:
        images: uint8 (n, 3, edge, edge).
        codes: uint8 (n, 16), the number of each attribute's value, in the order of `ATTRIBUTES`.
        texts: int16 (n, texts a picture, LENGTH), tokens of `Words(default_tokens())`.
        spots: uint8 (n, 4, 3), where each subject stands: centre and half its width, in 255ths of the edge;
            zeros where there are fewer, or where a fence fills the picture.
    """

    images: np.ndarray
    codes: np.ndarray
    texts: np.ndarray
    spots: np.ndarray


ARRAYS = ("images", "codes", "texts", "spots")


def encode(scene: Scene) -> list[int]:
    """A scene as numbers."""
    return [values.index(getattr(scene, name)) for name, values in ATTRIBUTES.items()]


def decode(codes: np.ndarray) -> Scene:
    """The inverse of `encode`."""
    pairs = zip(ATTRIBUTES.items(), codes, strict=True)
    return Scene(**{name: values[int(code)] for (name, values), code in pairs})


def mirrored() -> list[list[int]]:
    """For each attribute the number its value has in the mirror."""
    swap = {"left": "right", "right": "left", "tilted left": "tilted right", "tilted right": "tilted left"}
    return [[values.index(swap.get(v, v)) for v in values] for values in ATTRIBUTES.values()]


def subject_and_texts(kind: str, seed: int, texts: int) -> tuple[Scene, list[str]]:
    """The scene of a seed, and texts about it.

    Kinds: "natural" (as the world usually looks), "balanced" (every attribute uniform), "prompts" (first a
    text as a study writes it, then a natural scene among those it allows; the text is that one).
    """
    rng = random.Random(seed)
    if kind == "prompts":
        form = rng.random()
        if form < 0.85:
            said = prompt(rng, 0 if form < 0.1 else 1 if form < 0.45 else rng.randint(2, 5))
        else:
            said = describe((sample if form < 0.93 else sample_uniform)(SceneSet(), rng))
        if rng.random() < 0.2:  # as people write it: "a photo of a fly."
            said = re.sub(r"^a realistic photograph of (.*?) \(\w+\)\.", rng.choice(OPENINGS) + r" \1.", said)
        return sample(parse(said), rng), [said]
    scene = (sample if kind == "natural" else sample_uniform)(SceneSet(), rng)
    return scene, [caption(scene, rng) for _ in range(texts)]


def _paint(job: tuple[str, str, int, int, int, int, int]) -> None:
    folder, kind, first, start, stop, size, texts = job
    images, codes, tokens, spots = (np.load(Path(folder) / f"{name}.npy", mmap_mode="r+") for name in ARRAYS)
    words = Words(default_tokens())
    for i in range(start, stop):
        scene, said = subject_and_texts(kind, first + i, texts)
        images[i] = render(scene, first + i, size).transpose(2, 0, 1)
        codes[i] = encode(scene)
        if scene.subject != "fence":
            where = np.array([spot[:3] for spot in layout(scene, first + i)])
            spots[i, : len(where)] = (where * 255).round().clip(0, 255)
        for j, text in enumerate(said):
            row = words.batch([text], LENGTH)[0]
            tokens[i, j, : len(row)] = row


def present(kind: str, first: int, n: int, *, cache: str, size: int = 64) -> bool:
    """Whether a set without texts lies whole in the cache."""
    return (Path(cache) / f"{kind}-{first}-{n}-0-{size}" / "done").exists()


def draw(
    kind: str, first: int, n: int, *, texts: int = 0, size: int = 64, workers: int = 0, cache: str = ""
) -> Pictures:
    """n pictures with the seeds from `first` on: drawn, or from the cache (the head of a larger set, too)."""
    texts = 1 if kind == "prompts" else texts
    folder = Path(cache or tempfile.mkdtemp()) / f"{kind}-{first}-{n}-{texts}-{size}"
    for there in sorted(Path(cache).glob(f"{kind}-{first}-*-*-{size}")) if cache else []:
        has, told = map(int, there.name.split("-")[2:4])
        if has >= n and told >= texts:
            folder = there
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        done = folder / "done"
        wait(done.exists, f"{done}; if no script draws these pictures now, remove {folder}")
    else:
        shapes = [(n, 3, size, size), (n, len(ATTRIBUTES)), (n, texts, LENGTH), (n, 4, 3)]
        for name, shape in zip(ARRAYS, shapes, strict=True):
            dtype = np.int16 if name == "texts" else np.uint8
            np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype, shape).flush()
        jobs = [(str(folder), kind, first, i, min(i + CHUNK, n), size, texts) for i in range(0, n, CHUNK)]
        if workers == 1:
            for job in jobs:
                _paint(job)
        else:
            with multiprocessing.get_context("spawn").Pool(workers or os.cpu_count()) as pool:
                for _ in pool.imap_unordered(_paint, jobs):
                    pass
        (folder / "done").touch()
    if cache:
        return Pictures(*(np.load(folder / f"{name}.npy", mmap_mode="r")[:n] for name in ARRAYS))
    arrays = [np.load(folder / f"{name}.npy") for name in ARRAYS]
    shutil.rmtree(folder.parent)
    return Pictures(*arrays)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", help="kind:first:n:texts, the kind natural, balanced or prompts")
    parser.add_argument("--cache", required=True, help="folder where the sets are kept")
    parser.add_argument("--workers", type=int, default=0, help="processes; 0 takes all cores")
    args = parser.parse_args()
    for name in args.sets:
        kind, first, n, texts = name.split(":")
        began = time.time()
        draw(kind, int(first), int(n), texts=int(texts), cache=args.cache, workers=args.workers)
        print(f"{name}: {int(n) / (time.time() - began):,.0f} pictures a second", flush=True)
