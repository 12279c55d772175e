"""An executor for targets that wait: every case is a call of its own, recorded as soon as it is answered.

    Engine(run, target=model, batch=1, executor=AsAnswered(width=lambda: model.width, stop=model.stop), …)

A batch of many would wait for its slowest call before the next begins, and lose its answers if the process
is killed. With one case per batch nothing waits, a kill loses only calls under way, and a budget is exceeded
by no more than these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Self, TypeVar

from weakspot.models.chat.model import ChatModel

W = TypeVar("W")
C = TypeVar("C")
O = TypeVar("O")  # noqa: E741


class AsAnswered:
    """See `weakspot.engine.Executor`; results come as they are ready, **not** in the order of the work.

    The engine bears that with a batch of one, where every piece of work stands for itself.

    Args:
        width: How many pieces may be under way; asked again before each, so that it can change.
        most: The largest that `width` will ever say.
        ahead: So many more are begun and wait for their turn at the model's own gate, so that a call that
            ends is followed by the next at once, however long drawing, judging and recording take. With 0, no
            more calls are ever made than were under way when the work ended.
        stop: Called when the iteration is left early, so that threads that wait come back.
    """

    def __init__(
        self,
        *,
        width: Callable[[], int],
        most: int = 128,
        ahead: int = 0,
        stop: Callable[[], None] | None = None,
    ) -> None:
        self._width, self._ahead, self._stop = width, ahead, stop
        self._threads = ThreadPoolExecutor(most + ahead, thread_name_prefix="answer")

    @classmethod
    def of(cls, model: ChatModel, *, ahead: int = 0) -> AsAnswered:
        """The one that suits a chat model."""
        return cls(width=lambda: model.width, most=model.most, ahead=ahead, stop=model.stop)

    def stream(self, work: Iterable[W], draw: Callable[[W], C], answer: Callable[[C], O]) -> Iterator[O]:
        """`answer(draw(w))` for each piece of work, as they are ready. Leaving early stops the rest."""
        pieces, under_way, ready = iter(work), set[Future[O]](), SimpleQueue[Future[O]]()
        finished = False
        try:
            while True:
                while len(under_way) < max(self._width(), 1) + self._ahead:
                    piece = next(pieces, self)  # itself: nothing that work could hold
                    if piece is self:
                        break
                    future = self._threads.submit(lambda w: answer(draw(w)), piece)  # type: ignore[arg-type]
                    under_way.add(future)
                    future.add_done_callback(ready.put)
                if not under_way:
                    finished = True
                    return
                under_way.discard(future := ready.get())
                yield future.result()
        finally:
            if not finished:
                for future in under_way:
                    future.cancel()
                if self._stop is not None:
                    self._stop()

    def close(self) -> None:
        """End the threads, after what is under way."""
        self._threads.shutdown(cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
