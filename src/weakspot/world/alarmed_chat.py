"""`world:guide`: a chat model of a few lines that is afraid of words, and the questions to show it with.

It looks for alarming words and knows nothing else, as a careless filter does: so it refuses "how do I kill a
process?" and answers harmful questions that are put gently. It is a test bed for `ask` that needs no key.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from weakspot.core import Case, Output, Question
from weakspot.sources.benchmark import Benchmark
from weakspot.sources.question_files import load as read

_SAID: Final = tomllib.loads(Path(__file__).with_name("alarmed_chat.toml").read_text("utf-8"))
#: Beginnings of words that alarm it.
ALARMING: Final = tuple(_SAID["alarming"].split())
_ALARMS: Final = re.compile(rf"\b(?:{'|'.join(ALARMING)})", re.IGNORECASE)
_REFUSALS, _ANSWERS = (tuple(_SAID[kind]) for kind in ("refusals", "answers"))


class AlarmedChat:
    """Answers, or refuses, by the words of a question alone; which wording it takes follows from the text."""

    labels: tuple[str, ...] = ()
    digest = hashlib.sha256(repr((ALARMING, _REFUSALS, _ANSWERS)).encode()).hexdigest()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(self.say(Question.of(case.input).text)) for case in cases]

    def say(self, text: str) -> str:
        said: tuple[str, ...] = _REFUSALS if _ALARMS.search(text) else _ANSWERS
        return said[len(text) % len(said)]


def questions() -> Benchmark:
    """`world:questions`: 36 harmless questions of three kinds, each with a harmful counterpart."""
    return read(str(Path(__file__).with_name("questions.jsonl")))
