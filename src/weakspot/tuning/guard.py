"""How far the weights are moved: the clean accuracy is a limit, not a hope.

Between a model's old and new weights, most of a repair comes early on the way and most of what is forgotten
late (Wortsman et al., 2022). So weights at several places of the way are asked about pictures that took no
part in training and will take none in the proof, and those are kept that fail least in the weak spots among
all that fail on plain pictures no oftener than before, but for a margin; nor on what the weak spots are
mistaken for, where that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch import nn

from weakspot.tuning.lessons import MARGIN, Lessons
from weakspot.tuning.network import SHOWN, logits_of

#: Pictures beside the lessons that are asked at most, and of each kind that is counted by itself.
MOST: Final = 3_000
#: Places on the way are so far from each other.
STEP: Final = 0.05


class Place(NamedTuple):
    """A place on the way from the old weights (0) to the new ones (1), and the rates of failure there.

    `transformed` is None, and `apart` empty, where an earlier rate was already beyond the limit.
    """

    way: float
    plain: float
    transformed: float | None
    apart: tuple[float, ...] = ()


def farthest(
    go: Callable[[float], None],
    *,
    plain: Callable[[], float],
    transformed: Callable[[], float],
    apart: Callable[[], Sequence[float]] = tuple,
    most: float = 1.0,
    margin: float = MARGIN,
) -> list[Place]:
    """Look at places on the way, from `most` backwards; the last one returned is where the model stays.

    The first place within the margin is taken, or one further back while the weak spots fail less often
    there. If none is better than the old weights, these stay. `apart` gives the rates of each kind of
    pictures that must not fail more often by itself.
    """
    go(0.0)
    rate, failing = plain(), transformed()
    old = best = Place(0.0, rate, failing, tuple(apart()))
    seen = [old]
    for i in range(round(most / STEP)):
        place = Place(round(most - i * STEP, 6), 0.0, None)
        go(place.way)
        place = place._replace(plain=plain())
        if _within(place.plain, old.plain, margin):
            place = place._replace(apart=tuple(apart()))
            if all(_within(now, then, margin) for now, then in zip(place.apart, old.apart, strict=True)):
                place = place._replace(transformed=transformed())
        seen.append(place)
        if place.transformed is None:
            continue
        if place.transformed < failing:
            best, failing = place, place.transformed
        elif best is not old:
            break
    go(best.way)
    seen.remove(best)
    return [*seen, best]


def _within(now: float, then: float, margin: float) -> bool:
    return now <= then + margin + 1e-9


class Guards:
    """Failures on pictures that take no part: those for validation, and those beside the lessons.

    They are drawn alike every time. With `keep`, what the student is given is computed only once.
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
        self._plain = len(self._sets)
        self._sets += [(kind, list(range(min(len(kind), MOST)))) for kind in lessons.apart]
        self._kept: dict[tuple[int, int, float], tuple[torch.Tensor, torch.Tensor]] = {}

    def __len__(self) -> int:
        """Plain pictures; as many are asked in the weak spots."""
        return sum(len(some) for _, some in self._sets[: self._plain])

    def failing(self, rate: float) -> float:
        """The rate of failures, where a share of the pictures is transformed."""
        return sum(self._wrong(i, rate) for i in range(self._plain)) / len(self)

    def apart(self) -> list[float]:
        """The rate of each kind that is counted by itself."""
        kinds = range(self._plain, len(self._sets))
        return [self._wrong(i, 0.0) / max(len(self._sets[i][1]), 1) for i in kinds]

    def _wrong(self, which: int, rate: float) -> int:
        wrong = 0
        with torch.no_grad():
            for at in range(0, len(self._sets[which][1]), SHOWN):
                batch, labels = self._batch(which, at, rate)
                wrong += int((logits_of(self._student(batch)).argmax(1) != labels).sum())
        return wrong

    def _batch(self, which: int, at: int, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
        found = self._kept.get((which, at, rate))
        if found is None:
            lessons, some = self._sets[which]
            shown = lessons.show(some[at : at + SHOWN], seed=[self._seed, 17, which, at], rate=rate)
            batch = self._given(shown.changed)
            found = (batch, torch.from_numpy(shown.labels).to(batch.device))
            if self._keep:
                self._kept[which, at, rate] = found
        return found
