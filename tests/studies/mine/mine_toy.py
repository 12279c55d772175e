"""Encoders whose blind spots are known, and captions to see them by.

`Bag` adds up a vector for each word, so that it sees every word and no order; `Blind` does not see where
things are, either. `Reader` sees words and their order; `Exact` gives every text a direction of its own.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from weakspot.sources.corpus import LeftOut
from weakspot.store import Run
from weakspot.studies.mine.pair_rule import PUBLISHED
from weakspot.studies.mine.result import Mined, MinedPair, MineResult, Threshold
from weakspot.text.plain import normal_form

WIDTH = 96


def result_of(run: Run) -> MineResult:
    """The result of a run that has one."""
    found = MineResult.of(run)
    assert found is not None
    return found


def listed(*pairs: MinedPair, alike: float = 0.9) -> MineResult:
    """A result that has a mined list and nothing else."""
    mined = Mined(
        texts=2,
        left_out=LeftOut(),
        rule=PUBLISHED,
        threshold=Threshold(value=alike, how="fixed"),
        candidates=len(pairs),
        complete=True,
        alike=None,
        struck={},
        random=(),
        seconds={},
        pairs=pairs,
    )
    return MineResult(mined=mined)


def mined_of(run: Run) -> Mined:
    """Its mined list."""
    found = result_of(run).mined
    assert found is not None
    return found


UNSEEN = frozenset(
    {
        *("left", "right", "on", "under", "in", "inside", "behind", "front", "of", "above", "below", "over"),
        *("beside", "near", "next", "to", "the", "at"),
    }
)
COLOURS = ("red", "blue", "green", "black", "white", "yellow")
THINGS = ("dog", "cat", "horse", "car", "bus", "bench", "table", "bicycle", "boat", "truck")
VERBS = ("chasing", "following", "pushing", "carrying", "watching", "pulling")
PLACES = (
    "under a tree",
    "behind a fence",
    "in front of a house",
    "on a hill",
    "above a river",
    "on the left",
)
OPENINGS = ("a photo of", "a picture of", "an image of")


def captions(n: int = 240, *, seed: int = 0) -> list[str]:
    """So many different short captions."""
    rng = Random(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        one, other = rng.sample(THINGS, 2)
        shape = rng.randrange(3)
        if shape == 0:
            text = f"A {rng.choice(COLOURS)} {one} {rng.choice(VERBS)} a {other} {rng.choice(PLACES)}."
        elif shape == 1:
            text = f"Two {rng.choice(COLOURS)} {one}s {rng.choice(PLACES)} next to a {other}."
        else:
            text = f"A {one} is {rng.choice(VERBS)} a {rng.choice(COLOURS)} {other} {rng.choice(PLACES)}."
        found[text] = None
    return list(found)


@lru_cache(maxsize=65_536)
def direction(what: str) -> NDArray[np.float64]:
    """A direction of its own for anything."""
    seed = int.from_bytes(hashlib.blake2b(what.encode(), digest_size=8).digest())
    row = np.random.default_rng(seed).standard_normal(WIDTH)
    return np.asarray(row / np.linalg.norm(row))


def words(text: str) -> list[str]:
    """The words that say something: openings are left out, one and many are told apart."""
    form = normal_form(text)
    for opening in OPENINGS:
        form = form.removeprefix(opening)
    return [word for word in form.split() if word not in ("a", "an", "is")]


class Encoder:
    """Embeds each text by `row`; `pause` makes it slow."""

    pause = 0.0
    calls = 0

    @property
    def digest(self) -> str:
        return type(self).__name__

    def row(self, said: list[str]) -> NDArray[np.float64]:
        raise NotImplementedError

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        type(self).calls += 1
        time.sleep(self.pause)
        rows = np.stack([self.row(words(text)) for text in texts]) if texts else np.zeros((0, WIDTH))
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / np.where(lengths == 0, 1, lengths)).astype(np.float32)


class Bag(Encoder):
    def row(self, said: list[str]) -> NDArray[np.float64]:
        return np.asarray(np.sum([direction(word) for word in said] or [direction("nothing")], axis=0))


class Blind(Bag):
    """Does not see where anything is."""

    def row(self, said: list[str]) -> NDArray[np.float64]:
        return super().row([word for word in said if word not in UNSEEN])


class SlowBlind(Blind):
    pause = 0.06


class Reader(Encoder):
    """Sees the order, too."""

    def row(self, said: list[str]) -> NDArray[np.float64]:
        rows = [direction(f"{i} {word}") for i, word in enumerate(said)]
        return np.asarray(np.sum(rows or [direction("nothing")], axis=0))


class Exact(Encoder):
    def row(self, said: list[str]) -> NDArray[np.float64]:
        return direction(" ".join(said)) + 0.5 * direction("every text")


class NotFinite(Bag):
    """Has no number for one caption in ten."""

    def row(self, said: list[str]) -> NDArray[np.float64]:
        return super().row(said) * (np.nan if len(" ".join(said)) % 10 == 3 else 1)


class Zero(Bag):
    def row(self, said: list[str]) -> NDArray[np.float64]:
        return np.zeros(WIDTH)


class Fewer(Bag):
    """Loses a row."""

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed_texts(texts)[:-1]
