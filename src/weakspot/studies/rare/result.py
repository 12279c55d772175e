"""What `rare` finds: a rate with its interval, and what the failures look like."""

from __future__ import annotations

from collections.abc import Iterator

from weakspot.core import Rate, Tally
from weakspot.store import RunConfig
from weakspot.study.rates import OVERALL, Measure, Rates, Sample
from weakspot.study.study import Result, Value


class Counted(Value):
    n: int
    failures: int


class Common(Value):
    """Sentences that are said of failures more often than of independent draws: the share of either."""

    words: str
    failing: float
    usual: float


class Example(Value):
    """A failing case: a trial of the result's hypothesis."""

    index: int
    caption: str
    answer: str | None
    blob: str | None


class RareResult(Result):
    """How often the failure happens; see `weakspot.studies.rare.splitting.Rare` for the estimate.

    So many `images` were evaluated, of which some were `independent` draws from the words as they are. So
    many failing cases were `found`, and some are `examples`: trials of the hypothesis with this id. `answers`
    says what was said instead, with its share of them.
    """

    rate: float
    low: float
    high: float
    ceiling: float
    method: str
    agree: bool
    note: str
    images: int
    independent: Counted
    repeats: tuple[float, ...]
    ladder: tuple[float, ...]
    roots: float
    hypothesis: str
    found: int
    answers: tuple[tuple[str, float], ...]
    common: tuple[Common, ...]
    examples: tuple[Example, ...]


class RareRates(Rates):
    """The rate of a run, for `compare`: an estimate, and no count of cases."""

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
