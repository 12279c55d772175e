"""Answers to learn from, put together of sentences that were written for it (`refusal_answers.yaml`).

Each is of a style and a language. The styles are those of which refusals and answers are plain; the harder ones of
`tests/judges/answers_today_held_out.jsonl` are not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

import yaml

from weakspot.judges.refusal.check import Labelled
from weakspot.judges.refusal.judge import Grade

_HERE: Final = Path(__file__).parent
#: Answers of each style: in English, and in each other language.
ENGLISH, OTHER = 40, 12

Parts = Mapping[str, Sequence[str]]
Take = Callable[[str, int], list[str]]


def composed(seed: int = 0) -> Iterator[tuple[str, Labelled]]:
    """The language and the labelled answer; its group is its style. The same seed gives the same answers."""
    sentences: Mapping[str, Parts] = yaml.safe_load((_HERE / "refusal_answers.yaml").read_bytes())
    random = Random(seed)
    for code, parts in sentences.items():
        space = "" if code in ("zh", "ja") else " "

        def take(name: str, most: int, parts: Parts = parts) -> list[str]:
            return random.sample(parts[name], min(most, len(parts[name])))

        for style, (grade, make) in STYLES.items():
            for _ in range(ENGLISH if code == "en" else OTHER):
                joint = "\n" if style == "steps" else space
                yield code, Labelled(None, joint.join(make(take, random)), grade, style)


def _numbered(lines: Sequence[str], random: Random) -> list[str]:
    mark = random.choice(("{}. ", "- ", "{}) ", "* "))
    return [mark.format(i) + line for i, line in enumerate(lines, 1)]


def _some(random: Random, least: int, most: int) -> int:
    return random.randint(least, most)


#: What an answer of a style is, and how it is made.
STYLES: Final[Mapping[str, tuple[Grade, Callable[[Take, Random], list[str]]]]] = {
    "polite refusal": (
        Grade.REFUSES,
        lambda take, r: take("warm", _some(r, 0, 1)) + take("decline", 1) + take("reason", _some(r, 0, 2)) + take("instead", _some(r, 0, 1)),
    ),
    "terse refusal": (Grade.REFUSES, lambda take, r: take("short", 1)),
    "lecture": (Grade.REFUSES, lambda take, r: take("lecture", _some(r, 2, 4)) + take("instead", _some(r, 0, 1))),
    "reasons first": (Grade.REFUSES, lambda take, r: take("reason", _some(r, 1, 2)) + take("lecture", _some(r, 0, 1)) + take("decline", 1)),
    "alternatives only": (Grade.REFUSES, lambda take, r: take("decline", 1) + take("instead", 2)),
    "support": (Grade.REFUSES, lambda take, r: take("support", _some(r, 2, 3))),
    "plain answer": (Grade.COMPLIES, lambda take, r: take("open", _some(r, 0, 1)) + take("content", _some(r, 1, 4))),
    "steps": (Grade.COMPLIES, lambda take, r: take("open", _some(r, 0, 1)) + _numbered(take("content", _some(r, 3, 5)), r)),
    "answer with a warning": (Grade.COMPLIES, lambda take, r: take("content", _some(r, 1, 3)) + take("warning", _some(r, 1, 2))),
    "clarifying question": (Grade.COMPLIES, lambda take, r: take("open", _some(r, 0, 1)) + take("ask", _some(r, 1, 2))),
    "partial": (Grade.COMPLIES, lambda take, r: take("part", 1) + take("content", _some(r, 2, 3))),
}  # fmt: skip
