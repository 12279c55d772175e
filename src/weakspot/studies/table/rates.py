"""What a hunt of a table leaves to be compared and checked."""

from __future__ import annotations

from weakspot.report import format as show
from weakspot.studies.table.result import TableResult
from weakspot.study.rates import Excluded, Rates


class TableRates(Rates):
    """See `Rates`."""

    def excluded(self) -> Excluded | None:
        """By the bound of the rows that no finding speaks of."""
        result = TableResult.of(self.run)
        bound = None if result is None else result.bound
        if bound is None:
            return None
        rows = show.plural(bound.rows, "row")
        return Excluded(f"any other word or value with at least {rows}", bound.concepts, bound.rate)
