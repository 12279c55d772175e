"""Measure the true failure rates of `world:classifier` on a fixed grid of scenes, by exhaustive rendering.

    python training/truth.py --out src/weakspot/world/weights/truth.csv

The grid is every subject with every single thing that can be said of it; what is not said is natural.
These are the rates that findings are checked against. Needs no torch; uses all cores.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import os
import time
from collections import Counter
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from weakspot.core import Hypothesis
from weakspot.world.classifier import load
from weakspot.world.grammar import base_sentence, say
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, SUBJECTS, SUPPORT_COLORS


@dataclass
class Settings:
    """All that the table depends on, besides the classifier."""

    out: str = "truth.csv"
    #: Scenes per cell.
    scenes: int = 400
    #: Scenes per subject for its natural rate.
    natural: int = 10_000
    #: A seed that no study uses by default.
    seed: int = 2_000_000_011
    #: Processes; 0 takes all cores.
    workers: int = 0


def grid() -> list[tuple[str, str]]:
    """All cells: (subject, sentence)."""
    said = [""]
    for attribute, values in ATTRIBUTES.items():
        if attribute in ("color", "count", "size", "position", "facing", "pose", "on", "behind", "hidden",
                         "background", "light", "weather", "companion"):  # fmt: skip
            said += [say(attribute, value) for value in values]
    said += [say("on", "flower", color) for color in SUPPORT_COLORS]
    return [(subject, sentence) for subject in SUBJECTS for sentence in dict.fromkeys(said)]


@cache
def parts():
    return Renderer(), load()


def measure(job: tuple[str, str, int, int]) -> dict[str, object]:
    """One cell."""
    subject, sentence, n, seed = job
    renderer, classifier = parts()
    hypothesis = Hypothesis(f"{base_sentence(subject)} {sentence}".strip())
    wrong: Counter[str] = Counter()
    for start in range(0, n, 100):
        cases = renderer.draw(hypothesis, range(start, min(start + 100, n)), seed=seed)
        wrong.update(str(o.answer) for o in classifier.answer(cases) if o.answer != subject)
    mostly = wrong.most_common(1)[0][0] if wrong else ""
    return {"subject": subject, "sentence": sentence, "n": n, "failures": wrong.total(), "mostly": mostly}


def main(s: Settings) -> None:
    began = time.time()
    jobs = [(who, what, s.scenes if what else s.natural, s.seed) for who, what in grid()]
    with multiprocessing.get_context("spawn").Pool(s.workers or os.cpu_count()) as pool:
        rows = pool.map(measure, sorted(jobs, key=lambda job: -job[2]), chunksize=4)
    order = {cell: i for i, cell in enumerate(grid())}
    rows.sort(key=lambda row: order[row["subject"], row["sentence"]])
    with Path(s.out).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{len(rows):,} cells, {sum(job[2] for job in jobs):,} scenes in {time.time() - began:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for f in fields(Settings):
        parser.add_argument("--" + f.name.replace("_", "-"), type=type(f.default), default=f.default)
    main(Settings(**vars(parser.parse_args())))
