"""Conditions that a language model proposes who reads rows of a table, in halves or of a sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.columns import free_columns, texts_of
from weakspot.concepts.finite.propose import Statement
from weakspot.concepts.suggested import Shown, Suggestions, stated, suggested
from weakspot.studies.table.parts import InPieces, TableParts
from weakspot.studies.table.settings import TableSettings
from weakspot.study import Context
from weakspot.study.language_model import KeptAnswers, LlmUse


class Asked(NamedTuple):
    """The rows with all that can be said of them now, and what each part of them suggests.

    Attributes:
        suggest: The statements of a part, by its number.
    """

    parts: TableParts
    suggest: Callable[[int], Sequence[Statement]]
    use: LlmUse


def asks(context: Context[TableSettings, TableParts | InPieces]) -> KeptAnswers | None:
    """The language model of a run, where it may propose."""
    llm = context.parts.llm
    return None if llm is None or context.settings.propose == "rules" else KeptAnswers(llm, context)


def asked_about(
    settings: TableSettings, parts: TableParts, llm: KeptAnswers, places: Sequence[NDArray[np.bool_]]
) -> Asked:
    """Ask about each of these parts of the rows by itself; none learns what another has said."""
    judged = parts.judged
    free = free_columns(judged, ignored=parts.ignored)
    shown = Shown(
        parts.plain,
        judged.failed,
        texts_of(judged.records, free) if free else [""] * len(judged),
        judged.answer,
        judged.records,
        silent_of(parts),
    )
    found, concepts = list[Suggestions](), parts.plain
    for number, here in enumerate(places):
        seed = f"{settings.seed} {number}"
        found.append(
            suggested(shown, here, llm=llm, seed=seed, longest=settings.sentences, concepts=concepts)
        )
        concepts = found[-1].concepts

    def suggest(number: int) -> list[Statement]:
        return stated(
            found[number],
            shown,
            places[number],
            concepts=concepts,
            dear=np.array([one.dear for one in concepts.concepts]),
            longest=settings.sentences,
            rules=settings.propose != "llm",
        )

    named, dropped = sum(one.proposed for one in found), sum(one.dropped for one in found)
    return Asked(replace(parts, more=concepts), suggest, llm.use(proposed=named, dropped=dropped))


def silent_of(parts: TableParts) -> tuple[str, ...]:
    """Columns of which nothing may be said: they hold the verdict, or say which row it is."""
    roles, judged = parts.judged.roles, parts.judged
    names = {*parts.ignored, roles.id, roles.image, roles.group, roles.score, *judged.used} - {roles.label}
    return tuple(sorted(name for name in names if name))
