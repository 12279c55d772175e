"""What a hunt leaves to be compared and checked: baselines, findings, and what it excludes."""

from __future__ import annotations

from weakspot.report import format as show
from weakspot.studies.hunt.result import HuntResult
from weakspot.study.rates import Excluded, Rates


class HuntRates(Rates):
    """See `Rates`."""

    def excluded(self) -> Excluded | None:
        """By the run's certificate, or by the bound of the photographs that no finding speaks of."""
        result = HuntResult.of(self.run)
        read = None if result is None else result.collection
        if read is not None and (bound := read.bound) is not None:
            least = show.plural(bound.photographs, "photograph")
            return Excluded(f"anything else that is true of at least {least}", bound.concepts, bound.rate)
        found = None if result is None else result.certified
        if found is None:
            return None
        return Excluded("any other caption that was tried", found.captions, found.bound)
