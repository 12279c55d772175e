"""What `rare` is made with: the margin of a case, and a source that draws states of a space."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from weakspot.core import Case, Hypothesis, Judge, Output, Scores, Source, Stage, Status, Target, Verdict
from weakspot.core.ports import ENDLESS, available, cpu_bound
from weakspot.judges import LabelJudge
from weakspot.sources.spaces import CaseSpace, Spaced
from weakspot.store import Run
from weakspot.studies.rare.settings import RareSettings
from weakspot.study.labels import base_hypothesis, load_labelled

#: The smallest probability that is told from zero.
_TINY: Final = 1e-38


@dataclass(frozen=True, slots=True)
class RareParts:
    """What the settings name.

    `plain` is what is drawn: the plain prompt of the label, and the words; `space` is what the source leaves
    open of it, if it can say so.
    """

    target: Target
    source: Source
    judge: Judge
    plain: Hypothesis
    space: CaseSpace | None


def load(settings: RareSettings, **objects: Any) -> RareParts:
    """Load what is named; words that cannot be drawn are told here."""
    loaded = load_labelled(settings.task, **objects)
    base = base_hypothesis(settings.task, loaded.words, settings.label)
    plain = Hypothesis(f"{base.text} {settings.words.strip()}".strip(), origin="baseline")
    space = loaded.source.space(plain) if isinstance(loaded.source, Spaced) else None
    return RareParts(loaded.target, loaded.source, loaded.judge, plain, space)


class Margins:
    """A judge that keeps how near each moved case is to failing.

    The margin is the log of how many times as probable the right answer is as the best wrong one; with a
    target label, how many times as probable the best other answer is. It is below 0 exactly where the judge
    of a hunt sees a failure, and on this scale a sure case can still be told from a surer one.
    """

    def __init__(self, judge: Judge, label: str, moved: Hypothesis) -> None:
        self.known: dict[int, float] = {}
        self._judge, self._label, self._moved = judge, label, moved
        self._target = judge.target if isinstance(judge, LabelJudge) else None
        self._same = judge.same if isinstance(judge, LabelJudge) and isinstance(judge.same, dict) else {}
        self._own = cache(self._mask)

    def judge(self, cases: Sequence[Case], outputs: Sequence[Output]) -> list[Verdict]:
        """The score of a moved case is its margin with the other sign."""
        verdicts = self._judge.judge(cases, outputs)
        return [self._one(*row) for row in zip(cases, outputs, verdicts, strict=True)]

    def _one(self, case: Case, output: Output, verdict: Verdict) -> Verdict:
        if case.hypothesis.id != self._moved.id:
            return verdict
        margin = math.inf
        if verdict.failed is not None:
            if output.scores is None:
                verdict = Verdict(None, status=Status.ERROR, reason="the target gave no scores this time")
            else:
                margin = self.margin(output.scores)
                verdict = Verdict(margin < 0.0, -margin, reason=verdict.reason if margin < 0.0 else "")
        self.known[case.index] = margin
        return verdict

    def margin(self, scores: Scores) -> float:
        own = self._own(scores.labels)
        logs = np.log(np.maximum(np.asarray(scores.values, dtype=float), _TINY))
        inside, outside = logs[own].max(initial=math.log(_TINY)), logs[~own].max(initial=math.log(_TINY))
        return float(inside - outside if self._target is None else outside - inside)

    def _mask(self, labels: tuple[str, ...]) -> NDArray[np.bool_]:
        """The labels on whose side the margin is: the right ones, or those of the target label."""
        wanted = self._label if self._target is None else self._target
        others = self._same.get(wanted, ())
        return np.array([label == wanted or label in others for label in labels])

    def take(self, run: Run) -> None:
        for trial in run.ledger.trials(self._moved):
            known = trial.failed is not None and trial.score is not None
            self.known[trial.index] = -float(trial.score or 0.0) if known else math.inf


class Drawn:
    """A space that remembers which of its states were drawn independently, by their digests."""

    def __init__(self, space: CaseSpace) -> None:
        self.space = space
        self.fresh: set[bytes] = set()

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[Any]:
        states = self.space.draw(rng, n)
        self.fresh.update(map(digest, states))
        return states

    def move(self, rng: np.random.Generator, states: NDArray[Any], scale: float) -> NDArray[Any]:
        return self.space.move(rng, states, scale)


def digest(state: NDArray[Any]) -> bytes:
    """Sixteen bytes that stand for a state."""
    return hashlib.blake2b(np.ascontiguousarray(state).tobytes(), digest_size=16).digest()


class Moved:
    """The source of both kinds: its own cases for the plain hypothesis, those of states for the moved one."""

    def __init__(self, source: Source, space: CaseSpace | None, moved: Hypothesis) -> None:
        self._source, self._space, self._moved = source, space, moved
        self._start, self._states = 0, np.empty(0)
        self.cpu_bound = cpu_bound(source)

    def available(self, hypothesis: Hypothesis, *, seed: int, stage: Stage) -> int:
        if self._space is not None:
            return ENDLESS
        return available(self._source, hypothesis, seed=seed, stage=stage)

    def next(self, start: int, states: NDArray[Any]) -> None:
        self._start, self._states = start, states

    def draw(self, hypothesis: Hypothesis, indices: Sequence[int], *, seed: int) -> list[Case]:
        if self._space is None or hypothesis.id != self._moved.id:
            return self._source.draw(hypothesis, indices, seed=seed)
        rows = [index - self._start for index in indices]
        cases = self._space.to_cases(self._states[rows], indices)
        return [replace(case, hypothesis=self._moved) for case in cases]
