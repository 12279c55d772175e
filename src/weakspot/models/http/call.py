"""Calls of a server: many at once, again after a fault that may pass, and every fault in one line.

The standard library alone. Redirections are not followed, since what is sent can hold a key; a key is read
from the environment, is struck out of what comes back, and is never part of a name.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from weakspot.core import WeakspotError
from weakspot.models.chat.faults import LONGEST_WAIT, Fault, pause

TIMEOUT: Final = 60.0
ATTEMPTS: Final = 5
CONCURRENCY: Final = 4
#: More of an answer than this is not read, in bytes.
LARGEST: Final = 256 << 20
_AGAIN: Final = (408, 425, 429, 500, 502, 503, 504)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_T = TypeVar("_T")


class Unanswered(WeakspotError):
    """A server gave no answer that can be used."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs


class Caller:
    """Sends requests to one address.

    Args:
        url: http or https, without a key in it.
        headers: Further headers; `${NAME}` in them is read from the environment.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        attempts: int = ATTEMPTS,
        concurrency: int = CONCURRENCY,
    ) -> None:
        self.url = check_url(url)
        self._headers, self._secrets = _filled(headers or {})
        self._timeout, self._attempts, self.concurrency = timeout, attempts, concurrency
        self._opener = urllib.request.build_opener(_Stay)
        self._chance = random.Random()  # noqa: S311 - jitter
        self.calls = 0

    def all(self, work: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
        """`work` on every item, some at once, in order; the first error ends it."""
        if len(items) < 2 or self.concurrency == 1:
            return [work(item) for item in items]
        pool = ThreadPoolExecutor(min(self.concurrency, len(items)))
        try:
            return list(pool.map(work, items))
        finally:
            pool.shutdown(cancel_futures=True)

    def json(self, body: bytes, kind: str) -> Any:
        """The answer to a request, read as JSON."""
        content, said = self._post(body, kind)
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            begins = f": {self._start(content)}" if content else ""
            raise Unanswered(
                f"{self.url} answers with {_form(content, said)}, not JSON{begins}",
                fix="check the address; is a login page or a proxy in between?",
            ) from None

    def _post(self, body: bytes, kind: str) -> tuple[bytes, str]:
        fault = Fault("")
        for attempt in range(self._attempts):
            found = self._once(body, kind)
            if not isinstance(found, Fault):
                return found
            fault = found
            if not fault.again or (fault.wait or 0) > LONGEST_WAIT:
                break
            if attempt + 1 < self._attempts:
                time.sleep(pause(attempt, fault, chance=self._chance))
        tried = f" ({attempt + 1} attempts)" if attempt else ""
        raise Unanswered(f"{self.url} does not answer: {fault.what}{tried}", fix=_way_out(fault))

    def _once(self, body: bytes, kind: str) -> tuple[bytes, str] | Fault:
        headers = {"Content-Type": kind, "Accept": "application/json", **self._headers}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 (see check_url)
        self.calls += 1
        try:
            with self._opener.open(request, timeout=self._timeout) as reply:
                content: bytes = reply.read(LARGEST + 1)
                said = str(reply.headers.get("Content-Type", ""))
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except TimeoutError:
            return Fault(f"nothing came within {self._timeout:g} s", again=True)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                return Fault(f"nothing came within {self._timeout:g} s", again=True)
            return Fault(self.scrub(f"{type(error).__name__}: {reason}")[:300], again=True)
        if len(content) > LARGEST:
            return Fault(f"it sends more than {LARGEST >> 20} MB")
        return content, said

    def _refused(self, error: urllib.error.HTTPError) -> Fault:
        try:
            content = error.read(2000)
        except (OSError, http.client.HTTPException):
            content = b""
        if 300 <= error.code < 400:
            return Fault(f"it points elsewhere: {self.scrub(str(error.headers.get('Location')))[:200]}")
        try:
            wait = max(float(error.headers.get("Retry-After", "")), 0.0)
        except ValueError:
            wait = None
        kind = str(error.headers.get("Content-Type", ""))
        words = self._start(content) if _form(content, kind) != "HTML" else "a page of HTML"
        busy = error.code == 429
        return Fault(
            f"HTTP {error.code}: {words}", again=error.code in _AGAIN, busy=busy, wait=wait,
            final=error.code in (401, 403, 404),
        )  # fmt: skip

    def _start(self, content: bytes) -> str:
        text = " ".join(content[:1000].decode("utf-8", "replace").split())
        return self.scrub("".join(c if c.isprintable() else "?" for c in text))[:120]

    def scrub(self, text: str) -> str:
        """Without the keys."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def check_url(url: str) -> str:
    """The address; an error if it is none, or if a key stands in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    del port
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise WeakspotError(f"{url[:200]!r} is not an address", fix="write http://HOST:PORT/PATH")
    if parts.username or parts.password:
        raise WeakspotError(
            "a key does not belong into a name, which is written down",
            fix="write a file with headers: {Authorization: Bearer ${MY_KEY}}; see docs/models.md",
        )
    return url


def _filled(headers: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The headers with the environment's values in them; and those values."""
    secrets: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "")
        if not found:
            raise WeakspotError(f"the variable {match[1]} is not set", fix=f"export {match[1]}=…")
        secrets.append(found)
        return found

    filled = {str(key): _VARIABLE.sub(value, str(text)) for key, text in headers.items()}
    if any(not (key + text).isprintable() for key, text in filled.items()):
        raise WeakspotError("a header has a line break or the like in it", fix="check file and variable")
    return filled, tuple(sorted(secrets, key=len, reverse=True))


def _form(content: bytes, kind: str) -> str:
    start = content[:200].lstrip().lower()
    if "html" in kind or start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    return (kind.partition(";")[0].strip()[:60] or "something") if content else "nothing"


def _way_out(fault: Fault) -> str:
    if "HTTP 401" in fault.what or "HTTP 403" in fault.what:
        return "check the key: headers: {Authorization: Bearer ${MY_KEY}} in a file; see docs/models.md"
    if fault.what.startswith("it points"):
        return "name the address it points to"
    if "HTTP 4" in fault.what and not fault.busy:
        return "check the address and how pictures are sent; see docs/models.md"
    return "is the server running? timeout=, attempts= and concurrency= can be given"
