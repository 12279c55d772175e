"""Measure the true failure rates of classifiers on a fixed grid of scenes, by exhaustive rendering.

    python training/truth.py --models classifier-vit-1.onnx,classifier-vit-2.onnx --out tables

The grid is every subject with every single thing that can be said of it; what is not said is natural.
These are the rates that findings are checked against. Uses all cores; started again, it goes on.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flags import settings

from weakspot.core import Hypothesis
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.world.grammar import base_sentence, say
from weakspot.world.renderer import Renderer
from weakspot.world.scene import ATTRIBUTES, SUBJECTS, SUPPORT_COLORS


@dataclass
class Settings:
    """All that the tables depend on, besides the classifiers."""

    #: ONNX files, with commas. The table of classifier.onnx is truth.csv, of others truth-<name>.csv.
    models: str = "classifier.onnx"
    #: Folder for the tables.
    out: str = "."
    #: Scenes per cell.
    scenes: int = 400
    #: Scenes per subject for its natural rate.
    natural: int = 10_000
    #: A seed that no study uses by default.
    seed: int = 2_000_000_011
    #: Processes; 0 takes all cores.
    workers: int = 0
    #: One cell only.
    smoke: bool = False


def grid() -> list[tuple[str, str]]:
    """All cells: (subject, sentence)."""
    said = [""]
    for attribute, values in ATTRIBUTES.items():
        if attribute in ("color", "count", "size", "position", "facing", "pose", "on", "behind", "hidden",
                         "background", "light", "weather", "companion"):  # fmt: skip
            said += [say(attribute, value) for value in values]
    said += [say("on", "flower", color) for color in SUPPORT_COLORS]
    return [(subject, sentence) for subject in SUBJECTS for sentence in dict.fromkeys(said)]


#: Of every table. No value contains a comma.
COLUMNS = ("subject", "sentence", "n", "failures", "mostly")


@cache
def parts(models: tuple[str, ...]) -> tuple[Renderer, list[OnnxClassifier]]:
    return Renderer(), [OnnxClassifier(Path(m), labels=SUBJECTS, threads=1) for m in models]


def measure(job: tuple[str, str, int, int, tuple[str, ...]]) -> list[dict[str, object]]:
    """One cell, a row per classifier."""
    subject, sentence, n, seed, models = job
    renderer, classifiers = parts(models)
    hypothesis = Hypothesis(f"{base_sentence(subject)} {sentence}".strip())
    wrong: list[Counter[str]] = [Counter() for _ in classifiers]
    for start in range(0, n, 100):
        cases = renderer.draw(hypothesis, range(start, min(start + 100, n)), seed=seed)
        for counter, classifier in zip(wrong, classifiers, strict=True):
            counter.update(str(o.answer) for o in classifier.answer(cases) if o.answer != subject)
    return [
        {
            "subject": subject,
            "sentence": sentence,
            "n": n,
            "failures": counter.total(),
            "mostly": counter.most_common(1)[0][0] if counter else "",
        }
        for counter in wrong
    ]


def main(s: Settings) -> None:
    began = time.time()
    if s.smoke:
        s.natural, s.scenes = 100, 50
    Path(s.out).mkdir(parents=True, exist_ok=True)
    models = tuple(s.models.split(","))
    files = [
        Path(s.out) / ("truth.csv" if Path(m).stem == "classifier" else f"truth-{Path(m).stem}.csv")
        for m in models
    ]
    rows = min(sum(1 for _ in f.open(encoding="utf-8")) if f.exists() else 0 for f in files)
    left = (grid()[:2] if s.smoke else grid())[max(0, rows - 1) :]
    jobs = [(who, what, s.scenes if what else s.natural, s.seed, models) for who, what in left]
    with ExitStack() as stack:
        writers = []
        for file in files:
            keep = file.read_text("utf-8").splitlines(keepends=True)[:rows] if rows else []
            writers.append(stack.enter_context(file.open("w", newline="", encoding="utf-8")))
            writers[-1].write("".join(keep) or ",".join(COLUMNS) + "\n")
        pool = (
            None if s.workers == 1 else multiprocessing.get_context("spawn").Pool(s.workers or os.cpu_count())
        )
        for done in map(measure, jobs) if pool is None else pool.imap(measure, jobs):
            for writer, row in zip(writers, done, strict=True):
                writer.write(",".join(str(row[c]) for c in COLUMNS) + "\n")
                writer.flush()
        if pool is not None:
            pool.close()
    print(f"{len(jobs):,} cells, {sum(job[2] for job in jobs):,} scenes in {time.time() - began:.0f} s")


if __name__ == "__main__":
    main(settings(Settings, __doc__))
