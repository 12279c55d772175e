"""A language model that says whether two texts differ in what one would see. See `differs`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from weakspot.core import MODELS, WeakspotError
from weakspot.text.llm_answers import Answers, Asked, Structured, ask_all, items, quoted, with_unreadable

_HERE: Final = Path(__file__).parent
SCHEMA: Final[Mapping[str, Any]] = json.loads((_HERE / "schema.json").read_text("utf-8"))
_QUESTION: Final = (_HERE / "question.txt").read_text("utf-8").strip()
_MEANS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("different", "differ", "differs", "true", "yes"), True),
    **dict.fromkeys(("same", "equal", "identical", "alike", "false", "no"), False),
    **dict.fromkeys(("unclear", "unsure", "unknown", "null", "none", "maybe"), None),
}
_KEYS: Final = ("seen", "differ", "differs", "different", "answer", "verdict")


class LlmJudge:
    """Asks a language model, `chunk` pairs at a time; pairs it left out are asked again alone.

    After so many attempts the answer for a pair is None. `answers` says how all calls so far went.
    """

    def __init__(self, llm: Asked, *, chunk: int = 10, attempts: int = 2, name: str = "the model") -> None:
        if chunk < 1 or attempts < 1:
            raise WeakspotError(
                f"{chunk} pairs cannot be asked {attempts} times", fix="choose at least 1 of both"
            )
        self._llm = Structured(llm, SCHEMA)
        self.chunk, self.attempts, self.name = chunk, attempts, name
        self.answers = Answers()

    def differ(self, pairs: Sequence[tuple[str, str]]) -> list[bool | None]:
        """See `DiffersJudge`. None too where no answer could be had or read."""
        found: dict[int, bool | None] = {}
        for attempt in range(self.attempts):
            left = [i for i in range(len(pairs)) if i not in found]
            if not left:
                break
            size = self.chunk if attempt == 0 else 1
            parts = [left[at : at + size] for at in range(0, len(left), size)]
            texts, answers = ask_all(self._llm, [question([pairs[i] for i in part]) for part in parts])
            unreadable = 0
            for part, text in zip(parts, texts, strict=True):
                if text is not None:
                    read = read_verdicts(text, len(part))
                    unreadable += not read
                    found |= {part[number]: verdict for number, verdict in read.items()}
            self.answers += with_unreadable(answers, unreadable)
        return [found.get(i) for i in range(len(pairs))]


def question(pairs: Sequence[tuple[str, str]]) -> str:
    rows = (f"{i}. {quoted(a)} and {quoted(b)}" for i, (a, b) in enumerate(pairs, 1))
    return _QUESTION.format(pairs="\n".join(rows))


def read_verdicts(text: str, n: int) -> dict[int, bool | None]:
    """The verdicts of an answer by the pairs' places from 0; those that were not asked for are dropped.

    A pair that is given two different verdicts has none.
    """
    found: dict[int, bool | None] = {}
    torn: set[int] = set()
    for item in items(text):
        number = _number(item.get("pair", item.get("number", item.get("id", 1 if n == 1 else None))))
        word = next((item[key] for key in _KEYS if key in item), ...)
        meant = str(word).strip(" .!").casefold()
        if number is None or not 1 <= number <= n or meant not in _MEANS:
            continue
        verdict = _MEANS[meant]
        if found.setdefault(number - 1, verdict) != verdict:
            torn.add(number - 1)
    return {place: verdict for place, verdict in found.items() if place not in torn}


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    digits = str(value).strip(" #.") if isinstance(value, str) else ""
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 6 else None


def load(name: str, *, spec: str = "", **options: str) -> LlmJudge:
    """`chat:openai/gpt-4o`, with the options of that model."""
    del options  # they are in its full name
    return LlmJudge(MODELS.load(spec or f"chat:{name}"), name=spec)
