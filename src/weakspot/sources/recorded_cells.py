"""The rows of a table by the cells of a concept space, with the answers and verdicts that were recorded.

A source, a target and a judge: a cell's draws are its rows in random order, none of them twice; the target
repeats the recorded answer and the judge the recorded verdict. Rows are shared out beforehand, so that none
is seen both by a search and by what confirms it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.concepts.recorded import cells_of
from weakspot.concepts.space import ConceptSpace
from weakspot.core import Case, Hypothesis, Output, Stage, Status, Verdict, WeakspotError, case_seed
from weakspot.records.judged import Judged
from weakspot.sources.folder import Unusable, decode, read
from weakspot.store.blobs import png

#: The parts of the rows, with the share that each gets of every cell.
PARTS: Final = {"discovery": 0.6, "confirmation": 0.4}
#: Which part each stage draws from.
_STAGES: Final = {Stage.EXPLORE: "discovery", Stage.CONFIRM: "confirmation"}
#: Pixels of the longer side of a picture that is kept.
LONGEST: Final = 512

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """A row as an input: where it stands among those with a verdict, its words, and its picture's file."""

    number: int
    text: str
    image: str = ""

    def evidence(self) -> bytes | None:
        """The picture where there is one that can be read, else the words."""
        if self.image:
            try:
                return png(decode(read(Path(self.image)), longest=LONGEST))
            except (Unusable, ValueError):  # a name with a zero in it is no path
                pass
        return self.text.encode("utf-8", "backslashreplace") if self.text else None


