"""How the work of a batch is done, and where.

Its stages are: drawn, answered, judged. A part that raises makes errors of trials, not of a run. This machine
does the work here; a cluster implements the same one method.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from concurrent.futures import Executor as Pool
from dataclasses import dataclass, replace
from pickle import PicklingError
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from weakspot.core import (
    Case,
    Hypothesis,
    Judge,
    Output,
    Source,
    Stage,
    Status,
    Target,
    Trial,
    Verdict,
    WeakspotError,
    case_seed,
)
from weakspot.core.ports import Placing, cpu_bound
from weakspot.store import encode

W = TypeVar("W")
C = TypeVar("C")
O = TypeVar("O")  # noqa: E741


class Executor(Protocol):
    """Runs the two slow stages of many pieces of work, overlapped, and gives results in order."""

    def stream(self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]) -> Iterator[O]:
        """`answer(draw(w))` for each piece of work, in the order of the work.

        `draw` and its results can be pickled where the source says it is `cpu_bound`; `answer` cannot.
        """

    def close(self) -> None:
        """Free what it holds."""


@runtime_checkable
class Cluster(Protocol):
    """An executor whose workers have a source, a target and a judge of their own."""

    def through(self, work: Iterable[Any], stages: Sequence[Callable[..., Any]]) -> Iterator[Any]:
        """Each piece of work through all stages, in the order of the work.

        A stage is called where its part is: with the part, the piece of work and what the stages before it
        gave. Only the last one's results come here.
        """

    def close(self) -> None:
        """Free what it holds."""


@runtime_checkable
class Placed(Protocol):
    """A cluster that says where its models run."""

    @property
    def places(self) -> Mapping[str, str]:
        """By pool, the devices and number formats of its models."""


class LocalExecutor:
    """This machine: while the target answers one batch, the next ones are drawn.

    Args:
        processes: Draw in so many processes of their own, which pays for sources that compute in Python.
            0 draws in a thread, which is right for sources that wait (for a server, for a GPU).
        ahead: How many batches may be under way beyond those being drawn; bounds the memory held by inputs.
    """

    def __init__(self, *, processes: int = 0, ahead: int = 3) -> None:
        self._processes = processes
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="draw")
        self._answering = ThreadPoolExecutor(1, thread_name_prefix="answer")
        self._ahead = ahead + processes

    def stream(self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]) -> Iterator[O]:
        """See `Executor.stream`. Leaving the iteration early cancels what has not begun."""
        under_way: deque[tuple[Future[C], Future[O]]] = deque()

        def finish(drawn: Future[C], piece: W) -> O:
            try:
                cases = drawn.result()
            except (
                BrokenExecutor,
                PicklingError,
            ):  # killed, for memory say, or not able to leave this process
                self._processes = 0
                cases = draw(piece)
            return answer(cases)

        try:
            for piece in work:
                drawn = self._submit(draw, piece)
                under_way.append((drawn, self._answering.submit(finish, drawn, piece)))
                if len(under_way) > self._ahead:
                    yield under_way.popleft()[1].result()
            while under_way:
                yield under_way.popleft()[1].result()
        finally:
            for drawn, answered in under_way:
                answered.cancel()
                drawn.cancel()

    def _submit(self, draw: Callable[[W], C], piece: W) -> Future[C]:
        if not self._processes:
            return self._threads.submit(draw, piece)
        # A process that this starts inherits the mask: Ctrl-C is for its parent, which then ends it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._drawers().submit(draw, piece)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _drawers(self) -> Pool:
        # Unlike the standard library's, these processes do not import the caller's script again, so a
        # script needs no `if __name__ == "__main__"`.
        from joblib.externals.loky import get_reusable_executor

        pool: Pool = get_reusable_executor(
            max_workers=self._processes, timeout=10, initializer=_end_with, initargs=(os.getpid(),)
        )
        return pool

    def close(self) -> None:
        """Wait for what is under way and end the threads; drawing processes end when idle."""
        self._threads.shutdown(cancel_futures=True)
        self._answering.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _end_with(parent: int) -> None:
    """In a drawing process: end when the parent is gone, however it went."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def local(source: object) -> LocalExecutor:
    """The local executor that suits a source: processes if it is `cpu_bound` and there are cores to use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return LocalExecutor(processes=min(cores, 8) if cpu_bound(source) and cores > 1 else 0)


T = TypeVar("T")
R = TypeVar("R")

#: Most probable labels kept with a trial.
KEPT_LABELS: Final = 3


class Batch(NamedTuple):
    """Trials of one hypothesis that are drawn together: those from `start` to `stop`, or `only` some."""

    hypothesis: Hypothesis
    stage: Stage
    start: int
    stop: int
    placed: tuple[tuple[int, int], ...] = ()
    only: tuple[int, ...] = ()

    @property
    def indices(self) -> Sequence[int]:
        return self.only or range(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class Answered:
    """A batch on its way; an output is None until the target has been asked."""

    batch: Batch
    cases: list[Case]
    outputs: list[Output | None]


class Judged(NamedTuple):
    """A batch as it is recorded, but for the seconds.

    Attributes:
        inputs: By position, the bytes of those that may be kept as evidence: at least those that will be.
    """

    batch: Batch
    trials: list[Trial]
    inputs: dict[int, bytes]


def draw_batch(source: Source, seed: int, batch: Batch) -> Answered:
    """Draw a batch; what cannot be drawn is an error of its trials."""

    def draw(indices: Sequence[int]) -> list[Case]:
        cases = source.draw(batch.hypothesis, indices, seed=seed)
        asked = [(batch.hypothesis, i) for i in indices]
        if [(c.hypothesis, c.index) for c in cases if isinstance(c, Case)] not in (asked, []):
            raise WeakspotError("the cases do not match the indices asked for, in their order")
        return cases

    if isinstance(source, Placing):
        for index, number in batch.placed:
            source.place(batch.hypothesis, index, number)
    cases: list[Case] = []
    outputs: list[Output | None] = []
    drawn = call_each(draw, batch.indices, "source", Case)
    for index, (case, error) in zip(batch.indices, drawn, strict=True):
        own_seed = case_seed(seed, batch.hypothesis, index)
        cases.append(case or Case(batch.hypothesis, index, own_seed, None, ""))
        outputs.append(None if case else Output(None, status=Status.ERROR, detail=error))
    return Answered(batch, cases, outputs)


def answer_batch(target: Target, drawn: Answered) -> Answered:
    """Ask the target of all cases that could be drawn."""

    def answer(cases: Sequence[Case]) -> list[Output]:
        outputs = target.answer(cases)
        for scores in (o.scores for o in outputs if isinstance(o, Output) and o.scores):
            scores.top(KEPT_LABELS)  # scores that do not fit their labels are an error of this very case
        return outputs

    asked = [i for i, output in enumerate(drawn.outputs) if output is None]
    outputs = list(drawn.outputs)
    answers = call_each(answer, [drawn.cases[i] for i in asked], "target", Output)
    for i, (output, error) in zip(asked, answers, strict=True):
        outputs[i] = output or Output(None, status=Status.ERROR, detail=error)
    return Answered(drawn.batch, drawn.cases, outputs)


def judge_batch(judge: Judge, kept: Mapping[bool, int], answered: Answered) -> Judged:
    """Judge a batch, and encode the first so many of its failing and passing inputs."""

    def verdicts(some: Sequence[tuple[Case, Output]]) -> list[Verdict]:
        return judge.judge([c for c, _ in some], [o for _, o in some])

    cases, outputs, left = answered.cases, answered.outputs, dict(kept)
    pairs = [(c, o or Output(None, status=Status.ERROR)) for c, o in zip(cases, outputs, strict=True)]
    trials: list[Trial] = []
    inputs: dict[int, bytes] = {}
    for (case, output), (verdict, error) in zip(
        pairs, call_each(verdicts, pairs, "judge", Verdict), strict=True
    ):
        trial = _trial(case, output, verdict or Verdict(None, status=Status.ERROR, reason=error))
        if trial.failed is not None and trial.status is not Status.INVALID and left[trial.failed] > 0:
            content = encode(case.input)
            if content is not None:
                left[trial.failed] -= 1
                inputs[len(trials)] = content
        trials.append(trial)
    return Judged(answered.batch, trials, inputs)


# The same three in a worker that has a part of its own. Only what is judged leaves for the driver.

Begun = tuple[Batch, dict[bool, int]]


def draw_there(seed: int, source: Source, begun: Begun) -> Answered:
    return draw_batch(source, seed, begun[0])


def answer_there(target: Target, _: Begun, drawn: Answered) -> list[Output | None]:
    return answer_batch(target, drawn).outputs


def judge_there(judge: Judge, begun: Begun, drawn: Answered, outputs: list[Output | None]) -> Judged:
    return judge_batch(judge, begun[1], replace(drawn, outputs=outputs))


def call_each(
    call: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], who: str, kind: type[R]
) -> list[tuple[R | None, str]]:
    """Call with all items at once; if that fails, one by one, to find those at fault.

    Gives, per item, its result, or None and what went wrong.
    """
    if not items:
        return []
    try:
        results = call(items)
        if len(results) != len(items):
            raise WeakspotError(f"{len(results)} results for {len(items)} cases")
        for result in results:
            if not isinstance(result, kind):
                raise WeakspotError(f"a result is of type {type(result).__name__}, not {kind.__name__}")
        return [(result, "") for result in results]
    except Exception as error:  # a part may raise anything; it becomes an error of the trials, not of the run
        if len(items) == 1:
            what = error.what if isinstance(error, WeakspotError) else f"{type(error).__name__}: {error}"
            return [(None, f"{who}: {what}"[:500])]
    return [pair for item in items for pair in call_each(call, [item], who, kind)]


def _trial(case: Case, output: Output, verdict: Verdict) -> Trial:
    error = Status.ERROR in (output.status, verdict.status)
    status = output.status if output.status is not Status.OK else verdict.status
    return Trial(
        hypothesis=case.hypothesis.id,
        index=case.index,
        status=Status.ERROR if error else status,
        failed=None if error else verdict.failed,
        score=None if error else verdict.score,
        expected=case.expected,
        answer=output.answer,
        top=tuple(output.scores.top(KEPT_LABELS)) if output.scores else (),
        caption=case.caption,
        detail=output.detail or verdict.reason,
        usage=output.usage,
    )
