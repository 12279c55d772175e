"""Looks at pictures of the world and says what is in them, attribute by attribute.

For pictures whose scene nobody knows, such as those of a generator. It is `world:classifier-fair`, which was
trained on balanced pictures, so that it does not take a flower for a bee, and which looks again where it is
not sure (`weakspot.world.classifier.SecondLook`). It errs too; its card says how often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.core import WeakspotError
from weakspot.models.pictures import planes
from weakspot.world import shipped
from weakspot.world.classifier import SecondLook
from weakspot.world.grammar import parse
from weakspot.world.scene import ATTRIBUTES, SUBJECTS, SceneSet

#: Height and width of the pictures that the world's networks take.
SIZE: Final = (64, 64)
#: Where each attribute's values end in the row of all of them.
_ENDS: Final = np.cumsum([len(values) for values in ATTRIBUTES.values()])


class Guess(NamedTuple):
    """The most probable value of an attribute, and its probability."""

    value: str
    probability: float


class Seen(Mapping[str, Guess]):
    """What is in one picture: a guess for every attribute, in the order of `ATTRIBUTES`.

    Args:
        probabilities: Of every value of every attribute; those of one attribute sum to 1.
    """

    def __init__(self, probabilities: Mapping[str, NDArray[np.float64]]) -> None:
        self._probabilities = probabilities

    def __getitem__(self, attribute: str) -> Guess:
        row = self._probabilities[attribute]
        best = int(row.argmax())
        return Guess(ATTRIBUTES[attribute][best], float(row[best]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._probabilities)

    def __len__(self) -> int:
        return len(self._probabilities)

    def __repr__(self) -> str:
        return f"Seen({', '.join(f'{name}: {g.value} {g.probability:.2f}' for name, g in self.items())})"

    def probability(self, attribute: str, values: Sequence[str]) -> float:
        """That the attribute has one of these values."""
        row = self._probabilities[attribute]
        return float(sum(row[ATTRIBUTES[attribute].index(value)] for value in values))


class Verifier:
    """Says what is in pictures, and whether they show what a text says.

    Args:
        device: "cpu" (the same numbers everywhere), "cuda" or "auto".
    """

    def __init__(self, *, device: str = "cpu") -> None:
        self._graph = SecondLook(shipped.file("classifier-fair.onnx"), device=device)
        self._graph.expect(
            {"image": (None, 3, *SIZE)},
            {
                "logits": (None, len(SUBJECTS)),
                "attributes": (None, int(_ENDS[-1])),
                "features": (None, None),
            },
            fix=shipped.FIX,
        )
        self.digest = self._graph.digest

    def look(self, images: Sequence[NDArray[np.uint8]]) -> list[Seen]:
        """What is in each picture. Pictures of another size are resized."""
        seen = []
        for logits in self._run(images, "attributes"):
            columns = [_softmax(part) for part in np.split(logits, _ENDS[:-1], axis=1)]
            seen += [Seen(dict(zip(ATTRIBUTES, rows, strict=True))) for rows in zip(*columns, strict=True)]
        return seen

    def verdicts(
        self, images: Sequence[NDArray[np.uint8]], texts: Sequence[str], *, threshold: float = 0.5
    ) -> list[dict[str, bool]]:
        """For each picture and its text: does each attribute that the text speaks of fit?

        It fits if the values that the text allows have together at least the probability `threshold`. A text
        that says nothing gives {}.

        Raises:
            WeakspotError: A text cannot be understood, or there is not one for each picture.
        """
        if len(images) != len(texts):
            raise WeakspotError(
                f"there are {len(images)} pictures and {len(texts)} texts", fix="give one text per picture"
            )
        meanings = [_meaning(text) for text in texts]
        return [
            {name: seen.probability(name, values) >= threshold for name, values in meaning.allowed}
            for seen, meaning in zip(self.look(images), meanings, strict=True)
        ]

    def shows(
        self, images: Sequence[NDArray[np.uint8]], texts: Sequence[str], *, threshold: float = 0.5
    ) -> NDArray[np.bool_]:
        """Whether each picture shows all that its text says; see `verdicts`."""
        verdicts = self.verdicts(images, texts, threshold=threshold)
        return np.array([all(verdict.values()) for verdict in verdicts], np.bool_)

    def features(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """The network's last inner layer, (n, D): what distances between sets of pictures are made of."""
        return np.concatenate(list(self._run(images, "features")))

    def _run(self, images: Sequence[NDArray[np.uint8]], output: str) -> Iterator[NDArray[np.float32]]:
        for part in planes(images, SIZE, batch=self._graph.batch):
            [values] = self._graph.run({"image": part}, [output])
            if not np.isfinite(values).all():
                raise WeakspotError("the verifier answered with numbers that are not finite", fix=shipped.FIX)
            yield values


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    grown = np.exp(logits.astype(np.float64) - logits.max(1, keepdims=True))
    return np.asarray(grown / grown.sum(1, keepdims=True))


@lru_cache(maxsize=4096)
def _meaning(text: str) -> SceneSet:
    return parse(text)
