"""The bias of a generator: how often an attribute's values are seen, against the shares that are wanted.

A search asks some cells more often than others, and its choices must not pass for the generator's. So every
cell counts alike: of all cells that have a value, the first draws are taken, as many as the cell with the
fewest has. The interval is of total variation; see `weakspot.stats.distances`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from weakspot.concepts.space import ConceptSpace
from weakspot.stats.distances import total_variation
from weakspot.store import Run
from weakspot.studies.map.result import BiasFound, BiasRow

#: Cells of larger spaces are not gone through one by one.
MOST_CELLS: Final = 20_000


class Bias(NamedTuple):
    """The attribute whose values the trials' answers name, and the wanted share of each."""

    space: ConceptSpace
    attribute: tuple[str, ...]
    wanted: tuple[float, ...]

    def measure(self, run: Run) -> BiasFound:
        """A row for all cells together, and one per value of an axis."""
        seen = self._answers(run)
        total = sum(self.wanted)
        rows = [self._row("everywhere", seen, list(range(self.space.size)))]
        for at, axis in enumerate(self.space.axes):
            for i, value in enumerate(axis.values):
                region = tuple((i,) if a == at else values for a, values in enumerate(self.space.whole))
                rows.append(self._row(f"{axis.name} {value}", seen, self.space.cells(region).tolist()))
        return BiasFound(
            attribute=self.attribute,
            wanted=tuple(share / total for share in self.wanted),
            rows=tuple(row for row in rows if row is not None),
        )

    def _answers(self, run: Run) -> dict[int, list[str]]:
        """What was seen in each cell's own draws, in their order."""
        found: dict[int, list[str]] = {}
        asked = {hypothesis.id for hypothesis in run.ledger.hypotheses()}
        for cell in range(min(self.space.size, MOST_CELLS)):
            hypothesis = self.space.hypothesis(cell)
            if hypothesis.id in asked:
                trials = run.ledger.trials(hypothesis)
                found[cell] = [t.answer for t in trials if t.answer in self.attribute]
        return found

    def _row(self, where: str, seen: dict[int, list[str]], cells: Sequence[int]) -> BiasRow | None:
        asked = [seen[cell] for cell in cells if seen.get(cell)]
        if not asked:
            return None
        each = min(map(len, asked))
        counts = Counter(answer for answers in asked for answer in answers[:each])
        numbers = tuple(counts[value] for value in self.attribute)
        apart = total_variation(numbers, self.wanted)
        return BiasRow(
            where=where,
            counts=numbers,
            n=sum(numbers),
            cells=len(asked),
            of=len(cells),
            apart=apart.rate,
            low=apart.low,
            high=apart.high,
        )
