"""Models asked about the very same cases, beside a run: each case is drawn once, and shown to all of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from weakspot.core import Case, Hypothesis, Judge, Source, Stage, Status, Target, Trial, Usage
from weakspot.engine.executor import Executor
from weakspot.engine.stages import Answered, Batch, Judged, answer_batch, draw_batch, judge_batch

#: Cases per call of the ports.
BATCH: Final = 64


class Member(NamedTuple):
    """A model that is asked, under the name people know it by, and who judges it."""

    name: str
    target: Target
    judge: Judge


class Asked(NamedTuple):
    """A batch that everybody was asked about.

    Attributes:
        judged: One per member.
        undrawn: The source could draw none of it.
        seconds: What it took.
    """

    batch: Batch
    judged: list[Judged]
    undrawn: bool
    seconds: float

    def usage(self, at: int) -> Usage:
        """What a case cost, over all members."""
        costs = [one.trials[at].usage for one in self.judged]
        each = self.seconds / max(self.batch.stop - self.batch.start, 1)
        return Usage(sum(cost.tokens for cost in costs), sum(cost.dollars for cost in costs), each)


def batches(hypothesis: Hypothesis, indices: Iterable[int]) -> Iterator[Batch]:
    """The cases at these indices, those without gaps between them together."""
    start = stop = -1
    for index in indices:
        if index != stop or stop - start >= BATCH:
            if stop > start:
                yield Batch(hypothesis, Stage.of(start), start, stop)
            start = index
        stop = index + 1
    if stop > start:
        yield Batch(hypothesis, Stage.of(start), start, stop)


def ask(
    source: Source,
    members: Sequence[Member],
    work: Iterable[Batch],
    *,
    seed: int,
    executor: Executor,
    keep: bool = False,
) -> Iterator[Asked]:
    """Draw each batch once and ask all members; while they answer, the next ones are drawn.

    Whatever a part raises is an error of the case at fault, and never a failure of a model.

    Args:
        seed: Of the run; the same seed gives the same cases.
        keep: Encode the inputs that fail.
    """
    yield from executor.stream(
        iter(work), partial(_draw, source, seed), partial(_answer, tuple(members), keep)
    )


def judged(members: Sequence[Member], hypothesis: Hypothesis, cases: Sequence[Case]) -> list[Judged]:
    """What the members say of cases that are there already."""
    batch = Batch(hypothesis, Stage.EXPLORE, 0, len(cases))
    return _judged(members, Answered(batch, list(cases), [None] * len(cases)), keep=False)


def failed(trial: Trial) -> bool | None:
    """Whether a model failed; None where that cannot be said, or the case is not valid."""
    return None if trial.status in (Status.ERROR, Status.INVALID) else trial.failed


def _draw(source: Source, seed: int, batch: Batch) -> tuple[Answered, float]:
    began = time.perf_counter()
    return draw_batch(source, seed, batch), time.perf_counter() - began


def _answer(members: Sequence[Member], keep: bool, drawn: tuple[Answered, float]) -> Asked:
    began, (there, seconds) = time.perf_counter(), drawn
    undrawn = all(output is not None for output in there.outputs)
    found = _judged(members, there, keep=keep)
    return Asked(there.batch, found, undrawn, seconds + time.perf_counter() - began)


def _judged(members: Sequence[Member], drawn: Answered, *, keep: bool) -> list[Judged]:
    kept = {True: len(drawn.cases) if keep else 0, False: 0}
    return [judge_batch(one.judge, kept, answer_batch(one.target, drawn)) for one in members]
