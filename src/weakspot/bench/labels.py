"""How well label errors are found without a second labelling: ImageNet-X, where people have labelled again.

The truth of a failing row is whether its prediction is among the labels that ReaL accepts. Rivals are what
people use today, on the same rows: the score alone, confident learning's rule (sure of another label than the
class's rows usually are) on what a table with one score has, and the agreement of a second model.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.records import Judged, Records, Roles
from weakspot.records.suspicion import suspicion

#: Files of predictions in the folder, by the model's name.
MODELS: Final = {"ResNet-50": "predictions-resnet50.csv.gz", "DINO": "predictions-dino.csv.gz"}

Numbers = NDArray[np.float64]


class Bin(NamedTuple):
    """Failing rows whose suspicion lies in one tenth: how many, what was said, what people said."""

    rows: int
    said: float
    true: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRow:
    """How well one method finds failures that are the label's.

    Attributes:
        said: The share of failures that it takes for the label's: the mean probability, or the share flagged.
        true: The share that people say.
        precision: Of the failures flagged; NaN where none is.
        average_precision: Over all orders of flagging.
        precision_at_true: Of as many as there are, most suspicious first.
        calibration: By tenths; () where the method gives no probability.
    """

    model: str
    method: str
    failures: int
    said: float
    true: float
    precision: float
    recall: float
    average_precision: float
    precision_at_true: float
    calibration: tuple[Bin, ...] = ()

    def __str__(self) -> str:
        return (
            f"{self.model}, {self.method}: {self.said:.1%} of {self.failures:,} failures said to be the "
            f"label's (people: {self.true:.1%}), precision {self.precision:.3f}, recall {self.recall:.3f}, "
            f"average precision {self.average_precision:.3f}, at the true count {self.precision_at_true:.3f}"
        )


def label_errors(folder: Path) -> list[LabelRow]:
    """Each model alone, and each with the other beside it; ours first, then the rivals.

    Args:
        folder: ImageNet-X with ReaL's labels: annotations.csv.gz and the files of `MODELS`.
    """
    annotations = list(_read(folder, "annotations.csv.gz", ("image", "label", "real_labels")))
    images = [row["image"] for row in annotations]
    accepted = [set(row["real_labels"].split()) for row in annotations]
    models = {name: _judged(folder, file, images) for name, file in MODELS.items()}
    rows = []
    for name, judged in models.items():
        [(other, second)] = [(n, j) for n, j in models.items() if n != name]
        truth = np.array([a in real for a, real in zip(judged.answer, accepted, strict=True)], bool)
        truth = truth[judged.failed]
        agrees = np.array([a == b for a, b in zip(judged.answer, second.answer, strict=True)], bool)
        confident = judged.score - _thresholds(judged)
        methods: list[tuple[str, str, Numbers, NDArray[np.bool_] | None]] = [
            (name, "ours", suspicion(judged), None),
            (name, "score alone", judged.score, judged.score > 0.5),
            (name, "confident learning", confident, confident >= 0),
            (f"{name} with {other}", "ours", suspicion(judged, [(second.answer, second.score)]), None),
            (f"{name} with {other}", "agreement alone", agrees.astype(float), agrees),
            (f"{name} with {other}", "mean score", _mean(judged, second, agrees), None),
        ]
        for model, method, values, flagged in methods:
            values = values[judged.failed]
            flags = values > 0.5 if flagged is None else flagged[judged.failed]
            rows.append(_row(model, method, values, flags, truth))
    return rows


def _thresholds(judged: Judged) -> Numbers:
    """Confident learning's threshold of each answer: the mean probability of that class over its own rows.

    A table with one score does not say how probable the label was where another answer won; there it is at
    most what the score leaves, and is taken as nothing, as if all else were spread over many classes.
    """
    codes: dict[str | None, int] = {}
    label = np.array([codes.setdefault(value, len(codes)) for value in judged.expected], np.int64)
    answer = np.array([codes.setdefault(value, len(codes)) for value in judged.answer], np.int64)
    own = np.where(judged.failed, 0.0, judged.score)
    n = np.maximum(np.bincount(label, minlength=len(codes)), 1)
    thresholds: Numbers = (np.bincount(label, own, len(codes)) / n)[answer]
    return thresholds


def _mean(judged: Judged, second: Judged, agrees: NDArray[np.bool_]) -> Numbers:
    """The mean probability of the answer; the second model's is taken as nothing where it says another."""
    mean: Numbers = (judged.score + np.where(agrees, second.score, 0.0)) / 2
    return mean


def _row(
    model: str, method: str, values: Numbers, flags: NDArray[np.bool_], truth: NDArray[np.bool_]
) -> LabelRow:
    from sklearn.metrics import average_precision_score

    count = int(truth.sum())
    # Equal values in a fixed random order, so that their place in the file is no evidence.
    shuffled = np.random.default_rng(0).permutation(len(values))
    first = shuffled[np.argsort(-values[shuffled], kind="stable")][:count]
    bins: tuple[Bin, ...] = ()
    if method == "ours":
        place = np.minimum((values * 10).astype(int), 9)
        bins = tuple(
            Bin(int(here.sum()), float(values[here].mean()), float(truth[here].mean()))
            for here in (place == i for i in range(10))
            if here.any()
        )
    return LabelRow(
        model=model,
        method=method,
        failures=len(values),
        said=float(values.mean() if bins else flags.mean()),
        true=float(truth.mean()),
        precision=float(truth[flags].mean()) if flags.any() else float("nan"),
        recall=float(truth[flags].sum() / count),
        average_precision=float(average_precision_score(truth, values)),
        precision_at_true=float(truth[first].mean()),
        calibration=bins,
    )


def _judged(folder: Path, file: str, images: Sequence[str]) -> Judged:
    rows = list(_read(folder, file, ("image", "label", "predicted", "probability")))
    if [row["image"] for row in rows] != list(images):
        raise WeakspotError(
            f"{folder / file} does not list the same photographs as annotations.csv.gz",
            fix="take both from one download",
        )
    expected, answer = [row["label"] for row in rows], [row["predicted"] for row in rows]
    return Judged(
        Records(str(folder / file), "CSV", {}, np.arange(1, len(rows) + 1)),
        Roles(label="label", prediction="predicted", score="probability"),
        np.array([a != b for a, b in zip(expected, answer, strict=True)], bool),
        "predicted differs from label",
        expected,
        answer,
        np.array([float(row["probability"]) for row in rows]),
    )


def _read(folder: Path, file: str, columns: Sequence[str]) -> Iterator[Mapping[str, str]]:
    try:
        with gzip.open(folder / file, "rt", encoding="utf-8", newline="") as stream:
            table = csv.DictReader(stream)
            missing = [column for column in columns if column not in (table.fieldnames or ())]
            if missing:
                raise WeakspotError(
                    f"{folder / file} has no column {missing[0]!r}", fix=f"it needs {', '.join(columns)}"
                )
            yield from table
    except OSError as error:
        raise WeakspotError(
            f"{folder / file} cannot be read: {error.strerror or error}",
            fix="give the folder of ImageNet-X with annotations.csv.gz and " + " and ".join(MODELS.values()),
        ) from error
