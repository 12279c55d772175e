"""A classifier that cannot see in the dark, and pictures for it: the landscape is known in advance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from weakspot.core import Case, Output, Scores

LABELS = ("cat", "dog")
SPACE = """
name: dim
axes:
  - {name: darken, values: [0, 0.2, 0.4, 0.6], words: "darkened {percent}", plain: 0}
  - {name: rotate, values: [-5, 0, 5], words: "rotated {value}°", plain: 0}
  - {name: saturation, values: [0.8, 0.9, 1], words: "colour at {percent}", plain: 1}
"""


def write_pictures(folder: Path, n: int = 150) -> Path:
    """Noisy pictures, a folder per label; cats are red, dogs blue, some darker than others."""
    rng = np.random.default_rng(0)
    for i in range(n):
        label = LABELS[i % 2]
        (folder / label).mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 60, (8, 8, 3)) + 60 * rng.random()
        pixels[..., 0 if label == "cat" else 2] += 90
        Image.fromarray(pixels.astype(np.uint8)).save(folder / label / f"{i}.png")
    return folder


class Dim:
    """Right in the light, wrong in the dark; stops after so many answers if told to."""

    labels: tuple[str, ...] = LABELS
    parents: Mapping[str, str] = {}

    def __init__(self, *, stop_at: int | None = None, broken: float = 0.0) -> None:
        self.asked, self._stop, self._broken = 0, stop_at, broken

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        found = []
        for case in cases:
            self.asked += 1
            if self._stop is not None and self.asked > self._stop:
                raise KeyboardInterrupt
            light = float(case.input.mean())
            right = 1 / (1 + np.exp(-(light - 62) / 6))
            values = [right, 1 - right] if case.expected == "cat" else [1 - right, right]
            if case.seed % 100 < 100 * self._broken:
                values = [np.nan, np.nan]
            scores = Scores(LABELS, np.array(values, np.float32))
            found.append(Output(LABELS[int(np.argmax(values))], scores))
        return found
