"""What people mind: which modes of a run are to be repaired, from a few answers, kept in the run's ledger.

Three kinds of answers, all optional: modes chosen outright; "this mode is worse than that one"; a rating of a
mode's samples from 0 (does not matter) to 10 (must go). Comparisons and ratings together give a ranking
(Bradley and Terry's model with a normal prior; a rating is a noisy look at the same strength).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict

from weakspot.core import WeakspotError
from weakspot.store import Run

#: The name under which the ledger keeps them.
KEY: Final = "preferences"
#: The scale of ratings.
LOWEST, HIGHEST = 0.0, 10.0
#: How many modes are preferred where nobody chose.
TOP: Final = 3


class Mode(Protocol):
    """A weak spot with its believed rate and the ends of its interval."""

    @property
    def words(self) -> str: ...
    @property
    def rate(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


@runtime_checkable
class WithModes(Protocol):
    """A result that lists weak spots which people may mind more or less."""

    @property
    def modes(self) -> Sequence[Mode]:
        """Worst first; mode 1 is the first."""

    def samples(self, run: Run, number: int, *, most: int = 2) -> list[str]:
        """Where failing inputs of a mode lie."""


class Preferences(BaseModel):
    """All answers so far.

    Attributes:
        chosen: Numbers of modes that are to be repaired.
        pairs: (worse, milder).
        ratings: (mode, rating).
        ranking: (mode, strength), from most minded to least.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    chosen: tuple[int, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    ratings: tuple[tuple[int, float], ...] = ()
    ranking: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, run: Run) -> Preferences | None:
        """Those of a run; None if nobody has answered."""
        kept = run.ledger.fact(KEY)
        return None if kept is None else cls.model_validate(kept)

    def plain(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def prefer(
    folder: str | Path,
    *,
    chosen: Sequence[int] | None = None,
    pairs: Sequence[tuple[int, int]] = (),
    ratings: Mapping[int, float] | None = None,
    clear: bool = False,
) -> Preferences:
    """Add answers to a run; all answers so far.

    `chosen` modes take the place of an earlier choice; `pairs` are (worse, milder); `clear` forgets the
    earlier answers.
    """
    with Run.open(Path(folder)) as run:
        count = len(modes_of(run))
        kept = (None if clear else Preferences.of(run)) or Preferences()
        answers = Preferences(
            chosen=kept.chosen if chosen is None else tuple(chosen),
            pairs=(*kept.pairs, *pairs),
            ratings=(*kept.ratings, *(ratings or {}).items()),
        )
        named = [
            *answers.chosen,
            *(n for pair in answers.pairs for n in pair),
            *(n for n, _ in answers.ratings),
        ]
        if wrong := [number for number in named if not 1 <= number <= count]:
            raise WeakspotError(f"there is no mode {wrong[0]}", fix=f"the run has modes 1 to {count}")
        if any(worse == milder for worse, milder in answers.pairs):
            raise WeakspotError("a mode cannot be worse than itself", fix="compare two modes, e.g. 1>3")
        if any(not LOWEST <= rating <= HIGHEST for _, rating in answers.ratings):
            raise WeakspotError("a rating lies between 0 and 10", fix="write e.g. --rate 2=8")
        answers = answers.model_copy(update={"ranking": ranking(count, answers.pairs, answers.ratings)})
        run.ledger.set_fact(KEY, answers.plain())
    return answers


def listed_modes(run: Run) -> Sequence[Mode]:
    """The modes of a run, worst first; () if it lists none."""
    result = _result(run)
    return () if result is None else result.modes


def modes_of(run: Run) -> Sequence[Mode]:
    """The modes of a run, worst first; mode 1 is the first. An error if it lists none."""
    if found := listed_modes(run):
        return found
    if _result(run) is None and run.state == "finished":
        raise WeakspotError(
            f"{run.folder} is a run of {run.config.study}, which lists no modes", fix="name a run of map"
        )
    raise WeakspotError(
        "the run has no modes", fix=f"weakspot resume {run.folder}, or map with another --above"
    )


def samples_of(run: Run, number: int, *, most: int = 2) -> list[str]:
    """Where failing inputs of a mode lie."""
    result = _result(run)
    return [] if result is None else result.samples(run, number, most=most)


def _result(run: Run) -> WithModes | None:
    result = run.result
    return result if isinstance(result, WithModes) else None


def preferred(run: Run) -> list[int]:
    """The numbers of the modes to repair: those that are minded. An error if none is."""
    found = minded(run)
    if not found:
        raise WeakspotError(
            "nobody minds any mode of this run: none is rated above 5, or worse than others",
            fix=f"name one: --modes 1; or answer again: weakspot prefer {run.folder} --clear --rate 1=8",
        )
    return found


def minded(run: Run) -> list[int]:
    """Numbers of modes: those chosen, or the first of the ranking that matter, or without answers the worst.

    A mode matters if its strength is above 0: it is rated above 5, or called worse more than milder. One of
    which nothing was said does not.
    """
    count, answers = len(modes_of(run)), Preferences.of(run) or Preferences()
    if answers.chosen:
        return list(answers.chosen)
    if answers.pairs or answers.ratings:
        return [number for number, strength in answers.ranking if strength > 0][:TOP]
    return list(range(1, min(TOP, count) + 1))


def ranking(
    count: int, pairs: Sequence[tuple[int, int]], ratings: Sequence[tuple[int, float]]
) -> tuple[tuple[int, float], ...]:
    """(mode, strength) from most minded to least; without answers in the order of the modes.

    Strengths maximise Σ log σ(s_worse − s_milder) − Σ (s − rating')² / 2 − Σ s² / 2, with ratings from 0 to
    10 taken to −2 … 2.
    """
    strength = np.zeros(count)
    for _ in range(50):  # Newton's method on a concave function
        slope, curve = -strength, np.eye(count)
        for worse, milder in pairs:
            a, b = worse - 1, milder - 1
            p = 1 / (1 + np.exp(strength[a] - strength[b]))
            slope[a] += p
            slope[b] -= p
            for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
                curve[i, j] += sign * p * (1 - p)
        for mode, rating in ratings:
            at = mode - 1
            slope[at] -= strength[at] - (rating - 5) / 2.5
            curve[at, at] += 1
        step = np.linalg.solve(curve, slope)
        strength = strength + step
        if np.abs(step).max() < 1e-9:
            break
    order = sorted(range(count), key=lambda i: (-round(float(strength[i]), 9), i))
    return tuple((i + 1, round(float(strength[i]), 6)) for i in order)
