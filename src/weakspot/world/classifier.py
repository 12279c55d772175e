"""`world:classifier`: a small network trained on the world as it usually looks (`training/classifier.py`)."""

from __future__ import annotations

import csv
import json
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from weakspot.core import WeakspotError
from weakspot.models.onnx import OnnxClassifier
from weakspot.world.scene import PARENTS, SUBJECTS

_WEIGHTS = resources.files("weakspot.world") / "weights"


def load() -> OnnxClassifier:
    """The classifier, its file checked against the manifest."""
    manifest = json.loads((_WEIGHTS / "manifest.json").read_text("utf-8"))
    with resources.as_file(_WEIGHTS / "classifier.onnx") as path:
        return OnnxClassifier(
            Path(path), labels=SUBJECTS, parents=PARENTS, threads=1, digest=manifest["classifier.onnx"]
        )


class TrueRate(NamedTuple):
    """How often the classifier really fails on the scenes of one sentence.

    Attributes:
        subject: The label.
        sentence: What is said beyond the subject; "" for the subject's natural scenes.
        n: Scenes that were rendered.
        failures: Of those, misread.
        mostly: The most frequent wrong answer; "" if there was none.
    """

    subject: str
    sentence: str
    n: int
    failures: int
    mostly: str

    @property
    def rate(self) -> float:
        """Failures per scene."""
        return self.failures / self.n


def truth() -> list[TrueRate]:
    """True failure rates on a fixed grid of scenes, by exhaustive rendering (`training/truth.py`)."""
    text = (_WEIGHTS / "truth.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return [TrueRate(r["subject"], r["sentence"], int(r["n"]), int(r["failures"]), r["mostly"]) for r in rows]


def true_rate(subject: str, sentence: str = "") -> TrueRate:
    """One row of `truth`."""
    for row in truth():
        if (row.subject, row.sentence) == (subject, sentence):
            return row
    raise WeakspotError(
        f"the grid has no {sentence!r} for {subject!r}", fix="see weakspot.world.classifier.truth()"
    )
