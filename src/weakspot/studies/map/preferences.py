"""What people mind: which modes of a map are to be repaired, from a few answers. Kept in the run's ledger.

Three kinds of answers, all optional: modes chosen outright; "this mode is worse than that one"; a rating of a
mode's samples from 0 (does not matter) to 10 (must go). Comparisons and ratings together give a ranking
(Bradley and Terry's model with a normal prior; a rating is a noisy look at the same strength).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from weakspot.concepts.space import Region
from weakspot.core import WeakspotError
from weakspot.store import Run
from weakspot.studies.map.parts import settings_of

#: The scale of ratings.
LOWEST, HIGHEST = 0.0, 10.0
#: How many modes are preferred where nobody chose.
TOP: Final = 3
#: Cells of a mode that are looked at for samples.
LOOKED: Final = 50


def prefer(
    folder: str | Path,
    *,
    chosen: Sequence[int] | None = None,
    pairs: Sequence[tuple[int, int]] = (),
    ratings: Mapping[int, float] | None = None,
    clear: bool = False,
) -> dict[str, Any]:
    """Add answers to a run.

    Args:
        folder: The run's.
        chosen: Numbers of modes that are to be repaired, in place of an earlier choice.
        pairs: (worse, milder).
        ratings: By mode.
        clear: Forget earlier answers first.

    Returns:
        All answers so far, with the ranking.
    """
    with Run.open(Path(folder)) as run:
        known = modes_of(run)
        kept = {} if clear else (run.ledger.fact("preferences") or {})
        answers: dict[str, Any] = {
            "chosen": list(chosen) if chosen is not None else kept.get("chosen", []),
            "pairs": [*kept.get("pairs", []), *([a, b] for a, b in pairs)],
            "ratings": [*kept.get("ratings", []), *([m, float(r)] for m, r in (ratings or {}).items())],
        }
        for number in [
            *answers["chosen"],
            *(n for p in answers["pairs"] for n in p),
            *(m for m, _ in answers["ratings"]),
        ]:
            if not 1 <= number <= len(known):
                raise WeakspotError(f"there is no mode {number}", fix=f"the run has modes 1 to {len(known)}")
        if any(a == b for a, b in answers["pairs"]):
            raise WeakspotError("a mode cannot be worse than itself", fix="compare two modes, e.g. 1>3")
        if any(not LOWEST <= rating <= HIGHEST for _, rating in answers["ratings"]):
            raise WeakspotError("a rating lies between 0 and 10", fix="write e.g. --rate 2=8")
        answers["ranking"] = ranking(len(known), answers["pairs"], answers["ratings"])
        run.ledger.set_fact("preferences", answers)
    return answers


def modes_of(run: Run) -> list[dict[str, Any]]:
    """The modes of a map, worst first; mode 1 is the first.

    Raises:
        WeakspotError: The run is no map, or has no modes yet.
    """
    if run.config.study != "map":
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study}, not of map", fix="name a run of map"
        )
    result = run.ledger.fact("map")
    if not result or not result["modes"]:
        raise WeakspotError(
            "the run has no modes", fix=f"weakspot resume {run.folder}, or map with another --above"
        )
    found: list[dict[str, Any]] = result["modes"]
    return found


def preferred(run: Run) -> list[int]:
    """The numbers of the modes to repair: those that are minded.

    Raises:
        WeakspotError: None is.
    """
    found = minded(run)
    if not found:
        raise WeakspotError(
            "nobody minds any mode of this run: none is rated above 5, or worse than others",
            fix=f"name one: --modes 1; or answer anew: weakspot prefer {run.folder} --clear --rate 1=8",
        )
    return found


def minded(run: Run) -> list[int]:
    """Numbers of modes: those chosen, or the first of the ranking that matter, or without answers the worst.

    A mode matters if its strength is above 0: it is rated above 5, or called worse more than milder. One of
    which nothing was said does not.
    """
    modes = modes_of(run)
    answers = run.ledger.fact("preferences") or {}
    if answers.get("chosen"):
        return [int(n) for n in answers["chosen"]]
    if answers.get("pairs") or answers.get("ratings"):
        return [int(n) for n, strength in answers["ranking"] if strength > 0][:TOP]
    return list(range(1, min(TOP, len(modes)) + 1))


def samples_of(run: Run, number: int, *, most: int = 2) -> list[str]:
    """Where failing inputs of a mode lie: of its confirmation if there are any, otherwise of its cells."""
    space = settings_of(run).concept_space
    region: Region = tuple(tuple(values) for values in modes_of(run)[number - 1]["region"])
    known = {h.id for h in run.ledger.hypotheses()}
    asked = [
        space.hypothesis(region, origin="mode"),
        *map(space.hypothesis, space.cells(region)[:LOOKED].tolist()),
    ]
    found: list[str] = []
    for hypothesis in (h for h in asked if h.id in known):
        kept = (t.blob for t in run.ledger.trials(hypothesis, failed=True) if t.blob)
        found += [f"{run.blobs.place}/{blob[:2]}/{blob}" for blob in kept]
        if len(found) >= most:
            break
    return list(dict.fromkeys(found))[:most]


def ranking(
    count: int, pairs: Sequence[Sequence[int]], ratings: Sequence[Sequence[float]]
) -> list[list[float]]:
    """[mode, strength] from most minded to least; without answers in the order of the modes.

    Strengths maximise Σ log σ(s_worse − s_milder) − Σ (s − rating')² / 2 − Σ s² / 2, with ratings from 0 to
    10 taken to −2 … 2.
    """
    strength = np.zeros(count)
    for _ in range(50):  # Newton's method on a concave function
        slope, curve = -strength, np.eye(count)
        for worse, milder in pairs:
            a, b = int(worse) - 1, int(milder) - 1
            p = 1 / (1 + np.exp(strength[a] - strength[b]))
            slope[a] += p
            slope[b] -= p
            for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                curve[i, j] += sign * p * (1 - p)
        for mode, rating in ratings:
            at = int(mode) - 1
            slope[at] -= strength[at] - (rating - 5) / 2.5
            curve[at, at] += 1
        step = np.linalg.solve(curve, slope)
        strength = strength + step
        if np.abs(step).max() < 1e-9:
            break
    order = sorted(range(count), key=lambda i: (-round(float(strength[i]), 9), i))
    return [[i + 1, round(float(strength[i]), 6)] for i in order]
