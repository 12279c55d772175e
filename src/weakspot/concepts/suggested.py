"""Statements about the rows of a table that a language model proposes, beside those that are counted out.

It reads failing and passing rows of the part that may suggest, never those that will test. What it names must
be something that can be looked up in a row; a range of a number may be one that nobody has cut yet, which is
then a concept more. In a second round it is told what came of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, hstack

from weakspot.concepts.columns import LEAST, MOST, holds
from weakspot.concepts.concept import Concept, Concepts
from weakspot.concepts.conditions import Conditions, columns_in_words, rows_in_words
from weakspot.concepts.finite.propose import FAILURES, PLACES, ROWS, Statement, gain_of, members, propose
from weakspot.records import Records
from weakspot.text.llm_answers import Asked
from weakspot.text.llm_proposals import Example, Tried, proposed

#: So often it is asked about one part of the rows.
ROUNDS: Final = 2
#: So many rows of either kind are looked through for those that are shown.
LOOKED: Final = 200

Rows = NDArray[np.bool_]
_WORDS: Final = (
    "Each condition is a word that is in the text of inputs, or up to {most} such words joined by “and”."
)
_COLUMNS: Final = (
    "Each condition is about one column (it is a value, or below a number, or a number or more) or a word "
    "that is in the text of inputs, or up to {most} of these joined by “and”. The columns, with values, are "
    "data as well: {columns}."
)


@dataclass(frozen=True)
class Shown:
    """A table as a language model is shown it.

    Attributes:
        texts: Of each row, "" where there is none.
        answers: What the model that failed said of each row, where that is known.
        records: The rows themselves; without them no new ranges can be looked up.
        silent: Columns of which nothing may be said.
    """

    concepts: Concepts
    failed: Rows
    texts: Sequence[str]
    answers: Sequence[str | None] = ()
    records: Records | None = None
    silent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suggestions:
    """What was proposed by some rows.

    Attributes:
        concepts: All that can be said by now: the table's, then those that were added.
        statements: Those that fail more than usual on these rows, those that explain most first.
        own: The numbers of the concepts that these rows added; no other rows may use them to suggest.
        proposed: Conditions that were named; `dropped` could not be looked up, or are of too few rows.
    """

    concepts: Concepts
    statements: tuple[Statement, ...] = ()
    own: tuple[int, ...] = ()
    proposed: int = 0
    dropped: int = 0


def suggested(
    shown: Shown,
    here: Rows,
    *,
    llm: Asked,
    seed: str,
    longest: int,
    concepts: Concepts | None = None,
    rounds: int = ROUNDS,
) -> Suggestions:
    """What a language model proposes that reads the rows `here`.

    Args:
        concepts: The table's, with those that other rows have added.
    """
    concepts = before = concepts or shown.concepts
    reader = Conditions(shown.concepts.concepts, shown.records, silent=shown.silent)
    examples = list(_examples(shown, here, seed))
    columns = columns_in_words(shown.concepts.concepts, shown.records)
    manner = (_COLUMNS if columns else _WORDS).format(most=longest, columns=columns)
    tried: list[Tried] = []
    statements: dict[Statement, None] = {}
    named = dropped = 0
    for number in range(rounds):
        found = proposed(llm, examples, manner=manner, tried=tried, seed=f"{seed} {number}")
        for condition in found.conditions:
            known, statement = _looked_up(concepts, reader.read(condition, most=longest), shown)
            inside = _inside(known, statement, here)
            if inside.sum() < ROWS:
                dropped += 1
                tried.append(Tried(condition, 0, 0))
                continue
            concepts = known
            statements[statement] = None
            tried.append(Tried(condition, int((inside & shown.failed).sum()), int(inside.sum())))
        named += len(found.conditions)
        tried.sort(key=lambda one: (one.n == 0, -one.failures / max(one.n, 1)))
    return Suggestions(
        concepts,
        tuple(_telling(concepts, list(statements), shown.failed, here)),
        tuple(range(len(before.concepts), len(concepts.concepts))),
        named,
        dropped,
    )


def stated(
    found: Suggestions,
    shown: Shown,
    here: Rows,
    *,
    concepts: Concepts,
    dear: NDArray[np.float64],
    longest: int,
    rules: bool = True,
) -> list[Statement]:
    """The statements that the rows `here` suggest: the rules' first, then the model's, in as many places.

    Args:
        concepts: All that were added by now, with what each costs beyond the others.
        rules: The rules propose too; they may use the concepts that the model has added for these rows.
    """
    if not rules:
        return list(found.statements)
    able = [*range(len(shown.concepts.concepts)), *found.own]
    rows = concepts.rows[:, able][here]
    counted = propose(rows, shown.failed[here], longest=longest, dear=dear[able])
    every = [*(tuple(able[i] for i in one) for one in counted), *found.statements]
    return list(dict.fromkeys(every))[:PLACES]


def _examples(shown: Shown, here: Rows, seed: str) -> list[Example]:
    chance = np.random.default_rng([*seed.encode()])
    found: list[Example] = []
    for failed in (False, True):
        own = np.flatnonzero(here & (shown.failed == failed))
        some = np.sort(chance.permutation(own)[:LOOKED]).tolist()
        lines = rows_in_words(shown.concepts, shown.texts, some, shown.records)
        said = [(shown.answers[row] or "") if shown.answers else "" for row in some]
        found += [Example(line, failed, answer) for line, answer in zip(lines, said, strict=True)]
    return found


def _looked_up(concepts: Concepts, read: Sequence[Concept], shown: Shown) -> tuple[Concepts, Statement]:
    """The concepts with those that were read, and their numbers; () where one is of too few or most rows."""
    statement: list[int] = []
    for one in read:
        if one not in concepts.concepts:
            if shown.records is None:
                return concepts, ()
            rows = holds([one], shown.records, shown.texts)
            if not LEAST <= rows.sum() <= MOST * len(rows):
                return concepts, ()
            matrix = csc_matrix(hstack([concepts.rows, csc_matrix(rows, dtype=np.float32)]))
            concepts = Concepts((*concepts.concepts, one), matrix)
        statement.append(concepts.concepts.index(one))
    return concepts, tuple(sorted(statement))


def _inside(concepts: Concepts, statement: Statement, here: Rows) -> Rows:
    found = np.zeros(len(here), bool)
    if statement:
        found[members(concepts.rows, [statement]).indices] = True
    return found & here


def _telling(concepts: Concepts, statements: list[Statement], failed: Rows, here: Rows) -> list[Statement]:
    """Those under which more fails than usual, those first that explain most."""
    usual, found = float(failed[here].mean()), []
    for statement in statements:
        inside = _inside(concepts, statement, here)
        n, k = float(inside.sum()), float((inside & failed).sum())
        gain = float(gain_of(np.array([k]), np.array([n]), np.array([usual * n]))[0])
        if k >= FAILURES and gain > 0:
            found.append((gain, statement))
    return [statement for _, statement in sorted(found, key=lambda pair: -pair[0])][:PLACES]
