"""A tiny world of pictures that say in three pixels what they show, for hunts that must look."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, Output, case_seed

LABELS = ("cat", "dog", "wolf", "fox")
#: By row of pixels: the sentence of each value; "" says nothing.
FREE: tuple[tuple[tuple[str, float], ...], ...] = (
    (("", 0.6), ("it is in snow.", 0.2), ("it is on a street.", 0.2)),
    (("", 0.7), ("it is night.", 0.3)),
    (("", 0.5), ("it is small.", 0.5)),
)
SENTENCES = tuple(s for row in FREE for s, _ in row if s)


def draw_picture(text: str, label: str, chance: random.Random) -> NDArray[np.uint8]:
    values = [LABELS.index(label)]
    for row in FREE:
        told = [i for i, (s, _) in enumerate(row) if s and s in text]
        values.append(told[0] if told else chance.choices(range(len(row)), [p for _, p in row])[0])
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[:4, 0, 0] = values
    picture[4:] = chance.randrange(256)
    return picture


def read_picture(picture: NDArray[np.uint8]) -> tuple[str, list[str]]:
    """The label and the sentences that are true of a picture."""
    values = picture[:4, 0, 0]
    told = [row[v][0] for row, v in zip(FREE, values[1:], strict=True)]
    return LABELS[int(values[0])], [s for s in told if s]


class Blind:
    """A source that knows only what it was asked for, as a text-to-image model does; sometimes it errs."""

    def __init__(self, label: str = "cat", wrong: float = 0.0) -> None:
        self.label, self.wrong = label, wrong

    def expecting(self, label: str) -> Blind:
        return Blind(label, self.wrong)

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        cases = []
        for index in indices:
            own = case_seed(seed, hypothesis, index)
            chance = random.Random(own)
            shown = "fox" if chance.random() < self.wrong else self.label
            picture = draw_picture(hypothesis.text, shown, chance)
            cases.append(Case(hypothesis, index, own, picture, self.label, hypothesis.text))
        return cases


class Clumsy:
    """A classifier that takes what is in snow at night for a wolf, in 6 cases of 10, and else errs rarely."""

    labels: tuple[str, ...] = LABELS
    parents: Mapping[str, str] = MappingProxyType({})

    def __init__(self, where: Sequence[str] = ("it is in snow.", "it is night."), only: str = "") -> None:
        self.where, self.only = set(where), only

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        outputs = []
        for case in cases:
            label, told = read_picture(case.input)
            chance = random.Random(case.seed + 1)
            hit = self.where <= {*told} and self.only in ("", label)
            wrong = "wolf" if hit and chance.random() < 0.6 else "dog" if chance.random() < 0.004 else label
            outputs.append(Output(wrong))
        return outputs


class Fair:
    """A classifier that sees what is there: a verifier."""

    labels: tuple[str, ...] = LABELS
    parents: Mapping[str, str] = MappingProxyType({})

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(read_picture(case.input)[0]) for case in cases]


class Tells:
    """A captioner with probabilities: what is true is likely, what is not is unlikely."""

    def captions(self, images: Sequence[Any], *, prefix: str = "") -> list[str]:
        return [" ".join([prefix, *read_picture(image)[1]]).strip() for image in images]

    def log_probabilities(self, images: Sequence[Any], sentences: Sequence[str], *, prefix: str = "") -> Any:
        return np.array(
            [[-0.1 if s in read_picture(image)[1] else -8.0 for s in sentences] for image in images]
        )


class Compares:
    """An encoder of pictures and texts."""

    def embed_images(self, images: Sequence[Any]) -> Any:
        return _unit([[s in read_picture(image)[1] for s in SENTENCES] for image in images])

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return _unit([[s in text for s in SENTENCES] for text in texts])


def _unit(rows: Any) -> Any:
    table = np.hstack([np.array(rows, np.float32), np.full((len(rows), 1), 0.5, np.float32)])
    return table / np.linalg.norm(table, axis=1, keepdims=True)
