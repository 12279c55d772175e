"""The rate of a run of `rare`: an estimate, and no count of cases."""

from __future__ import annotations

from collections.abc import Iterator

from weakspot.core import Rate, Tally
from weakspot.store import RunConfig
from weakspot.studies.rare.result import RareResult
from weakspot.study.rates import OVERALL, Measure, Rates, Sample


class RareRates(Rates):
    watched = False
    tests = "95 % intervals of the two estimates, joined"

    def measures(self) -> Iterator[Measure]:
        yield Measure("rate", OVERALL, "the rate of the failure")

    def sample(self, measure: Measure) -> Sample | None:
        found = RareResult.of(self.run)
        if found is None:
            return None
        bare = found.independent
        rate = Rate(found.rate, found.low, found.high, found.images, found.found)
        return Sample({}, Tally(bare.n, bare.failures), watched=False, estimate=rate)

    def separate(self, other: RunConfig) -> str:
        return "the rates are estimates, not counts of cases"
