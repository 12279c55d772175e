"""The rates of a run of `mine`: of its baseline, its findings, and every category of pairs."""

from __future__ import annotations

from collections.abc import Iterator

from weakspot.studies.mine.result import MineResult
from weakspot.study.rates import Rates


class MineRates(Rates):
    """See `Rates`."""

    part = "category"

    @property
    def threshold(self) -> float | None:
        """Above which similarity two texts are alike."""
        found = MineResult.of(self.run)
        return found.mined.threshold.value if found is not None and found.mined is not None else None

    def notes(self, other: Rates) -> Iterator[str]:
        """Whether the same counts as alike in both."""
        theirs = other.threshold if isinstance(other, MineRates) else None
        own = self.threshold
        if own is not None and theirs is not None and own != theirs:
            yield f"Alike is above {own:.3g} in the first run and above {theirs:.3g} in the second."
