"""What became of a call: an answer, a block, silence, or an error, and whether to try again."""

from __future__ import annotations

import json
import random
from typing import Any, Final, NamedTuple

from weakspot.core import Output, Status, Usage

#: Seconds before the second attempt, on average; doubles with each further one.
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
#: A provider that asks for more patience than this is given up on, for this question.
LONGEST_WAIT: Final = 180.0
#: Longer answers are cut, and say so.
LONGEST_ANSWER: Final = 100_000


class Fault(NamedTuple):
    """A call that brought no answer.

    Attributes:
        busy: The provider said "too many requests".
        wait: What it asked to wait, in seconds.
        final: No other question will fare better: a wrong key, no such model, no credit.
        unless_answered: It is not final where other questions were answered.
    """

    what: str
    again: bool = False
    busy: bool = False
    wait: float | None = None
    final: bool = False
    unless_answered: bool = False


def fault_of(error: BaseException, api: Any) -> Fault:
    """What an exception of a provider's library means.

    Args:
        error: As raised or returned by it.
        api: inspect-ai's interface to the provider, which knows what can be tried again.
    """
    if isinstance(error, TimeoutError):
        return Fault(str(error) or "no answer in time", again=True)
    status = status_of(error)
    words = _words(error)
    said = f"HTTP {status}: {words}" if status else f"{type(error).__name__}: {words}"
    if status is None and error.__cause__ is not None:  # a client's words for a connection that broke
        said = f"the connection failed: {_words(error.__cause__)}"
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


def status_of(error: BaseException) -> int | None:
    """The HTTP status behind an exception, if there is one."""
    for value in (
        getattr(error, "status_code", None),
        getattr(getattr(error, "response", None), "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


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
        why = f" ({str(reply.error)[:200]})" if reply.error else ""
        return Fault(f"the reply holds no answer{why}", again=True)
    text, stop = reply.completion or "", reply.stop_reason
    text = text.encode("utf-8", "backslashreplace").decode()  # a lone surrogate could be stored nowhere
    if stop == "content_filter":
        return Output(None, status=Status.BLOCKED, detail=_blocked(reply, text), usage=usage)
    if stop == "model_length":
        detail = "the question is too long for the model" + (f": {text[:200]}" if text else "")
        return Output(None, status=Status.ERROR, detail=detail, usage=usage)
    if not text.strip():
        detail = "the answer is empty"
        if stop == "max_tokens":
            detail = f"the limit of {max_tokens} tokens was reached before any text; raise max_tokens"
        return Output(None, status=Status.EMPTY, detail=detail, usage=usage)
    if len(text) > LONGEST_ANSWER:
        cut = f"the answer of {len(text):,} characters was cut to {LONGEST_ANSWER:,}"
        return Output(text[:LONGEST_ANSWER], detail=cut, usage=usage)
    return Output(text, usage=usage)


def _blocked(reply: Any, text: str) -> str:
    details = getattr(reply.choices[0], "stop_details", None)
    why = getattr(details, "category", None) or getattr(details, "explanation", None) or text
    return "blocked by the provider's filter" + (f": {' '.join(str(why).split())[:200]}" if why else "")
