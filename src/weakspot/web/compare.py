"""Two runs side by side: what they were asked, how often the same words fail, the same cases paired."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from weakspot.after.compared import differing
from weakspot.core import Hypothesis, Rate, Tally
from weakspot.report.plots import Axis, Bar, axis
from weakspot.stats import adjusted_holm
from weakspot.stats.contrast import Contrast, contrast_paired
from weakspot.store import Run, rate
from weakspot.study.rates import Rates, comparable, fixed, rates_of
from weakspot.text.clauses import legible
from weakspot.web.runs import phrases
from weakspot.web.trials import reading

#: Hypotheses that are compared, and trials of each that are looked at case by case.
MOST, CASES = 200, 5_000


class HypothesisPair(NamedTuple):
    """A hypothesis of both runs."""

    hypothesis: Hypothesis
    phrase: str
    first: Rate
    second: Rate
    bars: tuple[Bar, Bar]
    paired: Contrast | None  # second minus first on the cases that both have
    adjusted: float | None = None  # its p-value, adjusted for all lines (Holm); holds whenever a run stopped


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs."""

    settings: tuple[tuple[str, str, str], ...]  # (name, in the first, in the second) of those that differ
    same_seed: bool  # equal words draw equal cases
    lines: tuple[HypothesisPair, ...]  # hypotheses of both, those that differ most first
    scale: Axis
    only_first: tuple[str, ...]  # findings of the first alone, by their words
    only_second: tuple[str, ...]  # of the second alone
    both: tuple[str, ...]  # of both
    shared: int  # how many hypotheses both have


def compared(first: Path, second: Path) -> Comparison:
    """Read both; either may be running."""
    with Run.read(first) as one, Run.read(second) as two, reading(first) as left, reading(second) as right:
        rates = [rates_of(run) if comparable(run) else Rates(run) for run in (one, two)]
        same = not rates[0].separate(two.config) and "seed" in one.config.settings
        keys = {h.id: key for key, h in left.hypotheses().items()}
        words = phrases(left.hypotheses().values())
        pairs = [(h, keys[h.id], key) for key, h in right.hypotheses().items() if h.id in keys]
        tallies = left.tallies(), right.tallies()
        plans = fixed(one), fixed(two)
        rated = [
            (
                h,
                a,
                b,
                rate(tallies[0].get(a, Tally()), fixed=plans[0]),
                rate(tallies[1].get(b, Tally()), fixed=plans[1]),
            )
            for h, a, b in pairs
        ]
        rated = [row for row in rated if row[3].n and row[4].n]
        rated.sort(key=lambda row: -abs(row[3].value - row[4].value))
        scale = axis([r for row in rated[:MOST] for r in row[3:]])
        lines = [
            HypothesisPair(
                h,
                legible(words[h.id]),
                before,
                after,
                (scale.bar(before), scale.bar(after)),
                _paired(left.verdicts(a, CASES), right.verdicts(b, CASES), watched=rates[0].watched)
                if same and rates[0].order(h) == rates[1].order(h)
                else None,
            )
            for h, a, b, before, after in rated[:MOST]
        ]
        adjusted = iter(adjusted_holm([line.paired.p for line in lines if line.paired]))
        lines = [line._replace(adjusted=next(adjusted)) if line.paired else line for line in lines]
        found = [{legible(f.phrase): None for f in run.findings if f.confirmed} for run in (one, two)]
        return Comparison(
            settings=differing(one.config, two.config),
            same_seed=same,
            lines=tuple(lines),
            scale=scale,
            only_first=tuple(p for p in found[0] if p not in found[1]),
            only_second=tuple(p for p in found[1] if p not in found[0]),
            both=tuple(p for p in found[0] if p in found[1]),
            shared=len(pairs),
        )


def _paired(first: dict[int, bool], second: dict[int, bool], *, watched: bool) -> Contrast | None:
    shared = first.keys() & second.keys()
    if not shared:
        return None
    only_first = sum(first[i] and not second[i] for i in shared)
    only_second = sum(second[i] and not first[i] for i in shared)
    return contrast_paired(only_first, only_second, len(shared), watched=watched)
