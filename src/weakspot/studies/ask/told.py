"""Figures of `ask` in words: rates with their intervals, counts, names of slices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from weakspot.core.question import BENIGN, CONTRAST
from weakspot.report import format as show
from weakspot.studies.ask.result import Counted, Interval, PromptRates, Slice

#: What people call the sets.
SETS: Final[Mapping[str, str]] = {BENIGN: "harmless", CONTRAST: "harmful"}
#: A judge that decides less of a kind of question says little of it; of fewer answers nothing is said.
DECIDES, FEWEST = 0.7, 5


class Kind(NamedTuple):
    """A kind of question that is treated worse than the rest of its set."""

    set: str
    column: str
    value: str
    figures: Slice

    @property
    def words(self) -> str:
        return f"where {show.shorten(self.column, 60)} is {show.shorten(self.value, 80)}"

    @property
    def wrong(self) -> int:
        """Refused harmless questions, or answered harmful ones."""
        return self.figures.refused if self.set == BENIGN else self.figures.answered

    @property
    def n(self) -> int:
        return self.figures.n

    @property
    def decided(self) -> float:
        """The share of the answers that the judge decided."""
        return self.figures.decided / self.figures.n

    @property
    def excess(self) -> float:
        """By how much it is worse than the rest."""
        return abs((self.figures.rate or 0.0) - (self.figures.rest_rate or 0.0))


def worse(result: PromptRates) -> list[Kind]:
    """The kinds that are treated worse, harmless ones first, by how much worse."""
    found = [*_worse(BENIGN, result.slices)]
    if result.contrast:
        found += _worse(CONTRAST, result.contrast.slices)
    return found


def _worse(which: str, slices: Mapping[str, Mapping[str, Slice]]) -> list[Kind]:
    kinds = [Kind(which, column, value, row) for column, value, row in rows_of(slices) if row.worse]
    return sorted(kinds, key=lambda kind: -kind.excess)


def blind(result: PromptRates) -> list[Kind]:
    """The kinds of question of which the judge decides too little, worst first."""
    kinds = [Kind(BENIGN, *row) for row in rows_of(result.slices) if decides_little(row[2])]
    if result.contrast:
        kinds += [Kind(CONTRAST, *row) for row in rows_of(result.contrast.slices) if decides_little(row[2])]
    return sorted(kinds, key=lambda kind: kind.decided)


def decides_little(figures: Counted) -> bool:
    return figures.n >= FEWEST and figures.decided < DECIDES * figures.n


def rows_of(found: Mapping[str, Mapping[str, Slice]]) -> Iterator[tuple[str, str, Slice]]:
    for column, values in found.items():
        for value, row in values.items():
            yield column, value, row


def rate(figures: Counted, *, corrected: bool = False) -> str:
    """A rate as people read it, with its interval: "12 % [9, 16]"; a dash where there is none."""
    if corrected:
        return with_ends(figures.rate_corrected, figures.rate_corrected_interval)
    return with_ends(figures.rate, figures.rate_interval)


def of_answered(figures: Counted, *, corrected: bool = False) -> str:
    """The share that was answered, of a set that should be refused."""
    value = figures.rate_corrected if corrected else figures.rate
    ends = figures.rate_corrected_interval if corrected else figures.rate_interval
    if value is None or ends is None:
        return show.NONE
    return with_ends(1 - value, (1 - ends[1], 1 - ends[0]))


def of_rest(figures: Slice, *, answered: bool = False) -> str:
    """The rate elsewhere in the set; "" where there is no elsewhere."""
    if figures.rest_rate is None or figures.rest_interval is None:
        return ""
    low, high = figures.rest_interval
    if answered:
        return with_ends(1 - figures.rest_rate, (1 - high, 1 - low))
    return with_ends(figures.rest_rate, figures.rest_interval)


def with_ends(value: float | None, ends: Interval | None) -> str:
    return show.NONE if value is None or not ends else f"{show.percent(value)} {show.interval(*ends)}"


def unsure(result: PromptRates) -> int:
    """Of how many answers the judge is unsure, in both sets."""
    return result.unsure + (result.contrast.unsure if result.contrast else 0)


def bounds(figures: Counted, which: str = BENIGN) -> str:
    """What the unsure answers leave open, in words: "between 45 % and 52 % of the harmless questions"."""
    if not figures.unsure or figures.rate_bounds is None:
        return ""
    low, high = figures.rate_bounds
    if which == CONTRAST:
        low, high = 1 - high, 1 - low
    return f"between {show.percent(low)} and {show.percent(high)} of the {SETS[which]} questions"


def unjudged(figures: Counted) -> str:
    """What stands beside a rate: "14 errors, 2 empty"; "" if all was judged."""
    parts = (
        show.plural(figures.errors, "error") if figures.errors else "",
        f"{show.count(figures.blocked)} blocked" if figures.blocked else "",
        f"{show.count(figures.empty)} empty" if figures.empty else "",
        f"{show.count(figures.undecided)} undecided" if figures.undecided else "",
    )
    return ", ".join(filter(None, parts))
