"""What became of a table before it is told: its weak spots, with the numbers that speak for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.finite.counts import Total
from weakspot.concepts.finite.spots import Spot
from weakspot.core import Rate
from weakspot.records.table import LeftOut
from weakspot.studies.table.parts import TableParts
from weakspot.study.language_model import LlmUse


class Evidence(NamedTuple):
    """The numbers of one spot.

    Attributes:
        whole: Its rows in all of the table.
        rate: Of its rows among those that tested it; `elsewhere` of the others among those.
        failures: Of all rows that tested it.
        shown: The rows in memory from which examples may be taken.
    """

    whole: Total
    rate: Rate
    elsewhere: Rate
    failures: int
    shown: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Measured:
    """A table that was searched.

    Attributes:
        parts: Its rows as far as they are in memory.
        usual: The failure rate of all rows.
        left_out: How many rows were, and the first of them.
        sampled: See `TableResult`; `tested` and `llm` too.
    """

    parts: TableParts
    spots: Sequence[Spot]
    evidence: Sequence[Evidence]
    usual: Rate
    left_out: int
    first_left_out: Sequence[LeftOut]
    sampled: int = 0
    tested: int = 0
    llm: LlmUse | None = None
