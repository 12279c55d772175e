"""One event loop for all chat models of a process, in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final, TypeVar

T = TypeVar("T")

#: Seconds that a process waits at its end for connections to be closed.
LAST_WAIT: Final = 2.0

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None
_thread: int | None = None


def loop() -> asyncio.AbstractEventLoop:
    """The loop; started when first asked for, and anew in a process that was forked off."""
    global _running, _thread
    with _lock:
        if _running is None or _running[0] != os.getpid():
            made = asyncio.new_event_loop()
            thread = threading.Thread(target=made.run_forever, name="chat", daemon=True)
            thread.start()
            _running, _thread = (os.getpid(), made), thread.ident
        return _running[1]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for a coroutine on that loop; leaving early (Ctrl-C) cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def close(api: Any) -> None:
    """Close the connections of one of inspect-ai's interfaces, from any thread, the loop's own too."""

    async def end() -> None:
        with suppress(Exception):
            await api.aclose()

    if _running is None or _running[0] != os.getpid():
        return  # nothing was ever sent from here
    future = asyncio.run_coroutine_threadsafe(end(), loop())
    if threading.get_ident() != _thread:
        with suppress(Exception):
            future.result(LAST_WAIT)
