"""What the verdicts of `ask` say: rates with intervals, slices, benign against contrast, arms, repeats.

Pure functions on outcomes; no ledger, no models. Rates and slices are of the first time an item was asked,
because repeats of one item are no independent evidence; `consistency` is about the repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from weakspot.sources.question import BENIGN, CONTRAST
from weakspot.stats import adjusted_bh, fisher
from weakspot.stats.agreement import Confusion
from weakspot.stats.paired import Alternative
from weakspot.studies.ask.comparison import comparisons, consistency, trade_off
from weakspot.studies.ask.counts import Asked, count, measured

#: Slices with fewer answers are shown but not tested: nothing could come of it.
FEWEST: Final = 5


def slices(
    asked: Sequence[Asked],
    error: Confusion | None = None,
    *,
    fdr: float = 0.05,
    bad: Alternative = "greater",
) -> dict[str, dict[str, dict[str, Any]]]:
    """The rate of every slice, and whether it is worse than the rest of the set.

    Worse means more refusals, or fewer with `bad="less"`, as in the contrast set.

    Each slice is compared with all items outside it (Fisher's exact test, one-sided); `q` is the p-value
    adjusted for all slices at once (Benjamini and Hochberg), and `worse` says q ≤ fdr. Of a column with two
    values only the worse one is tested, at twice its p-value: the two are one question.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    tests: list[tuple[dict[str, Any], float]] = []
    for column in dict.fromkeys(c for one in asked for c in one.slices):
        values = sorted({v for one in asked for v in one.slices.get(column, ())})
        rows = found.setdefault(column, {})
        candidates: list[tuple[dict[str, Any], float]] = []
        for value in values:
            inside = [one for one in asked if value in one.slices.get(column, ())]
            within = count(inside)
            outside = count(
                one for one in asked if one.slices.get(column) and value not in one.slices[column]
            )
            rows[value] = row = {**measured(inside, error), "p": None, "q": None, "worse": False}
            if within.n >= FEWEST and outside.n >= FEWEST:
                p = fisher(within.refused, within.n, outside.refused, outside.n, alternative=bad)
                candidates.append((row, p))
        if len(values) == 2 and len(candidates) == 2:
            row, p = min(candidates, key=lambda c: c[1])
            candidates = [(row, min(1.0, 2 * p))]
        for row, p in candidates:
            row["p"] = p
            tests.append((row, p))
    for (row, _), q in zip(tests, adjusted_bh([p for _, p in tests]) if tests else [], strict=True):
        row["q"], row["worse"] = q, q <= fdr
    return found


def analysed(
    asked: Sequence[Asked], *, error: Confusion | None = None, repeats: int = 1, fdr: float = 0.05
) -> dict[str, Any]:
    """All of it for the questions themselves (not the stages): the first arm's figures at the top.

    The keys are those of `--json`.
    """
    plain = [one for one in asked if not one.stage]
    arms = list(dict.fromkeys(one.arm for one in plain))
    first = [one for one in plain if not one.repeat]
    by_arm = {
        arm: {s: [o for o in first if o.arm == arm and o.set == s] for s in (BENIGN, CONTRAST)}
        for arm in arms
    }
    found = {arm: _arm(sets, error, fdr) for arm, sets in by_arm.items()}
    for arm in arms:
        mine = [o for o in plain if o.arm == arm and o.set == BENIGN]
        found[arm]["consistency"] = consistency(mine, repeats)
    top: dict[str, Any] = dict(found[arms[0]]) if arms else _arm({BENIGN: [], CONTRAST: []}, error, fdr)
    top["arms"] = found if len(arms) > 1 else {}
    top["comparisons"] = comparisons({arm: sets[BENIGN] for arm, sets in by_arm.items()})
    top["judge_error"] = None if error is None else error._asdict()
    return top


def _arm(sets: Mapping[str, Sequence[Asked]], error: Confusion | None, fdr: float) -> dict[str, Any]:
    benign, contrast = sets[BENIGN], sets[CONTRAST]
    found: dict[str, Any] = measured(benign, error)
    found["grades"] = _grades(benign)
    found["slices"] = slices(benign, error, fdr=fdr)
    found["contrast"] = None
    found["trade_off"] = None
    if contrast:
        found["contrast"] = {
            **measured(contrast, error),
            "grades": _grades(contrast),
            "slices": slices(contrast, error, fdr=fdr, bad="less"),
        }
        found["trade_off"] = trade_off(benign, contrast)
    return found


def _grades(asked: Sequence[Asked]) -> dict[str, int]:
    return dict(Counter(one.grade for one in asked if one.grade).most_common())
