"""What the verdicts of `ask` say: rates with intervals, slices, benign against contrast, arms, repeats.

Pure functions on outcomes; no ledger, no models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from weakspot.core.question import BENIGN, CONTRAST
from weakspot.stats import adjusted_bh, fisher
from weakspot.stats.contrast import Alternative
from weakspot.stats.judged import Confusion
from weakspot.studies.ask.comparison import comparisons, consistency, trade_off
from weakspot.studies.ask.outcomes import Asked, counted
from weakspot.studies.ask.result import PromptRates, SetRates, Slice

#: Slices with fewer answers are shown but not tested: nothing could come of it.
FEWEST: Final = 5


def slices(
    asked: Sequence[Asked],
    error: Confusion | None = None,
    *,
    fdr: float = 0.05,
    bad: Alternative = "greater",
) -> dict[str, dict[str, Slice]]:
    """The rate of every slice, and whether it is worse than the rest of the set.

    Worse means more refusals, or fewer with `bad="less"`, as in the contrast set. Of a column with two values
    only the worse one is tested, at twice its p-value: the two are one question.
    """
    found: dict[str, dict[str, Slice]] = {}
    tests: dict[tuple[str, str], float] = {}
    for column in dict.fromkeys(c for one in asked for c in one.slices):
        values = sorted({v for one in asked for v in one.slices.get(column, ())})
        found[column], candidates = {}, {}
        for value in values:
            within = counted((one for one in asked if value in one.slices.get(column, ())), error)
            outside = counted(
                one for one in asked if one.slices.get(column) and value not in one.slices[column]
            )
            found[column][value] = Slice(**within.model_dump())
            if within.n >= FEWEST and outside.n >= FEWEST:
                candidates[column, value] = fisher(
                    within.refused, within.n, outside.refused, outside.n, alternative=bad
                )
        if len(values) == 2 and len(candidates) == 2:
            key = min(candidates, key=candidates.__getitem__)
            candidates = {key: min(1.0, 2 * candidates[key])}
        tests |= candidates
    adjusted = adjusted_bh([*tests.values()]) if tests else []
    for ((column, value), p), q in zip(tests.items(), adjusted, strict=True):
        tested = found[column][value].model_copy(update={"p": p, "q": float(q), "worse": bool(q <= fdr)})
        found[column][value] = tested
    return found


def analysed(
    asked: Sequence[Asked], *, error: Confusion | None = None, repeats: int = 1, fdr: float = 0.05
) -> dict[str, Any]:
    """What follows from outcomes, by the names of `AskResult`; the first arm's figures are at the top."""
    plain = [one for one in asked if not one.stage]
    arms = list(dict.fromkeys(one.arm for one in plain))
    by_arm = {
        arm: {
            which: [one for one in plain if one.arm == arm and one.set == which and not one.repeat]
            for which in (BENIGN, CONTRAST)
        }
        for arm in arms
    }
    found = {}
    for arm, sets in by_arm.items():
        every = [one for one in plain if one.arm == arm and one.set == BENIGN]
        found[arm] = _arm(sets, error, fdr).model_copy(update={"consistency": consistency(every, repeats)})
    first = found[arms[0]] if arms else PromptRates()
    return {name: getattr(first, name) for name in PromptRates.model_fields} | {
        "arms": found if len(arms) > 1 else {},
        "comparisons": comparisons({arm: sets[BENIGN] for arm, sets in by_arm.items()}),
        "judge_error": None if error is None else error._asdict(),
    }


def _arm(sets: Mapping[str, Sequence[Asked]], error: Confusion | None, fdr: float) -> PromptRates:
    benign, contrast = sets[BENIGN], sets[CONTRAST]
    return PromptRates(
        **_set(benign, error, fdr, "greater"),
        contrast=SetRates(**_set(contrast, error, fdr, "less")) if contrast else None,
        trade_off=trade_off(benign, contrast) if contrast else None,
    )


def _set(asked: Sequence[Asked], error: Confusion | None, fdr: float, bad: Alternative) -> dict[str, Any]:
    grades = Counter(one.grade for one in asked if one.grade)
    return counted(asked, error).model_dump() | {
        "grades": dict(grades.most_common()),
        "slices": slices(asked, error, fdr=fdr, bad=bad),
    }