class RecordedCells:
    """Draws rows of a table by the cell they lie in.

    Args:
        columns: The columns that are the axes of the space, in their order.
        shares: Of the rows, by the names of the parts; "discovery" and "confirmation" are drawn from.
        seed: The rows are shared out by it.
    """

    def __init__(
        self,
        table: Judged,
        *,
        space: ConceptSpace,
        columns: Sequence[str],
        seed: int = 0,
        shares: Mapping[str, float] = PARTS,
    ) -> None:
        self.table, self.space, self.columns = table, space, tuple(columns)
        self.cells = cells_of(table.records, columns, space)
        if not (self.cells >= 0).any():
            raise WeakspotError(
                f"no row of {table.records.origin} has a value of each of {', '.join(columns)[:200]}",
                fix="name columns that have values",
            )
        self.names = tuple(shares)
        self.part = self._shared_out(seed, shares)
        self._rows = lru_cache(maxsize=4096)(self._in_order)

    @property
    def searched(self) -> Ints:
        """See `Counted`."""
        return self._count(self._of(Stage.EXPLORE))

    @property
    def population(self) -> Ints:
        """See `Counted`."""
        return self._count(self.cells >= 0)

    @property
    def outside(self) -> int:
        """How many rows have no value in one of the columns."""
        return int((self.cells < 0).sum())

    @property
    def shared_out(self) -> dict[str, list[int]]:
        """The rows of each part."""
        inside = self.cells >= 0
        return {name: np.flatnonzero(inside & (self.part == i)).tolist() for i, name in enumerate(self.names)}

    @cached_property
    def digest(self) -> str:
        """Follows from what is drawn: the cell and the part of every row, whatever was answered."""
        return _digest(self.cells, self.part)

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        """How many rows a hypothesis has in a stage."""
        return len(self._rows(hypothesis, stage, seed))

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        """See `Source`. The caption says where the row stands in its file."""
        cases, lines = [], self.table.records.lines
        for index in indices:
            stage = Stage.of(index)
            rows = self._rows(hypothesis, stage, seed)
            if index - stage.start >= len(rows):
                raise WeakspotError(f"only {len(rows)} rows are there to be read", fix="draw fewer")
            row = int(rows[index - stage.start])
            own, expected = case_seed(seed, hypothesis, index), self.table.expected[row] or ""
            cases.append(Case(hypothesis, index, own, self._input(row), expected, f"line {lines[row]}"))
        return cases

    def _input(self, row: int) -> RecordedRow:
        records, roles, one = self.table.records, self.table.roles, np.array([row])
        text = self.table.text_of(row)
        if not text:
            said = ((name, records.columns[name].rows(one).texts()[0]) for name in self.columns)
            text = ", ".join(f"{name} {value}" for name, value in said)
        image = records.columns[roles.image].rows(one).texts()[0] if roles.image else None
        return RecordedRow(row, text, str(Path(records.folder, image)) if image else "")

    def _in_order(self, hypothesis: Hypothesis, stage: Stage, seed: int) -> Ints:
        """The rows of a hypothesis in a stage, in the order in which they are drawn."""
        rows, starts = self._by_cell[stage]
        region = self.space.read(hypothesis)
        if region is not None:
            rows = np.concatenate([rows[starts[c] : starts[c + 1]] for c in self.space.cells(region)])
        return np.random.default_rng(case_seed(seed, hypothesis, stage.start)).permutation(rows)

    @cached_property
    def _by_cell(self) -> dict[Stage, tuple[Ints, Ints]]:
        """The rows of each stage, sorted by cell, and where each cell begins."""
        found = {}
        for stage in _STAGES:
            rows = np.flatnonzero(self._of(stage))
            rows = rows[np.argsort(self.cells[rows], kind="stable")]
            starts = np.searchsorted(self.cells[rows], np.arange(self.space.size + 1))
            found[stage] = rows, starts
        return found

    def _of(self, stage: Stage) -> NDArray[np.bool_]:
        drawn: NDArray[np.bool_] = (self.cells >= 0) & (self.part == self.names.index(_STAGES[stage]))
        return drawn

    def _count(self, rows: NDArray[np.bool_]) -> Ints:
        return np.bincount(self.cells[rows], minlength=self.space.size)

    def _shared_out(self, seed: int, shares: Mapping[str, float]) -> Ints:
        """The number of each row's part: of every cell its share, or whole groups."""
        rng = np.random.default_rng([seed, 11])
        ends = np.cumsum(list(shares.values())) / sum(shares.values())
        if self.table.roles.group:
            groups = self.table.records.columns[self.table.roles.group].texts()
            # A row without a group is one of its own.
            keys = [f"row {i}" if group is None else f"group {group}" for i, group in enumerate(groups)]
            names, group_of = np.unique(keys, return_inverse=True)
            place = rng.random(len(names))[group_of]
        else:
            chance, start = rng.random(len(self.cells)), rng.random(self.space.size + 1)
            order = np.lexsort((chance, self.cells))
            ranked = self.cells[order]
            rank = np.empty(len(order))
            rank[order] = np.arange(len(order)) - np.searchsorted(ranked, ranked)
            size = np.bincount(self.cells + 1, minlength=self.space.size + 1)[self.cells + 1]
            place = (rank + start[self.cells]) / size
        return np.minimum(np.searchsorted(ends, place, side="right"), len(ends) - 1)


class RecordedAnswers:
    """Answers with what was recorded."""

    def __init__(self, table: Judged) -> None:
        self.table = table

    @cached_property
    def digest(self) -> str:
        """Follows from what was answered, and which answers failed."""
        answers = hashlib.sha256(repr(list(self.table.answer)).encode("utf-8", "backslashreplace"))
        return _digest(self.table.failed, np.frombuffer(answers.digest(), np.uint8))

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        """See `Target`. The answer is None where the table has verdicts only."""
        return [Output(self.table.answer[row_of(case)]) for case in cases]


class RecordedVerdicts:
    """Judges as was recorded."""

    def __init__(self, table: Judged) -> None:
        self.table = table

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """See `Judge`. The reason of a failure is the table's rule."""
        return [self._one(row_of(case), output) for case, output in zip(cases, outputs, strict=True)]

    def _one(self, row: int, output: Output) -> Verdict:
        if output.status is not Status.OK:
            return Verdict(None, status=output.status, reason=output.detail)
        failed = bool(self.table.failed[row])
        return Verdict(failed, reason=self.table.rule if failed else "")


def _digest(*columns: NDArray[Any]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(column).tobytes() for column in columns)).hexdigest()


def row_of(case: Case) -> int:
    """The row that a case shows."""
    if not isinstance(case.input, RecordedRow):
        raise WeakspotError("the case shows no row of a table", fix="draw it with RecordedCells")
    return case.input.number
