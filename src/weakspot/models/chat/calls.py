"""Calls of chat models: on one event loop, as many at once as the provider bears, and what became of each."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, Self, TypeVar

from weakspot.core import Output, Status, Usage
from weakspot.core.question import CUT_OFF

#: Seconds before the second attempt, on average; doubles with each further one.
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
#: A provider that asks for more patience than this is given up on, for this question.
LONGEST_WAIT: Final = 180.0
#: Longer answers are cut, and say so.
LONGEST_ANSWER: Final = 100_000


class Fault(NamedTuple):
    """A call that brought no answer."""

    what: str
    again: bool = False
    #: The provider said "too many requests".
    busy: bool = False
    #: What it asked to wait, in seconds.
    wait: float | None = None
    #: No other question will fare better: a wrong key, no such model, no credit.
    final: bool = False
    #: It is not final where other questions were answered.
    unless_answered: bool = False


def fault_of(error: BaseException, api: Any) -> Fault:
    """What an exception of a provider's library means; inspect-ai's `api` knows what can be tried again."""
    if isinstance(error, TimeoutError):
        return Fault(str(error) or "no answer in time", again=True)
    status = status_of(error)
    words = _words(error)
    said = f"HTTP {status}: {words}" if status else f"{type(error).__name__}: {words}"
    if status is None and error.__cause__ is not None:  # a client's words for a connection that broke
        said = f"the connection failed: {_words(error.__cause__)}"
    if status is None and (complained := complaint()) is not None:
        return complained
    if status == 401 or "api key not valid" in words.lower():  # what is said here can hold parts of the key
        return Fault(f"the key was not accepted (HTTP {status})", final=True)
    if status == 402 or "insufficient_quota" in (getattr(error, "code", None), getattr(error, "type", None)):
        return Fault(f"the account has no credit left ({said})", final=True)
    if status == 404:
        return Fault(f"there is no such model or address ({said})", final=True, unless_answered=True)
    try:
        decision = api.should_retry(error)
    except Exception:  # the provider's own code may not know this error
        decision = False
    wait = getattr(decision, "retry_after", None) or _asked_to_wait(error)
    busy = status == 429 or getattr(decision, "kind", "") == "rate_limit"
    if isinstance(error, ImportError):
        return Fault(said, final=True)
    if isinstance(error, json.JSONDecodeError) or "ResponseValidation" in type(error).__name__:
        return Fault("the reply is not the JSON it should be", again=True)
    # Without a status it is no provider's "no": the connection broke, or the reply is not what it should be.
    again = bool(decision) or busy or status is None or status >= 500
    if status in (500, 501) and "not support" in words.lower():
        again = False  # how llama.cpp says that it cannot see
    return Fault(said, again=again, busy=busy, wait=wait)


#: The reply that a task received last, as its bytes: a provider's library loses what it cannot read.
_last: ContextVar[Any] = ContextVar("last reply", default=None)


async def remember(response: Any) -> None:
    """Keep a reply until the next one comes; httpx calls this for each."""
    _last.set(response)


def forget() -> None:
    _last.set(None)


def complaint() -> Fault | None:
    """What a server says in a reply that is called a success and holds an error; None if there is none."""
    try:
        body = json.loads(_last.get().content)
    except Exception:  # no reply, one that was never read, or no JSON: then it says nothing
        return None
    if not isinstance(body, dict) or body.get("choices"):
        return None
    inner = body.get("error") or body.get("detail") or (body if body.get("object") == "error" else None)
    said = inner.get("message") if isinstance(inner, dict) else inner
    if not isinstance(said, str) or not said.strip():
        return None
    code = inner.get("code") if isinstance(inner, dict) else None
    wrong = isinstance(code, int) and 400 <= code < 500 and code not in (408, 409, 425, 429)
    return Fault(f"the server says: {' '.join(said.split())[:300]}", again=not wrong, busy=code == 429)


def _why(error: object) -> str:
    return f" ({str(error)[:200]})" if error else ""


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an exception, if there is one."""
    response = getattr(getattr(error, "response", None), "status_code", None)
    known = (getattr(error, "status_code", None), response, getattr(error, "code", None))
    return next((value for value in known if isinstance(value, int) and 400 <= value < 600), None)


