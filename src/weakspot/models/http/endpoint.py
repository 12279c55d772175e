"""How a served model is spoken to: where it is, what it is sent, where in its answer the answer lies.

It is said by options of a name, `http://HOST:8000/predict?image=data&answer=predictions.0`, or by a small
YAML file, `http:endpoint.yaml`, which alone can have headers and further fields:

    url: https://HOST/v1/models/birds:predict
    send: json                # or multipart
    image: instances          # the field that holds the picture; dots go deeper
    encoding: base64          # or data-uri, or pixels (rows of numbers)
    batch: 8                  # pictures in one request; above 1 the field holds a list
    fields: {model: birds}    # sent as they are
    headers: {Authorization: "Bearer ${BIRDS_KEY}"}
    answer: predictions       # where it lies; dots go deeper, numbers count from 0
    labels: labels.txt        # a file, or a list
"""

from __future__ import annotations

import base64
import copy
import http.client
import io
import json
import os
import random
import re
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import numpy as np
import yaml
from numpy.typing import NDArray

from weakspot.core import WeakspotError, disk_errors, nearest
from weakspot.core.errors import check_known, explained, first_line
from weakspot.models.chat.calls import LONGEST_WAIT, Fault, pause
from weakspot.models.pictures import png

TIMEOUT: Final = 60.0
ATTEMPTS: Final = 5
CONCURRENCY: Final = 4
#: More of an answer than this is not read, in bytes.
LARGEST: Final = 256 << 20
_AGAIN: Final = (408, 425, 429, 500, 502, 503, 504)
_VARIABLE: Final = re.compile(r"\$\{(\w+)\}")
_SEE: Final = "see docs/models.md"
_T = TypeVar("_T")


class Unanswered(WeakspotError):
    """A server gave no answer that can be used."""


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs


class Caller:
    """Sends requests to an endpoint; `${NAME}` in its headers is read from the environment."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.url = endpoint, check_url(endpoint.url)
        self._headers, self._secrets = _filled(endpoint.headers)
        self._opener = urllib.request.build_opener(_Stay)
        self._chance = random.Random()  # noqa: S311 - jitter

    def all(self, work: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
        """`work` on every item, some at once, in order; the first error ends it."""
        if len(items) < 2 or self.endpoint.concurrency == 1:
            return [work(item) for item in items]
        pool = ThreadPoolExecutor(min(self.endpoint.concurrency, len(items)))
        try:
            return list(pool.map(work, items))
        finally:
            pool.shutdown(cancel_futures=True)

    def json(self, body: bytes, kind: str) -> Any:
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
        for attempt in range(self.endpoint.attempts):
            reply = self._once(body, kind)
            if not isinstance(reply, Fault):
                return reply
            fault = reply
            if not fault.again or (fault.wait or 0) > LONGEST_WAIT:
                break
            if attempt + 1 < self.endpoint.attempts:
                time.sleep(pause(attempt, fault, chance=self._chance))
        tried = f" ({attempt + 1} attempts)" if attempt else ""
        fix = "is the server running? timeout=, attempts= and concurrency= can be given"
        if "HTTP 401" in fault.what or "HTTP 403" in fault.what:
            fix = "check the key: headers: {Authorization: Bearer ${MY_KEY}} in a file; see docs/models.md"
        elif fault.what.startswith("it points"):
            fix = "name the address it points to"
        elif "HTTP 4" in fault.what and not fault.busy:
            fix = f"check the address and how pictures are sent; {_SEE}"
        raise Unanswered(f"{self.url} does not answer: {fault.what}{tried}", fix=fix)

    def _once(self, body: bytes, kind: str) -> tuple[bytes, str] | Fault:
        headers = {"Content-Type": kind, "Accept": "application/json", **self._headers}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 (see check_url)
        try:
            with self._opener.open(request, timeout=self.endpoint.timeout) as reply:
                content: bytes = reply.read(LARGEST + 1)
                said = str(reply.headers.get("Content-Type", ""))
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                return Fault(f"nothing came within {self.endpoint.timeout:g} s", again=True)
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
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def check_url(url: str) -> str:
    """The address; an error if it is none, or if a key stands in it."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # an error where it is no number
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise WeakspotError(f"{url[:200]!r} is not an address", fix="write http://HOST:PORT/PATH")
    if parts.username or parts.password:
        raise WeakspotError(
            "a key must not be in a name, because names are written down",
            fix="write a file with headers: {Authorization: Bearer ${MY_KEY}}; see docs/models.md",
        )
    return url


def _filled(headers: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    secrets: list[str] = []

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], "")
        if not found:
            raise WeakspotError(f"the variable {match[1]} is not set", fix=f"export {match[1]}=…")
        secrets.append(found)
        return found

    filled = {str(key): _VARIABLE.sub(value, str(text)) for key, text in headers.items()}
    if any(not (key + text).isprintable() for key, text in filled.items()):
        raise WeakspotError(
            "a header contains a line break or another control character",
            fix="check the file and the variable",
        )
    return filled, tuple(sorted(secrets, key=len, reverse=True))


def _form(content: bytes, kind: str) -> str:
    start = content[:200].lstrip().lower()
    if "html" in kind or start.startswith((b"<!doctype html", b"<html")):
        return "HTML"
    return (kind.partition(";")[0].strip()[:60] or "something") if content else "nothing"


