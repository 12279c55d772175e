"""A language model that proposes, given what the rivals are given: alone, or beside our rules."""

from __future__ import annotations

import numpy as np

from weakspot.bench import llms
from weakspot.bench.real.methods import READ, Said, Slices
from weakspot.bench.real.ours import FDR, plain
from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.finite.confirm import halves
from weakspot.concepts.finite.propose import LONGEST, Statement
from weakspot.concepts.finite.spots import weak_spots
from weakspot.concepts.suggested import Shown, stated, suggested


def proposing(slices: Slices, *, seed: int, llm: str, rules: bool) -> list[Said]:
    """As `weakspot`, but a language model reads each half and proposes; the other half confirms."""
    model = llms.model(llm)
    concepts = Concepts(concepts_of(slices.names), slices.rows.astype(np.float32).tocsc())
    shown = Shown(concepts, slices.failed, slices.texts)
    half, dear = halves(len(slices.failed), seed), plain(slices)

    def suggest(side: bool) -> list[Statement]:
        here = half == side
        found = suggested(shown, here, llm=model, seed=f"{seed} {int(side)}", longest=LONGEST)
        return stated(found, shown, here, concepts=concepts, dear=dear, longest=LONGEST, rules=rules)

    spots = weak_spots(concepts.rows, slices.failed, half, fdr=FDR, dear=dear, suggest=suggest)
    return [Said(frozenset(slices.names[i] for i in spot.statement)) for spot in spots[:READ]]


def concepts_of(names: tuple[str, ...]) -> tuple[Concept, ...]:
    """The concepts of a benchmark's table, with the words by which people call them."""
    values: dict[str, set[str]] = {}
    for name in names:
        column, sign, value = name.partition("=")
        if sign:
            values.setdefault(column, set()).add(value)
    found = []
    for name in names:
        column, sign, value = name.partition("=")
        if not sign:
            word = name.removeprefix("text:")
            found.append(Concept("", "mentions", word, frozenset({word})))
        elif values[column] <= {"0", "1"}:
            found.append(Concept(column, "flag", "yes" if value == "1" else "no"))
        else:
            found.append(Concept(column, "is", value))
    return tuple(found)
