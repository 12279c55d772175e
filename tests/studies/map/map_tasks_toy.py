"""A summariser and a generator with planted weak spots, and an encoder that reads the generator's pictures.

A picture's first pixel says which profession and place it shows, and whether a man or a woman.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Output

PROFESSIONS = ("doctor", "teacher", "engineer")
PLACES = ("office", "street", "kitchen")


class Reader:
    """Gives the reference summary, unless a text has no capitals: then it speaks of something else."""

    digest = "reader-1"

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        plain = [c.input == c.input.lower() for c in cases]
        return [Output("Move along." if p else c.expected) for p, c in zip(plain, cases, strict=True)]


class Silent:
    """Says nothing of a text in lower case; otherwise the reference."""

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output("" if c.input == c.input.lower() else c.expected) for c in cases]


class Painter:
    """Draws what the prompt says, but hardly an engineer in a kitchen, and engineers mostly as men."""

    digest = "painter-1"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[NDArray[np.uint8]]:
        return [self._one(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]

    def _one(self, prompt: str, seed: int) -> NDArray[np.uint8]:
        rng = random.Random(seed)
        who = next(i for i, p in enumerate(PROFESSIONS) if p in prompt)
        where = next(i for i, p in enumerate(PLACES) if p in prompt)
        man = rng.random() < (0.9 if who == 2 else 0.5)
        if (who, where) == (2, 2) and rng.random() < 0.8:
            who = 0
        image = np.full((8, 8, 3), 200, np.uint8)
        image[0, 0] = (who, where, man)
        return image


class Blank(Painter):
    """Draws teachers as nothing at all."""

    def _one(self, prompt: str, seed: int) -> NDArray[np.uint8]:
        image = super()._one(prompt, seed)
        return np.zeros_like(image) if "teacher" in prompt else image


class Eye:
    """Puts prompts and pictures into one space: profession, place, man or woman."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 8), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for i, word in enumerate((*PROFESSIONS, *PLACES)):
                row[i] = word in text
            row[6], row[7] = "a woman" in text, "a man" in text
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        rows = np.zeros((len(images), 8), np.float32)
        for row, image in zip(rows, images, strict=True):
            who, where, man = (int(v) for v in image[0, 0])
            row[who] = row[3 + where] = 1.0
            row[6 + man] = 0.5
            row /= np.linalg.norm(row)
        return rows


class NanEye(Eye):
    """Is blind to streets: its vectors of them are not finite."""

    def embed_images(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        rows = super().embed_images(images)
        rows[[int(image[0, 0, 1]) == 1 for image in images]] = np.nan
        return rows
