"""`world:classifier` and its family: small networks trained on the world, and how often they really fail.

Four were trained on the world as it usually looks, two of each architecture, so that one can ask which weak
spots belong to the data and which to a network. `world:classifier-fair` saw everything with everything: it
is the world's own verifier (`weakspot.world.verifier`). How they were made is in `training/`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError, nearest
from weakspot.models.onnx.graph import Graph
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.stats import Interval, wilson
from weakspot.world import shipped
from weakspot.world.grammar import parse
from weakspot.world.scene import PARENTS, SUBJECTS

#: Trained on natural pictures.
NATURAL: Final = (
    "classifier",
    "classifier-resnet-2",
    "classifier-vit-1",
    "classifier-vit-2",
    "classifier-resnet-3",
    "classifier-vit-3",
)
#: Trained on balanced pictures.
FAIR: Final = "classifier-fair"
_interval: Final = lru_cache(maxsize=4096)(wilson)
#: Below this probability of its answer a network is not sure. Chosen on the 20,000 held-out pictures of its
#: training, checked on others (training/NOTES.md): 3 % of uniform scenes are below it.
SURE: Final = 0.9
#: Where to move the picture to, in pixels down and to the right; the first look is at none.
_MOVES: Final = [(y, x) for y in (-1, 0, 1) for x in (-1, 0, 1) if (y, x) != (0, 0)]


class SecondLook(Graph):
    """A network that looks again where it is not sure: at the same picture, moved by a pixel to every side.

    What it says of a tiny figure behind a fence depends on how the figure falls on the network's own raster.
    The mean over nine places does not, and only few pictures need it. The graph goes from "image" to
    "logits", and to other outputs that say what is in the picture.
    """

    def run(self, inputs: Mapping[str, NDArray[Any]], outputs: Sequence[str] = ()) -> list[NDArray[Any]]:
        """As of `Graph`. "features" are those of the first look."""
        names = list(outputs) or [tensor.name for tensor in self.outputs]
        if names == ["features"]:
            return super().run(inputs, names)
        asked = list(dict.fromkeys([*names, "logits"]))
        values = dict(zip(asked, super().run(inputs, asked), strict=True))
        unsure = np.flatnonzero(_certainty(values["logits"]) < SURE)
        if len(unsure):
            images = np.pad(inputs["image"][unsure], ((0, 0), (0, 0), (1, 1), (1, 1)), "edge")
            said = [name for name in names if name != "features"]
            total = [values[name][unsure] for name in said]
            high, wide = inputs["image"].shape[2:]
            for y, x in _MOVES:
                moved = images[:, :, 1 + y : 1 + y + high, 1 + x : 1 + x + wide]
                total = [a + b for a, b in zip(total, super().run({"image": moved}, said), strict=True)]
            for name, sums in zip(said, total, strict=True):
                values[name][unsure] = sums / (1 + len(_MOVES))
        return [values[name] for name in names]


def _certainty(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of the most probable answer."""
    grown = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True, initial=-np.inf))
    return np.asarray(1 / grown.sum(1))


def load(model: str = NATURAL[0], *, device: str = "cpu") -> OnnxClassifier:
    """A classifier of the family by its name, e.g. "classifier-vit-1", its file checked against the manifest.

    It runs on the CPU unless said otherwise, on one thread: the true rates were measured there, and the
    source's processes need the other cores.
    """
    path = shipped.file(f"{_known(model)}.onnx")
    graph = (SecondLook if model == FAIR else Graph)(path, device=device, threads=1)
    return OnnxClassifier(
        path, labels=SUBJECTS, parents=PARENTS, output="logits", graph=graph, name=f"world:{model}"
    )


classifier_resnet_2 = partial(load, "classifier-resnet-2")
classifier_vit_1 = partial(load, "classifier-vit-1")
classifier_vit_2 = partial(load, "classifier-vit-2")
classifier_resnet_3 = partial(load, "classifier-resnet-3")
classifier_vit_3 = partial(load, "classifier-vit-3")
classifier_fair = partial(load, FAIR)


