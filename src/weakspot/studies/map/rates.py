"""The rates of a run of `map`: of the inputs as they are, its findings, and every cell that was asked."""

from __future__ import annotations

from weakspot.core import Hypothesis
from weakspot.study.rates import Rates


class MapRates(Rates):
    part = "cell"

    def is_part(self, hypothesis: Hypothesis) -> bool:
        """A policy chose its inputs because they fail, and a region that is no finding is not a cell."""
        return "policy" not in dict(hypothesis.concepts) and hypothesis.origin != "mode"
