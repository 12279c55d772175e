"""A chat server on loopback that answers as told: fixed latency, and faults by plan.

    with ScriptedServer(latency=0.05, plan=faults(0.3, seed=1)) as server:
        model = load_model(f"chat:openai-api/test/m?base_url={server.url}")

It speaks enough of OpenAI's chat completions for any client of theirs, and of Anthropic's messages. Every
request is kept in `calls`, so that a test can say what was sent, how often, and how much of it at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

#: What can be done to a request instead of answering it: `plan` names one of them, or "ok".
FAULTS: Final = ("429", "500", "timeout", "cut", "filter", "empty", "json")
#: How a reply says why it ended.
_ENDS: Final = {"filter": "content_filter", "length": "length", "half": "length"}
#: Faults after which a second try can succeed.
PASSING: Final = ("429", "500", "timeout", "cut", "json")


@dataclass(slots=True)
class Call:
    """One request as the server saw it.

    Attributes:
        text: The last words of the user: what identifies an item.
        attempt: 0 for the first request with these words.
        done: What was made of it: "ok" or the name of a fault.
        body: The request.
        headers: With names in lower case.
        began: Seconds since the server started.
        ended: The same; 0 while it is under way.
    """

    text: str
    attempt: int
    done: str
    body: dict[str, Any]
    headers: dict[str, str]
    began: float
    ended: float = 0.0

    @property
    def images(self) -> list[str]:
        """Data URIs, or what Anthropic's format has in their place."""
        parts = [m["content"] for m in self.body["messages"] if isinstance(m["content"], list)]
        return [
            p["image_url"]["url"] if "image_url" in p else f"data:{p['source']['media_type']};base64,"
            for part in parts
            for p in part
            if p["type"] in ("image_url", "image")
        ]

    @property
    def system(self) -> str:
        """The system prompt, or ""."""
        found = [m["content"] for m in self.body["messages"] if m["role"] == "system"]
        return str(found[0]) if found else str(self.body.get("system") or "")


Plan = Callable[[str, int], str]


def never(_text: str, _attempt: int) -> str:
    """No faults."""
    return "ok"


def faults(rate: float, *, kinds: Sequence[str] = FAULTS, seed: int = 0, most: int = 3) -> Plan:
    """Each request fails with this probability, in one of these ways, as text and attempt decide.

    Args:
        rate: Share of the requests.
        kinds: Of `FAULTS`, each as likely as the others.
        seed: For another plan.
        most: A text fails at most so often.
    """

    def plan(text: str, attempt: int) -> str:
        dice = hashlib.sha256(f"{seed}:{attempt}:{text}".encode()).digest()
        if attempt >= most or int.from_bytes(dice[:4], "big") >= rate * 2**32:
            return "ok"
        return kinds[int.from_bytes(dice[4:8], "big") % len(kinds)]

    return plan


@dataclass
class ScriptedServer:
    """See the module.

    Attributes:
        latency: Seconds before any answer.
        plan: From the text and the attempt to "ok", a fault of `FAULTS`, an HTTP status such as "401",
            "length" (no text before the limit of tokens), "half" (text that the limit cut off), "nothing" (no
            choices), "html" (no JSON at all), or "200 " and the JSON of a body that is sent as a success.
        reply: The answer to a text.
        retry_after: What a 429 asks the client to wait, in seconds.
        slots: Requests worked on at once; more than these wait.
        error: The message in the body of errors.
    """

    latency: float = 0.0
    plan: Plan = never
    reply: Callable[[str], str] = "Here is an answer to: {}".format
    retry_after: float = 0.2
    slots: int = 10_000
    error: Callable[[Call], str] = lambda call: f"scripted {call.done}"
    calls: list[Call] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._free = asyncio.Semaphore(self.slots)
        self._seen: Counter[str] = Counter()
        self._start = time.monotonic()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        async def end() -> None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @property
    def url(self) -> str:
        """The base URL of the OpenAI-compatible interface."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def answered(self) -> Counter[str]:
        """How often each text was answered with text (not blocked, empty or failed) and sent to the end."""
        return Counter(call.text for call in self.calls if call.done == "ok" and call.ended)

    @property
    def sent(self) -> Counter[str]:
        """How often each text was asked."""
        return Counter(call.text for call in self.calls)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while request := await _read(reader):
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    async with self._free:
                        goes_on = await self._answer(*request, writer)
                finally:
                    self.in_flight -= 1
                if not goes_on:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client went away, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(
        self, path: str, headers: dict[str, str], content: bytes, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; whether the connection stays open."""
        if not path.endswith(("/chat/completions", "/messages")):
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return True
        body = json.loads(content)
        text = _last_words(body)
        attempt = self._seen[text]
        self._seen[text] += 1
        call = Call(text, attempt, self.plan(text, attempt), body, headers, time.monotonic() - self._start)
        self.calls.append(call)
        await asyncio.sleep(3600 if call.done == "timeout" else self.latency)
        if call.done == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/json\r\ncontent-length: 9999\r\n\r\n{")
            await writer.drain()
            return False
        status, extra, said = self._reply(call, anthropic=path.endswith("/messages"))
        fields = {"content-type": "application/json", "content-length": len(said)} | dict(extra)
        head = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in fields.items())]
        writer.write("\r\n".join([*head, "", ""]).encode() + said)
        await writer.drain()
        call.ended = time.monotonic() - self._start
        return True

    def _reply(self, call: Call, *, anthropic: bool) -> tuple[int, Mapping[str, str], bytes]:
        if call.done == "json":
            return 200, {}, b'{"id": "broken", "choices": [{"mess'
        if call.done.startswith("200 "):
            return 200, {}, call.done[4:].encode()
        if call.done == "html":
            return 200, {"content-type": "text/html"}, b"<html>busy</html>"
        if call.done.isdigit():
            extra = {"retry-after": f"{self.retry_after:g}"} if call.done == "429" else {}
            error = {"message": self.error(call), "type": "scripted", "code": None}
            return int(call.done), extra, json.dumps({"type": "error", "error": error}).encode()
        text = self.reply(call.text) if call.done in ("ok", "half") else ""
        used = len(json.dumps(call.body["messages"])) // 4, len(text) // 4 + 1
        whole = _as_anthropic(call, text, *used) if anthropic else _as_openai(call, text, *used)
        return 200, {}, json.dumps(whole).encode()


def _as_openai(call: Call, text: str, read: int, written: int) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": {"filter": "content_filter", "length": "length", "half": "length"}.get(
            call.done, "stop"
        ),
    }
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    return {
        "id": "scripted",
        "object": "chat.completion",
        "created": 0,
        "model": call.body["model"],
        "choices": [] if call.done == "nothing" else [choice],
        "usage": usage,
    }


def _as_anthropic(call: Call, text: str, read: int, written: int) -> dict[str, Any]:
    return {
        "id": "scripted",
        "type": "message",
        "role": "assistant",
        "model": call.body["model"],
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": "refusal" if call.done == "filter" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": written},
    }


def _last_words(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return " ".join(part["text"] for part in content if part["type"] == "text")


async def _read(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """One request: path, headers, body; None at the end of the connection."""
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode("latin-1").rstrip().split("\r\n")
    fields = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in fields}
    return first.split()[1], headers, await reader.readexactly(int(headers.get("content-length", "0")))
