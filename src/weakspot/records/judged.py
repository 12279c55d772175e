"""A table with its verdicts: which rows failed, and what the columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.records.table import LeftOut, Records


class Roles(NamedTuple):
    """Which column says what; "" where none does. Of texts and relabelled columns there may be several.

    Attributes:
        label: The right answer.
        prediction: What the model answered.
        score: How sure it was of its answer, 0 to 1.
        image: The path of a picture.
        text: Captions, questions or other words that describe the input.
        group: Rows of one group belong together (a patient, a video): they are never split.
        id: What identifies a row in other tables of the same data.
        relabelled: Other answers that people accept too.
    """

    label: str = ""
    prediction: str = ""
    score: str = ""
    image: str = ""
    text: tuple[str, ...] = ()
    group: str = ""
    id: str = ""
    relabelled: str = ""


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows that have a verdict.

    Attributes:
        records: These rows only, with all columns; what was left out is in `records.left_out`.
        roles: What the columns are; `found` names those that nobody named.
        failed: Whether the model failed, per row.
        rule: What a failure is, in words: "prediction differs from label", "loss > 2".
        expected: The right answer as text; None where the table has none.
        answer: What the model answered, as text; None where the table has none.
        score: How sure the model was; NaN where the table does not say.
        used: Columns that say whether a row failed; nothing is said of rows by them.
    """

    records: Records
    roles: Roles
    failed: NDArray[np.bool_]
    rule: str
    expected: Sequence[str | None]
    answer: Sequence[str | None]
    score: NDArray[np.float64]
    used: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.failed)

    @property
    def left_out(self) -> Sequence[LeftOut]:
        return self.records.left_out

    def text_of(self, row: int) -> str:
        """The words of a row, in one line."""
        parts = (self.records.columns[name].rows(np.array([row])).texts()[0] for name in self.roles.text)
        return " ".join(part for part in parts if part)


#: What people may give as a table: a path, a frame of pandas or polars, a list of dicts.
Given = Any