def _asked_to_wait(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        return max(float(headers["retry-after"]), 0.0) if headers is not None else None
    except (KeyError, TypeError, ValueError):  # not there, or a date, which inspect-ai reads
        return None


def _words(error: BaseException) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    said = inner.get("message") if isinstance(inner, dict) else None
    text = said if isinstance(said, str) else str(error)
    if said is None and error.__cause__ is not None:
        text += f" {error.__cause__}"
    return " ".join(text.split())[:300]


def pause(attempt: int, fault: Fault, *, chance: random.Random) -> float:
    """Seconds before the next attempt: doubling with jitter, and never less than what was asked for."""
    backoff = min(FIRST_PAUSE * 2.0**attempt, LONGEST_PAUSE) * chance.uniform(0.5, 1.5)
    return max(backoff, (fault.wait or 0.0) * chance.uniform(1.0, 1.1))


def reading_of(reply: Any, usage: Usage, *, max_tokens: int | None) -> Output | Fault:
    """The output in a provider's reply, as inspect-ai gives it; a `Fault` if it is no reply at all."""
    if not reply.choices:
        return complaint() or Fault(f"the reply holds no answer{_why(reply.error)}", again=True)
    text, stop = reply.completion or "", reply.stop_reason
    text = text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate could be stored nowhere
    if stop == "content_filter":
        details = getattr(reply.choices[0], "stop_details", None)
        why = getattr(details, "category", None) or getattr(details, "explanation", None) or text
        detail = "blocked by the provider's filter" + (f": {' '.join(str(why).split())[:200]}" if why else "")
        return Output(None, status=Status.BLOCKED, detail=detail, usage=usage)
    if stop == "model_length":
        detail = "the question is too long for the model" + (f": {text[:200]}" if text else "")
        return Output(None, status=Status.ERROR, detail=detail, usage=usage)
    if not text.strip():
        detail = "the answer is empty"
        if stop == "max_tokens":
            detail = f"the limit of {max_tokens} tokens was reached before any text; raise max_tokens"
        return Output(None, status=Status.EMPTY, detail=detail, usage=usage)
    if stop == "max_tokens":
        return Output(text, detail=f"{CUT_OFF} at the limit of {max_tokens} tokens", usage=usage)
    if len(text) > LONGEST_ANSWER:
        cut = f"the answer of {len(text):,} characters was cut to {LONGEST_ANSWER:,}"
        return Output(text[:LONGEST_ANSWER], detail=cut, usage=usage)
    return Output(text, usage=usage)


T = TypeVar("T")

#: Seconds that a process waits at its end for connections to be closed.
LAST_WAIT: Final = 2.0

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None
_thread: int | None = None


def event_loop() -> asyncio.AbstractEventLoop:
    """The loop; started when first asked for, and anew in a process that was forked off."""
    global _running, _thread
    with _lock:
        if _running is None or _running[0] != os.getpid():
            made = asyncio.new_event_loop()
            thread = threading.Thread(target=made.run_forever, name="chat", daemon=True)
            thread.start()
            _running, _thread = (os.getpid(), made), thread.ident
        return _running[1]


def run_on_loop(work: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine on that loop; leaving early (Ctrl-C) cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, event_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def close_interface(api: Any) -> None:
    """Close the connections of one of inspect-ai's interfaces, from any thread, the loop's own too."""

    async def end() -> None:
        with suppress(Exception):
            await api.aclose()

    if _running is None or _running[0] != os.getpid():
        return  # nothing was ever sent from here
    future = asyncio.run_coroutine_threadsafe(end(), event_loop())
    if threading.get_ident() != _thread:
        with suppress(Exception):
            future.result(LAST_WAIT)


class Gate:
    """Lets in as many as the limit says, which grows up to `most`; `async with gate:` within one event loop.

    `cuts` says how often the limit was cut; a call remembers it from when it was sent.
    """

    def __init__(self, *, start: int, most: int) -> None:
        self.limit, self.most, self.inside = min(start, most), most, 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.cuts, self._clean, self._doubling = 0, 0, True

    async def __aenter__(self) -> Self:
        if self.inside >= self.limit or self._waiting:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # let in and cancelled at once
                    self._leave()
                raise
        else:
            self.inside += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self.inside -= 1
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self.inside < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)

    def clean(self) -> None:
        """An answer came at the first attempt."""
        self._clean += 1
        if self._clean >= self.limit:
            self._clean = 0
            self.limit = min(self.limit * 2 if self._doubling else self.limit + 1, self.most)
            self._let_in()

    def busy(self, cuts: int) -> None:
        """The provider said "too many requests" to a call that was sent after so many cuts."""
        self._clean, self._doubling = 0, False
        if cuts == self.cuts:
            self.cuts += 1
            self.limit = max(self.limit * 7 // 10, 1)


W = TypeVar("W")
C = TypeVar("C")
O = TypeVar("O")  # noqa: E741


class AsAnswered:
    """See `weakspot.engine.Executor`; results come as they are ready, **not** in the order of the work.

    The engine bears that with a batch of one, where every piece of work stands for itself. `width`, at most
    `most`, says how many pieces may be under way; it is asked again before each. `ahead` more are begun and
    wait at the model's own gate, so that a call that ends is followed by the next at once, however long
    drawing, judging and recording take. `stop` is called when the iteration is left early, so that threads
    that wait come back.
    """

    def __init__(
        self, *, width: Callable[[], int], most: int, ahead: int = 0, stop: Callable[[], None]
    ) -> None:
        self._width, self._ahead, self._stop = width, ahead, stop
        self._threads = ThreadPoolExecutor(most + ahead, thread_name_prefix="answer")

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
                self._stop()

    def close(self) -> None:
        """End the threads, after what is under way."""
        self._threads.shutdown(cancel_futures=True)
