"""Several models asked about the very same cases: each is drawn once, and shown to all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeVar

from weakspot.core import Case, Hypothesis, Judge, Output, Source, Status, Target, Verdict, WeakspotError
from weakspot.engine.executor import Executor

#: Cases per call of the ports.
BATCH: Final = 64

T = TypeVar("T")
R = TypeVar("R")


class Member(NamedTuple):
    """A model on the panel, under the name people know it by, and who judges it."""

    name: str
    target: Target
    judge: Judge


class Batch(NamedTuple):
    """Cases to be drawn: of one hypothesis, at these indices."""

    hypothesis: Hypothesis
    indices: tuple[int, ...]


class Said(NamedTuple):
    """A member's answer to a case, and the verdict on it."""

    output: Output
    verdict: Verdict

    @property
    def failed(self) -> bool | None:
        """Whether the member failed; None where that cannot be said, or the case is not valid."""
        wrong = (Status.ERROR, Status.INVALID)
        if self.output.status in wrong or self.verdict.status in wrong:
            return None
        return self.verdict.failed

    @property
    def error(self) -> str:
        """What went wrong; "" if nothing did."""
        if Status.ERROR not in (self.output.status, self.verdict.status):
            return ""
        return self.output.detail or self.verdict.reason or "error"


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A case and what the members say of it, in their order.

    Attributes:
        index: Of the case.
        case: None if the source could not draw it.
        said: One per member; empty without a case.
        error: Why it could not be drawn.
        seconds: Its share of the time that its batch took.
    """

    index: int
    case: Case | None
    said: tuple[Said, ...] = ()
    error: str = ""
    seconds: float = 0.0


class _Drawn(NamedTuple):
    batch: Batch
    cases: list[tuple[Case | None, str]]
    seconds: float


def ask(
    source: Source, members: Sequence[Member], work: Iterable[Batch], *, seed: int, executor: Executor
) -> Iterator[tuple[Batch, list[Asked]]]:
    """Draw each batch once and ask all members; while they answer, the next ones are drawn.

    Whatever a port raises is an error of the case at fault, and never a failure of a model.

    Args:
        source: Draws the cases.
        members: Who is asked.
        work: What to draw.
        seed: Of the run; the same seed gives the same cases.
        executor: Where it is done.
    """
    draw, answer = partial(_draw, source, seed), partial(_answer, tuple(members))
    yield from executor.stream(iter(work), draw, answer)


def judged(members: Sequence[Member], cases: Sequence[Case]) -> list[tuple[Said, ...]]:
    """What the members say of cases that are there already: one row per case."""
    columns = [_said(member, cases) for member in members]
    return list(zip(*columns, strict=True)) if columns else [() for _ in cases]


def _draw(source: Source, seed: int, batch: Batch) -> _Drawn:
    began = time.perf_counter()

    def draw(indices: Sequence[int]) -> list[Case]:
        return source.draw(batch.hypothesis, list(indices), seed=seed)

    cases = each(draw, batch.indices, "source", Case)
    return _Drawn(batch, cases, time.perf_counter() - began)


def _answer(members: tuple[Member, ...], drawn: _Drawn) -> tuple[Batch, list[Asked]]:
    began = time.perf_counter()
    there = [case for case, _ in drawn.cases if case is not None]
    rows = iter(judged(members, there))
    said = [() if case is None else next(rows) for case, _ in drawn.cases]
    seconds = (time.perf_counter() - began + drawn.seconds) / max(len(drawn.cases), 1)
    return drawn.batch, [
        Asked(index, case, row, error, seconds)
        for index, (case, error), row in zip(drawn.batch.indices, drawn.cases, said, strict=True)
    ]


def _said(member: Member, cases: Sequence[Case]) -> list[Said]:
    outputs = [
        output or Output(None, status=Status.ERROR, detail=error)
        for output, error in each(member.target.answer, cases, "target", Output)
    ]

    def judge(pairs: Sequence[tuple[Case, Output]]) -> list[Verdict]:
        return member.judge.judge([c for c, _ in pairs], [o for _, o in pairs])

    verdicts = each(judge, list(zip(cases, outputs, strict=True)), "judge", Verdict)
    return [
        Said(output, verdict or Verdict(None, status=Status.ERROR, reason=error))
        for output, (verdict, error) in zip(outputs, verdicts, strict=True)
    ]


def each(
    call: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], who: str, kind: type[R]
) -> list[tuple[R | None, str]]:
    """Call with all items; where that fails, with halves, down to those at fault.

    Returns:
        Per item its result and "", or None and what went wrong.
    """
    if not items:
        return []
    try:
        results = list(call(items))
        if len(results) != len(items) or not all(isinstance(r, kind) for r in results):
            raise WeakspotError(f"{len(items)} of {kind.__name__} were wanted, and something else came")
        return [(result, "") for result in results]
    except Exception as error:  # a port may raise anything
        if len(items) == 1:
            what = error.what if isinstance(error, WeakspotError) else f"{type(error).__name__}: {error}"
            return [(None, f"{who}: {what}"[:500])]
    middle = len(items) // 2
    return [*each(call, items[:middle], who, kind), *each(call, items[middle:], who, kind)]
