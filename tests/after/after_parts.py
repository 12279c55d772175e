"""A finished hunt on the toy meadow, made with the engine and without the study, so that its truth is known.

Under "it is on a flower." the classifier misreads 200 of 256 pictures, the green of the first pixel deciding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weakspot.core import MODELS, SOURCES, Finding, Hypothesis, Stage
from weakspot.engine import Engine, Want
from weakspot.judges import LabelJudge
from weakspot.store import Run, RunConfig, rate

BASE = Hypothesis("a realistic photograph of a fly (insect).", origin="baseline")
FLOWER = Hypothesis(f"{BASE.text} it is on a flower.", origin="caption", parent=BASE.id)
YELLOW = Hypothesis(f"{BASE.text} it is on a yellow flower.", origin="caption", parent=BASE.id)

#: Models and sources beside the toy's own.
OTHERS = '''
import numpy as np

from weakspot.core import Case, Output, case_seed
from toy import LABELS, Classifier, Meadow, classify

shown = {}


def _look(name, images):
    shown.setdefault(name, []).extend(image[0, 0, 1] for image in images)


def milder(images):
    """Misreads half of what the toy's classifier misreads on flowers, and nothing else."""
    _look("milder", images)
    flower, noise = images[:, 0, 0, 0] == 200, images[:, 0, 0, 1].astype(int)
    return np.eye(3, dtype=np.float32)[np.where(flower & (noise < 100), 1, 0)]


def same(images):
    _look("same", images)
    return classify(images)


def perfect(images):
    return np.eye(3, dtype=np.float32)[np.zeros(len(images), int)]


class Renamed:
    """Says "house fly" where others say fly."""

    labels, parents = ("house fly", "bee", "cat"), {}

    def answer(self, cases):
        rows = classify(np.stack([c.input for c in cases]))
        return [Output(self.labels[int(r.argmax())]) for r in rows]


class Flaky(Classifier):
    def answer(self, cases):
        if any(c.input[0, 0, 1] % 4 == 0 for c in cases):
            raise TimeoutError("no answer")
        return super().answer(cases)


class Varied(Meadow):
    """No two pictures alike."""

    def draw(self, hypothesis, indices, *, seed):
        cases = super().draw(hypothesis, indices, seed=seed)
        for case in cases:
            case.input[1, :, 0] = np.frombuffer(case.seed.to_bytes(8, "big"), np.uint8)
        return cases


class Rocks(Meadow):
    """Where flowers are never drawn, whatever is said."""

    def draw(self, hypothesis, indices, *, seed):
        cases = super().draw(hypothesis, indices, seed=seed)
        for case in cases:
            case.input[0, 0, 0] = 0
        return cases


class Counting(Varied):
    """Counts what it draws, and is stopped by hand when told."""

    cpu_bound = False
    drawn, stop_at = 0, 10**9

    def draw(self, hypothesis, indices, *, seed):
        type(self).drawn += len(indices)
        if type(self).drawn > type(self).stop_at:
            raise KeyboardInterrupt
        return super().draw(hypothesis, indices, seed=seed)


class Silent(Varied):
    """Has so many pictures of each stage, as a folder has, and does not say so."""

    def draw(self, hypothesis, indices, *, seed):
        if any(i % 2**32 >= 70 for i in indices):
            raise LookupError("all 70 were drawn")
        return super().draw(hypothesis, indices, seed=seed)


class Ending(Silent):
    """Says so."""

    def available(self, hypothesis, *, seed, stage):
        return 70
'''


def hunted(
    folder: Path,
    *,
    target: str = "python:toy:classify?labels=labels.txt",
    source: str = "python:others:Varied",
    found: tuple[tuple[Hypothesis, bool], ...] = ((FLOWER, True), (YELLOW, False)),
    explored: int = 40,
    confirmed: int = 64,
    **settings: Any,
) -> Path:
    """Make the run; its folder."""
    chosen = {
        "target": target, "label": "fly", "target_label": None, "source": source, "judge": None,
        "budget": "images=20000", "seed": 7, "fdr": 0.05, **settings,
    }  # fmt: skip
    config = RunConfig(study="hunt", subject="fly", settings=chosen)
    parts: dict[str, Any] = {
        "source": SOURCES.load(source), "target": MODELS.load(target),
        "judge": LabelJudge(target=chosen["target_label"]),
    }  # fmt: skip
    with Run.create(config, folder=folder) as run:
        run.ledger.set_fact("base", BASE.id)
        run.ledger.set_fact("state", "finished")
        with Engine(run, seed=7, **parts) as engine:
            engine.draw([Want(BASE, 200)])
            for hypothesis, _ in found:
                engine.draw([Want(hypothesis, explored), Want(hypothesis, confirmed, Stage.CONFIRM)])
            run.ledger.set_findings(
                [
                    Finding(
                        hypothesis,
                        hypothesis.beyond(BASE),
                        rate(engine.tally(hypothesis, Stage.CONFIRM)),
                        rate(engine.tally(BASE)),
                        20.0,
                        held,
                        (("bee", 1.0),),
                    )
                    for hypothesis, held in found
                ]
            )
    return folder
