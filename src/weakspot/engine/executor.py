"""Where the work of a batch is done. Local threads here; a cluster implements the same one method."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

W = TypeVar("W")
C = TypeVar("C")
O = TypeVar("O")  # noqa: E741


class Executor(Protocol):
    """Runs the two slow stages of many pieces of work, overlapped, and gives results in order."""

    def stream(
        self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]
    ) -> Iterator[O]:
        """`answer(draw(w))` for each piece of work, in the order of the work."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class LocalExecutor:
    """Threads of this process: while the target answers one batch, the next ones are drawn.

    Args:
        drawers: Threads that draw.
        ahead: How many batches may be under way; bounds the memory held by inputs.
    """

    def __init__(self, *, drawers: int = 1, ahead: int = 3) -> None:
        self._drawing = ThreadPoolExecutor(drawers, thread_name_prefix="draw")
        self._answering = ThreadPoolExecutor(1, thread_name_prefix="answer")
        self._ahead = ahead

    def stream(
        self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]
    ) -> Iterator[O]:
        """See `Executor.stream`. Leaving the iteration early cancels what has not begun."""
        under_way: deque[tuple[Future[C], Future[O]]] = deque()
        try:
            for piece in work:
                drawn = self._drawing.submit(draw, piece)
                under_way.append((drawn, self._answering.submit(lambda f: answer(f.result()), drawn)))
                if len(under_way) > self._ahead:
                    yield under_way.popleft()[1].result()
            while under_way:
                yield under_way.popleft()[1].result()
        finally:
            for drawn, answered in under_way:
                answered.cancel()
                drawn.cancel()

    def close(self) -> None:
        """Wait for what is under way and end the threads."""
        self._drawing.shutdown(cancel_futures=True)
        self._answering.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
