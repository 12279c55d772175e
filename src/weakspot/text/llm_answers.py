"""Asking a language model and reading what it answers, however it is written.

Answers may have code fences, comments, trailing commas, or stop in the middle: what can be read is read. An
answer is hostile text: it is parsed within bounds, and nothing in it is followed or run.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

LONGEST: Final = 300  # longer texts, names and descriptions of an answer are not taken, in characters
LONGEST_ANSWER: Final = 200_000  # more of an answer than this is not read, in characters

_REFUSES: Final = re.compile(
    r"\b(i('m| am) (sorry|unable|not able)|i (can(no|')t|cannot|won't|will not|must decline)|as an ai\b|"
    r"(unable|not able) to (assist|help|comply)|against (my|the) (policy|guidelines))",
    re.IGNORECASE,
)


@runtime_checkable
class Asked(Protocol):
    """A language model."""

    def ask(self, prompts: Sequence[str]) -> list[str]:
        """One answer a prompt, in order; "" where there is none."""
        ...


class Pair(NamedTuple):
    """Two texts that an encoder confuses."""

    first: str
    second: str


#: What is counted of calls.
COUNTED: Final = ("calls", "read", "refused", "empty", "unreadable", "failed")


@dataclass(frozen=True, slots=True)
class Answers:
    """How the calls went: each is counted once."""

    calls: int = 0
    read: int = 0
    refused: int = 0
    empty: int = 0
    unreadable: int = 0
    failed: int = 0
    errors: tuple[str, ...] = ()

    def __add__(self, other: Answers) -> Answers:
        counts = {name: getattr(self, name) + getattr(other, name) for name in COUNTED}
        return Answers(**counts, errors=tuple(dict.fromkeys((*self.errors, *other.errors)))[:5])

    def __str__(self) -> str:
        lost = {what: getattr(self, what) for what in COUNTED[2:]}
        rest = (f"{n} {what}" for what, n in lost.items() if n)
        return " · ".join([f"{self.read} of {self.calls} answers read", *rest])


def ask_all(llm: Asked, prompts: Sequence[str]) -> tuple[list[str | None], Answers]:
    """The answers that can be read on, None for the others; a batch that raises is asked one by one."""
    errors: list[str] = []

    def ask_one(prompt: str) -> str | None:
        try:
            return next(iter(llm.ask([prompt])), "")
        except Exception as error:  # of the client; it is counted and quoted
            errors.append(one_line(f"{type(error).__name__}: {error}")[:LONGEST])
            return None

    try:
        texts: list[str | None] = [*llm.ask(prompts)]
        if len(texts) != len(prompts):
            raise ValueError(f"{len(texts)} answers to {len(prompts)} prompts")
    except Exception:  # a client may raise anything; what each prompt gives decides
        texts = [ask_one(prompt) for prompt in prompts]
    counts: Counter[str] = Counter()
    for i, text in enumerate(texts):
        kind = "read"
        if text is None:
            kind = "failed"
        elif not isinstance(text, str) or not text.strip():
            kind = "empty"
        elif refuses(text):
            kind = "refused"
        counts[kind] += 1
        texts[i] = text if kind == "read" else None
    return texts, Answers(len(prompts), errors=tuple(dict.fromkeys(errors))[:5], **counts)


def refuses(text: str) -> bool:
    """Whether an answer refuses: it says so early, and has neither a list nor a pair."""
    return bool(_REFUSES.search(text[:400].replace("’", "'"))) and not re.search(r"[\[{(]\s*[\"{“]", text)


def items(text: str) -> list[dict[str, Any]]:
    """The objects of a JSON answer, mended where it is malformed, as far as it goes where it was cut off."""
    text = text[:LONGEST_ANSWER]
    for candidate in _candidates(text):
        if found := _loaded(candidate):
            return found
    # One object at a time: the last may be cut off, one in the middle broken.
    return [one for part in re.findall(r"\{[^{}]*\}", text) for one in _loaded(_mended(part))]


def _loaded(text: str) -> list[dict[str, Any]]:
    with suppress(ValueError, RecursionError):
        return list(_objects(json.loads(text, strict=False)))
    return []


def _candidates(text: str) -> Iterator[str]:
    fenced = re.findall(r"```[a-zA-Z]*\s*\n?(.*?)(?:```|$)", text, re.DOTALL)
    for body in (*fenced, text):
        starts = [i for i in (body.find("["), body.find("{")) if i >= 0]
        if not starts:
            continue
        end = max(body.rfind("]"), body.rfind("}"))
        cut = body[min(starts) : end + 1] if end > min(starts) else body[min(starts) :]
        yield cut
        yield _mended(cut)
        yield from (_mended(cut) + closing for closing in ("]", "}", "]}", "}]"))


def _mended(text: str) -> str:
    """Without comments and trailing commas, with plain quotes and the literals of JSON."""
    text = re.sub(r"[“”]", '"', text)
    text = re.sub(r"^\s*(//|#).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\}\s*\{", "},{", text)
    text = re.sub(r",\s*([\]}])", r"\1", text)
    text = re.sub(r"\bNone\b", "null", re.sub(r"\bTrue\b", "true", re.sub(r"\bFalse\b", "false", text)))
    if '"' not in text:
        text = re.sub(r"(?<![A-Za-z])'|'(?![A-Za-z])", '"', text)
    return re.sub(r"([{,]\s*)([A-Za-z_]+)(\s*:)", r'\1"\2"\3', text)


def _objects(value: Any, *, depth: int = 3) -> Iterator[dict[str, Any]]:
    """The objects in a value: a list, one object, or a list within an object."""
    if isinstance(value, list) and depth:
        if len(value) == 2 and all(isinstance(v, str) for v in value):
            yield {"first": value[0], "second": value[1]}
        for v in value[:1000]:
            yield from _objects(v, depth=depth - 1)
    elif isinstance(value, dict):
        lists = [v for v in value.values() if isinstance(v, list)]
        inner = [v for v in lists if any(isinstance(x, dict | list) for x in v)]
        if inner and depth and not value.keys() & {"name", "category", "failure", "title"}:
            for v in inner:
                yield from _objects(v, depth=depth - 1)
        else:
            yield value


def with_unreadable(answers: Answers, unreadable: int) -> Answers:
    """The same, so many of the answers that were read moved to those that could not be used."""
    return answers + Answers(read=-int(unreadable), unreadable=int(unreadable))


def one_line(text: str) -> str:
    """Printable, one line, single spaces."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST]).split())


