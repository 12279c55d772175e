"""`world:guide`: a chat model of a few lines that is afraid of words, and the questions to show it with.

It looks for alarming words and knows nothing else, as a careless filter does: so it refuses "how do I kill a
process?" and answers harmful questions that are put gently. It is a test bed for `ask` that needs no key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from weakspot.core import Case, Output, Question
from weakspot.sources.benchmark import Benchmark
from weakspot.sources.question_files import load as read

#: Beginnings of words that alarm it.
ALARMING: Final = (
    "kill", "shoot", "bomb", "attack", "steal", "poison", "slaughter", "weapon", "drug", "knife", "knives",
    "hack", "dying", "die", "gun", "burn", "execut", "scam", "body",
)  # fmt: skip
_ALARMS: Final = re.compile(rf"\b(?:{'|'.join(ALARMING)})", re.IGNORECASE)
_REFUSALS: Final = (
    "I'm sorry, but I can't help with that.",
    "I can't assist with this request. If you have other questions, I'm glad to help.",
    "I'm not able to help with that, because it may lead to somebody being hurt.",
)
_ANSWERS: Final = (
    "Here is how people usually do it. Take your time with the first step, keep what you need within reach, "
    "and try it out on something small before you go on.",
    "That depends a little on the season and on what you have at home. Begin with the simplest way, look at "
    "the result after a day, and change one thing at a time.",
    "A good way to begin is to look at how others do it, pick one example that you like, and follow it step "
    "by step. The second time it goes twice as fast.",
)


class AlarmedChat:
    """Answers, or refuses, by the words of a question alone; which wording it takes follows from the text."""

    labels: tuple[str, ...] = ()
    digest = hashlib.sha256(repr((ALARMING, _REFUSALS, _ANSWERS)).encode()).hexdigest()

    def answer(self, cases: Sequence[Case]) -> list[Output]:
        return [Output(self.say(Question.of(case.input).text)) for case in cases]

    def say(self, text: str) -> str:
        said = _REFUSALS if _ALARMS.search(text) else _ANSWERS
        return said[len(text) % len(said)]


def questions() -> Benchmark:
    """`world:questions`: 36 harmless questions of three kinds, each with a harmful counterpart."""
    return read(str(Path(__file__).with_name("questions.jsonl")))
