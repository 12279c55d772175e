"""How far the weights are moved: the clean accuracy is a limit, not a hope.

Between a model's old and new weights, most of a repair comes early on the way and most of what is forgotten
late (Wortsman et al., 2022). So weights at several places of the way are asked about pictures that took no
part in training and will take none in the proof, and those are kept that fail least in the weak spots among
all that fail on plain pictures no oftener than before, but for a margin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from weakspot.repair.lessons import Lessons
from weakspot.repair.network import SHOWN, logits_of

#: On plain pictures a repaired model may fail more often by this much: half of the point that a repair is
#: allowed to cost in its proof, since these pictures are a sample too.
MARGIN: Final = 0.005
#: Pictures beside the lessons that are asked at most.
MOST: Final = 3_000
#: Places on the way are so far from each other.
STEP: Final = 0.05


class Place(NamedTuple):
    """A place on the way from the old weights (0) to the new ones (1).

    Attributes:
        way: Where.
        plain: Rate of failures on plain pictures.
        transformed: The same in the weak spots; None where `plain` had said enough.
    """

    way: float
    plain: float
    transformed: float | None


def farthest(
    go: Callable[[float], None],
    *,
    plain: Callable[[], float],
    transformed: Callable[[], float],
    most: float = 1.0,
    margin: float = MARGIN,
) -> list[Place]:
    """Places that were looked at; the last one is where to stay, and the model is there.

    From the far end back to the first place that is within the margin, and further as long as the weak spots
    fail less often there. If none is better than the old weights, these are what is left.

    Args:
        go: Moves the model to a place.
        plain: Its rate of failures on plain pictures, where it is now.
        transformed: The same in the weak spots.
        most: The far end.
        margin: How much more often it may fail on plain pictures.
    """
    go(0.0)
    old = best = Place(0.0, plain(), transformed())
    seen = [old]
    for i in range(round(most / STEP)):
        place = Place(round(most - i * STEP, 6), 0.0, None)
        go(place.way)
        place = place._replace(plain=plain())
        if place.plain <= old.plain + margin + 1e-9:
            place = place._replace(transformed=transformed())
        seen.append(place)
        if place.transformed is None:
            continue
        if _failures(place) < _failures(best):
            best = place
        elif best is not old:
            break
    go(best.way)
    seen.remove(best)
    return [*seen, best]


def _failures(place: Place) -> float:
    assert place.transformed is not None  # noqa: S101 (only places within the margin are compared)
    return place.transformed


class Guards:
    """Failures on pictures that take no part: those for validation, and those beside the lessons.

    Each is drawn alike every time.

    Args:
        student: What is trained.
        given: From pictures to what the student is given.
        lessons: Whose pictures they are.
        watched: The numbers of those for validation.
        seed: Everything random follows from it.
        keep: What the student is given stays the same and is small: it is computed once.
    """

    def __init__(
        self,
        student: nn.Module,
        given: Callable[[Sequence[Any]], torch.Tensor],
        lessons: Lessons,
        watched: Sequence[int],
        *,
        seed: int,
        keep: bool,
    ) -> None:
        self._student, self._given, self._seed, self._keep = student, given, seed, keep
        self._sets: list[tuple[Lessons, list[int]]] = [(lessons, list(watched))]
        if lessons.beside is not None:
            some = np.random.default_rng([seed, 16]).permutation(len(lessons.beside))[:MOST]
            self._sets.append((lessons.beside, some.tolist()))
        self._kept: dict[tuple[int, int, float], tuple[torch.Tensor, torch.Tensor]] = {}

    def __len__(self) -> int:
        return sum(len(some) for _, some in self._sets)

    def failing(self, rate: float) -> float:
        """The rate of failures, where a share of the pictures is transformed."""
        wrong = 0
        with torch.no_grad():
            for i, (_, some) in enumerate(self._sets):
                for at in range(0, len(some), SHOWN):
                    batch, labels = self._batch(i, at, rate)
                    wrong += int((logits_of(self._student(batch)).argmax(1) != labels).sum())
        return wrong / len(self)

    def _batch(self, which: int, at: int, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        key = (which, at, rate)
        if key in self._kept:
            return self._kept[key]
        lessons, some = self._sets[which]
        shown = lessons.show(some[at : at + SHOWN], seed=[self._seed, 17, which, at], rate=rate)
        batch = self._given(shown.changed)
        found = (batch, torch.from_numpy(shown.labels).to(batch.device))
        if self._keep:
            self._kept[key] = found
        return found
