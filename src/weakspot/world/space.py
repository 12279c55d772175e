"""What words leave open of a picture of the drawn world, as a space that a search can move in.

A state is a row of numbers: the subject, which option of each independent factor of the scene (`nature`: an
attribute, or an attribute together with its child), and the random numbers of each element of the drawing
(`render`: pose and proportions, layout, the place, the light's source, …): its first ones as standard normal
variables, so that they can be moved a little, and a seed for all further ones.

A move redraws some of the scene's factors given the subject, or moves some of the elements that the scene
shows. What is redrawn is redrawn from its own distribution, what is moved is moved as in `Gaussian`, and
which of them may be does not depend on what the move changes; so a state and its move are as likely as the
move and its state. Only where the words leave the subject open, a move may also draw the whole scene anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache, partial
from math import erfc, sqrt
from random import Random
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis
from weakspot.world.grammar import describe
from weakspot.world.nature import DRAWN, FACTORS, Draw, even_plan, natural_plan
from weakspot.world.render import Picture, render
from weakspot.world.scene import Scene, SceneSet

States = NDArray[np.float64]

#: The elements of a drawing that have a stream of random numbers of their own (`render.stream`).
ELEMENTS: Final = (
    "background", "layout", "subject", "camera", "sky", "support", "companion", "cover", "screen", "weather",
)  # fmt: skip
#: Of those, what every picture shows.
_ALWAYS: Final = 4
#: Random numbers of an element that can be moved.
FIRST: Final = 8
_CHOICES: Final = 1 + len(FACTORS)
_WIDTH: Final = FIRST + 1


class SceneSpace:
    """The natural scenes of a text and the ways to draw them; `balanced` makes uniform what is left open."""

    def __init__(
        self, hypothesis: Hypothesis, scenes: SceneSet, *, size: int = 64, balanced: bool = False
    ) -> None:
        self.hypothesis, self.size = hypothesis, size
        self._scenes, self._balanced = scenes, balanced
        plan = (even_plan if balanced else natural_plan)(scenes)
        self.subjects = tuple(values[0] for values in plan.subject.values)
        self._subject = _steps(plan.subject)
        self._options = [[draw.values for draw in plan.factors[s]] for s in self.subjects]
        self._tables = [[_steps(draw) for draw in plan.factors[s]] for s in self.subjects]
        #: Of each subject, the factors that are not settled by the words.
        self._free = [[i for i, steps in enumerate(row, start=1) if len(steps)] for row in self._tables]
        self._loose = len(self.subjects) > 1 or any(self._free)

    def __reduce__(self) -> Any:
        again = partial(SceneSpace, size=self.size, balanced=self._balanced)
        return again, (self.hypothesis, self._scenes)

    def draw(self, rng: np.random.Generator, n: int) -> States:
        drawing = rng.standard_normal((n, len(ELEMENTS), _WIDTH))
        drawing[:, :, FIRST] = rng.random((n, len(ELEMENTS)))
        return np.concatenate([self._choose(rng, n), drawing.reshape(n, -1)], axis=1)

    def move(self, rng: np.random.Generator, states: States, scale: float) -> States:
        """See `Space`. At scale 1 the whole scene or the whole drawing is drawn anew."""
        moved = np.array(states, dtype=float)
        of_scene = rng.random(len(moved)) < 0.5 if self._loose else np.zeros(len(moved), dtype=bool)
        rows = np.flatnonzero(of_scene)
        if len(rows):
            fresh = self._choose(rng, len(rows), subjects=moved[rows, 0].astype(int))
            anew = self._picked(rng, moved[rows, 0].astype(int), scale)
            moved[rows, :_CHOICES] = np.where(anew, fresh, moved[rows, :_CHOICES])
            if len(self.subjects) > 1:
                other = rows[rng.random(len(rows)) < max(scale, 1 / _CHOICES)]
                moved[other, :_CHOICES] = self._choose(rng, len(other))
        rows = np.flatnonzero(~of_scene)
        if len(rows):
            shown = np.array([_shown(self.scene(state)) for state in moved[rows]])
            # One of the elements shown, picked evenly, and each of the others with probability `scale`.
            first = np.argmax(np.where(shown, rng.random(shown.shape), -1.0), axis=1)
            chosen = shown & (rng.random(shown.shape) < scale)
            chosen[np.arange(len(rows)), first] = True
            moved[rows, _CHOICES:] = self._redrawn(rng, moved[rows, _CHOICES:], chosen, scale)
        return moved

    def scene(self, state: NDArray[Any]) -> Scene:
        subject, *options = (int(number) for number in state[:_CHOICES])
        drawn = [self.subjects[subject]]
        for values, option in zip(self._options[subject], options, strict=True):
            drawn += values[option]
        return Scene(**dict(zip(DRAWN, drawn, strict=True)))

    def picture(self, state: NDArray[Any]) -> Picture:
        drawing = np.asarray(state[_CHOICES:], dtype=float).reshape(len(ELEMENTS), _WIDTH)
        return render(self.scene(state), lambda element: _stream(drawing, element), self.size)

    def to_cases(self, states: NDArray[Any], indices: Sequence[int]) -> list[Case]:
        """See `CaseSpace`. The caption says all of the scene; the seed stands for the state."""
        cases = []
        for state, index in zip(states, indices, strict=True):
            scene, picture = self.scene(state), self.picture(state)
            own = hashlib.blake2b(np.asarray(state, dtype=float).tobytes(), digest_size=8).digest()
            seed = int.from_bytes(own, "big") >> 1
            cases.append(Case(self.hypothesis, index, seed, picture, scene.subject, describe(scene)))
        return cases

    def _choose(self, rng: np.random.Generator, n: int, *, subjects: NDArray[Any] | None = None) -> States:
        """Choices of n scenes, of these subjects or of any."""
        points = rng.random((n, _CHOICES))
        chosen = np.zeros((n, _CHOICES))
        chosen[:, 0] = np.searchsorted(self._subject, points[:, 0], "right") if subjects is None else subjects
        for subject, tables in enumerate(self._tables):
            rows = np.flatnonzero(chosen[:, 0] == subject)
            if len(rows):
                for i, steps in enumerate(tables, start=1):
                    chosen[rows, i] = np.searchsorted(steps, points[rows, i], "right")
        return chosen

    def _picked(self, rng: np.random.Generator, subjects: NDArray[Any], scale: float) -> NDArray[np.bool_]:
        """Which choices to make anew: one of the free ones, and others with probability `scale`."""
        anew = rng.random((len(subjects), _CHOICES)) < scale
        anew[:, 0] = False
        for subject, free in enumerate(self._free):
            rows = np.flatnonzero(subjects == subject)
            if len(rows) and free:
                anew[rows, rng.choice(free, size=len(rows))] = True
        return anew

    def _redrawn(
        self, rng: np.random.Generator, drawing: States, chosen: NDArray[np.bool_], scale: float
    ) -> States:
        """The drawing's numbers, those of the chosen elements moved, their seeds sometimes drawn anew."""
        old = drawing.reshape(len(drawing), len(ELEMENTS), _WIDTH)
        new = old.copy()
        fresh = rng.standard_normal((*old.shape[:2], FIRST))
        step = scale**0.4  # a redrawn choice changes more than a number moved by as much
        new[:, :, :FIRST] = sqrt(1.0 - step * step) * old[:, :, :FIRST] + step * fresh
        anew = rng.random(chosen.shape) < scale
        new[:, :, FIRST] = np.where(anew, rng.random(chosen.shape), old[:, :, FIRST])
        return np.asarray(np.where(chosen[:, :, None], new, old).reshape(drawing.shape))