class TrueRate(NamedTuple):
    """How often a classifier really fails on the scenes of one sentence."""

    subject: str
    sentence: str  # what is said beyond the subject; "" for the subject's natural scenes
    n: int  # scenes that were rendered
    failures: int  # of those, misread
    mostly: str  # the most frequent wrong answer; "" if there was none

    @property
    def rate(self) -> float:
        return self.failures / self.n


def truth(model: str = NATURAL[0]) -> list[TrueRate]:
    """True failure rates on a fixed grid of scenes, by exhaustive rendering (`training/truth.py`)."""
    name = _known(model)
    path = shipped.file("truth.csv" if name == NATURAL[0] else f"truth-{name}.csv")
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return [TrueRate(r["subject"], r["sentence"], int(r["n"]), int(r["failures"]), r["mostly"]) for r in rows]


def true_rate(subject: str, sentence: str = "", *, model: str = NATURAL[0]) -> TrueRate:
    """One row of `truth`."""
    for row in truth(model):
        if (row.subject, row.sentence) == (subject, sentence):
            return row
    raise WeakspotError(
        f"the grid has no {sentence!r} for {subject!r}", fix="see weakspot.world.classifier.truth()"
    )


class WeakSpot(NamedTuple):
    """A sentence on which a classifier fails more often than on the subject's natural scenes.

    `certainty` is the interval's low end over the high end of the baseline's: the rate is at least so many
    times the baseline, unless one of the two intervals misses.
    """

    subject: str
    sentence: str  # what is said beyond the subject
    rate: float  # failures per scene
    interval: Interval  # of the rate, 95 %
    n: int  # scenes that were rendered
    baseline: float  # the rate on the subject's natural scenes
    mostly: str  # the most frequent wrong answer
    certainty: float

    @property
    def lift(self) -> float:
        """How many times the baseline; inf where the baseline never failed."""
        return self.rate / self.baseline if self.baseline else float("inf")

    def __str__(self) -> str:
        low, high = (f"{100 * end:.0f}" for end in self.interval)
        times = f"{self.lift:.0f}× its usual {_percent(self.baseline)}" if self.baseline else "usually never"
        return (
            f"a {self.subject}: {self.sentence} {_percent(self.rate)} [{low}, {high}] of {self.n} misread, "
            f"mostly as a {self.mostly}; {times}"
        )


def weak_spots(model: str = NATURAL[0], n: int = 10) -> list[WeakSpot]:
    """The strongest weak spots that a classifier has learnt, by the grid of `truth`.

    Ranked by `WeakSpot.certainty`, so that neither a few unlucky scenes nor a baseline that is hard to know
    make a spot; those that are not above 1 are left out. Of the cells with the same subject, the same wrong
    answer and the same attribute ("on a yellow flower", "on a red flower", "on a flower") only the first in
    this order is kept. It is a ranking, not a test: the first of 1,536 cells owe some of their place to luck.
    """
    rows = truth(model)
    usual = {row.subject: row for row in rows if not row.sentence}
    best: dict[tuple[str, str, str], WeakSpot] = {}
    for row in rows:
        base = usual[row.subject]
        if not row.sentence or row.rate <= base.rate:
            continue
        interval = _interval(row.failures, row.n)
        certainty = interval.low / _interval(base.failures, base.n).high
        key = (row.subject, row.mostly, parse(row.sentence).allowed[0][0])
        if certainty > (best[key].certainty if key in best else 1):
            rates = row.rate, interval, row.n, base.rate
            best[key] = WeakSpot(row.subject, row.sentence, *rates, row.mostly, certainty)
    return sorted(best.values(), key=lambda spot: -spot.certainty)[:n]


def _known(model: str) -> str:
    name, known = model.removeprefix("world:"), (*NATURAL, FAIR)
    if name not in known:
        raise WeakspotError(
            f"the world has no classifier {model[:80]!r}",
            fix=nearest(name, known) or f"there are: {', '.join(known)}",
        )
    return name


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %" if rate >= 0.095 else f"{100 * rate:.1f} %"