SEND: Final = ("json", "multipart")
ENCODINGS: Final = ("base64", "data-uri", "pixels")
Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """See the module; what a name's options say goes before what the file says."""

    url: str
    send: str = "json"
    image: str = "image"
    encoding: str = "base64"
    batch: int = 1
    answer: str = ""
    name: str = "label"
    score: str = "score"
    outputs: str = "auto"
    timeout: float = TIMEOUT
    attempts: int = ATTEMPTS
    concurrency: int = CONCURRENCY
    labels: str | tuple[str, ...] = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, value, known in (("send", self.send, SEND), ("encoding", self.encoding, ENCODINGS)):
            check_known(str(value), known, f"{what} cannot be {str(value)[:80]!r}")
        if self.send == "multipart" and self.batch > 1:
            raise WeakspotError("a form holds one picture", fix="leave batch out, or say send=json")
        for what, count in (("batch", self.batch), ("attempts", self.attempts), ("timeout", self.timeout)):
            if not 0 < count <= 100_000:
                raise WeakspotError(f"{what} cannot be {count}", fix="choose a number above 0")
        if not 1 <= self.concurrency <= 256:
            raise WeakspotError(f"concurrency cannot be {self.concurrency}", fix="choose 1 to 256")

    def request(self, pictures: Sequence[Picture]) -> tuple[bytes, str]:
        if self.send == "multipart":
            return form({**self.fields, self.image: png(pictures[0])})
        shown = [self._encoded(picture) for picture in pictures]
        body = placed(copy.deepcopy(dict(self.fields)), self.image, shown if self.batch > 1 else shown[0])
        return json.dumps(body).encode(), "application/json"

    def _encoded(self, picture: Picture) -> Any:
        if self.encoding == "pixels":
            return picture.tolist()
        text = base64.b64encode(png(picture)).decode()
        return text if self.encoding == "base64" else f"data:image/png;base64,{text}"


def read_endpoint(rest: str, *, scheme: str, given: Mapping[str, Any]) -> Endpoint:
    """From what follows the scheme in a name, "//HOST/PATH" or the name of a file, and from its options.

    Options are None or "" where they say nothing.
    """
    said = {key: value for key, value in given.items() if value not in (None, "")}
    if rest.startswith("//"):
        return Endpoint(url=f"{scheme}:{rest}", **said)
    content = _file(Path(rest))
    known = {f.name for f in fields(Endpoint)}
    strange = [key for key in content if key not in known]
    if strange or not isinstance(content.get("url"), str):
        lacks = f"place for {strange[0][:80]!r}" if strange else "url"
        hint = nearest(strange[0], known) if strange else ""
        raise WeakspotError(
            f"{rest[:200]} has no {lacks}", fix=hint or f"it can have: {', '.join(sorted(known))}"
        )
    for key, kind in (("fields", Mapping), ("headers", Mapping), ("batch", int), ("attempts", int),
                      ("concurrency", int), ("timeout", int | float)):  # fmt: skip
        if key in content and not isinstance(content[key], kind):
            raise WeakspotError(
                f"{key} in {rest[:200]} cannot be {str(content[key])[:80]!r}", fix="correct it"
            )
    if isinstance(content.get("labels"), list):
        content["labels"] = tuple(map(str, content["labels"]))
    elif isinstance(content.get("labels"), str):
        content["labels"] = str(Path(rest).parent / content["labels"])
    return replace(Endpoint(**content), **said)


def _file(path: Path) -> dict[str, Any]:
    either = "name a file, or write the address: http://HOST:PORT/PATH"
    with disk_errors(f"{str(path)[:200]} cannot be read", either):
        text = path.read_bytes()
    with explained(f"{path} is not YAML", yaml.YAMLError, RecursionError, fix=_SEE, why=first_line):
        content = yaml.safe_load(text)
    if not isinstance(content, dict):
        raise WeakspotError(f"{path} does not describe an endpoint", fix=_SEE)
    return {str(key): value for key, value in content.items()}


def form(parts: Mapping[str, Any]) -> tuple[bytes, str]:
    """A form (multipart/form-data); bytes are files, all else is text."""
    edge = f"weakspot-{secrets.token_hex(12)}"
    body = io.BytesIO()
    for name, value in parts.items():
        told = f'form-data; name="{name}"'
        if isinstance(value, bytes):
            told += '; filename="image.png"\r\nContent-Type: image/png'
        content = value if isinstance(value, bytes) else str(value).encode()
        body.write(f"--{edge}\r\nContent-Disposition: {told}\r\n\r\n".encode() + content + b"\r\n")
    body.write(f"--{edge}--\r\n".encode())
    return body.getvalue(), f"multipart/form-data; boundary={edge}"


def placed(body: dict[str, Any], path: str, value: Any) -> Any:
    """The body with a value where a path says: "a.0.b" is a field of the first row of a list; "" is all."""
    if not path:
        return value
    here: Any = body
    steps = path.split(".")
    for step, after in zip(steps, [*steps[1:], ""], strict=True):
        inner = value if not after else ([] if after.isdecimal() else {})
        if isinstance(here, list) and step.isdecimal():
            key: Any = int(step)
            while len(here) <= min(key, 1000):
                here.append(copy.copy(inner))
        elif isinstance(here, dict):
            key = step
            here.setdefault(key, inner)
        else:
            raise WeakspotError(f"a picture cannot be put at {path[:80]!r}", fix="check image and fields")
        if not after:
            here[key] = value
        here = here[key]
    return body


def found(content: Any, path: str) -> Any:
    here = content
    for step in filter(None, path.split(".")):
        if isinstance(here, list) and step.isdecimal() and int(step) < len(here):
            here = here[int(step)]
        elif isinstance(here, dict) and step in here:
            here = here[step]
        else:
            there = ", ".join(map(str, here))[:200] if isinstance(here, dict) else f"a {type(here).__name__}"
            raise WeakspotError(
                f"the answer has no {step[:80]!r} ({path[:80]}); it has {there or 'nothing'}",
                fix="say where the answer is: answer=predictions.0",
            )
    return here