def _steps(draw: Draw) -> NDArray[np.float64]:
    """The inner ends of the options on the line from 0 to 1."""
    upto = np.asarray(draw.upto)
    return np.asarray(upto[:-1] / upto[-1])


class _Replayed(Random):
    """A stream whose first numbers are given."""

    first: list[float]

    def random(self) -> float:
        return self.first.pop() if self.first else super().random()


def _stream(drawing: NDArray[Any], element: str) -> Random:
    """The stream of an element. All of a subject's parts share a seed, and the first one has the numbers."""
    owner = "subject" if "subject" in element else element
    *numbers, seed = drawing[ELEMENTS.index(owner)]
    stream = _Replayed(f"{element}/{int(seed * 2**53)}")
    stream.first = []
    if element in (owner, "subject 0"):
        stream.first = [min(0.5 * erfc(-z * sqrt(0.5)), 1 - 2**-53) for z in reversed(numbers)]
    return stream


@lru_cache(maxsize=65536)
def _shown(scene: Scene) -> tuple[bool, ...]:
    """Which of `ELEMENTS` a picture of the scene shows; the numbers of the others change nothing."""
    return (
        *(True,) * _ALWAYS,
        scene.light != "day",
        scene.on != "nothing",
        scene.companion != "nothing",
        scene.hidden != "no",
        scene.behind != "nothing",
        scene.weather in ("rain", "snowfall"),
    )
