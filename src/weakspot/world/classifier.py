"""`world:classifier` and its family: small networks trained on the world, and how often they really fail.

Four were trained on the world as it usually looks, two of each architecture, so that one can ask which weak
spots belong to the data and which to a network. `world:classifier-fair` saw everything with everything: it
is the world's own verifier (`weakspot.world.verifier`). How they were made is in `training/`.
"""

from __future__ import annotations

import csv
from functools import lru_cache, partial
from typing import Final, NamedTuple

from weakspot.core import WeakspotError, nearest
from weakspot.models.onnx.graph import Graph
from weakspot.models.onnx.models import OnnxClassifier
from weakspot.stats import Interval, wilson
from weakspot.world import shipped
from weakspot.world.grammar import parse
from weakspot.world.scene import PARENTS, SUBJECTS
from weakspot.world.second_look import SecondLook

#: Trained on natural pictures.
NATURAL: Final = ("classifier", "classifier-resnet-2", "classifier-vit-1", "classifier-vit-2")
#: Trained on balanced pictures.
FAIR: Final = "classifier-fair"


def load(model: str = NATURAL[0], *, device: str = "cpu") -> OnnxClassifier:
    """A classifier of the family, its file checked against the manifest.

    Args:
        model: Its name, e.g. "classifier-vit-1".
        device: The CPU unless said otherwise, on one thread: the true rates were measured there, and the
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
classifier_fair = partial(load, FAIR)


class TrueRate(NamedTuple):
    """How often a classifier really fails on the scenes of one sentence.

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

    Attributes:
        subject: The label.
        sentence: What is said beyond the subject.
        rate: Failures per scene.
        interval: Of the rate, 95 %.
        n: Scenes that were rendered.
        baseline: The rate on the subject's natural scenes.
        mostly: The most frequent wrong answer.
        certainty: The interval's low end over the high end of the baseline's: the rate is at least so many
            times the baseline, unless one of the two intervals misses.
    """

    subject: str
    sentence: str
    rate: float
    interval: Interval
    n: int
    baseline: float
    mostly: str
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
            best[key] = WeakSpot(
                row.subject, row.sentence, row.rate, interval, row.n, base.rate, row.mostly, certainty
            )
    return sorted(best.values(), key=lambda spot: -spot.certainty)[:n]


@lru_cache(maxsize=4096)
def _interval(failures: int, n: int) -> Interval:
    return wilson(failures, n)


def _known(model: str) -> str:
    name = model.removeprefix("world:")
    if name not in (*NATURAL, FAIR):
        known = (*NATURAL, FAIR)
        raise WeakspotError(
            f"the world has no classifier {model[:80]!r}",
            fix=nearest(name, known) or f"there are: {', '.join(known)}",
        )
    return name


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} %" if rate >= 0.095 else f"{100 * rate:.1f} %"