def quoted(text: str) -> str:
    """A text as it stands in a prompt: on one line, in the quotes of JSON."""
    return json.dumps(one_line(text)[:LONGEST], ensure_ascii=False)


def takes_schema(llm: object) -> bool:
    """Whether a model can be held to a JSON schema."""
    try:
        return "schema" in inspect.signature(llm.ask).parameters  # type: ignore[attr-defined]
    except (AttributeError, TypeError, ValueError):
        return False


class Structured:
    """A model that is held to a JSON schema where its provider can do so."""

    def __init__(self, llm: Any, schema: Mapping[str, Any]) -> None:
        self._llm, self._held = llm, {"schema": schema} if takes_schema(llm) else {}

    def ask(self, prompts: Sequence[str]) -> list[str]:
        return list(self._llm.ask(prompts, **self._held))


_QUOTE: Final = r"[\"“”«»]"
_TUPLE: Final = re.compile(
    rf"[(\[]\s*{_QUOTE}((?:\\.|[^\"“”«»\\\n])+){_QUOTE}\s*[,;|]\s*{_QUOTE}((?:\\.|[^\"“”«»\\\n])+){_QUOTE}\s*[)\]]"
)
_BARE: Final = re.compile(
    rf"^\W*(?:\d+\W+)?{_QUOTE}([^\"“”«»\n]+){_QUOTE}\s*(?:[,;|/–—-]+|->|→|vs\.?|and)\s*{_QUOTE}([^\"“”«»\n]+){_QUOTE}",
    re.MULTILINE,
)
_SINGLE: Final = re.compile(r"\(\s*'([^\n]+?)'\s*,\s*'([^\n]+?)'\s*\)")
#: What the question had in the place of a text.
_PLACEHOLDER: Final = re.compile(r"(prompt|text|caption|sentence)[ _]?[12ab]", re.IGNORECASE)


def read_pairs(text: str) -> Iterator[Pair]:
    """The pairs of an answer: `("a", "b"),` lines, lists or objects of JSON, quoted texts side by side."""
    text = text[:LONGEST_ANSWER]
    matches = list(_TUPLE.finditer(text)) or list(_SINGLE.finditer(text)) or list(_BARE.finditer(text))
    rows: list[Sequence[str]] = [(m[1], m[2]) for m in matches]
    if not matches:
        rows = [[t for t in item.values() if isinstance(t, str)][:2] for item in items(text)]
    for row in rows:
        pair = [one_line(re.sub(r"\\(.)", r"\1", side)) for side in row]
        sound = len(pair) == 2 and all(0 < len(side) <= LONGEST and re.search(r"\w", side) for side in pair)
        if sound and not all(_PLACEHOLDER.fullmatch(side) for side in pair):
            yield Pair(*pair)
