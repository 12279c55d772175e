"""What a hunt leaves to be compared and checked: baselines, findings, and what it excludes."""

from __future__ import annotations

from weakspot.studies.hunt.result import HuntResult
from weakspot.study.rates import Excluded, Rates


class HuntRates(Rates):
    """See `Rates`."""

    def excluded(self) -> Excluded | None:
        """By the run's certificate."""
        result = HuntResult.of(self.run)
        found = None if result is None else result.certified
        if found is None:
            return None
        return Excluded("any other caption that was tried", found.captions, found.bound)
