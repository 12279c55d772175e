"""Where the work of a batch is done. This machine here; a cluster implements the same one method."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from concurrent.futures import Executor as Pool
from pickle import PicklingError
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

from weakspot.core.ports import cpu_bound

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
