"""How well tags by `world:encoder` say what pictures of the drawn world show, whose scenes are known.

    python benchmarks/tags.py [--pictures 4000] [--seed 0] [--json FILE]

The tags are those that `weakspot hunt TABLE --encoder` takes by default, nearly all of them words that the
encoder never saw. Of each tag that was said: its precision and recall where the world knows the answer,
else how many pictures got it. Pictures are drawn as in nature, and evenly over all attributes.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from weakspot.concepts.tags import directions_of, read_tags, tagged, unit_rows
from weakspot.world.encoder import WorldEncoder
from weakspot.world.nature import sample, sample_uniform
from weakspot.world.render import render
from weakspot.world.scene import (
    COLORS,
    PLACES,
    PROPS,
    SCREENS,
    SUBJECTS,
    SUPPORTS,
    Scene,
    SceneSet,
)

#: Of the first picture; the thresholds were chosen on others, with seeds below.
FIRST = 4_500_000_000_000
BATCH = 200
Knows = Callable[[Scene], bool]


def known() -> dict[str, Knows]:
    """What the world knows, by the word for it."""
    said: dict[str, tuple[tuple[str, ...], str]] = {
        **{word: (("subject", "companion"), word) for word in (*SUBJECTS, *PROPS)},
        **{word: (("background",), word) for word in PLACES},
        **{word: (("on",), word) for word in SUPPORTS},
        **{word: (("behind", "subject"), word) for word in SCREENS},
        **{word: (("color", "on_color", "background"), word) for word in COLORS},
        **{word: (("light",), word) for word in ("dusk", "night", "glare")},
        **{word: (("weather",), word) for word in ("rain", "fog")},
        "falling snow": (("weather",), "snowfall"),
    }
    return {word: partial(_so, *where) for word, where in said.items()}


def _so(attributes: tuple[str, ...], value: str, scene: Scene) -> bool:
    return value in [getattr(scene, name) for name in attributes]


def measured(scenes: list[Scene], encoder: WorldEncoder, first: int) -> dict[str, Any]:
    """What was said of the pictures of these scenes, and how much of it is so."""
    parts = [
        encoder.embed_images([render(scenes[i], first + i) for i in range(a, min(a + BATCH, len(scenes)))])
        for a in range(0, len(scenes), BATCH)
    ]
    pictures = unit_rows(np.concatenate(parts), len(scenes))
    tags, truth = read_tags(), known()
    rows, others = {}, {}
    for tag, said, apart in tagged(pictures, directions_of(encoder, tags), tags):
        word = tag.removeprefix("a ").removeprefix("an ").removeprefix("the ")
        if word not in truth:
            others[tag] = len(said)
            continue
        so = np.array([truth[word](scene) for scene in scenes])
        right = int(so[said].sum())
        rows[tag] = {
            "pictures": len(said),
            "precision": right / len(said),
            "recall": right / max(int(so.sum()), 1),
            "apart": apart,
        }
    return {
        "pictures": len(scenes),
        "tags": len(tags),
        "of the world": sum(
            tag.removeprefix("a ").removeprefix("an ").removeprefix("the ") in truth for tag in tags
        ),
        "said": rows,
        "others": others,
        "precision": float(np.mean([row["precision"] for row in rows.values()])),
        "recall": float(np.mean([row["recall"] for row in rows.values()])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    encoder, found = WorldEncoder(), {}
    first = FIRST + options.seed * 10_000_000
    for name, choose in (("as in nature", sample), ("evenly", sample_uniform)):
        scenes = [choose(SceneSet(), random.Random(first + i)) for i in range(options.pictures)]
        one = found[name] = measured(scenes, encoder, first)
        print(f"{name}: {one['pictures']:,} pictures, {one['tags']} tags, {one['of the world']} of the world")
        for tag, row in one["said"].items():
            shares = f"precision {row['precision']:.2f}  recall {row['recall']:.2f}"
            print(f"  {tag:16} {row['pictures']:5}  {shares}  {row['apart']:.1f} apart")
        for tag, pictures in one["others"].items():
            print(f"  {tag:16} {pictures:5}  not in the world")
        print(
            f"  mean of {len(one['said'])} tags: precision {one['precision']:.2f}, recall {one['recall']:.2f}"
        )
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), "utf-8")


if __name__ == "__main__":
    main()
