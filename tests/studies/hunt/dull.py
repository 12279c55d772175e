"""Hunts of a classifier that has no weak spot: wrong at one rate, whatever the scene."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from weakspot import hunt
from weakspot.core import Case, Output
from weakspot.store import Run
from weakspot.world.planted import WordsOnly


class Dull:
    """A classifier that is wrong at one rate."""

    labels: tuple[str, ...] = ("fly", "bee", "cat")
    parents: Mapping[str, str] = MappingProxyType({"fly": "insect"})

    def __init__(self, rate: float) -> None:
        self.rate, self.asked = rate, 0
        self.digest = f"dull {rate}"

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        self.asked += len(cases)
        return [Output("bee" if self._errs(case) else case.expected) for case in cases]

    def _errs(self, case: Case) -> bool:
        luck = hashlib.blake2b(f"dull {case.seed}".encode(), digest_size=8).digest()
        return int.from_bytes(luck, "big") < self.rate * 2**64


def dull(rate: float, out: Path, *, budget: int = 3000, **how: Any) -> Run:
    """A hunt of it."""
    return hunt(Dull(rate), label="fly", source=WordsOnly(), budget=f"images={budget}", out=out, **how)
